"""Plots of diagnostics on matplotlib axes, as ``diagnostics.plot``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from otadtk.errors import UsageError
from otadtk.metrics.diagnostics import BadClips, Evidence, OTADDiagnostics
from otadtk.report.clips.details import Wanted, describe_clips
from otadtk.report.clips.table import relative_costs
from otadtk.report.detection import detection
from otadtk.report.drawings import (
    STYLE,
    Axes,
    draw_along_time,
    draw_histogram,
    draw_map,
    draw_roc,
    require_matplotlib,
)


@dataclass(frozen=True)
class DiagnosticsPlots:
    """Plots of the costs; each takes the axes to draw on, or makes its own, and returns them."""

    diagnostics: OTADDiagnostics

    def __repr__(self) -> str:
        return "plots: .histogram(bad=None), .map(), .strip(clip), .roc(bad)"

    def histogram(self, bad: BadClips | None = None, *, axes: Axes = None) -> Axes:
        """The costs over the typical cost; ``bad`` are known bad clips, given as for ``auroc``."""
        relative, typical = relative_costs(self.diagnostics.cj)
        marked = np.empty(0, bool) if bad is None else self.diagnostics.marked(bad)
        return _drawn(axes, (5.2, 3.0), lambda on: draw_histogram(on, relative, typical, marked))

    def map(self, *, axes: Axes = None) -> Axes:
        """Both sets on their first two principal axes, in the space of the metric."""
        evidence = self._evidence()
        relative, typical = relative_costs(self.diagnostics.cj)
        adapt = evidence.ground.adapt_vectors
        points = adapt(evidence.reference.vectors), adapt(evidence.evaluated.vectors)
        return _drawn(axes, (5.2, 4.4), lambda on: draw_map(on, *points, relative, typical))

    def roc(self, bad: BadClips, *, label: str = "", axes: Axes = None) -> Axes:
        """How well the costs find the known bad clips, given as for ``auroc``.

        Several curves on the same ``axes`` have colours of their own; ``label`` names them.
        """
        labels = ["bad" if one else "" for one in self.diagnostics.marked(bad)]
        if len(set(labels)) < 2:
            raise UsageError("A ROC curve needs clips of both kinds: some known bad, and others.")
        found = detection(self.diagnostics.cj, labels)
        return _drawn(axes, (3.4, 3.4), lambda on: draw_roc(on, found, label))

    def strip(self, clip: str | Path | int, *, axes: Axes = None) -> Axes:
        """The cost of one clip along time, over its spectrogram: where it is unlike its references.

        ``clip`` is its name, or its place in ``files``.
        """
        evidence, diagnostics = self._evidence(), self.diagnostics
        j = clip if isinstance(clip, int) else diagnostics.index_of(clip)
        file = diagnostics.files[j]
        j = range(len(diagnostics.files))[j]
        shares = diagnostics.transport.shares if diagnostics.transport is not None else None
        if shares is None or evidence.encoder.spec.frame_seconds is None:
            raise UsageError(
                f"There is no cost along time here: it needs a plan between the whole sets and an "
                f"encoder with frames, unlike {evidence.encoder.spec.name!r}."
            )
        wanted = Wanted("clip", evidence.evaluated, j, shares(j))
        reference = evidence.ground.adapt_vectors(evidence.reference.vectors)
        found = describe_clips([wanted], evidence, reference, sounds=False).get("clip")
        if found is None:
            raise UsageError(f"The audio of {file} cannot be read, so its cost has no times.")
        _, typical = relative_costs(diagnostics.cj)
        scale = float(
            np.median(diagnostics.cost) if typical == "median" else diagnostics.cost.mean()
        )

        def draw(on: Axes) -> None:
            draw_along_time(on, found, scale or 1.0, typical)
            on.set_title(file.name, loc="left", fontsize="medium")

        return _drawn(axes, (6.4, 2.6), draw)

    def _evidence(self) -> Evidence:
        if self.diagnostics.evidence is None:
            raise UsageError("These diagnostics hold no embeddings, so there is nothing to draw.")
        return self.diagnostics.evidence


def _drawn(axes: Axes, size: tuple[float, float], draw: Callable[[Axes], None]) -> Axes:
    """The axes after drawing on them; new ones of this size if none are given."""
    require_matplotlib()
    import matplotlib
    from matplotlib import pyplot

    with matplotlib.rc_context(STYLE):
        if axes is None:
            _, axes = pyplot.subplots(figsize=size, layout="constrained")
        draw(axes)
        interactive = matplotlib.is_interactive()
    matplotlib.interactive(interactive)  # the first plot of a kernel switches it on inside
    return axes
