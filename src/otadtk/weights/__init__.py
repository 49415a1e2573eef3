"""Published weight files: where each is published, what it must hash to, how to get it safely.

A file is looked for in this order, and its hash is checked wherever it comes from:

1. the user's own copy (``--weights PATH``),
2. the directory ``$OTADTK_WEIGHTS``,
3. its published place, unless ``OTADTK_OFFLINE=1``.

What an encoder loads is not the published file but its conversion to safetensors, made once and
kept in the cache directory; an installed wheel may carry it inside (``otadtk/bundled``).
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import WeightsError
from otadtk.weights.files import (
    HuggingFaceFile,
    Url,
    WeightFile,
    WheelMember,
    digest_of,
    verify,
)
from otadtk.weights.obtain import GIVE_OWN, in_directory, obtain

if TYPE_CHECKING:
    import filelock
    import torch

__all__ = [
    "BUNDLED",
    "Converter",
    "HuggingFaceFile",
    "Tensors",
    "Url",
    "WeightFile",
    "WheelMember",
    "cache_directory",
    "check_present",
    "converted_name",
    "digest_of",
    "find_converted",
    "load_converted",
    "verify",
]

BUNDLED = Path(__file__).parents[1] / "bundled"


Tensors = dict[str, "torch.Tensor"]
Converter = Callable[[Mapping[str, Path]], tuple[Tensors, dict[str, str]]]
"""Reads the published files (by name); gives the tensors and what else is worth keeping as text."""


def cache_directory() -> Path:
    """The user's cache directory for otadtk: ``$OTADTK_CACHE``, or the platform's place."""
    import platformdirs

    return Path(os.environ.get("OTADTK_CACHE") or platformdirs.user_cache_dir("otadtk"))


def converted_name(model: str, files: Sequence[WeightFile]) -> str:
    """The file name of a conversion; it changes whenever a published file does."""
    key = hashlib.sha256("\n".join(file.digest for file in files).encode()).hexdigest()
    return f"{model}-{key[:16]}.safetensors"


def find_converted(model: str, files: Sequence[WeightFile]) -> Path | None:
    """The converted weights on this machine, bundled or cached; ``None`` when they are not there."""
    name = converted_name(model, files)
    places = (BUNDLED / name, cache_directory() / "weights" / name)
    return next((place for place in places if place.is_file()), None)


def check_present(model: str, files: Sequence[WeightFile]) -> list[tuple[str, bool]]:
    """What is to say of each weight file of a model on this machine, and whether it is as it should be.

    Published files in ``$OTADTK_WEIGHTS`` are checked against their published hashes, or where
    there is none against the one seen first; conversions against the hash of their content that
    was written into them.
    """
    findings: list[tuple[str, bool]] = []
    converted = find_converted(model, files)
    directory = os.environ.get("OTADTK_WEIGHTS")
    for file in files if directory is not None else ():
        path = in_directory(file, Path(directory or ""), model)
        if path is not None:
            expected = file.digest if path.name == file.name else file.published_digest
            if file.has_hash:
                findings.append(_finding(path, partial(verify, path, expected, "Replace it.")))
            else:
                seen = partial(_check_seen, model, files, {file.name: path}, converted)
                findings.append(_finding(path, seen, "no hash is published to check it against"))
    if converted is not None:
        findings.append(_finding(converted, partial(_read_safetensors, converted)))
    return findings


def _finding(path: Path, check: Callable[[], object], praise: str = "sound") -> tuple[str, bool]:
    try:
        check()
    except WeightsError as error:
        return str(error), False
    return f"{path}: {praise}", True


def load_converted(
    model: str,
    files: Sequence[WeightFile],
    convert: Converter,
    own: Path | None = None,
    *,
    otherwise: str = GIVE_OWN,
) -> tuple[Tensors, dict[str, str]]:
    """Tensors and texts of a model's weights; the first call fetches, verifies and converts them.

    ``otherwise`` is what a message advises where they can be neither found nor fetched.
    """
    if own is None:
        path = find_converted(model, files)
        if path is not None:
            try:
                return _read_safetensors(path)
            except WeightsError:
                if path.parent == BUNDLED:
                    raise
                path.unlink(missing_ok=True)  # a damaged conversion is made anew
    path = cache_directory() / "weights" / converted_name(model, files)
    with _lock(path):
        if own is None and path.is_file():  # another process has just made it
            return _read_safetensors(path)
        scratch = path.with_suffix(".fetch")
        shutil.rmtree(scratch, ignore_errors=True)  # what a kill has left
        scratch.mkdir()
        try:
            found = obtain(model, files, own, scratch, otherwise)
            seen = _check_seen(model, files, found, path if path.is_file() else None)
            tensors, texts = convert(found)
            unfinished = scratch / path.name
            _write_safetensors(unfinished, tensors, {**texts, **seen})
            unfinished.replace(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return _read_safetensors(path)


def _check_seen(
    model: str, files: Sequence[WeightFile], found: Mapping[str, Path], converted: Path | None
) -> dict[str, str]:
    """SHA-256 of the files for which none is published: the first one seen pins the file.

    Embeddings in the cache carry no trace of such a file, so another one is refused.
    """
    unhashed = {file.name for file in files if not file.has_hash}
    seen = {name: digest_of(found[name]) for name in unhashed & found.keys()}
    before = _read_safetensors(converted)[1] if seen and converted is not None else {}
    for name, digest in seen.items():
        if before.get(name, digest) != digest:
            raise WeightsError(
                f"{found[name]} ({digest}) is not the file that {model!r} was used with before "
                f"({before[name]}). To change it, remove {converted} and the cached embeddings."
            )
    return seen


def _lock(path: Path) -> filelock.BaseFileLock:
    """A lock held while one file is made, so that two processes do not fetch it twice."""
    import filelock

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return filelock.FileLock(f"{path}.lock")
    except OSError as error:
        raise WeightsError(
            f"The cache directory {path.parent} is not writable ({error.strerror}); "
            "set OTADTK_CACHE to one that is."
        ) from error


def _write_safetensors(path: Path, tensors: Tensors, texts: dict[str, str]) -> None:
    from safetensors.torch import save_file

    save_file(tensors, path, metadata={**texts, "content": _content_digest(tensors)})


def _read_safetensors(path: Path) -> tuple[Tensors, dict[str, str]]:
    """Tensors and texts of a conversion, checked against the digest written into it."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            texts = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise WeightsError(f"{path} is damaged ({error}); remove it and run again.") from error
    if texts.pop("content", None) != _content_digest(tensors):
        raise WeightsError(f"{path} is damaged (its content digest differs); remove it, run again.")
    return tensors, texts


def _content_digest(tensors: Tensors) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].contiguous()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
