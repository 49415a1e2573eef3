"""All clips of both sets with the numbers that a report gives of each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from otadtk.audio.inputs import Clip
from otadtk.embed import EmbeddingSet
from otadtk.files.names import common_root, relative_name, shown_names
from otadtk.files.printable import readable
from otadtk.files.remote import absolute
from otadtk.metrics.diagnostics import Evidence, OTADDiagnostics
from otadtk.report.threads import in_threads

Costs = NDArray[np.float64]

WORST_SHOWN = 100
"""Clips of largest cost with a picture and, by default, their sound inside the page."""
OTHERS_SHOWN = 12
"""Best matches, and reference clips of largest cost, that are shown."""
NEAREST_SHOWN = 3
SILENT = "silent"
"""The audit's flag of a clip that is bad whatever it costs."""
_LEAST_SHARE = 0.001
"""References that give a clip a smaller share of its mass are not listed."""
_MOST_WITH_NEAREST = 2_000
"""Clips, worst first, whose nearest references are computed: each costs N·d."""


@dataclass(frozen=True, eq=False)
class ClipSet:
    """The clips of one set: names, links and vectors."""

    names: list[str]
    links: dict[int, str]
    """Quoted paths below the root of the clips whose shown name is not their real one; empty for a
    clip inside another file, which no link reaches."""
    root: Path
    points: NDArray[np.float32]
    """Clip vectors in the space of the metric."""
    audible: bool
    """Whether there is audio behind the embeddings."""

    @classmethod
    def of(cls, embedded: EmbeddingSet, evidence: Evidence, side: str = "clip") -> ClipSet:
        """The clips of an embedded set, named by their path below their common folder.

        Clips without names, as those of an array, are named after ``side``.
        """
        root = common_root(embedded.files)
        paths = [relative_name(file, root) for file in embedded.files]
        names = [readable(name) for name in shown_names(embedded.files, side)]
        links = {
            i: quote(os.fsencode(path))
            for i, (path, name) in enumerate(zip(paths, names, strict=True))
            if path != name
        }
        links |= {
            i: _link(clip, root)
            for i, clip in enumerate(embedded.clips)
            if clip.member is not None or not clip.excerpt.whole
        }
        audible = any(audit is not None for audit in embedded.audits)
        points = evidence.ground.adapt_vectors(embedded.vectors)
        return cls(names, links, root, points, audible)

    def folder_url(self, page: Path) -> str | None:
        """The URL of the clips' folder, relative to the page; ``None`` without audio."""
        if not self.audible:
            return None
        relative = os.path.relpath(self.root, page.parent)
        return quote(os.fsencode(Path(relative).as_posix())) + "/"


def _link(clip: Clip, root: Path) -> str:
    """The file of an excerpt, with the times that a browser plays; empty inside another file."""
    if clip.member is not None:
        return ""
    path = os.path.relpath(clip.file, absolute(root))
    times = clip.excerpt.describe().partition("&")[0]
    return quote(os.fsencode(path)) + (f"#{times}" if times.startswith("t=") else "")


@dataclass(frozen=True, eq=False)
class ClipTable:
    """Every clip of both sets with its costs and its nearest references."""

    evaluated: ClipSet
    reference: ClipSet
    relative: Costs
    """Cost of every evaluated clip over the typical cost."""
    typical: str
    """What the costs are relative to: "median", or "mean" where the median is 0."""
    reference_relative: Costs
    order: NDArray[np.intp]
    """Evaluated clips, worst first."""
    worst: list[int]
    """Evaluated clips that are shown in full: the silent ones, and those of largest cost."""
    unreached: NDArray[np.intp]
    """Reference clips, largest cost first."""
    nearest: dict[int, list[tuple[int, float]]]
    """(reference clip, share of the mass) for the worst and the best evaluated clips."""
    shares: dict[int, Costs]
    """For each clip shown in full: the share of its mass from every reference clip."""


def clip_table(diagnostics: OTADDiagnostics, evidence: Evidence) -> ClipTable:
    """The table of a scored pair of sets."""
    evaluated = ClipSet.of(evidence.evaluated, evidence, "evaluated")
    reference = ClipSet.of(evidence.reference, evidence, "reference")
    relative, typical = relative_costs(diagnostics.cj)
    reference_relative, _ = relative_costs(diagnostics.reference_costs)
    order = np.argsort(-diagnostics.cj, kind="stable")
    unreached = np.argsort(-diagnostics.reference_costs, kind="stable")
    shares_of = diagnostics.transport.shares if diagnostics.transport is not None else None
    nearest: dict[int, list[tuple[int, float]]] = {}
    shares: dict[int, Costs] = {}
    worst = worst_clips(diagnostics, WORST_SHOWN)
    in_full = {*worst, *best_of(order).tolist()}

    def find_nearest(j: int) -> None:
        assert shares_of is not None
        found = shares_of(j)
        largest = np.argsort(-found, kind="stable")[:NEAREST_SHOWN]
        nearest[j] = [(int(i), float(found[i])) for i in largest if found[i] >= _LEAST_SHARE]
        if j in in_full:
            shares[j] = found

    if shares_of is not None:
        in_threads(find_nearest, list({*order[:_MOST_WITH_NEAREST].tolist(), *in_full}))
    return ClipTable(
        evaluated,
        reference,
        relative,
        typical,
        reference_relative,
        order,
        worst,
        unreached,
        nearest,
        shares,
    )


def worst_clips(diagnostics: OTADDiagnostics, count: int) -> list[int]:
    """Up to ``count`` silent clips, then the ``count`` clips of largest cost; each part by cost.

    A silent clip is bad, whatever it costs by the metric.
    """
    order = np.argsort(-diagnostics.cj, kind="stable").tolist()
    silent = [j for j in order if SILENT in diagnostics.flags[j]] if diagnostics.flags else []
    return list(dict.fromkeys([*silent[:count], *order[:count]]))


def best_of(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The clips of least cost, best first; only clips of the better half."""
    return order[(len(order) + 1) // 2 :][-OTHERS_SHOWN:][::-1]


def relative_costs(costs: Costs) -> tuple[Costs, str]:
    """Costs over the typical cost, and which that is: the median, or the mean if that is 0.

    Unlike ``OTADDiagnostics.relative_cost`` these are always finite, so that they can be drawn.
    """
    median, mean = float(np.median(costs)), float(np.mean(costs))
    if median > 0:
        return costs / median, "median"
    return (costs / mean, "mean") if mean > 0 else (np.zeros_like(costs), "mean")


def project(
    reference: NDArray[np.float32], evaluated: NDArray[np.float32]
) -> tuple[NDArray[np.float64], list[float]]:
    """Both sets on the two principal axes of their union, and the variance that each explains.

    Gives ``(2, clips)`` coordinates, reference clips first. Deterministic: the largest loading
    of each axis is positive.
    """
    import torch

    points = np.concatenate([reference, evaluated]).astype(np.float64)
    centred = torch.from_numpy(points - points.mean(axis=0))
    total = float(centred.square().sum())
    # the smaller of the two Gram matrices has the same leading spectrum
    wide = centred.shape[0] < centred.shape[1]
    gram = centred @ centred.T if wide else centred.T @ centred
    values, vectors = torch.linalg.eigh(gram)
    axes = vectors[:, [-1, -2]] if len(gram) > 1 else vectors[:, [-1, -1]]
    if wide:
        axes = centred.T @ axes
        axes = axes / axes.norm(dim=0).clamp_min(1e-300)
    signs = torch.sign(axes.gather(0, axes.abs().argmax(dim=0, keepdim=True)))
    coordinates: NDArray[np.float64] = (centred @ (axes * signs)).numpy().T
    explained = [float(v) / total if total > 0 else 0.0 for v in values.flip(0)[:2]]
    return coordinates, explained
