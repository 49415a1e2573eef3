"""Shortcuts to the embedding of audio, with the defaults that most tests want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from typing_extensions import Unpack

from otadtk.embed import (
    AudioPass,
    EmbeddingSet,
    EmbedOptions,
    FilledStore,
    LazyEncoder,
    OnError,
    Source,
)
from otadtk.embed.store import EmbeddingStore
from otadtk.engine import Engine, resolve_engine


class How(TypedDict, total=False):
    """The options of a pass, and where it is done."""

    workers: int
    engine: Engine
    recursive: bool
    on_error: OnError
    force: bool
    frames: str


def embed(
    source: Source, encoder: LazyEncoder, store: EmbeddingStore, **how: Unpack[How]
) -> EmbeddingSet:
    """The set of a source by one encoder."""
    return embed_all(source, [encoder], store, **how)[0]


def embed_all(
    source: Source, encoders: Sequence[LazyEncoder], store: EmbeddingStore, **how: Unpack[How]
) -> list[EmbeddingSet]:
    """The sets of a source, one for each encoder."""
    return _audio_pass(encoders, store, how).embed(source)


def fill_store(
    source: Source, encoders: Sequence[LazyEncoder], store: EmbeddingStore, **how: Unpack[How]
) -> FilledStore:
    """What the store has of a source after a pass."""
    return _audio_pass(encoders, store, how).fill_store(source)


def _audio_pass(encoders: Sequence[LazyEncoder], store: EmbeddingStore, how: How) -> AudioPass:
    engine = resolve_engine(how.get("engine"), how.get("workers"))
    options = EmbedOptions(
        recursive=how.get("recursive", True),
        on_error=how.get("on_error", "fail"),
        force=how.get("force", False),
        frames=how.get("frames"),
    )
    return AudioPass(tuple(encoders), store, engine, options)
