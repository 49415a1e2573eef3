"""The three training recipes: the loss of one batch, and the validation on held-out classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from otadtk.adapter.artifact import ArtifactAdapter
from otadtk.adapter.network import Adapter, RiemannianAdapter
from otadtk.encoders import EncoderSpec
from otadtk.encoders.features.measured import network_spec
from otadtk.encoders.features.with_signal import inner_spec
from otadtk.training.config import TrainingConfig
from otadtk.training.datasets import LabelledClip
from otadtk.training.evaluation import class_accuracy, find_faults, probe_accuracy
from otadtk.training.losses import (
    mean_squared_distance,
    native_loss,
    retained_variance,
    triplet_loss,
    variance_floor,
)
from otadtk.training.split import Mask, halves
from otadtk.training.spoil import CLEAN
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import ALWAYS, OTHERS, UNSEEN, VersionSet

TRAINED = (*ALWAYS, *OTHERS)
_CLASSES_PER_BATCH = 16
_VALIDATION_TRIPLETS = 500
_COLLAPSED = 0.5
_JITTER = 0.05


@dataclass(frozen=True, eq=False)
class Material:
    """The training and validation data of a recipe."""

    spec: EncoderSpec
    clips: Sequence[LabelledClip]
    versions: VersionSet
    train: Mask
    validation: Mask
    faults: VersionSet | None = None
    """Weight-free features of training clips with faults (perceptual)."""
    own: tuple[str, ...] = ()
    """Kinds of fault of the user (artifact)."""


class Recipe(ABC):
    """One training recipe; it trains ``network`` in place."""

    network: Adapter
    input_normalisation = "none"
    network_kind = "residual"

    def __init__(self, config: TrainingConfig, material: Material) -> None:
        self.config = config
        self.material = material
        self.vectors = torch.from_numpy(material.versions.vectors)
        self.clean_train = material.versions.rows(CLEAN)[np.flatnonzero(material.train)]
        self._validation_rows = np.flatnonzero(material.validation[material.versions.clip])

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of fault that it is trained on."""
        return (*TRAINED, *self.material.own)

    @abstractmethod
    def loss(self, rng: np.random.Generator) -> Tensor:
        """The loss of one batch, drawn with ``rng``."""

    @abstractmethod
    def validate(self) -> dict[str, float]:
        """Quick figures on the held-out classes; training maximises ``score``."""

    def mapped(self, vectors: Tensor) -> Tensor:
        """The vectors after the network, without gradients."""
        with torch.no_grad():
            return torch.cat([self.network(part) for part in torch.split(vectors, 4096)])

    def points(self) -> Tensor:
        """The held-out clips after the network; rows of other clips are zero."""
        found = self.mapped(self.vectors[self._validation_rows])
        points = found.new_zeros(len(self.vectors), found.shape[1])
        points[self._validation_rows] = found
        return points

    def figures(self) -> dict[str, float]:
        """The figures for the card: probes, 1-NN, detection, retained variance; the same for raw."""
        found: dict[str, float] = {}
        for name, points in (("", self.points()), ("raw ", self._raw())):
            found.update({f"{name}{key}": value for key, value in self._figures(points).items()})
        after = self.mapped(self.vectors[self.clean_train])
        kept = retained_variance(self._raw()[self.clean_train], after)
        return {key: round(value, 4) for key, value in {**found, "retained variance": kept}.items()}

    def detection(self, points: Tensor) -> tuple[float, dict[str, float]]:
        """AUROC of the nearest-reference cost: the mean over the trained kinds, and each kind."""
        m = self.material
        found = find_faults(
            points.numpy(), m.clips, m.versions, m.validation, self.kinds,
            draws=2, seed=self.config.seed, exact=False,
        )  # fmt: skip
        return float(np.mean(list(found.values()))) if found else 0.5, found

    def _raw(self) -> Tensor:
        """The embeddings without the adapter and without the features beside them."""
        return self.vectors[:, : network_spec(self.material.spec).dim]

    def _figures(self, points: Tensor) -> dict[str, float]:
        m, seed = self.material, self.config.seed
        sampler = TripletSampler(m.clips, m.versions, m.validation)
        figures = {
            f"triplets {probe}": value
            for probe, value in probe_accuracy(points, sampler, 1000, seed).items()
        }
        array = points.numpy()
        figures["class 1-nn"] = self.nearest_class(array)
        for title, kinds in (("trained kinds", self.kinds), ("unseen kinds", UNSEEN)):
            faults = find_faults(
                array, m.clips, m.versions, m.validation, kinds, draws=2, seed=seed, exact=True
            )
            figures.update({f"auroc {kind}": value for kind, value in faults.items()})
            if faults:
                figures[f"auroc, {title}"] = float(np.mean(list(faults.values())))
        return figures

    def nearest_class(self, points: np.ndarray) -> float:
        """1-NN class accuracy between the two halves of the held-out clips."""
        m = self.material
        reference, evaluated = (np.flatnonzero(h) for h in halves(m.clips, m.validation, 0))
        clean = m.versions.rows(CLEAN)
        if len(reference) == 0 or len(evaluated) == 0:
            return float("nan")
        return class_accuracy(
            points[clean[reference]], points[clean[evaluated]],
            [m.clips[int(i)].label for i in reference],
            [m.clips[int(i)].label for i in evaluated],
        )  # fmt: skip


class AgnosticRecipe(Recipe):
    """Triplets in equal parts from the four probes; it uses no coupling (Section 4.3)."""

    def __init__(self, config: TrainingConfig, material: Material) -> None:
        super().__init__(config, material)
        spec = material.spec
        unit = not spec.unit_norm
        self.input_normalisation = "unit" if unit else "none"
        self.network = RiemannianAdapter(spec.dim, dropout=config.dropout, unit_input=unit)
        if unit:
            self.vectors = functional.normalize(self.vectors, dim=1)
        self.scale = mean_squared_distance(self.vectors[self.clean_train])
        self.sampler = TripletSampler(material.clips, material.versions, material.train)
        self.validation_sampler = TripletSampler(
            material.clips, material.versions, material.validation
        )

    def loss(self, rng: np.random.Generator) -> Tensor:
        """The triplet hinge of one batch."""
        share = max(1, self.config.batch // len(PROBES))
        drawn = [self.sampler.draw(probe, share, rng) for probe in PROBES]
        a, p, n = (
            self.network(self.vectors[np.concatenate([getattr(t, role) for t in drawn])])
            for role in ("anchor", "positive", "negative")
        )
        return triplet_loss(a, p, n, self.config.margin * self.scale)

    def validate(self) -> dict[str, float]:
        """Triplet accuracy by probe; the score is the mean."""
        found = probe_accuracy(
            self.points(), self.validation_sampler, _VALIDATION_TRIPLETS, self.config.seed
        )
        return {"score": float(np.mean(list(found.values()))), **found}


class NativeRecipe(AgnosticRecipe):
    """Continues from the agnostic adapter with the Sinkhorn divergence as the loss."""

    def __init__(
        self, config: TrainingConfig, material: Material, start: RiemannianAdapter
    ) -> None:
        super().__init__(config, material)
        self.network = start.train().requires_grad_(True)
        self._before = self.vectors[self.clean_train]
        m = material
        labels = np.array([clip.label for clip in m.clips])
        members = [np.flatnonzero((labels == label) & m.train) for label in np.unique(labels)]
        self._members = [clips for clips in members if len(clips) >= 2]
        self._degraded = np.stack([m.versions.rows(kind) for kind in TRAINED], axis=1)
        self._clean = m.versions.rows(CLEAN)

    def loss(self, rng: np.random.Generator) -> Tensor:
        """``native_loss`` of two clean batches and a degraded one, plus the variance floor."""
        count = min(_CLASSES_PER_BATCH, len(self._members))
        each = max(1, self.config.batch // count)
        first: list[int] = []
        second: list[int] = []
        for label in rng.choice(len(self._members), size=count, replace=False):
            clips = rng.permutation(self._members[label])[: 2 * each]
            half = len(clips) // 2
            first.extend(clips[:half])
            second.extend(clips[half : 2 * half])
        rows = self._degraded[second]
        picked = [int(rng.choice(row[row >= 0])) for row in rows if (row >= 0).any()]
        x, y, bad = (
            self.network(self.vectors[torch.as_tensor(part)])
            for part in (self._clean[first], self._clean[second], np.array(picked))
        )
        push = self.config.apart * self.scale
        fit = native_loss(x, y, bad, epsilon=self.config.epsilon, apart=push)
        sample = self._before[torch.from_numpy(rng.integers(len(self._before), size=512))]
        kept = variance_floor(sample, self.network(sample), self.config.kept_variance)
        return fit + 10.0 * kept

    def validate(self) -> dict[str, float]:
        """Detection by the nearest reference; a collapsed space scores below all others."""
        mean, _ = self.detection(self.points())
        sample = self._before[:: max(1, len(self._before) // 1000)]
        kept = retained_variance(sample, self.mapped(sample))
        score = mean if kept >= _COLLAPSED else mean - 1.0
        return {"score": score, "auroc": mean, "retained variance": kept}


class ArtifactRecipe(Recipe):
    """Trains a fault classifier; its outputs become coordinates of the metric."""

    network: ArtifactAdapter
    network_kind = "artifact"

    def __init__(self, config: TrainingConfig, material: Material) -> None:
        super().__init__(config, material)
        inner = inner_spec(material.spec)
        assert inner is not None, "the artifact variant takes a model with signal features"
        features = material.spec.dim - inner.dim
        unit = not inner.unit_norm
        self.input_normalisation = "unit" if unit else "none"
        self.network = ArtifactAdapter(
            inner.dim, features, len(self.kinds), config.hidden, config.dropout, unit_input=unit
        )
        measured = self.vectors[self.clean_train, inner.dim :]
        self.network.mean.copy_(measured.mean(dim=0))
        self.network.spread.copy_(measured.std(dim=0) + 1e-3)
        self.network.fault_weight.fill_(config.fault_weight)
        self.network.feature_weight.fill_(config.feature_weight)
        versions = material.versions
        known = np.isin(versions.kind, (CLEAN, *self.kinds)) & material.train[versions.clip]
        self._rows = np.flatnonzero(known)
        self._targets = torch.from_numpy(
            np.stack([versions.kind == kind for kind in self.kinds], axis=1).astype(np.float32)
        )
        self._unit, self._features = self.network.parts(self.vectors)

    def loss(self, rng: np.random.Generator) -> Tensor:
        """Binary cross-entropy over the kinds of fault; features get a little noise."""
        rows = torch.from_numpy(rng.choice(self._rows, size=self.config.batch))
        features = self._features[rows]
        features = features + _JITTER * torch.randn_like(features)
        logits = self.network.listen(self._unit[rows], features)
        return functional.binary_cross_entropy_with_logits(logits, self._targets[rows])

    def validate(self) -> dict[str, float]:
        """Detection of the trained kinds by the nearest reference, and 1-NN accuracy."""
        points = self.points()
        mean, by_kind = self.detection(points)
        return {"score": mean, "class 1-nn": self.nearest_class(points.numpy()), **by_kind}
