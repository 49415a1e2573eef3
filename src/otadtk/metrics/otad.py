"""OTAD: the Optimal Transport Audio Distance, and the cost of every clip."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
import torch

from otadtk.adapter import VARIANTS, default_variant
from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import adapter_for, read_adapter
from otadtk.adapter.network import Adapter
from otadtk.adapter.published import COMPAT
from otadtk.adapter.volume import VolumeSummary, volume_summary
from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.distances.result import Coupling, Divergence, DivergenceKind, EpsilonScale
from otadtk.distances.subsets import SubsetDistance, transport_between
from otadtk.distances.transport import CouplingName, TransportResult, TransportSettings
from otadtk.embed import EmbeddingSet
from otadtk.encoders import explain_compat, get_spec
from otadtk.encoders.frames import FRAMES
from otadtk.errors import UsageError
from otadtk.metrics.base import (
    Array,
    AudioMetric,
    EmbeddingOptions,
    Measurement,
    PathLike,
    refuse_moments,
)
from otadtk.metrics.solve import adapted, solve

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class IndividualResult:
    """One evaluated clip and its transport cost."""

    file: Path
    cj: float


@final
class OTAD(AudioMetric):
    """The Optimal Transport Audio Distance (Eq. 6) and the cost of each clip (Eq. 7).

    ``variant`` chooses the ground metric: "raw" embeddings, or the "agnostic", "native" or
    "artifact" adapter of the encoder. Without it: agnostic where that adapter is known and has
    earned its place, otherwise raw; ``variant`` then says which. ``card`` says what the adapter is.

    ``epsilon`` is absolute, or with ``epsilon_scale`` a multiple of the mean or median cost; the
    other choices of the solver are those of ``TransportSettings``.

    ``compat="otadtk-0.1.2"`` reproduces what that package computes: its arithmetic, its adapters,
    and the networks that it really runs under the names "audiomae" and "beats".
    """

    name = "OTAD"

    def __init__(
        self,
        model: str = "yamnet",
        *,
        variant: str | None = None,
        epsilon: float = 0.1,
        epsilon_scale: EpsilonScale = "absolute",
        divergence: DivergenceKind = "sharp",
        coupling: CouplingName = "sinkhorn",
        max_memory: int | None = None,
        seed: int = 0,
        adapter: Adapter | None = None,
        adapter_checkpoint: PathLike | None = None,
        compat: str | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> None:
        if options.get("frames") is not None:
            raise UsageError("OTAD compares clips: frames (--frames) belong to FAD and KAD.")
        if options.get("import_cache") in FRAMES:
            raise UsageError(
                f"OTAD compares clips: the cache of {options['import_cache']} holds frames, which "
                f"are for FAD and KAD."
            )
        if compat not in (None, COMPAT):
            raise UsageError(f"compat must be {COMPAT!r}, not {compat!r}.")
        meant = explain_compat(model, compat)
        super().__init__(get_spec(model, compat).name if meant else model, **options)
        if meant is not None:
            logger.warning("%s", meant)
        self.settings = TransportSettings(
            epsilon, epsilon_scale, divergence, coupling, max_memory, compat, seed
        )
        if variant is not None and variant not in VARIANTS:
            raise UsageError(f"Unknown variant {variant!r}; choose from {', '.join(VARIANTS)}.")
        self.adapter = adapter
        self.card: AdapterCard | None = None
        self._solved: dict[str, Coupling] = {}
        if adapter is not None:
            self.variant = variant or "custom"
            return
        if adapter_checkpoint is not None:
            if variant == "raw":
                raise UsageError("The raw variant uses no adapter, but a checkpoint is given.")
            loaded = read_adapter(Path(adapter_checkpoint), self.spec)
            self.variant = variant or loaded.card.variant
        else:
            usual = default_variant(model if compat else self.model_name, compat=compat)
            self.variant = variant or usual
            named = model if compat else None
            found = adapter_for(self.spec, self.variant, compat=compat, named=named)
            if found is None:
                return
            loaded = found
        self.adapter, self.card = loaded.network, loaded.card
        if loaded.spec is not self.spec:
            self._take_features_of(loaded.spec)

    @property
    def label(self) -> str:
        """The name, and which approximation or whose arithmetic it is, if it is one."""
        apart = self.settings.apart
        return self.name if apart is None else f"{self.name} ({apart})"

    def points(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[Array, Array]:
        """The clip vectors of both sets."""
        refuse_moments(self.name, reference, evaluated)
        for side in (reference, evaluated):
            if side.frames is not None:
                raise UsageError(f"OTAD compares clips, not {side.note}: that is for FAD and KAD.")
        return super().points(reference, evaluated)

    def distance(self, ref: Array, test: Array) -> float:
        """The debiased transport cost between two sets of embeddings."""
        return self.transport(ref, test).value

    def transport(self, ref: Array, test: Array, *, name: str = "") -> TransportResult:
        """The full result of the solver; the reference's own term is solved once in a row."""
        settings = self.settings
        key = hashlib.sha256(np.ascontiguousarray(ref).data).hexdigest()
        known = self._solved if settings.epsilon_scale == "absolute" and not settings.compat else {}
        result = solve(
            *(ref, test, self.adapter, settings, self.device, known.get(key), self.engine, name)
        )
        if isinstance(result, Divergence):
            self._solved = {key: result.xx}
        return result

    def between(self, pool: Array) -> SubsetDistance:
        """The transport cost between subsets of a pool, each solved to a gap of 1e-4."""
        (points,) = adapted([pool], self.adapter, self.device)
        return transport_between(points, self.settings)

    def measure(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet, *, name: str = ""
    ) -> Measurement:
        """The score with the diagnostics of every clip."""
        diagnostics = self.diagnose_embedded(reference, evaluated, name=name)
        return Measurement(diagnostics.score, diagnostics)

    def volume(self, embeddings: Array) -> VolumeSummary | None:
        """How the adapter changes volumes around these embeddings; ``None`` without an adapter."""
        if self.adapter is None:
            return None
        return volume_summary(self.adapter, torch.as_tensor(embeddings))

    def diagnose(
        self, ref: PathLike, eval: PathLike, *, workers: int | None = None
    ) -> OTADDiagnostics:
        """The score and the transport cost of every evaluated clip."""
        reference = self.embed(ref, workers=workers)
        return self.diagnose_embedded(reference, self.embed(eval, workers=workers))

    def diagnose_embedded(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet, *, name: str = ""
    ) -> OTADDiagnostics:
        """The same for sets that are embedded already."""
        result = self.transport(*self.points(reference, evaluated), name=name)
        minimum = self.spec.minimum_samples / self.spec.sample_rate
        return OTADDiagnostics(
            score=result.value,
            cj=result.cj,
            files=list(evaluated.files),
            model_name=self.model_name,
            variant=self.variant,
            epsilon=self.settings.epsilon,
            flags=evaluated.flags(minimum),
            transport=result,
            volume=self.volume(evaluated.vectors),
            reference_files=list(reference.files),
            evidence=Evidence(
                *(reference, evaluated, self._encoder, self._store),
                *(self.settings, self.adapter, self.card),
            ),
        )

    def score_individual(
        self,
        ref: PathLike,
        eval: PathLike,
        *,
        csv: PathLike | None = None,
        workers: int | None = None,
    ) -> list[IndividualResult]:
        """Every evaluated clip with its cost, best first; also written to ``csv`` if given."""
        diagnostics = self.diagnose(ref, eval, workers=workers)
        if csv is not None:
            diagnostics.to_csv(csv, ascending=True)
        ordered = diagnostics.top_k(len(diagnostics.files), ascending=True)
        return [IndividualResult(file, cost) for file, cost in ordered]
