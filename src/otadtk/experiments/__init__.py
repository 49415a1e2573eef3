"""The paper's experiments. Each one: frozen configuration → rows → CSV → tables and figures.

Importing this package loads no experiment. Shared parts: ``data`` (clips and embeddings), ``run``,
``rows`` (CSV), ``table``, ``figure``, ``measures`` (the four metrics), ``paper`` (the paper's
numbers) and ``page`` (fills docs/evidence/results.md).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.experiments.run import Experiment

EXPERIMENTS = {
    "rank-one": "response of four metrics to rank-1 and full-rank outliers; Theorem 1 (5.2)",
    "factorial": "cost and coupling corrected alone and together, on four axes (5.3, B.2)",
    "per-sample": "detection of bad clips by c_j, with and without twins in the reference (5.4)",
    "mos": "rank correlation with human ratings, layout of DCASE 2023 Task 7 (5.5, B.3)",
    "mos-published": "the same correlations for published distances (B.3)",
    "listening": "agreement with listening tests: systems, clips, items, dissimilarities",
    "regularisation": "the score against the entropic regularisation (5.6)",
    "efficiency": "time and memory of the metrics against the number of clips (5.6)",
    "invariance": "how far each fault moves a clip, relative to other clips (3.2)",
    "equivalence": "our KAD and OTAD against the published packages (B.3)",
}
"""Every experiment: its name, what it shows, and the section of the paper."""


def get_experiment(name: str) -> Experiment:
    """The experiment with this name."""
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise UsageError(f"Unknown experiment {name!r}; choose from {known}.")
    module = importlib.import_module(f"otadtk.experiments.{name.replace('-', '_')}.experiment")
    experiment: Experiment = module.EXPERIMENT
    return experiment
