"""Writes evaluations as event files of TensorBoard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from otadtk.evaluation.evaluate import Evaluation
from otadtk.loggers.content import WORST, content_of, require


class TensorBoardLog:
    """Logs to a folder, or to a ``SummaryWriter`` that is there already."""

    def __init__(self, target: str | Path | Any, *, worst: int = WORST) -> None:
        require("tensorboard", "tensorboard")
        from torch.utils.tensorboard import SummaryWriter

        is_path = isinstance(target, (str, Path))
        self.writer: Any = SummaryWriter(str(target)) if is_path else target  # type: ignore[no-untyped-call, unused-ignore]
        self._worst = worst

    def __call__(self, evaluation: Evaluation, step: int) -> None:
        """Scalars, the histogram of costs, and the worst clips as audio."""
        content, writer = content_of(evaluation, worst=self._worst), self.writer
        for name, value in content.numbers.items():
            writer.add_scalar(name, value, step)
        if content.costs is not None:
            writer.add_histogram(f"{content.prefix}/costs", content.costs, step)
        for clip in content.worst:
            name = f"{content.prefix}/worst_{clip.rank}"
            writer.add_audio(name, clip.sound.samples[None], step, clip.sound.sample_rate)
            writer.add_text(name, clip.caption, step)
        writer.flush()
