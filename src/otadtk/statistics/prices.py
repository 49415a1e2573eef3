"""The price of single clips in an entropic transport, from squared distances alone.

The price of a clip is what it costs plus what it adds to the cost of the others: the clips that are
near to the same few reference clips compete for these, which the cost alone does not show. It is
computed by a fixed number of sweeps of Sinkhorn's algorithm, so that it depends on the unordered
sets only, to the last step; ``judging.py`` needs that and no convergence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

SWEEPS = 20
SHARPNESS = 0.1
"""ε in units of the median squared distance."""
_FAR, _FARTHEST = 250.0, 300.0
"""Distances in units of ε: those above the first are compressed to stay below the second, so that
all numbers are within the range of floats."""


@dataclass(frozen=True, eq=False)
class Swapped:
    """A number for each clip when evaluated clip j changes sides and joins the reference, a column each."""

    reference: FloatArray
    """Of every reference clip (rows), by the other ones and j."""
    own: FloatArray
    """Of j, by the reference."""
    others: FloatArray
    """Of every evaluated clip (rows), by the reference and j; of no meaning for j itself."""

    def plus(self, other: Swapped, weight: float) -> Swapped:
        """The sum with another number of the same clips."""
        return Swapped(
            self.reference + weight * other.reference,
            self.own + weight * other.own,
            self.others + weight * other.others,
        )


def swapped_prices(squares: FloatArray, n: int) -> Swapped:
    """The prices from the squared distances of n reference clips and the evaluated clips to all.

    For each j the evaluated clips without j are transported to the reference with j. Then all clips
    of the reference and j are charged by the others of them. So every number in column j is a
    function of the unordered reference with j and of the other evaluated clips.
    """
    length = _in_epsilon(squares)
    kernel = np.exp(-length)
    np.fill_diagonal(kernel, 0.0)  # no clip is charged by itself
    paid = kernel * length
    between, among = kernel[:n, n:], kernel[n:, n:]
    m = among.shape[0]
    stock, extra = np.ones((n, m)), np.ones(m)  # scalings of the reference clips and of j
    for _ in range(SWEEPS if m > 1 else 0):
        demand = 1.0 / (between.T @ stock + among * extra)
        np.fill_diagonal(demand, 0.0)  # j itself is on the other side
        stock = 1.0 / (between @ demand)
        extra = 1.0 / np.einsum("lj,lj->j", among, demand)

    def price(rows: slice) -> FloatArray:
        offer = kernel[rows, :n] @ stock + kernel[rows, n:] * extra
        return (paid[rows, :n] @ stock + paid[rows, n:] * extra) / offer - np.log(offer)

    offer = (between * stock).sum(axis=0)
    own = (paid[:n, n:] * stock).sum(axis=0) / offer - np.log(offer)
    return Swapped(price(slice(0, n)), own, price(slice(n, None)))


def prices(squares: FloatArray) -> FloatArray:
    """What the clips of the rows charge each clip of the columns."""
    length = _in_epsilon(squares)
    kernel = np.exp(-length)
    stock = np.ones(len(kernel))
    for _ in range(SWEEPS):
        stock = 1.0 / (kernel @ (1.0 / (stock @ kernel)))
    offer = stock @ kernel
    found: FloatArray = (stock @ (kernel * length)) / offer - np.log(offer)
    return found


def _in_epsilon(squares: FloatArray) -> FloatArray:
    """The squared distances in units of ε; far ones are compressed in their order."""
    length = squares / (SHARPNESS * typical(squares))
    far = length > _FAR
    length[far] = _FARTHEST - (_FARTHEST - _FAR) * _FAR / length[far]
    return np.asarray(length, dtype=np.float64)


def typical(squares: FloatArray) -> float:
    """The median squared distance; the mean where that is 0, and 1 where all are."""
    return float(np.median(squares)) or float(squares.mean()) or 1.0
