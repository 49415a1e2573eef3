"""The options of embedding: how the clips of a source become a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from otadtk.audio.inputs import Clip
from otadtk.embed.store import Kind

OnError = Literal["fail", "skip"]
Source = str | Path | Sequence[str | Path | Clip]
"""A folder, a file, a glob, a list, a manifest, a shard, a URL of any; or a sequence of clips."""


@dataclass(frozen=True)
class EmbedOptions:
    """How a source becomes a set of embeddings."""

    recursive: bool = True
    """Whether subfolders count."""
    on_error: OnError = "fail"
    """"fail" tries every file, then reports all bad ones at once; "skip" leaves them out."""
    force: bool = False
    """Whether to compute again what the store has."""
    frames: str | None = None
    """Whose frames the set has besides clip vectors: "own", "kadtk" or "fadtk"."""
    classes: bool = False
    """Whether the set has class scores besides clip vectors."""
    import_cache: str | None = None
    """The tool whose cache beside the audio is read instead of the audio."""

    @property
    def kind(self) -> Kind:
        """What is stored of each clip."""
        return "clip" if self.frames is None else "frames"
