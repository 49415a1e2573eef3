"""OTAD, FAD and KAD: encoder, adapter and distance behind one interface, on folders or arrays."""

from __future__ import annotations

import hashlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypedDict, final, overload

import numpy as np
import torch
from numpy.typing import NDArray
from tqdm import tqdm

from otadtk.adapter import VARIANTS, default_variant
from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import adapter_for, read_adapter
from otadtk.adapter.network import Adapter
from otadtk.adapter.published import COMPAT
from otadtk.adapter.volume import VolumeSummary, volume_summary
from otadtk.device import resolve_device
from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import BandwidthRule, KernelDistance, KernelName, kernel_distance
from otadtk.distances.regime import forecast
from otadtk.distances.result import Coupling, Divergence, DivergenceKind, EpsilonScale
from otadtk.distances.shards import frechet_distance_over
from otadtk.distances.subsets import (
    SubsetDistance,
    frechet_between,
    kernel_between,
    transport_between,
)
from otadtk.distances.tiles import kernel_distance_over
from otadtk.distances.transport import (
    CouplingName,
    TransportResult,
    TransportSettings,
    transport,
)
from otadtk.embed import EmbeddingSet, LazyEncoder, OnError
from otadtk.encoders import Encoder, EncoderSpec, explain_compat, get_spec
from otadtk.encoders.frames import FRAMES, with_frames
from otadtk.encoders.given import GIVEN
from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.sources import load_set
from otadtk.store import EmbeddingStore, Kind

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)

_LONG_PAIRS = 25_000_000
"""Pairs from which on a forecast is worth a line: 5,000 clips a side."""
_BAR_DELAY = 2.0
"""Seconds after which a transport that is still running shows a progress bar."""

PathLike = str | Path
Array = NDArray[np.floating]


@overload
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = 0.1,
    return_sample_costs: Literal[False] = False,
    device: str | None = None,
) -> float: ...
@overload
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = 0.1,
    return_sample_costs: Literal[True],
    device: str | None = None,
) -> tuple[float, NDArray[np.float64]]: ...
def compute_otad(
    embeddings_ref: Array,
    embeddings_test: Array,
    *,
    adapter: Adapter | None = None,
    epsilon: float = 0.1,
    return_sample_costs: bool = False,
    device: str | None = None,
) -> float | tuple[float, NDArray[np.float64]]:
    """The OTAD of two sets of embeddings, and with ``return_sample_costs`` the costs c_j too.

    >>> import numpy as np
    >>> from otadtk import compute_otad
    >>> x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    >>> round(compute_otad(x, x + 1.0), 4)
    4.0
    """
    settings = TransportSettings(epsilon=epsilon)
    divergence = _transport(embeddings_ref, embeddings_test, adapter, settings, device)
    if return_sample_costs:
        return divergence.value, divergence.cj
    return divergence.value


def compute_fad(embeddings_ref: Array, embeddings_test: Array) -> float:
    """The Fréchet Audio Distance of two sets of embeddings."""
    _require_two("FAD", embeddings_ref, embeddings_test)
    return frechet_distance(embeddings_ref, embeddings_test)


def compute_kad(
    embeddings_ref: Array,
    embeddings_test: Array,
    bandwidth: float | BandwidthRule | None = None,
    kernel: KernelName = "gaussian",
    scale: bool = True,
) -> float:
    """The Kernel Audio Distance of two sets of embeddings, as kadtk defines it.

    ``bandwidth`` is a number, or whose median distance to take: "eval" (default), "ref", "pooled".
    """
    _require_two("KAD", embeddings_ref, embeddings_test)
    rule = "eval" if bandwidth is None else bandwidth
    distance = kernel_distance(
        embeddings_ref, embeddings_test, bandwidth=rule, kernel=kernel, scale=scale
    )
    return distance.value


def _require_two(metric: str, ref: Array, test: Array) -> None:
    for name, side in (("reference", ref), ("evaluated", test)):
        if len(side) == 1:
            raise UsageError(f"{metric} needs at least 2 clips a side; the {name} set has 1.")


def _adapted(
    sides: Sequence[Array], adapter: Adapter | None, device: str | None
) -> list[torch.Tensor]:
    """The sets as the ground metric sees them, on the device."""
    place = resolve_device(device)
    points = [torch.as_tensor(side).to(place) for side in sides]
    if adapter is None:
        return points
    adapter = adapter.to(place).eval()
    dimension = points[0].shape[-1]
    if dimension != adapter.input_dim:
        raise UsageError(
            f"The adapter is for d = {adapter.input_dim}, the embeddings have {dimension}."
        )
    with torch.inference_mode():
        return [adapter(side.float()) for side in points]


def _transport(
    ref: Array,
    test: Array,
    adapter: Adapter | None,
    settings: TransportSettings,
    device: str | None,
    reference_term: Coupling | None = None,
    engine: Engine | None = None,
) -> TransportResult:
    """Adapter and divergence; what a reader of the number should know is logged as a warning."""
    x, y = _adapted([ref, test], adapter, device)
    if settings.coupling == "sinkhorn" and x.ndim == 2 and len(x) * len(y) >= _LONG_PAIRS:
        expected = forecast(len(x), len(y), x.shape[1], max_memory=settings.max_memory)
        how, seconds = "in tiles" if expected.streaming else "in memory", expected.seconds
        if engine is not None and expected.streaming:
            how = f"in tiles on {engine.workers} workers"
            seconds *= torch.get_num_threads() / engine.workers
        logger.info(
            "coupling %d and %d clips %s: about %.0f s and %.1f GB",
            *(len(x), len(y), how, seconds, expected.bytes / 1e9),
        )
    with tqdm(desc="transport", unit=" iterations", delay=_BAR_DELAY, disable=None) as bar:

        def progress(term: str, iteration: int, error: float) -> None:
            bar.set_description(f"transport {term}, marginal error {error:.0e}", refresh=False)
            bar.update()

        result = transport(x, y, settings, progress, reference_term, engine)
    for note in result.notes:
        logger.warning("%s", note)
    return result


class EmbeddingOptions(TypedDict, total=False):
    """How audio becomes embeddings; the same for every metric."""

    device: str | None
    """"cpu", "cuda", …; by default CUDA where there is one."""
    encoder: Encoder | None
    """A loaded encoder, instead of ``model``."""
    weights: PathLike | None
    """One's own copy of the encoder's published weights."""
    cache_dir: PathLike | None
    """Where the embedding store lies."""
    recursive: bool
    """Whether subfolders count (they do)."""
    on_error: OnError
    """"fail" on bad audio (default) or "skip" it."""
    force_recompute: bool
    """Embed again what the store has."""
    frames: str | None
    """Compare frames (FAD, KAD): "own" of the encoder, or as "kadtk" or "fadtk" has them."""
    engine: Engine | None
    """Where the work is done (default: on threads of this process); the caller closes it."""
    import_cache: str | None
    """Read what "kadtk", "fadtk" or "otadtk-0.1.2" cached beside the audio."""


@dataclass(frozen=True)
class Measurement:
    """A score, and what else its metric found on the way."""

    score: float
    diagnostics: OTADDiagnostics | None = None
    """OTAD's costs of single clips."""
    kernel: KernelDistance | None = None
    """KAD's bandwidth."""


class AudioMetric(ABC):
    """A distance between two folders of audio through one encoder. Subclasses say which distance."""

    name: ClassVar[str]
    unbiased: ClassVar[bool] = False
    """Whether the expected score is the same at every number of clips."""

    def __init__(self, model: str = "yamnet", **options: Unpack[EmbeddingOptions]) -> None:
        encoder, cache_dir = options.get("encoder"), options.get("cache_dir")
        self._asked_device = options.get("device")  # an engine's workers choose for themselves
        self.device = str(resolve_device(self._asked_device))
        self.engine = options.get("engine")
        self.spec = encoder.spec if encoder is not None else get_spec(model)
        self.model_name = self.spec.name
        self._import_cache = options.get("import_cache")
        self._frames = _frames_of(options.get("frames"), self._import_cache)
        if self._frames is not None:
            if encoder is not None:
                raise UsageError("Frames need the name of a model, not a loaded encoder.")
            if self.spec is not GIVEN:
                self.spec = with_frames(self.spec, self._frames)
        weights = options.get("weights")
        self._weights = Path(weights) if weights is not None else None
        self._encoder = LazyEncoder(self.spec, self._asked_device, self._weights, encoder)
        self._store = EmbeddingStore(Path(cache_dir) if cache_dir is not None else None)
        self._recursive = options.get("recursive", True)
        self._on_error = options.get("on_error", "fail")
        self._force = options.get("force_recompute", False)
        unknown = options.keys() - EmbeddingOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {sorted(unknown)[0]!r}")

    @property
    def label(self) -> str:
        """The name, as it is printed beside a score."""
        return self.name

    @final
    def _take_features_of(self, spec: EncoderSpec) -> None:
        """Embed with another model from now on, which the adapter asks for."""
        self.spec = spec
        self._encoder = LazyEncoder(spec, self._asked_device, self._weights)

    @abstractmethod
    def distance(self, ref: Array, test: Array) -> float:
        """The distance of two sets of embeddings."""

    @abstractmethod
    def between(self, pool: Array) -> SubsetDistance:
        """The distance between any two subsets of a pool of embeddings, given by their indices.

        Much faster than ``distance`` when it is asked for again and again.
        """

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The distance of two embedded sets, with what this metric knows beside it."""
        return Measurement(self.distance(*self.points(reference, evaluated)))

    def points(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[Array, Array]:
        """What this metric compares of two sets; a UsageError if it cannot."""
        sides = [side for side in (reference, evaluated) if not side.moments_only]
        if len({side.frames is None for side in sides}) > 1:
            raise UsageError("One set has frames and the other clip vectors; take both alike.")
        return reference.points, evaluated.points

    @final
    def embed(self, place: PathLike, *, workers: int | None = None) -> EmbeddingSet:
        """The embeddings of a place: audio (from the store where it has it), arrays, a pack."""
        return load_set(
            place,
            self._encoder,
            self._store,
            frames=self._frames,
            import_cache=self._import_cache,
            recursive=self._recursive,
            workers=workers,
            engine=self.engine,
            force=self._force,
            on_error=self._on_error,
        )

    @final
    def cache_embeddings(self, audio_dir: PathLike, *, workers: int | None = None) -> list[Path]:
        """Embed a folder into the store; gives the store's files in the order of the clips."""
        embedded = self.embed(audio_dir, workers=workers)
        kind: Kind = "clip" if embedded.frames is None else "frames"
        digests = embedded.digests
        return [self._store.path(digest, self.spec.fingerprint, kind) for digest in digests]

    @final
    def score(self, ref: PathLike, eval: PathLike, *, workers: int | None = None) -> float:
        """The distance of the evaluated clips from the reference clips."""
        reference = self.embed(ref, workers=workers)
        evaluated = self.embed(eval, workers=workers)
        return self.distance(*self.points(reference, evaluated))


def _frames_of(frames: str | None, import_cache: str | None) -> str | None:
    """Whose frames are compared: those asked for, or those that a tool's cache holds."""
    if import_cache is None or frames == import_cache:
        return frames
    if frames is not None:
        raise UsageError(
            f"The cache of {import_cache} (--import-cache) holds no frames of {frames!r}: remove "
            f"--frames."
        )
    return import_cache if import_cache in FRAMES else None


def _refuse_moments(metric: str, *sides: EmbeddingSet) -> None:
    for side in sides:
        if side.moments_only:
            raise UsageError(f"{metric} needs embeddings, not a {side.note}: that is for FAD.")


@final
class FAD(AudioMetric):
    """The Fréchet Audio Distance."""

    name = "FAD"

    def distance(self, ref: Array, test: Array) -> float:
        """The Fréchet distance of two sets of embeddings."""
        if self.engine is None:
            return compute_fad(ref, test)
        _require_two(self.name, ref, test)
        return frechet_distance_over(self.engine, ref, test)

    def between(self, pool: Array) -> SubsetDistance:
        """The Fréchet distance between subsets of a pool."""
        return frechet_between(pool)


@final
class KAD(AudioMetric):
    """The Kernel Audio Distance; ``bandwidth`` is a number, "eval" (default), "ref" or "pooled"."""

    name = "KAD"
    unbiased = True

    def __init__(
        self,
        model: str = "yamnet",
        *,
        bandwidth: float | BandwidthRule = "eval",
        **options: Unpack[EmbeddingOptions],
    ) -> None:
        super().__init__(model, **options)
        self.bandwidth = bandwidth

    def distance(self, ref: Array, test: Array) -> float:
        """The kernel distance of two sets of embeddings."""
        return self._kernel_distance(ref, test).value

    def between(self, pool: Array) -> SubsetDistance:
        """The kernel distance between subsets of a pool, each pair with its own median."""
        return kernel_between(pool, self.bandwidth)

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The kernel distance and its bandwidth."""
        result = self._kernel_distance(*self.points(reference, evaluated))
        return Measurement(result.value, kernel=result)

    def points(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[Array, Array]:
        """Clip vectors or frames of both sets, but not moments."""
        _refuse_moments(self.name, reference, evaluated)
        return super().points(reference, evaluated)

    def _kernel_distance(self, ref: Array, test: Array) -> KernelDistance:
        _require_two(self.name, ref, test)
        if self.engine is None:
            result = kernel_distance(ref, test, bandwidth=self.bandwidth)
        else:
            result = kernel_distance_over(self.engine, ref, test, bandwidth=self.bandwidth)
        logger.info("KAD bandwidth %.6g (%s)", result.bandwidth, result.bandwidth_rule)
        return result


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
        _refuse_moments(self.name, reference, evaluated)
        for side in (reference, evaluated):
            if side.frames is not None:
                raise UsageError(f"OTAD compares clips, not {side.note}: that is for FAD and KAD.")
        return super().points(reference, evaluated)

    def distance(self, ref: Array, test: Array) -> float:
        """The debiased transport cost between two sets of embeddings."""
        return self.transport(ref, test).value

    def transport(self, ref: Array, test: Array) -> TransportResult:
        """The full result of the solver; the reference's own term is solved once in a row."""
        settings = self.settings
        key = hashlib.sha256(np.ascontiguousarray(ref).data).hexdigest()
        known = self._solved if settings.epsilon_scale == "absolute" and not settings.compat else {}
        result = _transport(
            *(ref, test, self.adapter, settings, self.device, known.get(key), self.engine)
        )
        if isinstance(result, Divergence):
            self._solved = {key: result.xx}
        return result

    def between(self, pool: Array) -> SubsetDistance:
        """The transport cost between subsets of a pool, each solved to a gap of 1e-4."""
        (points,) = _adapted([pool], self.adapter, self.device)
        return transport_between(points, self.settings)

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        """The score with the diagnostics of every clip."""
        diagnostics = self.diagnose_embedded(reference, evaluated)
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
        self, reference: EmbeddingSet, evaluated: EmbeddingSet
    ) -> OTADDiagnostics:
        """The same for sets that are embedded already."""
        result = self.transport(*self.points(reference, evaluated))
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
