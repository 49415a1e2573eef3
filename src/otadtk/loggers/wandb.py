"""Logs evaluations to a run of Weights & Biases, online or offline."""

from __future__ import annotations

from typing import Any

from otadtk.evaluation.evaluate import Evaluation
from otadtk.loggers.content import WORST, content_of, require


class WandbLog:
    """Logs to a run, as ``wandb.init`` gives it."""

    def __init__(self, run: Any, *, worst: int = WORST) -> None:
        require("wandb", "wandb")
        self._run, self._worst = run, worst

    def __call__(self, evaluation: Evaluation, step: int) -> None:
        """Numbers, the histogram of costs, and the worst clips as audio, under ``step``.

        The step is a value, ``otad/step``, on which the numbers are drawn: the run's own counter may
        be ahead of it already.
        """
        import wandb

        content = content_of(evaluation, worst=self._worst)
        axis = f"{content.prefix}/step"
        self._run.define_metric(axis)
        self._run.define_metric(f"{content.prefix}/*", step_metric=axis)
        found: dict[str, Any] = {axis: step, **content.numbers}
        if content.costs is not None:
            found[f"{content.prefix}/costs"] = wandb.Histogram(content.costs.tolist())
        if content.worst:
            found[f"{content.prefix}/worst"] = [
                wandb.Audio(clip.sound.samples, clip.sound.sample_rate, caption=clip.caption)
                for clip in content.worst
            ]
        self._run.log(found)
