"""Converts published weights to safetensors, once, and reads the conversions."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import WeightsError
from otadtk.weights.cache import converted_name, find_converted, is_bundled, weights_cache
from otadtk.weights.files import WeightFile, digest_of
from otadtk.weights.obtain import GIVE_A_COPY, obtain

if TYPE_CHECKING:
    import filelock
    import torch

Tensors = dict[str, "torch.Tensor"]
Converter = Callable[[Mapping[str, Path]], tuple[Tensors, dict[str, str]]]
"""From the published files, by name, to the tensors and to texts that are kept with them."""


def load_converted(
    model: str,
    files: Sequence[WeightFile],
    convert: Converter,
    user_copy: Path | None = None,
    *,
    otherwise: str = GIVE_A_COPY,
) -> tuple[Tensors, dict[str, str]]:
    """Tensors and texts of a model's weights; the first call fetches, verifies and converts them.

    ``otherwise`` is the advice of the error message if they can be neither found nor fetched.
    """
    if user_copy is None:
        path = find_converted(model, files)
        if path is not None:
            try:
                return read_converted(path)
            except WeightsError:
                if is_bundled(path):
                    raise
                path.unlink(missing_ok=True)  # convert again what is corrupted
    path = weights_cache() / converted_name(model, files)
    with _lock(path):
        if user_copy is None and path.is_file():  # another process has just made it
            return read_converted(path)
        scratch = path.with_suffix(".fetch")
        shutil.rmtree(scratch, ignore_errors=True)  # of a killed run
        scratch.mkdir()
        try:
            found = obtain(model, files, user_copy, scratch, otherwise)
            seen = check_seen(model, files, found, path if path.is_file() else None)
            tensors, texts = convert(found)
            unfinished = scratch / path.name
            _write_safetensors(unfinished, tensors, {**texts, **seen})
            unfinished.replace(path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return read_converted(path)


def check_seen(
    model: str, files: Sequence[WeightFile], found: Mapping[str, Path], converted: Path | None
) -> dict[str, str]:
    """SHA-256 of the files for which none is published; a file other than the first one is refused.

    Cached embeddings do not record which of such files they came from.
    """
    unhashed = {file.name for file in files if not file.has_hash}
    seen = {name: digest_of(found[name]) for name in unhashed & found.keys()}
    before = read_converted(converted)[1] if seen and converted is not None else {}
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
            "set OTADTK_WEIGHTS_CACHE to one that is."
        ) from error


def _write_safetensors(path: Path, tensors: Tensors, texts: dict[str, str]) -> None:
    from safetensors.torch import save_file

    save_file(tensors, path, metadata={**texts, "content": _content_digest(tensors)})


def read_converted(path: Path) -> tuple[Tensors, dict[str, str]]:
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
