"""The embedding store: what an encoder said of an audio file, found by the file's content.

An entry lies at ``<root>/<encoder fingerprint>/<aa>/<SHA-256 of the audio>.<kind>`` and is

    one line of JSON: format, audio hash, encoder fingerprint, shape, audit
    the vector(s), float32 little-endian
    32 bytes: SHA-256 of all that stands before

so that a truncated, damaged or foreign file is recognised and treated as absent. Entries are
written to a temporary file and renamed: a kill loses at most the entry being written.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from otadtk.atomic import TEMPORARY_PREFIX, replacing
from otadtk.audio import Audit
from otadtk.errors import UsageError
from otadtk.weights import cache_directory

FORMAT = "otadtk-store/1"
_DIGEST_BYTES = 32
_STALE_SECONDS = 24 * 3600

Kind = Literal["clip", "frames", "labels"]


@dataclass(frozen=True)
class StoredClip:
    """One entry: the clip vector ``(d,)``, the frames ``(n, d)`` or the class scores, and the audit."""

    values: NDArray[np.float32]
    audit: Audit


class EmbeddingStore:
    """Embeddings by audio content and encoder fingerprint, in a directory shared by all runs."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root if root is not None else cache_directory() / "embeddings"
        self._made: set[Path] = set()

    def path(self, audio: str, fingerprint: str, kind: Kind = "clip") -> Path:
        """Where the entry of an audio hash lies, whether it is there or not."""
        return self.root / fingerprint[:32] / audio[:2] / f"{audio}.{kind}"

    def get(self, audio: str, fingerprint: str, kind: Kind = "clip") -> StoredClip | None:
        """The entry, or ``None`` when it is missing or not sound."""
        try:
            content = self.path(audio, fingerprint, kind).read_bytes()
        except OSError:
            return None
        return _unpack(content, audio, fingerprint)

    def put(self, audio: str, fingerprint: str, clip: StoredClip, kind: Kind = "clip") -> None:
        """Write an entry; another process may be writing the same one."""
        path = self.path(audio, fingerprint, kind)
        try:
            self._prepare(path.parent)
            with replacing(path) as file:
                file.write(_pack(clip, audio, fingerprint))
        except OSError as error:
            raise UsageError(
                f"The cache {self.root} cannot be written ({error.strerror}); "
                "choose another with --cache-dir."
            ) from error

    def _prepare(self, folder: Path) -> None:
        """Make the folder, and clear what a kill has left in it, once per run."""
        if folder in self._made:
            return
        folder.mkdir(parents=True, exist_ok=True)
        for leftover in folder.glob(f"{TEMPORARY_PREFIX}*"):
            with contextlib.suppress(OSError):  # another process may have just renamed it
                if time.time() - leftover.stat().st_mtime > _STALE_SECONDS:
                    leftover.unlink()
        self._made.add(folder)


def _pack(clip: StoredClip, audio: str, fingerprint: str) -> bytes:
    header = {
        "format": FORMAT,
        "audio": audio,
        "encoder": fingerprint,
        "shape": list(clip.values.shape),
        "audit": dataclasses.asdict(clip.audit),
    }
    body = json.dumps(header).encode() + b"\n" + clip.values.astype("<f4").tobytes()
    return body + hashlib.sha256(body).digest()


def _unpack(content: bytes, audio: str, fingerprint: str) -> StoredClip | None:
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    if hashlib.sha256(body).digest() != digest:
        return None
    line, _, raw = body.partition(b"\n")
    try:
        header: dict[str, Any] = json.loads(line)
        if (header["format"], header["audio"], header["encoder"]) != (FORMAT, audio, fingerprint):
            return None
        values = np.frombuffer(raw, dtype="<f4").reshape(header["shape"]).astype(np.float32)
        return StoredClip(values, Audit(**header["audit"]))
    except (ValueError, KeyError, TypeError):  # a well-hashed file of another program
        return None
