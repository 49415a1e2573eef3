"""Figures of a ground metric on held-out clips: probe accuracy, 1-NN, detection of faults."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from otadtk.distances.transport.exact import exact_transport
from otadtk.statistics.ranking import auroc
from otadtk.training.datasets import LabelledClip
from otadtk.training.losses import squared_distance
from otadtk.training.split import Mask, halves
from otadtk.training.spoil import CLEAN
from otadtk.training.triplets import PROBES, TripletSampler
from otadtk.training.versions import VersionSet

DEGRADED_SHARE = 0.05
_FEWEST_DEGRADED = 5

Points = NDArray[np.float32]


def probe_accuracy(
    points: torch.Tensor, sampler: TripletSampler, count: int, seed: int
) -> dict[str, float]:
    """The share of triplets with d(a,p) < d(a,n), by probe."""
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
    """The share of evaluated clips whose nearest reference clip has their class (1-NN)."""
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
    """The disjoint detection test: AUROC of the cost by kind of fault, mean over draws.

    The chosen clips are split into a reference half and an evaluated half that share no recording.
    5 % of the evaluated clips are replaced by their degraded version. The cost of a clip is c_j of
    the exact plan, or (faster) its distance to the nearest reference clip.
    """
    clean = versions.rows(CLEAN)
    found: dict[str, list[float]] = {}
    for draw in range(draws):
        reference, evaluated = halves(clips, chosen, seed + draw)
        x = points[clean[np.flatnonzero(reference)]]
        members = np.flatnonzero(evaluated)
        for number, kind in enumerate(kinds):
            degraded_row = versions.rows(kind)
            able = members[degraded_row[members] >= 0]
            count = max(_FEWEST_DEGRADED, round(DEGRADED_SHARE * len(members)))
            if len(able) < _FEWEST_DEGRADED or len(members) < 2 * count or len(x) == 0:
                continue
            rng = np.random.default_rng([seed, draw, 4, number])
            degraded = rng.permutation(able)[:count]
            kept = np.setdiff1d(members, degraded)
            y = np.concatenate([points[clean[kept]], points[degraded_row[degraded]]])
            costs = exact_transport(x, y).column_costs if exact else nearest_cost(x, y)
            mask = np.arange(len(y)) >= len(kept)
            found.setdefault(kind, []).append(auroc(mask, costs))
    return {kind: float(np.mean(values)) for kind, values in found.items()}
