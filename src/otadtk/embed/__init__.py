"""Embedding: from audio, or from files of embeddings, to the vectors of clips.

    Embedder      loads the set of one source by one encoder
    AudioPass     one pass over audio with several encoders, into sets or into the store only
    EmbedOptions  how: subfolders, bad files, frames, another tool's cache
    EmbeddingSet  the vectors, and what is known of each clip
    LazyEncoder   an encoder that is built when the first clip needs it

Inside, ``reader`` and ``worker`` process single files on an engine, ``store`` keeps their
embeddings, and ``formats`` reads and writes files of embeddings.
"""

from __future__ import annotations

from otadtk.embed.audio_pass import AudioPass, FilledStore
from otadtk.embed.embedder import Embedder
from otadtk.embed.embedding_set import BadClip, EmbeddingSet
from otadtk.embed.lazy import LazyEncoder
from otadtk.embed.options import EmbedOptions, OnError, Source

__all__ = [
    "AudioPass",
    "BadClip",
    "EmbedOptions",
    "Embedder",
    "EmbeddingSet",
    "FilledStore",
    "LazyEncoder",
    "OnError",
    "Source",
]
