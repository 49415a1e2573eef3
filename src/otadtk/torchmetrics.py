"""Every metric as a torchmetrics class, for training loops: ``update``, ``compute``, ``reset``.

    from otadtk.torchmetrics import OptimalTransportAudioDistance

    distance = OptimalTransportAudioDistance("yamnet", sample_rate=16_000)
    distance.update(real_waveforms, real=True)       # (clips, samples)
    distance.update(generated, real=False)
    print(distance.compute())

The state is the clip vectors of both sides. In a distributed run they are gathered, so that every
process computes the distance between all clips. Needs ``pip install "otadtk-audio[torchmetrics]"``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.encoders import Encoder
from otadtk.errors import AudioError, UsageError
from otadtk.metrics import AudioMetric
from otadtk.metrics.registry import all_metrics, get_metric
from otadtk.metrics.reported import clap_score

try:
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ImportError as error:
    raise UsageError(
        'otadtk.torchmetrics needs torchmetrics: pip install "otadtk-audio[torchmetrics]".'
    ) from error

FloatArray = NDArray[np.float32]

__all__ = [
    "AudioDistance",
    "FrechetAudioDistance",
    "KernelAudioDistance",
    "OptimalTransportAudioDistance",
    "metric_class",
]


class AudioDistance(Metric):  # type: ignore[misc, unused-ignore]
    """A distance between real and generated waveforms; ``reset_real=False`` keeps the real ones."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False
    _metric_class: ClassVar[type[AudioMetric]]

    real: list[Tensor]
    generated: list[Tensor]

    def __init__(
        self,
        model: str | Encoder = "yamnet",
        *,
        sample_rate: int,
        reset_real: bool = True,
        device: str = "cpu",
        metric_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if sample_rate < 1:
            raise UsageError(f"sample_rate must be above 0, not {sample_rate}.")
        loaded = model if isinstance(model, Encoder) else None
        name = model.spec.name if isinstance(model, Encoder) else model
        options_given = metric_options or {}
        self._distance = self._metric_class(name, encoder=loaded, device=device, **options_given)
        # the encoder of the variant's features; in a dict, so that torch does not take it for a
        # submodule and move or save it
        self._hidden = {"encoder": self._distance.embedder.encoder.get()}
        self._sample_rate, self._reset_real = sample_rate, reset_real
        for side in ("real", "generated"):
            self.add_state(side, default=[], dist_reduce_fx="cat")

    def update(self, waveforms: Tensor | Sequence[str], *, real: bool) -> None:
        """Embed waveforms ``(samples,)``, ``(clips, samples)`` or ``(clips, channels, samples)``.

        The CLAP score takes captions as the real side.
        """
        if isinstance(self._distance, clap_score.ClapScore) and real:
            self._add_captions(waveforms)
            return
        if not isinstance(waveforms, Tensor):
            raise UsageError(f"waveforms must be a tensor, not {type(waveforms).__name__}.")
        clips = waveforms.detach().cpu().float()
        clips = clips[None] if clips.ndim == 1 else clips
        if clips.ndim not in (2, 3) or clips.shape[-1] == 0:
            raise UsageError(f"waveforms must be (clips, samples), not {tuple(waveforms.shape)}.")
        if not bool(torch.isfinite(clips).all()):
            raise AudioError("The waveforms contain NaN or infinite samples.")
        encoder = self._hidden["encoder"]
        vectors = [
            torch.from_numpy(self._distance.encode_clip(encoder, clip, self._sample_rate))
            for clip in clips
        ]
        side = self.real if real else self.generated
        side.extend(vector[None].to(self.device) for vector in vectors)

    def _add_captions(self, captions: Tensor | Sequence[str]) -> None:
        if isinstance(captions, (Tensor, str)) or not all(isinstance(c, str) for c in captions):
            raise UsageError("The CLAP score takes a list of captions with real=True.")
        assert isinstance(self._distance, clap_score.ClapScore)
        vectors = torch.from_numpy(self._distance.encode_captions(captions)).to(self.device)
        self.real.extend(vector[None] for vector in vectors)

    def compute(self) -> Tensor:
        """The distance between all waveforms since the last reset, on every process."""
        try:
            return torch.tensor(self._distance.distance(*self._sides()))
        except BaseException:
            if self._is_synced:  # else torchmetrics keeps the gathered state, and refuses updates
                self.unsync()
            raise

    def _sides(self) -> list[FloatArray]:
        sides = []
        for name, state in (("real", self.real), ("generated", self.generated)):
            vectors = dim_zero_cat(state) if len(state) else torch.empty(0)
            if len(vectors) == 0:
                raise UsageError(f"No {name} waveforms were given; call update(…, real=…) first.")
            sides.append(vectors.cpu().numpy())
        return sides

    def sync(self, *arguments: Any, **options: Any) -> None:
        """Gather the clips of all processes; a process may have none of a side."""
        for side in (self.real, self.generated):
            if len(side) == 0:  # else torchmetrics sends a vector, and the others matrices
                side.append(torch.empty(0, self._distance.width, device=self.device))
        super().sync(*arguments, **options)

    def reset(self) -> None:
        """Forget all waveforms; with ``reset_real=False`` only the generated ones."""
        kept = list(self.real)
        super().reset()
        if not self._reset_real:
            self.real = kept


def metric_class(name: str) -> type[AudioDistance]:
    """The torchmetrics class of a registered metric, by the metric's name."""
    metric = get_metric(name)
    attributes = {
        "__doc__": f"{metric.title} ({metric.name}); ``metric_options`` are those of its class.",
        "__module__": __name__,
        "higher_is_better": metric.higher_is_better,
        "_metric_class": metric,
    }
    return type(_class_name(metric), (AudioDistance,), attributes)


def _class_name(metric: type[AudioMetric]) -> str:
    """``FrechetAudioDistance`` of the Fréchet Audio Distance."""
    plain = unicodedata.normalize("NFKD", metric.title).encode("ascii", "ignore").decode()
    return "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", plain))


OptimalTransportAudioDistance = metric_class("otad")
FrechetAudioDistance = metric_class("fad")
KernelAudioDistance = metric_class("kad")


def __getattr__(name: str) -> type[AudioDistance]:
    """The class of any other metric, by its title in one word."""
    for key, metric in all_metrics():
        if _class_name(metric) == name:
            globals()[name] = metric_class(key)
            found: type[AudioDistance] = globals()[name]
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
