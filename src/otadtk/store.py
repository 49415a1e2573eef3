"""The embedding store: what an encoder said of an audio file, found by the file's content.

An entry lies at ``<root>/<encoder fingerprint>/<aa>/<SHA-256 of the audio>.<kind>``: a sealed file
whose header has the format, audio hash, encoder fingerprint and audit. A truncated, damaged or
foreign file is treated as absent. Entries are written to a temporary file and renamed: a kill
loses at most the entry being written. A root such as ``s3://bucket/embeddings`` is reached by
fsspec; there an entry is put whole, if it is not there already.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from otadtk.atomic import TEMPORARY_PREFIX, replacing
from otadtk.audio import Audit
from otadtk.errors import UsageError
from otadtk.places import absolute, is_remote, place_of, read_bytes, url_of, write_if_absent
from otadtk.sealed import seal, unseal
from otadtk.weights import cache_directory

FORMAT = "otadtk-store/1"
_STALE_SECONDS = 24 * 3600

Kind = Literal["clip", "frames", "timeline", "labels"]
"""The clip vector, the frames that count in it, all frames in order of time, the class scores."""


@dataclass(frozen=True)
class StoredClip:
    """One entry: the clip vector ``(d,)``, the frames ``(n, d)`` or the class scores, and the audit."""

    values: NDArray[np.float32]
    audit: Audit


class EmbeddingStore:
    """Embeddings by audio content and encoder fingerprint, in a directory shared by all runs."""

    def __init__(self, root: Path | None = None) -> None:
        root = root if root is not None else cache_directory() / "embeddings"
        self.root = absolute(place_of(root))
        self._made: set[Path] = set()

    def path(self, audio: str, fingerprint: str, kind: Kind = "clip") -> Path:
        """Where the entry of an audio hash lies, whether it is there or not."""
        return self.root / fingerprint[:32] / audio[:2] / f"{audio}.{kind}"

    def get(self, audio: str, fingerprint: str, kind: Kind = "clip") -> StoredClip | None:
        """The entry, or ``None`` when it is missing or not sound."""
        try:
            content = read_bytes(self.path(audio, fingerprint, kind))
        except OSError:
            return None
        return _unpack(content, audio, fingerprint)

    def put(self, audio: str, fingerprint: str, clip: StoredClip, kind: Kind = "clip") -> None:
        """Write an entry; another process may be writing the same one."""
        path, content = self.path(audio, fingerprint, kind), _pack(clip, audio, fingerprint)
        try:
            if is_remote(path):
                write_if_absent(path, content)
                return
            self._prepare(path.parent)
            with replacing(path) as file:
                file.write(content)
        except OSError as error:
            raise UsageError(
                f"The cache {url_of(self.root)} cannot be written ({error.strerror}); "
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
        "audit": dataclasses.asdict(clip.audit),
    }
    return seal(header, clip.values)


def _unpack(content: bytes, audio: str, fingerprint: str) -> StoredClip | None:
    unsealed = unseal(content)
    if unsealed is None:
        return None
    header, values = unsealed
    key = [header.get(name) for name in ("format", "audio", "encoder")]
    audit = Audit.from_dict(header.get("audit"))
    if key != [FORMAT, audio, fingerprint] or audit is None:
        return None
    return StoredClip(values, audit)
