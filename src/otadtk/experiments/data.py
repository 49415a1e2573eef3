"""The clips of an experiment as points: clean or degraded, raw or in an adapter's space."""

from __future__ import annotations

import csv
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.adapter import known_variants
from otadtk.adapter.files import LoadedAdapter, adapter_for
from otadtk.embed import Embedder, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import EncoderSpec, get_spec
from otadtk.engine import Engine
from otadtk.errors import UsageError
from otadtk.training.datasets import LabelledClip, read_dataset
from otadtk.training.spoil import CLEAN
from otadtk.training.versions import Version, VersionSet, embed_versions

FOLDS = 5
Points = NDArray[np.float32]
Plan = tuple[Version, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """Versions of clips as points in the space of one ground metric."""

    points: Points
    versions: VersionSet
    for_clips: Points
    """The points by which single clips are judged."""

    def clean(self) -> Points:
        """The points of the clean clips, in the order of the dataset."""
        return self.points[self.versions.rows(CLEAN)]

    def degraded(self, clips: NDArray[np.int64], kind: str, strength: float) -> Points:
        """The points of these clips with a fault of this kind and strength."""
        rows = self.versions.rows(kind, strength)[clips]
        if (rows < 0).any():
            raise UsageError(f"{int((rows < 0).sum())} clips are too short for the fault {kind!r}.")
        return self.points[rows]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled clips and their folds, 1 to 5; each recording is in one fold only."""

    clips: list[LabelledClip]
    folds: NDArray[np.int64]

    @property
    def labels(self) -> NDArray[np.str_]:
        """The class of each clip."""
        return np.array([clip.label for clip in self.clips])

    def subset(self, classes: int, clips: int, seed: int) -> Dataset:
        """At most ``classes`` random classes, with at most ``clips`` clips per class and fold."""
        labels = self.labels
        chosen = np.random.default_rng(seed).permutation(np.unique(labels))[:classes]
        kept = [
            int(index)
            for label in chosen
            for fold in np.unique(self.folds)
            for index in np.flatnonzero((labels == label) & (self.folds == fold))[:clips]
        ]
        return Dataset([self.clips[i] for i in sorted(kept)], self.folds[sorted(kept)])


def read_clips(folder: Path) -> Dataset:
    """ESC-50 as published (audio/, meta/esc50.csv), or any labelled folder split into 5 folds."""
    listing = folder / "meta" / "esc50.csv"
    if listing.is_file():
        return _read_esc50(folder, listing)
    clips = read_dataset(folder)
    names = sorted({clip.recording for clip in clips})
    order = np.random.default_rng(0).permutation(len(names))
    fold = {name: 1 + int(order[i]) % FOLDS for i, name in enumerate(names)}
    return Dataset(clips, np.array([fold[clip.recording] for clip in clips]))


def _read_esc50(folder: Path, listing: Path) -> Dataset:
    try:
        with listing.open(newline="", encoding="utf-8") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: row["filename"])
        clips = [
            LabelledClip(folder / "audio" / r["filename"], r["category"], "ESC-50", r["src_file"])
            for r in rows
        ]
        folds = np.array([int(row["fold"]) for row in rows])
    except (KeyError, ValueError, UnicodeDecodeError) as error:
        raise UsageError(f"{listing} is not the list of ESC-50 as published: {error}.") from error
    missing = [clip.path for clip in clips if not clip.path.is_file()]
    if missing:
        raise UsageError(f"{len(missing)} clips of {listing} are missing, e.g. {missing[0]}.")
    return Dataset(clips, folds)


class Embedded:
    """A dataset embedded by one model; vectors are computed on first use and then kept."""

    def __init__(
        self,
        dataset: Dataset,
        model: str,
        store: EmbeddingStore,
        *,
        engine: Engine,
    ) -> None:
        self.dataset, self.model = dataset, model
        self.spec = get_spec(model)
        self._store, self._engine = store, engine
        self._lock = threading.RLock()
        self._versions: dict[tuple[str, Plan], VersionSet] = {}
        self._spaces: dict[tuple[str, Plan], Space] = {}
        self._clean: Points | None = None

    @cached_property
    def adapters(self) -> dict[str, LoadedAdapter]:
        """The model's adapters by variant."""
        found = {variant: adapter_for(self.spec, variant) for variant in known_variants(self.model)}
        return {variant: loaded for variant, loaded in found.items() if loaded is not None}

    @property
    def variants(self) -> list[str]:
        """The variants of the model: raw, then its adapters."""
        return ["raw", *self.adapters]

    def clean(self) -> Points:
        """The vectors of the clean clips, in the order of the dataset."""
        with self._lock:
            if self._clean is None:
                files = [clip.path for clip in self.dataset.clips]
                embedder = Embedder(LazyEncoder(self.spec), self._store, self._engine)
                self._clean = embedder.load(files).vectors
            return self._clean

    def space(self, plan: Plan, variant: str) -> Space:
        """The planned versions of the clips in the space of a variant."""
        with self._lock:
            if (variant, plan) not in self._spaces:
                loaded = self.adapters.get(variant)
                versions = self._embed(plan, self.spec if loaded is None else loaded.spec)
                points, for_clips = self.adapt_both(versions.vectors, variant)
                self._spaces[variant, plan] = Space(points, versions, for_clips)
            return self._spaces[variant, plan]

    def _embed(self, plan: Plan, spec: EncoderSpec) -> VersionSet:
        if (spec.name, plan) not in self._versions:
            self._versions[spec.name, plan] = embed_versions(
                self.dataset.clips, plan, LazyEncoder(spec), self._store, engine=self._engine
            )
        return self._versions[spec.name, plan]

    def adapt(self, vectors: Points, variant: str) -> Points:
        """Vectors mapped by the adapter of a variant (unchanged for "raw")."""
        return self.adapt_both(vectors, variant)[0]

    def adapt_both(self, vectors: Points, variant: str) -> tuple[Points, Points]:
        """Vectors where sets are compared, and where single clips are judged."""
        if variant == "raw":
            return vectors, vectors
        network = self.adapters[variant].network
        other = network.for_clips()
        with torch.inference_mode():
            points: Points = network(torch.from_numpy(vectors)).numpy()
            if other is network:
                return points, points
            return points, other(torch.from_numpy(vectors)).numpy()


def clean_plan(count: int) -> Plan:
    """Every clip in its clean version."""
    return tuple(Version(index, CLEAN, 0.0) for index in range(count))
