"""The experiments of the paper, each a frozen configuration → rows → CSV → figures and tables.

Importing this module imports no experiment.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.experiments.run import Experiment

EXPERIMENTS = {
    "rank-one": "how four metrics answer to rank-1 and full-rank outliers; Theorem 1 (5.2)",
    "factorial": "cost and coupling corrected alone and together, on four axes (5.3, B.2)",
    "per-sample": "which clips c_j finds, with twins in the reference and without (5.4)",
    "mos": "rank correlation with human ratings in the layout of DCASE 2023 Task 7 (5.5, B.3)",
    "mos-published": "the same correlations from distances that others have published (B.3)",
    "regularisation": "the score against the entropic regularisation (5.6)",
    "efficiency": "time and memory of the metrics against the number of clips (5.6)",
    "invariance": "how far each fault moves a clip, against the distance to another clip (3.2)",
    "equivalence": "our KAD and OTAD against the published packages' (B.3)",
}
"""Every experiment by name, with what it shows and where the paper has it."""


def get_experiment(name: str) -> Experiment:
    """The experiment of a name."""
    if name not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        raise UsageError(f"Unknown experiment {name!r}; choose from {known}.")
    module = importlib.import_module(f"otadtk.experiments.{name.replace('-', '_')}")
    experiment: Experiment = module.EXPERIMENT
    return experiment
