"""What every metric shares: from a folder to embeddings, and what a metric says of itself.

Importing a metric imports neither torch nor numpy, so that a command can show its options at once:
what is heavy is imported by the functions that need it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast, final

from otadtk.audio.heard import chosen_reading
from otadtk.device import resolve_device
from otadtk.encoders import get_spec
from otadtk.encoders.precomputed import GIVEN
from otadtk.encoders.spec import with_reading
from otadtk.engine import resolve_engine
from otadtk.errors import UsageError
from otadtk.metrics.entry import Measurement, MetricEntry
from otadtk.metrics.ground import GroundMetric, load_ground_metric
from otadtk.metrics.registry import names_that_accept
from otadtk.metrics.shown import Score

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from torch import Tensor
    from typing_extensions import Unpack

    from otadtk.adapter.card import AdapterCard
    from otadtk.adapter.network import Adapter
    from otadtk.audio.inputs.waveforms import Waveforms
    from otadtk.audio.reading import Reading
    from otadtk.distances.subsets import SubsetDistance
    from otadtk.embed import EmbeddingSet, OnError, Source
    from otadtk.encoders import Encoder, EncoderSpec
    from otadtk.engine import Engine

    Array = NDArray[np.floating]
    Clips = Source | Waveforms
    """What ``AudioMetric.embed`` takes."""

PathLike = str | Path


class EmbeddingOptions(TypedDict, total=False):
    """How audio becomes embeddings; the same for every metric."""

    device: str | None
    """"cpu", "cuda", …; by default CUDA where there is one."""
    encoder: Encoder | None
    """A loaded encoder, instead of ``model``."""
    weights: PathLike | None
    """Your own copy of the encoder's published weights."""
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
    reading: Reading | None
    """How files become the signal, if not as otadtk reads them by itself."""
    duration: float | None
    """The seconds that are heard of every clip (default: all)."""
    crop: str
    """Which ones: "start" (default), "centre", or "pad" and "loop" for shorter clips too."""
    normalise: float | str | None
    """The loudness in LUFS that every clip is brought to, or "peak" for a peak at full scale."""
    channels: str
    """"mix" (default), "left", "right", or "each": every channel is a clip."""
    import_cache: str | None
    """Read what "kadtk", "fadtk" or "otadtk-0.1.2" cached beside the audio."""


class MetricOptions(EmbeddingOptions, total=False):
    """What every metric takes beside its own options: how clips are embedded, and in which space."""

    variant: str | None
    """The ground metric: "raw" embeddings, or an adapter of the encoder by its name."""
    adapter: Adapter | None
    """An adapter that is loaded already."""
    adapter_checkpoint: PathLike | None
    """An adapter in a file."""


class AudioMetric(MetricEntry, ABC):
    """A distance or score between two sets of clips in one ground metric.

    A subclass declares what it is by the attributes of ``MetricEntry``, and computes by ``distance``
    and ``between``; everything else has a default.

    ``variant`` chooses the ground metric: "raw" embeddings, or an adapter of the encoder by its
    name. ``adapter`` is one that is loaded already, ``adapter_checkpoint`` one in a file.
    """

    entry: str = ""
    """The name of its result in a protocol."""

    def __init__(
        self,
        model: str = "yamnet",
        *,
        variant: str | None = None,
        adapter: Adapter | None = None,
        adapter_checkpoint: PathLike | None = None,
        **options: Unpack[EmbeddingOptions],
    ) -> None:
        from otadtk.embed import Embedder, EmbedOptions, LazyEncoder
        from otadtk.embed.store import EmbeddingStore

        unknown = options.keys() - EmbeddingOptions.__annotations__.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {sorted(unknown)[0]!r}")
        encoder, cache_dir = options.get("encoder"), options.get("cache_dir")
        requested_device = options.get("device")  # an engine's workers choose for themselves
        self.device = str(resolve_device(requested_device))
        self.engine = resolve_engine(options.get("engine"))
        import_cache = options.get("import_cache")
        frames = self._frames_to_compare(options.get("frames"), import_cache)
        spec = encoder.spec if encoder is not None else self._find_spec(model)
        reading = options.get("reading") or chosen_reading(
            options.get("duration"),
            options.get("crop"),
            options.get("normalise"),
            options.get("channels"),
        )
        plain = spec
        if encoder is None and spec is not GIVEN:
            spec = with_reading(spec, reading)
        elif not reading.usual:
            what = "a loaded encoder" if encoder is not None else "embeddings"
            raise UsageError(f"How clips are read cannot be chosen for {what}.")
        if frames is not None and encoder is not None:
            raise UsageError("Frames need the name of a model, not a loaded encoder.")
        # an adapter was trained on clips as they are
        self.ground = self._find_ground_metric(plain, model, variant, adapter, adapter_checkpoint)
        self.ground = replace(self.ground, spec=with_reading(self.ground.spec, reading))
        if frames is not None and spec is not GIVEN:
            if self.ground.adapter is not None:
                raise UsageError("Adapters take clip vectors, not frames: use the variant 'raw'.")
            spec = _with_frames(spec, frames)
            self.ground = GroundMetric(self.ground.model, spec)
        weights = options.get("weights")
        loaded = encoder if encoder is not None and self.spec is encoder.spec else None
        self.embedder = Embedder(
            LazyEncoder(
                self.spec, requested_device, Path(weights) if weights is not None else None, loaded
            ),
            EmbeddingStore(Path(cache_dir) if cache_dir is not None else None),
            self.engine,
            EmbedOptions(
                recursive=options.get("recursive", True),
                on_error=options.get("on_error", "fail"),
                force=options.get("force_recompute", False),
                frames=frames,
                import_cache=import_cache,
                classes="class_scores" in self.accepts,
            ),
        )

    def __repr__(self) -> str:
        settings = {"variant": self.variant, **self.settings_record}
        shown = ", ".join(
            f"{name}={value!r}" for name, value in settings.items() if value is not None
        )
        return f"{type(self).__name__}({self.model_name!r}, {shown})"

    @property
    def label(self) -> str:
        """The name, as it is printed beside a score."""
        return f"{self.entry} ({self.name} of {self.spec.name})" if self.entry else self.name

    @property
    def settings_record(self) -> dict[str, Any]:
        """What the JSON document says of this metric's settings."""
        return {} if self.ground.variant == "raw" else {"variant": self.ground.variant}

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest score there can be: no interval reaches beyond."""
        return -math.inf, math.inf

    # what it computes

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
        return Measurement(self.compare_sets(reference, evaluated))

    def compare_sets(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> float:
        """The distance of two embedded sets."""
        return self.distance(*self.points(reference, evaluated))

    def between_sets(self, sets: Sequence[EmbeddingSet]) -> SubsetDistance:
        """The distance between subsets of the points of all sets, one set after the other."""
        for other in sets[1:]:
            self.points(sets[0], other)
        if any(side.moments_only for side in sets):
            raise UsageError("Statistics need the clips themselves, not their mean and covariance.")
        import numpy as np

        return self.between(np.concatenate([self.points_of(side) for side in sets]))

    # the ground metric, by the names that users know

    @property
    def spec(self) -> EncoderSpec:
        """The features that are embedded."""
        return self.ground.spec

    @property
    def model_name(self) -> str:
        """The encoder."""
        return self.ground.model

    @property
    def variant(self) -> str:
        """The name of the ground metric."""
        return self.ground.variant

    @property
    def adapter(self) -> Adapter | None:
        """The adapter; ``None`` for the variant "raw"."""
        return self.ground.adapter

    @property
    def card(self) -> AdapterCard | None:
        """What the adapter says of itself."""
        return self.ground.card

    # from places to points

    def points(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> tuple[Array, Array]:
        """What this metric compares of two sets; a UsageError if it cannot."""
        for side in (reference, evaluated):
            self._check_accepted(side)
        clips = [side for side in (reference, evaluated) if not side.moments_only]
        if len({side.frames is None for side in clips}) > 1:
            raise UsageError("One set has frames and the other clip vectors; take both alike.")
        return self.points_of(reference), self.points_of(evaluated)

    def points_of(self, side: EmbeddingSet) -> Array:
        """What this metric compares of one set."""
        return side.points

    def encode_clips(
        self, encoder: Encoder, waveforms: Sequence[Tensor], sample_rate: int
    ) -> Array:
        """What this metric compares of each waveform ``(clips, width)``."""
        return encoder.encode_batch(waveforms, sample_rate)

    def encode_texts(self, texts: Sequence[str]) -> Array:
        """What a metric that ``reads_texts`` compares of each text ``(texts, width)``."""
        raise UsageError(f"{self.name} compares no texts.")

    @property
    def width(self) -> int:
        """How many numbers it compares of each clip."""
        return self.spec.dim

    @final
    def embed(
        self,
        place: Clips,
        *,
        sample_rate: int | None = None,
        workers: int | None = None,
    ) -> EmbeddingSet:
        """The embeddings of a place: audio (from the store where it has it), arrays, a pack.

        A place is a folder, a file, a glob, a list ``@files.txt``, a manifest, a shard, or a list of
        files. With ``sample_rate`` it is waveforms: a list or array of ``(samples,)`` or
        ``(channels, samples)``.
        """
        if sample_rate is not None:
            from otadtk.audio.inputs.waveforms import waveform_clips

            place = waveform_clips(cast("Waveforms", place), sample_rate)
        embedder = replace(self.embedder, engine=resolve_engine(self.engine, workers))
        return embedder.load(cast("Source", place))

    @final
    def cache_embeddings(self, audio_dir: Source, *, workers: int | None = None) -> list[Path]:
        """Embed a folder into the store; gives the store's files in the order of the clips."""
        embedded = self.embed(audio_dir, workers=workers)
        store, kind = self.embedder.store, self.embedder.options.kind
        fingerprint = self.spec.fingerprint
        return [store.path(digest, fingerprint, kind) for digest in embedded.digests]

    @final
    def score(
        self,
        ref: Clips,
        eval: Clips,
        *,
        sample_rate: int | None = None,
        workers: int | None = None,
    ) -> Score:
        """The distance of the evaluated clips from the reference clips; ``embed`` says what these are.

        Raises:
            UsageError: A folder without clips, or too few of them.
            AudioError: Files that cannot be scored; the message names all of them.
            WeightsError: The weights of the encoder are missing or damaged.

        Examples:
            >>> from otadtk import OTAD
            >>> OTAD("logmel").score("real/", "generated/*.wav") > 0
            True
        """
        reference = self.embed(ref, sample_rate=sample_rate, workers=workers)
        evaluated = self.embed(eval, sample_rate=sample_rate, workers=workers)
        return Score(
            self.compare_sets(reference, evaluated),
            metric=self.label,
            model=self.model_name,
            variant=self.variant,
            reference_clips=len(reference.files),
            evaluated_clips=len(evaluated.files),
            higher_is_better=self.higher_is_better,
        )

    def _adapted(self, *sides: Array) -> list[Array | Tensor]:
        """The vectors in the ground metric; without an adapter as they are."""
        if self.adapter is None:
            return list(sides)
        return list(self.ground.adapt(sides, self.device))

    def _find_spec(self, model: str) -> EncoderSpec:
        return get_spec(model)

    def _find_ground_metric(
        self,
        spec: EncoderSpec,
        model: str,
        variant: str | None,
        adapter: Adapter | None,
        checkpoint: PathLike | None,
    ) -> GroundMetric:
        """By default the raw embeddings."""
        given = adapter is not None or checkpoint is not None
        chosen = variant or ("" if given else "raw")
        return load_ground_metric(spec, chosen, adapter=adapter, checkpoint=checkpoint)

    def _frames_to_compare(self, frames: str | None, cache: str | None) -> str | None:
        """Whose frames are compared: those asked for, or those that a tool's cache holds."""
        from otadtk.encoders.frames import FRAMES

        if cache is not None and frames not in (None, cache):
            raise UsageError(
                f"The cache of {cache} (--import-cache) holds no frames of {frames!r}: remove "
                f"--frames."
            )
        whose = cache if cache in FRAMES else frames
        if whose is not None and "frames" not in self.accepts:
            held = (
                "frames (--frames) belong to"
                if frames is not None
                else f"the cache of {cache} holds frames, which are for"
            )
            raise UsageError(f"{self.name} compares clips: {held} {names_that_accept('frames')}.")
        return whose

    def _check_accepted(self, side: EmbeddingSet) -> None:
        if side.moments_only and "moments" not in self.accepts:
            raise UsageError(
                f"{self.name} needs embeddings, not a {side.note}: that is for "
                f"{names_that_accept('moments')}."
            )
        if side.moments_only and self.adapter is not None:
            raise UsageError(f"An adapter needs embeddings, not a {side.note}.")
        if side.frames is not None and "frames" not in self.accepts:
            raise UsageError(
                f"{self.name} compares clips, not {side.note}: that is for "
                f"{names_that_accept('frames')}."
            )

    def _check_counts(self, ref: Array, test: Array) -> None:
        check_counts(self.name, self.least_clips, ref, test)


def check_counts(metric: str, least: int, ref: Array, test: Array) -> None:
    """A UsageError for a side of too few clips."""
    for name, side in (("reference", ref), ("evaluated", test)):
        if 0 < len(side) < least:
            raise UsageError(
                f"{metric} needs at least {least} clips a side; the {name} set has {len(side)}."
            )


def _with_frames(spec: EncoderSpec, frames: str) -> EncoderSpec:
    from otadtk.encoders.frames import with_frames

    return with_frames(spec, frames)
