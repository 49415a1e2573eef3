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
_RIDGE = 3.0
"""How much the fit is smoothed."""


def swapped_contrasts(squares: FloatArray, n: int) -> Swapped:
    """The contrasts from the squared distances of n reference clips and the evaluated clips to all.

    For each j the label of the reference with j is 0 and that of the other evaluated clips is 1,
    both minus their mean. The fit without clip i is y_i − (A y)_i / A_ii with A = (K + ridge)⁻¹, and
    another label of j changes A y by a column of A. So every number in column j is a function of the
    unordered reference with j and of the other evaluated clips.
    """
    count, m = len(squares), len(squares) - n
    matrix = np.exp(squares / (-_WIDTH * typical(squares)))
    matrix[np.diag_indices(count)] = 1.0 + _RIDGE
    inverse = np.linalg.inv(matrix)
    mean = (m - 1) / count
    labels = np.repeat([0.0, 1.0], [n, m]) - mean
    left_out = inverse[:, n:] - (inverse @ labels)[:, None]
    left_out /= inverse.diagonal()[:, None]
    own = left_out[n:].diagonal() - mean
    return Swapped(left_out[:n] - mean, own, left_out[n:] + 1.0 - mean)
