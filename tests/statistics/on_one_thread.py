"""The resampling functions on one thread of this process, unless a test names another engine."""

from __future__ import annotations

from functools import partial

from otadtk.engine import LocalEngine
from otadtk.statistics import differences, resampling

ONE_THREAD = LocalEngine(1)

permutation_floor = partial(resampling.permutation_floor, engine=ONE_THREAD)
jackknife_interval = partial(resampling.jackknife_interval, engine=ONE_THREAD)
extrapolate = partial(resampling.extrapolate, engine=ONE_THREAD)
bootstrap_scores = partial(differences.bootstrap_scores, engine=ONE_THREAD)
