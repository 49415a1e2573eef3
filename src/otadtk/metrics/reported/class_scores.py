"""What KL and the Inception Score share: they compare class scores, not embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from otadtk.encoders import get_spec
from otadtk.encoders.networks import BUILT_IN
from otadtk.encoders.precomputed import GIVEN
from otadtk.errors import UsageError
from otadtk.metrics.base import AudioMetric

if TYPE_CHECKING:
    from torch import Tensor

    from otadtk.embed import EmbeddingSet
    from otadtk.encoders import Encoder, EncoderSpec
    from otadtk.metrics.base import Array


class ClassScoreMetric(AudioMetric):
    """A metric of the logits of an encoder with a classifier."""

    accepts = frozenset({"class_scores"})
    has_floor = False

    def points_of(self, side: EmbeddingSet) -> Array:
        """The logits of the clips."""
        if side.class_scores is None:
            raise UsageError(
                f"{self.name} compares class scores, and {side.note or 'this set'} has none: give "
                f"audio."
            )
        return side.class_scores

    def encode_clips(
        self, encoder: Encoder, waveforms: Sequence[Tensor], sample_rate: int
    ) -> Array:
        """The logits of each waveform."""
        return encoder.classify_batch(waveforms, sample_rate)

    @property
    def width(self) -> int:
        """The number of classes."""
        return self.spec.classes

    def _find_spec(self, model: str) -> EncoderSpec:
        spec = get_spec(model)
        check_classifier(self.name, spec)
        return spec

    def _check_variant(self) -> None:
        if self.ground.variant != "raw":
            raise UsageError(
                f"{self.name} compares class scores, which no adapter changes; use the variant raw."
            )


def check_classifier(metric: str, spec: EncoderSpec) -> None:
    """A UsageError for an encoder without a classifier."""
    if spec.classes > 0 and spec.inner is None:
        return
    if spec is GIVEN:
        raise UsageError(f"{metric} compares class scores: it needs audio, not embeddings.")
    known = ", ".join(name for name, other in BUILT_IN.items() if other.classes > 0)
    raise UsageError(
        f"{metric} needs an encoder with a classifier, and {spec.name!r} has none: choose from "
        f"{known}."
    )
