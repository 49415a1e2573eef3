"""Gathers what the page shows, from the diagnostics to plain numbers and text."""

from __future__ import annotations

import logging
import math
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from otadtk.diagnosis import Evidence, OTADDiagnostics
from otadtk.embed import EmbeddingSet
from otadtk.report.clips import ClipDetails, Wanted, describe_clips
from otadtk.report.frames import adapted, in_threads
from otadtk.report.tables import common_root, relative_name

logger = logging.getLogger(__name__)

AudioMode = Literal["embed", "link", "none"]
Costs = NDArray[np.float64]

WORST_SHOWN = 100
"""Clips of largest cost with a picture and, by default, their sound inside the page."""
OTHERS_SHOWN = 12
"""Best matches, and reference clips that nobody comes near."""
PARTNERS_SHOWN = 3
SILENT = "silent"
"""The flag of the audit that condemns a clip without its cost."""
_LEAST_SHARE = 0.001
"""A smaller share of a clip's mass is no partner."""
_MOST_PARTNERS = 2_000
"""Clips, worst first, whose partners are read off the plan: each costs N·d."""


@dataclass(frozen=True, eq=False)
class ClipSet:
    """One side of the comparison as the page lists it."""

    names: list[str]
    links: dict[int, str]
    """Paths below the root, quoted for a URL, of clips whose name is not shown as it is."""
    root: Path
    points: NDArray[np.float32]
    """Clip vectors in the space of the metric."""
    audible: bool
    """Whether there is audio behind the embeddings."""

    @classmethod
    def of(cls, embedded: EmbeddingSet, evidence: Evidence) -> ClipSet:
        """The clips of an embedded set, named by their path below the folder they share."""
        root = common_root(embedded.files)
        paths = [relative_name(file, root) for file in embedded.files]
        names = [readable(path) for path in paths]
        links = {
            i: quote(os.fsencode(path))
            for i, (path, name) in enumerate(zip(paths, names, strict=True))
            if path != name
        }
        audible = any(audit is not None for audit in embedded.audits)
        return cls(names, links, root, adapted(embedded.vectors, evidence.adapter), audible)


@dataclass(frozen=True, eq=False)
class ClipTable:
    """Every clip of both sides with its costs, partners and place on the map."""

    evaluated: ClipSet
    reference: ClipSet
    relative: Costs
    """Cost of every evaluated clip over the typical one."""
    typical: str
    """What the costs are relative to: the median clip, or the mean where the median is 0."""
    reference_relative: Costs
    order: NDArray[np.intp]
    """Evaluated clips, worst first."""
    worst: list[int]
    """Evaluated clips that are shown in full: the silent ones, and those of largest cost."""
    unreached: NDArray[np.intp]
    """Reference clips, the loneliest first."""
    partners: dict[int, list[tuple[int, float]]]
    """(reference clip, share) of the evaluated clips that were asked."""
    columns: dict[int, Costs]
    """The share of every reference clip in the evaluated clips that are shown in full."""


def gather(diagnostics: OTADDiagnostics, evidence: Evidence) -> ClipTable:
    """All clips with the numbers that the page gives of each."""
    evaluated = ClipSet.of(evidence.evaluated, evidence)
    reference = ClipSet.of(evidence.reference, evidence)
    relative, typical = relative_costs(diagnostics.cj)
    reference_relative, _ = relative_costs(diagnostics.reference_costs)
    order = np.argsort(-diagnostics.cj, kind="stable")
    unreached = np.argsort(-diagnostics.reference_costs, kind="stable")
    shares = diagnostics.transport.shares if diagnostics.transport is not None else None
    partners: dict[int, list[tuple[int, float]]] = {}
    columns: dict[int, Costs] = {}
    worst = worst_clips(diagnostics, WORST_SHOWN)
    in_full = {*worst, *best_of(order).tolist()}

    def ask(j: int) -> None:
        assert shares is not None
        column = shares(j)
        nearest = np.argsort(-column, kind="stable")[:PARTNERS_SHOWN]
        partners[j] = [(int(i), float(column[i])) for i in nearest if column[i] >= _LEAST_SHARE]
        if j in in_full:
            columns[j] = column

    if shares is not None:
        in_threads(ask, list({*order[:_MOST_PARTNERS].tolist(), *in_full}))
    return ClipTable(
        *(evaluated, reference, relative, typical, reference_relative),
        *(order, worst, unreached, partners, columns),
    )


def describe(table: ClipTable, evidence: Evidence, *, sounds: bool) -> dict[str, ClipDetails]:
    """What the page shows beyond numbers, by the clip's key: e12 or r7; with ``sounds``, audio too."""
    wanted: list[Wanted] = []
    for j in [*table.worst, *best_of(table.order).tolist()]:
        wanted.append(Wanted(f"e{j}", evidence.evaluated, j, table.columns.get(j)))
        wanted += [Wanted(f"r{i}", evidence.reference, i) for i, _ in table.partners.get(j, [])[:1]]
    lonely = table.unreached[:OTHERS_SHOWN].tolist()
    wanted += [Wanted(f"r{i}", evidence.reference, i) for i in lonely]
    unique = list({clip.key: clip for clip in reversed(wanted)}.values())[::-1]
    return describe_clips(unique, evidence, table.reference.points, sounds=sounds)


def worst_clips(diagnostics: OTADDiagnostics, count: int) -> list[int]:
    """The ``count`` clips of largest cost, and before them as many silent ones, each by cost.

    A clip in which nothing is heard is bad, whatever it costs by the metric.
    """
    order = np.argsort(-diagnostics.cj, kind="stable").tolist()
    silent = [j for j in order if SILENT in diagnostics.flags[j]] if diagnostics.flags else []
    return list(dict.fromkeys([*silent[:count], *order[:count]]))


def best_of(order: NDArray[np.intp]) -> NDArray[np.intp]:
    """The clips of least cost, best first: none that is in the worse half."""
    return order[(len(order) + 1) // 2 :][-OTHERS_SHOWN:][::-1]


def relative_costs(costs: Costs) -> tuple[Costs, str]:
    """Costs over those of a typical clip, and what that is."""
    median, mean = float(np.median(costs)), float(np.mean(costs))
    if median > 0:
        return costs / median, "median"
    return (costs / mean, "mean") if mean > 0 else (np.zeros_like(costs), "mean")


def readable(text: str) -> str:
    """Text that shows what it is: line breaks, marks that turn it round, bytes that are no text."""
    return "".join(map(_visible, text.encode("utf-8", "backslashreplace").decode("utf-8")))


def _visible(character: str) -> str:
    joins = character in "\u200c\u200d"  # parts of letters and of emoji
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") and not joins
    return character.encode("unicode_escape").decode("ascii") if hidden else character


def link_to(clips: ClipSet, page: Path) -> str | None:
    """The URL of the clips' folder as seen from the page, relative; ``None`` without audio."""
    if not clips.audible:
        return None
    relative = os.path.relpath(clips.root, page.parent)
    return quote(os.fsencode(Path(relative).as_posix())) + "/"


def number(value: float | None, digits: int = 6) -> float | None:
    """A number for JSON: rounded to significant digits, ``None`` where it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def numbers(values: Sequence[float] | NDArray[np.floating], digits: int = 5) -> list[float | None]:
    """The same for many."""
    return [number(float(value), digits) for value in values]


def project(table: ClipTable) -> tuple[list[list[float | None]], list[float]]:
    """Both sets on the two principal axes of their union, and the variance that each explains.

    Deterministic: the sign of an axis is such that its largest loading is positive.
    """
    import torch

    points = np.concatenate([table.reference.points, table.evaluated.points]).astype(np.float64)
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
    placed = (centred @ (axes * signs)).numpy()
    explained = [float(v) / total if total > 0 else 0.0 for v in values.flip(0)[:2]]
    return [numbers(placed[:, 0], 4), numbers(placed[:, 1], 4)], explained


def clip_block(
    table: ClipTable,
    details: Mapping[str, ClipDetails],
    flags: Sequence[Sequence[str]],
    cj: Costs,
) -> dict[str, Any]:
    """The numbers of every clip, column by column, as the page's script reads them."""
    split = len(table.reference.names)
    (x, y), explained = project(table)
    partners = [
        [[i, number(share, 3)] for i, share in table.partners.get(j, [])] for j in range(len(cj))
    ]
    return {
        "evaluated": {
            "names": table.evaluated.names,
            "links": table.evaluated.links,
            "cj": numbers(cj, 7),
            "relative": numbers(table.relative),
            "flags": [list(names) for names in flags],
            "partners": partners,
            "x": x[split:],
            "y": y[split:],
        },
        "reference": {
            "names": table.reference.names,
            "links": table.reference.links,
            "relative": numbers(table.reference_relative),
            "x": x[:split],
            "y": y[:split],
        },
        "explained": numbers(explained, 3),
        "typical": table.typical,
        "details": {key: found.to_dict() for key, found in details.items()},
        "worst": table.worst,
        "best": best_of(table.order).tolist(),
        "unreached": table.unreached[:OTHERS_SHOWN].tolist(),
    }
