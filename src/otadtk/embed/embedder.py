"""From a source to a set of embeddings, whatever holds it: audio, arrays, packs, caches."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from otadtk.embed.audio_pass import AudioPass
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.embed.formats.caches import read_cache
from otadtk.embed.formats.table import holds_embeddings, read_embeddings
from otadtk.embed.lazy import LazyEncoder
from otadtk.embed.options import EmbedOptions, Source
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders.precomputed import GIVEN
from otadtk.engine import Engine
from otadtk.errors import AudioError, UsageError
from otadtk.files.remote import as_path, is_remote


@dataclass(frozen=True)
class Embedder:
    """Loads the embeddings of one encoder from any source.

    ``engine`` does the work where there is audio to embed; ``store`` keeps the results.
    """

    encoder: LazyEncoder
    store: EmbeddingStore
    engine: Engine
    options: EmbedOptions = field(default_factory=EmbedOptions)

    def load(self, source: Source) -> EmbeddingSet:
        """The set of a folder, a file or a list of files; clips have the order of their names."""
        if isinstance(source, (str, Path)):
            source = as_path(source)
            found = self._read(source)
            if found is not None:
                return found
        if self.encoder.spec.name == GIVEN.name:
            if isinstance(source, Path) and not is_remote(source) and not source.exists():
                raise AudioError(f"There is no file or folder {source}.")
            raise UsageError(f"The model {GIVEN.name!r} takes embeddings, and {source} holds none.")
        audio = AudioPass((self.encoder,), self.store, self.engine, self.options)
        return audio.embed(source)[0]

    def _read(self, path: Path) -> EmbeddingSet | None:
        """The set in a file of embeddings or in another tool's cache; ``None`` for audio."""
        spec, options = self.encoder.spec, self.options
        if holds_embeddings(path):
            return read_embeddings(path, spec, options.frames)
        if options.import_cache is not None:
            return read_cache(path, spec, options.import_cache, recursive=options.recursive)
        return None
