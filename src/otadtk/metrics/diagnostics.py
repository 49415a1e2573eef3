"""What the transport plan says of each evaluated clip."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from otadtk.embed import EmbeddingSet, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.errors import UsageError
from otadtk.files.atomic import replacing
from otadtk.files.names import clips_by_name
from otadtk.metrics.ground import GroundMetric
from otadtk.metrics.shown import Shown
from otadtk.metrics.verdicts import Groups, Judgement, judge, squares_between, words
from otadtk.statistics.farther import reference_distances
from otadtk.statistics.ranking import auroc, check_mask
from otadtk.statistics.verdicts import DEFAULT_FDR, Verdicts

if TYPE_CHECKING:
    import pandas

    from otadtk.adapter.volume import VolumeSummary
    from otadtk.distances.transport.couplings import TransportResult, TransportSettings


BadClips = Iterable[str | Path] | Mapping[str, Any] | Iterable[bool] | NDArray[np.bool_]
"""Known bad clips: their names, names with their faults, or one boolean for each clip."""


class NearestReference(NamedTuple):
    """A reference clip that a plan joins to an evaluated one."""

    file: Path
    share: float
    """How much of the evaluated clip's mass comes from it, between 0 and 1."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """What the costs were computed from and with: the report draws, plays and labels from it."""

    reference: EmbeddingSet
    evaluated: EmbeddingSet
    encoder: LazyEncoder
    store: EmbeddingStore
    settings: TransportSettings
    ground: GroundMetric


@dataclass(frozen=True, eq=False, repr=False)
class OTADDiagnostics(Shown):
    """The score and the transport cost c_j of every evaluated clip (Eq. 7), which sum to ⟨T,C⟩.

    ``OTAD.diagnose`` makes it. ``cj`` has shape (M,), in the order of ``files``; ``cost`` is M·c_j.

    ``flags`` says per clip what the audit found odd; ``transport`` is the solver's full result;
    ``reference_files`` are the clips that ``nearest`` and ``reference_costs`` speak of;
    ``evidence`` is what ``to_html`` needs beside the costs; ``judgement`` holds the verdicts on
    the clips of both sides, once they were computed.

    Examples:
        >>> from otadtk import OTAD
        >>> found = OTAD("logmel").diagnose("real/", "generated/")
        >>> worst, cost = found.top_k(1)[0]
        >>> bool(cost == found.cj.max())
        True
        >>> len(found.nearest(0, k=3))
        3
    """

    score: float
    cj: NDArray[np.float64]
    files: list[Path]
    model_name: str
    variant: str
    epsilon: float
    flags: list[tuple[str, ...]] = field(default_factory=list)
    transport: TransportResult | None = None
    reference_files: list[Path] = field(default_factory=list)
    evidence: Evidence | None = field(default=None, repr=False)
    judgement: Judgement | None = field(default=None, repr=False)
    quality: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)
    """Predicted speech quality of the clips, column by column, if asked for; no cost uses it."""

    def __repr__(self) -> str:
        worst = f", worst={os.fspath(self.top_k(1)[0][0])!r}" if self.files else ""
        return (
            f"OTADDiagnostics(score={self.score:.6f}, clips={len(self.files)}, "
            f"model={self.model_name!r}, variant={self.variant!r}, epsilon={self.epsilon:g}{worst})"
        )

    @cached_property
    def volume(self) -> VolumeSummary | None:
        """How the adapter changes volumes around the evaluated clips; ``None`` without an adapter."""
        if self.evidence is None or self.evidence.ground.adapter is None:
            return None
        import torch

        from otadtk.adapter.volume import volume_summary

        vectors = torch.as_tensor(self.evidence.evaluated.vectors)
        return volume_summary(self.evidence.ground.adapter, vectors)

    @property
    def cost(self) -> NDArray[np.float64]:
        """M·c_j, the mean squared distance that a clip's mass travels: comparable across M."""
        return len(self.cj) * self.cj

    @property
    def relative_cost(self) -> NDArray[np.float64]:
        """c_j over the median c_j: 1 for a typical clip, whatever ε, the encoder and M.

        Where the median is 0, a clip that costs anything at all is infinitely far from typical.
        """
        typical = float(np.median(self.cj))
        if typical > 0:
            return self.cj / typical
        return np.where(self.cj > 0, np.inf, 0.0)

    @property
    def reference_costs(self) -> NDArray[np.float64]:
        """What each reference clip costs, mass 1/N each: high where no evaluated clip is like it."""
        return self._solved().reference_costs

    def distances(self) -> NDArray[np.float64]:
        """How far each evaluated clip is from the reference clips, whatever the other clips are.

        The soft minimum of the squared distances, in the order of ``files``: of two sets that were
        compared with one reference the clips can be compared by it.
        """
        if self.evidence is None:
            raise UsageError("These diagnostics hold no embeddings, only costs: no distances.")
        sides = (self.evidence.reference.vectors, self.evidence.evaluated.vectors)
        points = np.concatenate([self.evidence.ground.adapt_vectors(side) for side in sides])
        squares = squares_between(points.astype(np.float64))
        return reference_distances(squares, *(len(side) for side in sides))

    def nearest(self, j: int, k: int = 5) -> list[NearestReference]:
        """The ``k`` reference clips that give clip ``j`` most of its mass, largest share first."""
        shares_of = self._solved().shares
        if shares_of is None:
            raise UsageError(
                f"The {self._solved().describe()} has no plan between the whole sets, so no "
                f"nearest references: take the coupling 'sinkhorn' or 'exact'."
            )
        shares = shares_of(range(len(self.files))[j])
        order = np.argsort(-shares, kind="stable")[:k]
        return [
            NearestReference(self.reference_files[i], float(shares[i]))
            for i in order
            if shares[i] > 0
        ]

    def judged(
        self,
        fdr: float = DEFAULT_FDR,
        *,
        groups: Groups | None = None,
        seed: int = 0,
    ) -> OTADDiagnostics:
        """The same with the verdicts on the clips of both sides.

        ``fdr`` bounds the expected share of false alarms among the clips that are called bad.
        ``groups`` are those of the reference and of the evaluated clips: each clip is compared with
        reference clips of its own group, if there are enough of them.
        """
        if self.evidence is None:
            raise UsageError("These diagnostics hold no embeddings, only costs: no verdicts.")
        found = judge(self.evidence, fdr=fdr, groups=groups, seed=seed)
        return replace(self, judgement=found)

    def verdicts(
        self, fdr: float = DEFAULT_FDR, *, groups: Groups | None = None, seed: int = 0
    ) -> Verdicts:
        """The p-value, q-value and verdict of every evaluated clip.

        >>> bad = diagnostics.verdicts(fdr=0.1).bad  # doctest: +SKIP
        """
        known = self.judgement if groups is None and seed == 0 else None
        judgement = known or self.judged(fdr, groups=groups, seed=seed).judgement
        if judgement is None or judgement.evaluated is None:
            raise UsageError(
                f"Verdicts need at least 2 reference clips, not {len(self.reference_files)}."
            )
        return judgement.evaluated.at(fdr)

    def index_of(self, clip: str | Path) -> int:
        """The place in ``files`` of a clip by its path, its path below the folder, or its name."""
        return self._find([clip])[0]

    def _find(self, clips: Sequence[str | Path]) -> list[int]:
        by_name, found = clips_by_name(self.files), list[int]()
        for clip in [os.fspath(given) for given in clips]:
            places = by_name.get(clip.removeprefix("./"), by_name.get(clip, []))
            if len(places) > 1:
                raise UsageError(f"{clip} could be {len(places)} clips; give its path.")
            if not places:
                close = get_close_matches(clip, by_name, 1, cutoff=0.75)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                raise UsageError(f"There is no evaluated clip {clip!r}.{hint}")
            found += places
        return found

    def marked(self, bad: BadClips) -> NDArray[np.bool_]:
        """The mask of the bad clips, given as names, as names with their faults, or as a mask."""
        if isinstance(bad, Mapping):
            bad = [name for name, fault in bad.items() if fault]
        given = [bad] if isinstance(bad, (str, Path)) else list(bad)
        if any(isinstance(one, (str, Path)) for one in given):
            mask = np.zeros(len(self.files), dtype=bool)
            mask[self._find(given)] = True
            return mask
        if len(given) != len(self.files):
            raise UsageError(
                f"The mask has {len(given)} entries for {len(self.files)} clips: give the names of the "
                f"bad clips, or one True or False for each of files, in that order."
            )
        return np.asarray(given, dtype=bool).ravel()

    def _solved(self) -> TransportResult:
        if self.transport is None:
            raise UsageError("These diagnostics hold no transport result, only costs.")
        return self.transport

    def top_k(self, k: int = 10, *, ascending: bool = False) -> list[tuple[Path, float]]:
        """The ``k`` clips of largest cost, worst first; of smallest with ``ascending``."""
        order = np.argsort(self.cj if ascending else -self.cj, kind="stable")
        return [(self.files[i], float(self.cj[i])) for i in order[:k]]

    def auroc(self, contaminated_mask: BadClips) -> float:
        """How well c_j finds the bad clips: 1 perfectly, 0.5 by chance.

        The bad clips are given by their names (paths, paths below the folder, or file names that
        only one clip has), by a dictionary from names to faults ("" for none), or by a mask: one
        boolean for each of ``files``, in that order.
        """
        return auroc(self.marked(contaminated_mask), self.cj)

    def separation_ratio(self, contaminated_mask: BadClips) -> float:
        """Mean cost of the bad clips over that of the others; they are given as for ``auroc``."""
        mask, costs = check_mask(self.marked(contaminated_mask), self.cj)
        with np.errstate(divide="ignore"):
            return float(costs[mask].mean() / costs[~mask].mean())

    def to_csv(self, path: str | Path, *, ascending: bool | None = None) -> Path:
        """Write the costs and verdicts of every clip, in the order of the files or sorted by cost.

        The columns are ``file,cj,cost,relative_cost,p,q,verdict,flags``, then those of ``quality``;
        p, q and verdict are empty if no verdicts were computed.
        """
        order = range(len(self.files))
        if ascending is not None:
            order = np.argsort(self.cj if ascending else -self.cj, kind="stable").tolist()
        columns = self._columns()
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for i in order:
            cells = (column[i] for column in columns.values())
            writer.writerow([f"{cell:.9g}" if isinstance(cell, float) else cell for cell in cells])
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            # names that are not UTF-8 keep their bytes
            file.write(text.getvalue().encode("utf-8", "surrogateescape"))
        return target

    def to_dataframe(self) -> pandas.DataFrame:
        """The columns of the CSV as a pandas table, one row per evaluated clip."""
        try:
            import pandas
        except ImportError as error:
            raise UsageError(
                'to_dataframe needs pandas, which is not installed: pip install "otadtk-audio[pandas]".'
            ) from error
        return pandas.DataFrame(self._columns())

    @property
    def plot(self) -> Any:
        """Plots of the costs, each a method that returns matplotlib axes.

        ``histogram()`` of the costs, ``map()`` of both sets, ``strip(clip)`` of a clip's cost along
        time, and ``roc(bad)`` of the costs as a detector of known bad clips.
        """
        import otadtk  # as for to_html

        return otadtk.DiagnosticsPlots(self)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report, a page that opens from disk; the options are those of ``ReportOptions``.

        >>> diagnostics.to_html("report.html", labels="faults.csv")  # doctest: +SKIP
        """
        # the page lies in a room above this one, which only the package's own front door knows
        import otadtk

        written: Path = otadtk.write_report(self, Path(path), **options)
        return written

    def _columns(self) -> dict[str, list[Any]]:
        flags = self.flags or [()] * len(self.files)
        unknown: list[Any] = [""] * len(self.files)
        p = q = verdict = unknown
        found = self.judgement.evaluated if self.judgement is not None else None
        if found is not None:
            p, q, verdict = found.p.tolist(), found.q.tolist(), words(found)
        return {
            "file": [os.fspath(file) for file in self.files],
            "cj": self.cj.tolist(),
            "cost": self.cost.tolist(),
            "relative_cost": self.relative_cost.tolist(),
            "p": p,
            "q": q,
            "verdict": verdict,
            "flags": [" ".join(names) for names in flags],
            **{name: list(column) for name, column in self.quality.items()},
        }
