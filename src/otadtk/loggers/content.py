"""What every log shows of an evaluation: numbers, the costs of all clips, the worst clips as sound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import AudioError, UsageError
from otadtk.evaluation.evaluate import Evaluation
from otadtk.files.printable import readable
from otadtk.report.clips.sound import Sound, read_sound

WORST = 5
"""Clips that are logged as sound."""

Log = Callable[[Evaluation, int], None]
"""Writes an evaluation at a step."""


@dataclass(frozen=True, eq=False)
class WorstClip:
    """A clip of large cost, with its sound."""

    rank: int
    name: str
    cost: float
    sound: Sound

    @property
    def caption(self) -> str:
        """Its rank, name and cost."""
        return f"{self.rank}: {self.name}, cost {self.cost:.4g}"


@dataclass(frozen=True, eq=False)
class Content:
    """An evaluation as logs take it; names begin with that of the metric."""

    prefix: str
    numbers: dict[str, float]
    costs: NDArray[np.float64] | None
    """M·c_j of every clip; ``None`` for a metric without costs."""
    worst: tuple[WorstClip, ...]


def content_of(evaluation: Evaluation, *, worst: int = WORST) -> Content:
    """What is logged of an evaluation; of clips without audio no sound."""
    prefix, found = evaluation.metric.name.lower(), evaluation.statistics
    numbers = {"score": evaluation.score, **evaluation.measurement.values}
    if found.floor is not None:
        numbers |= {"floor": found.floor.mean, "p_value": found.floor.p_value}
    if found.interval is not None and found.interval.holds:
        numbers |= {"interval_low": found.interval.low, "interval_high": found.interval.high}
    diagnostics = evaluation.measurement.diagnostics
    judged = diagnostics.judgement.evaluated if diagnostics and diagnostics.judgement else None
    if judged is not None:
        numbers |= {"bad_clips": int(judged.bad.sum()), "bad_share": judged.spoilt.share.estimate}
    named = {f"{prefix}/{name}": float(value) for name, value in numbers.items()}
    if diagnostics is None:
        return Content(prefix, named, None, ())
    clips = []
    order = np.argsort(-diagnostics.cost, kind="stable")[:worst].tolist()
    for rank, j in enumerate(order, 1):
        audit = evaluation.evaluated.audits[j]
        if audit is None:
            continue
        try:
            reading = evaluation.metric.spec.reading
            sound = read_sound(evaluation.evaluated.clip(j), audit.sample_rate, reading)
        except (AudioError, OSError):  # the file is gone
            continue
        name = readable(diagnostics.files[j].name)
        clips.append(WorstClip(rank, name, float(diagnostics.cost[j]), sound))
    return Content(prefix, named, diagnostics.cost, tuple(clips))


def require(package: str, extra: str) -> None:
    """A UsageError that says what to install if a package is missing."""
    if find_spec(package) is None:
        raise UsageError(f'This log needs {package}: pip install "otadtk-audio[{extra}]".')


def histogram_figure(evaluation: Evaluation) -> Any:
    """The costs of all clips as a figure of matplotlib; ``None`` without costs or matplotlib."""
    diagnostics = evaluation.measurement.diagnostics
    if diagnostics is None or find_spec("matplotlib") is None:
        return None
    import matplotlib
    from matplotlib.figure import Figure

    from otadtk.report.drawings import STYLE, draw_histogram

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(4.2, 2.4))
        nothing = np.zeros(0, dtype=bool)
        draw_histogram(figure.subplots(), diagnostics.relative_cost, "median", nothing)
    return figure
