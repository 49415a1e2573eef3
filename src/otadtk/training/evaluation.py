"""Figures of a ground metric on clips it was not trained on: probes, classes, and found faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.exact import exact_transport
from otadtk.statistics import auroc
from otadtk.training.datasets import LabelledClip
from otadtk.training.losses import squared_distance
from otadtk.training.split import Mask, halves
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import CLEAN, VersionSet

SPOILT_SHARE = 0.05
_FEWEST_SPOILT = 5

Points = NDArray[np.float32]


def probe_accuracy(
    points: torch.Tensor, sampler: TripletSampler, count: int, seed: int
) -> dict[str, float]:
    """How often d(a,p) < d(a,n), by probe."""
    accuracy = {}
    for number, probe in enumerate(PROBES):
        triplets = sampler.draw(probe, count, np.random.default_rng([seed, 3, number]))
        if len(triplets.anchor):
            a, p, n = (
                points[torch.from_numpy(rows)]
                for rows in (triplets.anchor, triplets.positive, triplets.negative)
            )
            won = squared_distance(a, p) < squared_distance(a, n)
            accuracy[probe] = float(won.float().mean())
    return accuracy


def nearest_cost(reference: Points, evaluated: Points) -> NDArray[np.float64]:
    """The squared distance of each evaluated point to its nearest reference point."""
    x, y = torch.from_numpy(reference), torch.from_numpy(evaluated)
    costs: NDArray[np.float64] = torch.cdist(y, x).amin(dim=1).square().double().numpy()
    return costs


def class_accuracy(
    reference: Points, evaluated: Points, known: Sequence[str], expected: Sequence[str]
) -> float:
    """How often the nearest reference clip is of the evaluated clip's class (1-NN)."""
    x, y = torch.from_numpy(reference), torch.from_numpy(evaluated)
    nearest = torch.cdist(y, x).argmin(dim=1).numpy()
    return float(np.mean(np.asarray(known)[nearest] == np.asarray(expected)))


def find_faults(
    points: Points,
    clips: Sequence[LabelledClip],
    versions: VersionSet,
    chosen: Mask,
    kinds: Sequence[str],
    *,
    draws: int,
    seed: int,
    exact: bool,
) -> dict[str, float]:
    """The disjoint detection test: AUROC of the cost of spoilt clips, by kind, mean over draws.

    The chosen clips are split into a reference and an evaluated half that share no recording; 5 %
    of the evaluated clips are replaced by their spoilt version. The cost is c_j of the exact plan,
    or, quicker, that of the nearest reference clip.
    """
    clean = versions.rows(CLEAN)
    found: dict[str, list[float]] = {}
    for draw in range(draws):
        reference, evaluated = halves(clips, chosen, seed + draw)
        x = points[clean[np.flatnonzero(reference)]]
        members = np.flatnonzero(evaluated)
        for number, kind in enumerate(kinds):
            spoilt_row = versions.rows(kind)
            able = members[spoilt_row[members] >= 0]
            count = max(_FEWEST_SPOILT, round(SPOILT_SHARE * len(members)))
            if len(able) < _FEWEST_SPOILT or len(members) < 2 * count or len(x) == 0:
                continue
            rng = np.random.default_rng([seed, draw, 4, number])
            spoilt = rng.permutation(able)[:count]
            kept = np.setdiff1d(members, spoilt)
            y = np.concatenate([points[clean[kept]], points[spoilt_row[spoilt]]])
            costs = exact_transport(x, y).column_costs if exact else nearest_cost(x, y)
            mask = np.arange(len(y)) >= len(kept)
            found.setdefault(kind, []).append(auroc(mask, costs))
    return {kind: float(np.mean(values)) for kind, values in found.items()}
