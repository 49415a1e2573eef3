"""What every result of this room can write of itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from otadtk.metrics.shown import Shown


class Written(Shown):
    """A result that writes its methods paragraph, its references and its JSON document."""

    def methods(self, *, latex: bool = False) -> str:
        """A methods paragraph for a paper: what was computed, how, and the numbers."""
        text: str = self._document().methods(as_latex=latex)
        return text

    def bibtex(self) -> str:
        """The references of the methods paragraph, as BibTeX."""
        text: str = self._document().bibtex()
        return text

    def to_json(self, path: str | Path) -> Path:
        """Write the JSON document that ``otadtk --json`` writes; gives its path."""
        written: Path = self._document().write(Path(path))
        return written

    def _document(self) -> Any:
        # documents lie in a room above this one, which only the package's own front door knows
        import otadtk

        return otadtk.ResultDocument.of(self)
