"""Every metric as a torchmetrics class, for training loops: ``update``, ``compute``, ``reset``.

    from otadtk.torchmetrics import OptimalTransportAudioDistance

    distance = OptimalTransportAudioDistance("yamnet", sample_rate=16_000, reference="real/")
    distance.update(generated)                       # (clips, samples)
    print(distance.compute())

The reference is a folder, a list of files, a pack or a set of embeddings, which is embedded once; or
it is given as waveforms, ``update(real_waveforms, real=True)``. The state is the clip vectors. In a
distributed run they are gathered, so that every process computes the distance between all clips.
Clips of one ``update`` go through the network together, on the device of the module, and metrics
with the same features share one network. Needs ``pip install "otadtk-audio[torchmetrics]"``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.embed import EmbeddingSet, LazyEncoder, Source
from otadtk.embed.lazy import shared_encoder
from otadtk.encoders import Encoder, get_spec
from otadtk.errors import AudioError, UsageError
from otadtk.metrics import AudioMetric
from otadtk.metrics.registry import all_metrics, get_metric

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


_OF_TORCHMETRICS = frozenset(
    {
        "compute_on_cpu",
        "compute_with_cache",
        "dist_sync_fn",
        "dist_sync_on_step",
        "distributed_available_fn",
        "process_group",
        "sync_on_compute",
    }
)
"""Options of ``torchmetrics.Metric``; all others are those of the metric."""


class AudioDistance(Metric):  # type: ignore[misc, unused-ignore]
    """A distance between real and generated waveforms.

    ``model`` is an encoder's name or a loaded encoder. ``reference`` is what ``OTAD.score`` takes as
    reference, or an ``EmbeddingSet``. Without it the real waveforms come by ``update(…, real=True)``,
    and ``reset_real=False`` keeps them over a ``reset``. ``device`` is that of the encoder; by
    default it moves with the module. All further options are those of the metric's class, as
    ``variant`` and ``epsilon``, or of ``torchmetrics.Metric``.
    """

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
        reference: Source | EmbeddingSet | None = None,
        reset_real: bool = True,
        device: str | None = None,
        metric_options: dict[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**{k: v for k, v in options.items() if k in _OF_TORCHMETRICS})
        if sample_rate < 1:
            raise UsageError(f"sample_rate must be above 0, not {sample_rate}.")
        own = {k: v for k, v in options.items() if k not in _OF_TORCHMETRICS}
        self._distance = _make_metric(self._metric_class, model, {**(metric_options or {}), **own})
        loaded = model if isinstance(model, Encoder) else None
        self._loaded = loaded if loaded is not None and self._is_of(loaded) else None
        self._sample_rate, self._reset_real, self._pinned = sample_rate, reset_real, device
        for side in ("real", "generated"):
            self.add_state(side, default=[], dist_reduce_fx="cat")
        self._reference = None if reference is None else self._embedded(reference)

    def _is_of(self, encoder: Encoder) -> bool:
        """Whether the encoder has the features of the variant."""
        return encoder.spec.fingerprint == self._distance.spec.fingerprint

    def _encoder(self) -> LazyEncoder:
        """The encoder on the device of this module, or on that which was asked for."""
        device = self._pinned or str(self.device)
        if self._loaded is not None:
            return LazyEncoder(self._distance.spec, device, loaded=self._loaded)
        return shared_encoder(self._distance.spec, device)

    def _embedded(self, reference: Source | EmbeddingSet) -> FloatArray:
        """What the metric compares of the reference."""
        if self._distance.reads_texts:
            raise UsageError(
                f"The {self._distance.title} has texts as reference: update(texts, real=True)."
            )
        if not isinstance(reference, EmbeddingSet):
            embedder = replace(self._distance.embedder, encoder=self._encoder())
            reference = embedder.load(reference)
        if reference.moments_only:
            raise UsageError(f"The reference needs clips, not a {reference.note}.")
        points: FloatArray = self._distance.points(reference, reference)[0]
        if points.shape[1] != self._distance.width:
            raise UsageError(
                f"The reference has vectors of {points.shape[1]} numbers, and the features of "
                f"{self._distance.spec.name!r} have {self._distance.width}: pack it for this metric."
            )
        return points

    def update(self, waveforms: Tensor | Sequence[str], *, real: bool = False) -> None:
        """Embed waveforms ``(samples,)``, ``(clips, samples)`` or ``(clips, channels, samples)``.

        A metric that compares clips with texts, as the CLAP score, takes these as the real side.
        """
        if real and self._reference is not None:
            raise UsageError("This metric has its reference: update it with generated clips only.")
        if self._distance.reads_texts and real:
            self._add_texts(waveforms)
            return
        if not isinstance(waveforms, Tensor):
            raise UsageError(f"waveforms must be a tensor, not {type(waveforms).__name__}.")
        clips = waveforms.detach().cpu().float()
        clips = clips[None] if clips.ndim == 1 else clips
        if clips.ndim not in (2, 3) or clips.shape[-1] == 0:
            raise UsageError(f"waveforms must be (clips, samples), not {tuple(waveforms.shape)}.")
        if not bool(torch.isfinite(clips).all()):
            raise AudioError("The waveforms contain NaN or infinite samples.")
        if len(clips) == 0:
            return
        vectors = self._distance.encode_clips(self._encoder().get(), list(clips), self._sample_rate)
        side = self.real if real else self.generated
        side.append(torch.from_numpy(vectors).to(self.device))

    def _add_texts(self, texts: Tensor | Sequence[str]) -> None:
        if isinstance(texts, (Tensor, str)) or not all(isinstance(text, str) for text in texts):
            raise UsageError(f"The {self._distance.title} takes a list of texts with real=True.")
        vectors = torch.from_numpy(self._distance.encode_texts(texts)).to(self.device)
        self.real.extend(vector[None] for vector in vectors)

    def compute(self) -> Tensor:
        """The distance between all waveforms since the last reset, on every process."""
        self._distance.device = str(self.device)
        try:
            return torch.tensor(self._distance.distance(*self._sides()))
        except BaseException:
            if self._is_synced:  # else torchmetrics keeps the gathered state, and refuses updates
                self.unsync()
            raise

    def _sides(self) -> list[FloatArray]:
        sides = [] if self._reference is None else [self._reference]
        states = {"real": self.real, "generated": self.generated}
        for name in states if self._reference is None else ["generated"]:
            state = states[name]
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


def _make_metric(
    cls: type[AudioMetric], model: str | Encoder, options: dict[str, Any]
) -> AudioMetric:
    """The metric; a loaded encoder stands for its name, since a variant may need further features."""
    if not isinstance(model, Encoder):
        return cls(model, **options)
    name = model.spec.name
    try:
        known = get_spec(name).fingerprint == model.spec.fingerprint
    except UsageError:
        known = False
    return cls(name, **options) if known else cls(name, encoder=model, **options)


def metric_class(name: str) -> type[AudioDistance]:
    """The torchmetrics class of a registered metric, by the metric's name."""
    metric = get_metric(name)
    attributes = {
        "__doc__": f"{metric.title} ({metric.name}); further options are those of its class.",
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
