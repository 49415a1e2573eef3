"""What the transport plan says of each evaluated clip."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from otadtk.adapter.volume import VolumeSummary
from otadtk.atomic import replacing
from otadtk.distances.transport import TransportResult
from otadtk.statistics import auroc, check_mask


@dataclass(frozen=True, eq=False)
class OTADDiagnostics:
    """The score and the transport cost c_j of every evaluated clip (Eq. 7), which sum to ⟨T,C⟩.

    ``flags`` says per clip what the audit found odd; ``transport`` is the solver's full result;
    ``volume`` summarises how the adapter changes volumes around the evaluated clips.
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
        """Write ``file,cj,flags``, in the order of the files or sorted by cost."""
        order = range(len(self.files))
        if ascending is not None:
            order = np.argsort(self.cj if ascending else -self.cj, kind="stable").tolist()
        flags = self.flags or [()] * len(self.files)
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["file", "cj", "flags"])
        for i in order:
            writer.writerow([os.fspath(self.files[i]), f"{self.cj[i]:.9g}", " ".join(flags[i])])
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as file:
            # names that are not UTF-8 keep their bytes
            file.write(text.getvalue().encode("utf-8", "surrogateescape"))
        return target
