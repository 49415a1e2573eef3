"""The ground metric: the space in which clips are compared, an encoder and on top of it an adapter.

OTAD, FAD and KAD share it. Distances are squared Euclidean ones between the adapted vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.adapter import VARIANTS, WITH_FEATURES, default_variant
from otadtk.device import resolve_device
from otadtk.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor

    from otadtk.adapter.card import AdapterCard
    from otadtk.adapter.network import Adapter
    from otadtk.embed import EmbeddingSet
    from otadtk.encoders import EncoderSpec

    Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class GroundMetric:
    """An encoder's features, the adapter that they go through, and the adapter's card."""

    model: str
    """The encoder, by the name that the user knows."""
    spec: EncoderSpec
    """The features: those of the encoder, or what the adapter asks for beside them."""
    variant: str = "raw"
    adapter: Adapter | None = None
    card: AdapterCard | None = None
    file: Path | None = None
    """The user's file of the adapter; ``None`` for one that comes with otadtk."""

    @property
    def adapter_name(self) -> str:
        """The adapter by its content, and by its file if that is the user's; empty without one."""
        content = self.card.content[:12] if self.card is not None else ""
        return f"{content} of {self.file}" if self.file is not None else content

    @property
    def for_clips(self) -> GroundMetric:
        """The space in which single clips are judged: this one, unless it has another."""
        if self.adapter is None or (other := self.adapter.for_clips()) is self.adapter:
            return self
        return replace(self, adapter=other)

    def adapt(self, sides: Sequence[Array], device: str | None = None) -> list[Tensor]:
        """The vectors of each side in this space, on the device."""
        return adapt(sides, self.adapter, device)

    def adapt_set(self, embedded: EmbeddingSet, device: str | None = None) -> EmbeddingSet:
        """The set with its clip vectors in this space."""
        if self.adapter is None:
            return embedded
        (vectors,) = self.adapt([embedded.vectors], device)
        return replace(embedded, vectors=vectors.cpu().numpy())

    def adapt_vectors(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Clip vectors in this space, computed on the device where the adapter is."""
        if self.adapter is None:
            return vectors
        device = next(self.adapter.parameters()).device
        (adapted,) = self.adapt([vectors], str(device))
        array: NDArray[np.float32] = adapted.cpu().numpy()
        return array

    def adapted_spec(self, dim: int) -> EncoderSpec:
        """The spec of adapted vectors: another name and fingerprint than those of raw ones."""
        if self.adapter is None:
            return self.spec
        content = self.card.content if self.card is not None else ""
        return replace(
            self.spec,
            name=f"{self.model}/{self.variant}",
            summary=f"{self.spec.name} after the {self.variant} adapter",
            dim=dim,
            identity=f"{self.spec.identity}; adapter {content}",
        )


def load_ground_metric(
    spec: EncoderSpec,
    variant: str,
    *,
    adapter: Adapter | None = None,
    checkpoint: str | Path | None = None,
    compat: str | None = None,
    published_name: str | None = None,
) -> GroundMetric:
    """The ground metric of an encoder: "raw", a variant that is known, or an adapter that is given.

    ``checkpoint`` is an adapter file. Under ``compat`` only published adapters count, by the name
    that they are published under.
    """
    from otadtk.adapter.files import adapter_for, read_adapter

    if variant not in (*VARIANTS, ""):
        raise UsageError(f"Unknown variant {variant!r}; choose from {', '.join(VARIANTS)}.")
    if adapter is not None:
        return GroundMetric(spec.name, spec, variant or "custom", adapter)
    if checkpoint is not None:
        if variant == "raw":
            raise UsageError("The raw variant uses no adapter, but a checkpoint is given.")
        loaded = read_adapter(Path(checkpoint), spec)
        variant = variant or loaded.card.variant
    else:
        found = adapter_for(spec, variant, compat=compat, named=published_name)
        if found is None:
            return GroundMetric(spec.name, spec)
        loaded = found
    return GroundMetric(spec.name, loaded.spec, variant, loaded.network, loaded.card, loaded.file)


def spec_to_score(spec: EncoderSpec) -> EncoderSpec:
    """The features that OTAD embeds by default: those of the encoder, or more beside them."""
    variant = default_variant(spec.name)
    return load_ground_metric(spec, variant).spec if variant in WITH_FEATURES else spec


def adapt(sides: Sequence[Array], adapter: Adapter | None, device: str | None) -> list[Tensor]:
    """The vectors of each side after the adapter, or as they are without one, on the device."""
    import torch

    target = resolve_device(device)
    points = [torch.as_tensor(side).to(target) for side in sides]
    if adapter is None:
        return points
    adapter = adapter.to(target).eval()
    dimension = points[0].shape[-1]
    if dimension != adapter.input_dim:
        raise UsageError(
            f"The adapter is for d = {adapter.input_dim}, the embeddings have {dimension}; the "
            "variant 'raw' takes embeddings as they are."
        )
    with torch.inference_mode():
        return [adapter(side.float()) for side in points]
