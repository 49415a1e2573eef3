"""The steps that were scored before: one document each, used again while nothing has changed."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from otadtk import __version__
from otadtk.audio.inputs import Clip
from otadtk.documents.document import write_document
from otadtk.documents.reading import read_document
from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.audit import audit_sets
from otadtk.evaluation.audit_lines import summary_line
from otadtk.evaluation.run import Provenance
from otadtk.tracking.record import Record
from otadtk.tracking.scoring import Reference

logger = logging.getLogger(__name__)


@dataclass
class Journal:
    """The documents of the steps of one training, in a folder; counts what it had to do."""

    folder: Path
    reference: Reference
    made: Provenance
    embedded: int = 0
    """Clips that were embedded now."""
    solved: int = 0
    """Steps that were scored now."""
    known: int = 0
    """Steps that were scored before."""
    clips: dict[str, Clip] = field(default_factory=dict, repr=False)
    """Those of all steps that are no files of their own, by their names."""

    def record(self, path: Path, evaluated: EmbeddingSet) -> Record:
        """The record of a step: the one of an earlier run, if clips and settings are the same."""
        self.embedded += evaluated.encoded
        self.clips |= {os.fspath(clip.name): clip for clip in evaluated.clips}
        found = self.find(path, evaluated.content)
        if found is not None:
            self.known += 1
            return found
        metric = self.reference.metric
        minimum = metric.spec.minimum_samples / metric.spec.sample_rate
        evaluation = self.reference.evaluate(evaluated, seed=self.made.seed)
        audit = audit_sets(self.reference.embedded, evaluated, minimum_seconds=minimum)
        odd = summary_line({str(path): audit})
        if odd:
            logger.warning("audit: %s (more in %s)", odd, self.file(path))
        document = self.reference.document(path, evaluation, audit, self.made)
        file = self.file(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_document(document, file)
        self.solved += 1
        return Record.of(document, metric.name, str(path))

    def find(self, path: Path, content: str) -> Record | None:
        """The record of these clips at this path, if it was made with this reference and so on."""
        file = self.file(path)
        if not file.is_file():
            return None
        try:
            found = Record.of(read_document(file), self.reference.metric.name, str(file))
        except UsageError:  # damaged, or of another metric
            return None
        unlike = found.unlike(self.reference.embedded.content, self.reference.choices)
        same = (found.evaluated, found.path, found.version, found.interval.seed) == (
            content,
            str(path),
            __version__,
            self.made.seed,
        )
        return found if same and unlike is None else None

    def file(self, path: Path) -> Path:
        """Where the document of a step is kept."""
        name = re.sub(r"[^\w.=-]", "_", path.name)[:80]
        place = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:8]
        return self.folder / f"{name}-{place}.json"
