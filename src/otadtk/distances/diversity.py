"""The Vendi Score: the effective number of different points in a set.

exp(H) of the eigenvalues of K / n, with K_ij the cosine of two points (Friedman and Dieng, The Vendi
Score, TMLR 2023): 1 if all points have one direction, n if all are orthogonal.
"""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.validate import as_points

_TINY = 1e-12
"""Eigenvalues below are rounding: they add nothing to an entropy."""


def vendi_score(points: ArrayLike | Tensor) -> float:
    """The Vendi Score of ``(n, d)`` points with the cosine as similarity.

    >>> import numpy as np
    >>> round(vendi_score(np.eye(7)), 6)
    7.0
    """
    unit = unit_rows(as_points(points, "points"))
    few = unit.shape[0] <= unit.shape[1]
    # XXᵀ and XᵀX have the same eigenvalues, but for zeros
    gram = unit @ unit.T if few else unit.T @ unit
    return vendi_of_gram(gram, len(unit))


def unit_rows(points: Tensor) -> Tensor:
    """The points in float64 with length 1; a zero vector stays zero, like nothing else."""
    wide = points.cpu().double()
    lengths: Tensor = wide.norm(dim=1, keepdim=True)
    return wide / lengths.clamp_min(_TINY)


def vendi_of_gram(gram: Tensor, count: int) -> float:
    """The Vendi Score of ``count`` points by their similarities, or by XᵀX."""
    eigenvalues = torch.linalg.eigvalsh(gram / count)
    shares = eigenvalues[eigenvalues > _TINY]
    return float(torch.exp(-(shares * shares.log()).sum()))
