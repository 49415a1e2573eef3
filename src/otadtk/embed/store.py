"""The embedding store: embeddings by the content of the audio file and by the encoder.

An entry is the file ``<root>/<encoder fingerprint>/<aa>/<SHA-256 of the audio>.<kind>``: a sealed file
whose header has the format, audio hash, encoder fingerprint and audit. A corrupted file, or one of
another program, counts as absent. Entries are written to a temporary file and renamed: a kill
loses at most the entry being written. A root such as ``s3://bucket/embeddings`` is reached by
fsspec; there an entry is uploaded as a whole, unless it is there already.
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

from otadtk.audio.clip_audit import ClipAudit
from otadtk.errors import UsageError
from otadtk.files.atomic import TEMPORARY_PREFIX, replacing
from otadtk.files.remote import absolute, as_path, is_remote, read_bytes, url_of, write_if_absent
from otadtk.files.sealed import seal, unseal
from otadtk.weights import embedding_cache

FORMAT = "otadtk-store/1"
_STALE_SECONDS = 24 * 3600

Kind = Literal["clip", "frames", "timeline", "labels"]
"""The clip vector, the frames that have weight in it, all frames in order of time, the logits."""


@dataclass(frozen=True)
class StoredClip:
    """What is kept of a clip: its vector ``(d,)``, frames ``(n, d)`` or logits, and the audit."""

    values: NDArray[np.float32]
    audit: ClipAudit
    class_scores: NDArray[np.float32] | None = None
    """The logits, of a clip vector for which they were asked; an entry of their own."""


class EmbeddingStore:
    """Embeddings by audio content and encoder fingerprint, in a directory shared by all runs."""

    def __init__(self, root: Path | None = None) -> None:
        root = root if root is not None else embedding_cache()
        self.root = absolute(as_path(root))
        self._made: set[Path] = set()

    def path(self, audio: str, fingerprint: str, kind: Kind = "clip") -> Path:
        """The path of the entry of an audio hash, whether it exists or not."""
        return self.root / fingerprint[:32] / audio[:2] / f"{audio}.{kind}"

    def get(self, audio: str, fingerprint: str, kind: Kind = "clip") -> StoredClip | None:
        """The entry, or ``None`` when it is missing or corrupted."""
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
        """Make the folder, and remove the temporary files of killed runs, once per run."""
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
    audit = ClipAudit.from_dict(header.get("audit"))
    if key != [FORMAT, audio, fingerprint] or audit is None:
        return None
    return StoredClip(values, audit)
