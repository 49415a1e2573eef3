"""What the transport plan says of each evaluated clip."""

from __future__ import annotations

import csv
import importlib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from otadtk.adapter.card import AdapterCard
from otadtk.adapter.network import Adapter
from otadtk.adapter.volume import VolumeSummary
from otadtk.atomic import replacing
from otadtk.distances.transport import TransportResult, TransportSettings
from otadtk.embed import EmbeddingSet, LazyEncoder
from otadtk.errors import UsageError
from otadtk.statistics import auroc, check_mask
from otadtk.store import EmbeddingStore

if TYPE_CHECKING:
    import pandas


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
    adapter: Adapter | None = None
    card: AdapterCard | None = None


@dataclass(frozen=True, eq=False)
class OTADDiagnostics:
    """The score and the transport cost c_j of every evaluated clip (Eq. 7), which sum to ⟨T,C⟩.

    ``flags`` says per clip what the audit found odd; ``transport`` is the solver's full result;
    ``volume`` summarises how the adapter changes volumes around the evaluated clips;
    ``reference_files`` are the clips that ``nearest`` and ``reference_costs`` speak of;
    ``evidence`` is what ``to_html`` needs beside the costs.
    """

    score: float
    cj: NDArray[np.float64]
    files: list[Path]
    model_name: str
    variant: str
    epsilon: float
    flags: list[tuple[str, ...]] = field(default_factory=list)
    transport: TransportResult | None = None
    volume: VolumeSummary | None = None
    reference_files: list[Path] = field(default_factory=list)
    evidence: Evidence | None = field(default=None, repr=False)

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

    def _solved(self) -> TransportResult:
        if self.transport is None:
            raise UsageError("These diagnostics hold no transport result, only costs.")
        return self.transport

    def top_k(self, k: int = 10, *, ascending: bool = False) -> list[tuple[Path, float]]:
        """The ``k`` clips of largest cost, worst first; of smallest with ``ascending``."""
        order = np.argsort(self.cj if ascending else -self.cj, kind="stable")
        return [(self.files[i], float(self.cj[i])) for i in order[:k]]

    def auroc(self, contaminated_mask: ArrayLike) -> float:
        """How well c_j finds the clips that the mask marks as bad: 1 perfectly, 0.5 by chance."""
        return auroc(contaminated_mask, self.cj)

    def separation_ratio(self, contaminated_mask: ArrayLike) -> float:
        """Mean cost of the marked clips over the mean cost of the others."""
        mask, costs = check_mask(contaminated_mask, self.cj)
        with np.errstate(divide="ignore"):
            return float(costs[mask].mean() / costs[~mask].mean())

    def to_csv(self, path: str | Path, *, ascending: bool | None = None) -> Path:
        """Write ``file,cj,relative_cost,flags``, in the order of the files or sorted by cost."""
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
                'to_dataframe needs pandas, which is not installed: pip install "otadtk[pandas]".'
            ) from error
        return pandas.DataFrame(self._columns())

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report, a page that opens from disk; the options are those of ``ReportOptions``.

        >>> diagnostics.to_html("report.html", labels="faults.csv")  # doctest: +SKIP
        """
        # by name: the page is a client of this record, which knows nothing of pages
        page = importlib.import_module("otadtk.report.page")
        written: Path = page.write_report(self, Path(path), page.ReportOptions(**options))
        return written

    def _columns(self) -> dict[str, list[Any]]:
        flags = self.flags or [()] * len(self.files)
        return {
            "file": [os.fspath(file) for file in self.files],
            "cj": self.cj.tolist(),
            "relative_cost": self.relative_cost.tolist(),
            "flags": [" ".join(names) for names in flags],
        }
