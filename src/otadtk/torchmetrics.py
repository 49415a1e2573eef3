"""OTAD, FAD and KAD as torchmetrics, for training loops: ``update``, ``compute``, ``reset``.

    from otadtk.torchmetrics import OptimalTransportAudioDistance

    distance = OptimalTransportAudioDistance("yamnet", sample_rate=16_000)
    distance.update(real_waveforms, real=True)       # (clips, samples)
    distance.update(generated, real=False)
    print(distance.compute())

The state is the clip vectors of both sides; in a distributed run they are gathered, so that every
process computes the distance of all clips. Needs ``pip install "otadtk[torchmetrics]"``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.encoders import Encoder, get_encoder
from otadtk.errors import AudioError, UsageError
from otadtk.metrics import FAD, KAD, OTAD, AudioMetric

try:
    from torchmetrics import Metric
    from torchmetrics.utilities import dim_zero_cat
except ImportError as error:
    raise UsageError(
        'otadtk.torchmetrics needs torchmetrics: pip install "otadtk[torchmetrics]".'
    ) from error

FloatArray = NDArray[np.float32]

__all__ = [
    "FrechetAudioDistance",
    "KernelAudioDistance",
    "OptimalTransportAudioDistance",
]


class _AudioDistance(Metric):  # type: ignore[misc, unused-ignore]
    """A distance of real and generated waveforms; ``reset_real=False`` keeps the real ones."""

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
        # not a submodule: the network has no part in the state, nor in what is moved or saved
        encoder = model if isinstance(model, Encoder) else get_encoder(model, device)
        self._hidden = {"encoder": encoder}
        name = encoder.spec.name
        self._distance = self._metric_class(name, device=device, **(metric_options or {}))
        if self._distance.spec.fingerprint != encoder.spec.fingerprint:
            raise UsageError(f"This variant takes other features than those of {name!r}.")
        self._sample_rate, self._reset_real = sample_rate, reset_real
        for side in ("real", "generated"):
            self.add_state(side, default=[], dist_reduce_fx="cat")

    def update(self, waveforms: Tensor, *, real: bool) -> None:
        """Embed waveforms ``(samples,)``, ``(clips, samples)`` or ``(clips, channels, samples)``."""
        clips = waveforms.detach().cpu().float()
        clips = clips[None] if clips.ndim == 1 else clips
        if clips.ndim not in (2, 3) or clips.shape[-1] == 0:
            raise UsageError(f"waveforms must be (clips, samples), not {tuple(waveforms.shape)}.")
        if not bool(torch.isfinite(clips).all()):
            raise AudioError("The waveforms contain NaN or infinite samples.")
        encoder = self._hidden["encoder"]
        vectors = [torch.from_numpy(encoder.encode(clip, self._sample_rate)) for clip in clips]
        side = self.real if real else self.generated
        side.extend(vector[None].to(self.device) for vector in vectors)

    def compute(self) -> Tensor:
        """The distance of all that was given since the last reset, on every process."""
        try:
            return torch.tensor(self._distance.distance(*self._sides()))
        except BaseException:
            if self._is_synced:  # torchmetrics would keep the gathered states, which take no update
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
        """Gather the clips of all processes; one that has none of a side joins in with none."""
        for side in (self.real, self.generated):
            if len(side) == 0:  # torchmetrics would send a vector where the others send matrices
                side.append(torch.empty(0, self._distance.spec.dim, device=self.device))
        super().sync(*arguments, **options)

    def reset(self) -> None:
        """Forget all waveforms, or with ``reset_real=False`` the generated ones."""
        kept = list(self.real)
        super().reset()
        if not self._reset_real:
            self.real = kept


class OptimalTransportAudioDistance(_AudioDistance):
    """OTAD; ``metric_options`` are those of ``otadtk.OTAD``: variant, epsilon and so on."""

    _metric_class = OTAD


class FrechetAudioDistance(_AudioDistance):
    """FAD; it needs two clips a side at least."""

    _metric_class = FAD


class KernelAudioDistance(_AudioDistance):
    """KAD; ``metric_options`` may have a ``bandwidth``."""

    _metric_class = KAD
