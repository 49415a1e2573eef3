"""What every metric shares: from a place to embeddings, and the distance that a subclass defines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypedDict, final

import numpy as np
from numpy.typing import NDArray

from otadtk.device import resolve_device
from otadtk.diagnosis import OTADDiagnostics
from otadtk.distances.kernel import KernelDistance
from otadtk.distances.subsets import SubsetDistance
from otadtk.embed import EmbeddingSet, LazyEncoder, OnError
from otadtk.encoders import Encoder, EncoderSpec, get_spec
from otadtk.encoders.frames import FRAMES, with_frames
from otadtk.encoders.given import GIVEN
from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.sources import load_set
from otadtk.store import EmbeddingStore, Kind

if TYPE_CHECKING:
    from typing_extensions import Unpack

PathLike = str | Path
Array = NDArray[np.floating]


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

    def measure(
        self, reference: EmbeddingSet, evaluated: EmbeddingSet, *, name: str = ""
    ) -> Measurement:
        """The distance of two embedded sets, with what this metric knows beside it.

        ``name`` is that of the evaluated set in the log, where there are several.
        """
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


def refuse_moments(metric: str, *sides: EmbeddingSet) -> None:
    """A UsageError for a set of which only mean and covariance are known."""
    for side in sides:
        if side.moments_only:
            raise UsageError(f"{metric} needs embeddings, not a {side.note}: that is for FAD.")


def require_two(metric: str, ref: Array, test: Array) -> None:
    """A UsageError for a side of a single clip."""
    for name, side in (("reference", ref), ("evaluated", test)):
        if len(side) == 1:
            raise UsageError(f"{metric} needs at least 2 clips a side; the {name} set has 1.")
