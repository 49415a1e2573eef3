"""Where the evaluated clips crowd and the reference does not: the contrast of single clips.

A price says how far a clip is from the reference, and an odd recording is far, too. Clips with one
fault are not only far: there are many of them in one region in which the reference has few. The
contrast is a smooth function of the place, fitted to tell both sets apart (kernel ridge regression),
at a clip that was left out of the fit.
"""

from __future__ import annotations

import numpy as np

from otadtk.statistics.prices import FloatArray, Swapped, typical

_WIDTH = 2.0
"""The kernel is exp(−d²/w); w in units of the median squared distance."""
_FAULT_WIDTH = 1.0
"""The same for distances in coordinates of faults, in units of their mean: most are near 0."""
_RIDGE = 3.0
"""How much the fit is smoothed."""


def swapped_contrasts(squares: FloatArray, n: int, faults: FloatArray | None = None) -> Swapped:
    """The contrasts from the squared distances of n reference clips and the evaluated clips to all.

    ``faults`` are squared distances in coordinates of faults alone, where the metric has such.

    For each j the label of the reference with j is 0 and that of the other evaluated clips is 1,
    both minus their mean. The fit without clip i is y_i − (A y)_i / A_ii with A = (K + ridge)⁻¹, and
    another label of j changes A y by a column of A.
    """
    count, m = len(squares), len(squares) - n
    exponent = squares / (_WIDTH * typical(squares))
    if faults is not None:
        exponent += faults / (_FAULT_WIDTH * (float(faults.mean()) or 1.0))
    matrix = np.exp(-exponent)
    matrix[np.diag_indices(count)] += _RIDGE
    inverse = np.linalg.inv(matrix)
    mean = (m - 1) / count
    labels = np.repeat([0.0, 1.0], [n, m]) - mean
    left_out = inverse[:, n:] - (inverse @ labels)[:, None]
    left_out /= inverse.diagonal()[:, None]
    own = left_out[n:].diagonal() - mean
    return Swapped(left_out[:n] - mean, own, left_out[n:] + 1.0 - mean)
