"""A Lightning callback that scores what a model generates at every k-th validation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from otadtk.errors import UsageError
from otadtk.evaluation.evaluate import Evaluation
from otadtk.loggers.content import WORST, Log, content_of
from otadtk.loggers.mlflow import MlflowLog
from otadtk.loggers.tensorboard import TensorBoardLog
from otadtk.loggers.wandb import WandbLog
from otadtk.metrics import AudioMetric
from otadtk.tracking.scoring import Reference

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError as error:
        raise UsageError(
            'The callback needs Lightning: pip install "otadtk-audio[lightning]".'
        ) from error


class ScoreCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Scores generated clips at every k-th validation, against a reference that is embedded once.

    ``generate`` takes the module and gives waveforms, ``(clips, samples)`` or a list. They are written
    to ``folder/step_…``, so that ``otadtk-trend`` can show them too. Score and floor go to
    ``module.log`` as ``otad/score`` and so on, for ``ModelCheckpoint(monitor="otad/score")``; the
    loggers of the trainer get histogram and worst clips, too.
    """

    def __init__(
        self,
        metric: AudioMetric,
        reference: str | Path,
        generate: Callable[[Any], Any],
        *,
        sample_rate: int,
        every: int = 1,
        folder: str | Path | None = None,
        worst: int = WORST,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if every < 1 or sample_rate < 1:
            raise UsageError(f"every and sample_rate must be above 0: {every}, {sample_rate}.")
        self._metric, self._place, self._generate = metric, reference, generate
        self._sample_rate, self._every, self._folder = sample_rate, every, folder
        self._worst, self._seed, self._validations = worst, seed, 0
        self.last: Evaluation | None = None
        """The latest evaluation."""

    @cached_property
    def reference(self) -> Reference:
        """The reference, embedded at the first use."""
        return Reference(self._metric, self._place, self._metric.embed(self._place))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Score, unless this is the check before the training or not the k-th validation."""
        if trainer.sanity_checking:
            return
        self._validations += 1
        if self._validations % self._every or not trainer.is_global_zero:
            return
        waveforms = self._generate(pl_module)
        root = Path(self._folder or Path(trainer.default_root_dir) / "otadtk")
        place = root / f"step_{trainer.global_step:08d}"
        _write(waveforms, place, self._sample_rate)
        found = self.reference.evaluate(self._metric.embed(place), interval=False, seed=self._seed)
        self.last = found
        numbers = content_of(found, worst=0).numbers
        # the loggers below get the numbers, too, with the step as their axis
        pl_module.log_dict(numbers, logger=False, rank_zero_only=True)
        for log in _logs(trainer.loggers, self._worst):
            log(found, trainer.global_step)


def _write(waveforms: Any, folder: Path, sample_rate: int) -> None:
    """The waveforms as files 0000.wav and so on."""
    import soundfile

    clips = [np.asarray(_on_cpu(clip), dtype=np.float32).squeeze() for clip in waveforms]
    if not clips or any(clip.ndim not in (1, 2) or clip.size == 0 for clip in clips):
        shapes = [clip.shape for clip in clips][:3]
        raise UsageError(f"generate must give waveforms of (samples,), not of {shapes}.")
    folder.mkdir(parents=True, exist_ok=True)
    for number, clip in enumerate(clips):
        frames = clip if clip.ndim == 1 else clip.T
        soundfile.write(folder / f"{number:04d}.wav", frames, sample_rate, subtype="FLOAT")


def _on_cpu(clip: Any) -> Any:
    return clip.detach().cpu().numpy() if hasattr(clip, "detach") else clip


def _logs(loggers: Sequence[Any], worst: int) -> list[Log]:
    """Our log for each logger of the trainer that can show more than numbers."""
    found: list[Log] = []
    for each in loggers:
        kind = type(each).__name__
        if kind == "TensorBoardLogger":
            found.append(TensorBoardLog(each.experiment, worst=worst))
        elif kind == "WandbLogger":
            found.append(WandbLog(each.experiment, worst=worst))
        elif kind == "MLFlowLogger":
            found.append(MlflowLog(each.run_id, worst=worst))
        else:
            found.append(partial(_numbers, each))
    return found


def _numbers(target: Any, evaluation: Evaluation, step: int) -> None:
    """The numbers alone, for a logger that we know nothing of, as that of CSV files."""
    target.log_metrics(content_of(evaluation, worst=0).numbers, step)
