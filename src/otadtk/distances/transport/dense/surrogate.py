"""A sparse stand-in for a plan that is too large for memory: its large entries and a sample of the rest.

A sweep over N×M costs that are computed anew takes N·M·d operations. Near the solution every method is
a linear system with the plan T, so most of the work can be done on a matrix T̃ with some hundred entries
a row, if T̃ acts like T. An entry stays with the probability p = min(1, 2κ T_ij / sqrt(a_i b_j)), and
is divided by p. So the large entries are exact, the small ones right on average, and at most κ (N + M)
stay (Spielman and Srivastava, 2011, for graphs). Scaled to the marginals of T it turns a residual into a
step that leaves about a hundredth of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport.sparse.laplacian import conjugate_gradients

if TYPE_CHECKING:  # slow to import, and most problems need none of it
    import scipy.sparse

KAPPA, SELF_KAPPA, LEAST_KAPPA = 1200.0, 2400.0, 50.0
"""κ: of two clouds, of a cloud with itself, of which half is kept, and where there is little memory."""
ENTRY_BYTES = 8
_MARGIN = 1.1
"""Room for chance, and for a plan that has become flatter than at an earlier sample."""
_PIECE_ELEMENTS = 1 << 19
_BALANCING = 3
_GOAL, _STEPS = 3e-3, 80
"""Of the linear systems: residual, relative to the right side, and steps at most."""
_NEWTON_STEPS, _ROUGH, _LONGEST = 6, 1e-3, 4.0
"""Newton steps at most, the error (L1) up to which one is enough, and the longest in units of ε."""
_LEAST = 1e-30

FloatVector = NDArray[np.float32]


class Sampler:
    """Collects the entries of K that stay, panel by panel from the top; T = diag(u) K diag(v)."""

    def __init__(
        self, a: Tensor, b: Tensor, memory: int, *, symmetric: bool, filling: float = 1.0
    ) -> None:
        """``filling`` is that of an earlier sample, from which follows what fits the memory."""
        self._symmetric, self.shape = symmetric, (len(a), len(b))
        self._root_a, self._root_b = a.sqrt(), b.sqrt()
        points = len(a) + len(b)
        fitting = memory / (_MARGIN * ENTRY_BYTES * points * filling)
        kappa = min(SELF_KAPPA if symmetric else KAPPA, max(LEAST_KAPPA, fitting))
        self._factor, self._most = 2.0 * kappa, kappa * points
        # pages of an array that are not written to take no memory
        capacity = int(_MARGIN * kappa * points * filling) + len(a) + 1000
        self._values = np.empty(capacity, dtype=np.float32)
        self._columns = np.empty(capacity, dtype=np.int32)
        self._lengths = np.zeros(len(a), dtype=np.int64)
        self._count = 0
        generator = torch.Generator().manual_seed(0)
        # one run of random numbers, read from a new place each time: fresh ones would take longer
        size = max(len(b), min(_PIECE_ELEMENTS, len(a) * len(b)))
        self._random = torch.rand(2 * size, generator=generator)
        self._place = generator

    def add(self, part: slice, panel: Tensor, u: Tensor, v: Tensor) -> None:
        """Takes in the rows of a panel, with u of these rows; a symmetric one begins at the diagonal."""
        first = part.start if self._symmetric else 0
        row = (self._factor * u / self._root_a[part]).to(panel.dtype)[:, None]
        column = (v / self._root_b)[first:].to(panel.dtype)
        step = max(1, _PIECE_ELEMENTS // panel.shape[1])
        for top in range(0, len(panel), step):
            piece = panel[top : top + step]
            likely = piece * column
            likely *= row[top : top + step]
            size = likely.numel()
            place = torch.randint(len(self._random) - size + 1, (1,), generator=self._place)
            random = self._random[int(place) : int(place) + size].view(likely.shape)
            where = torch.from_numpy(np.flatnonzero((likely > random).numpy()))
            values = piece.reshape(-1)[where] / likely.view(-1)[where].clamp_(max=1.0)
            rows, columns = where // panel.shape[1] + top, where % panel.shape[1]
            if self._symmetric:  # the upper triangle stands for both, and the diagonal for itself
                upper = columns >= rows
                rows, columns, values = rows[upper], columns[upper], values[upper]
                values[rows == columns] *= 0.5
            count = min(len(values), len(self._values) - self._count)
            span = slice(self._count, self._count + count)
            self._values[span] = values[:count].numpy()
            self._columns[span] = (columns[:count] + first).numpy()
            self._lengths[part] += np.bincount(rows[:count].numpy(), minlength=len(panel))
            self._count += count

    @property
    def filling(self) -> float:
        """Entries that stayed, as a part of κ (N + M): large ones count once, however large."""
        return max(0.05, self._count / self._most)

    def matrix(self) -> scipy.sparse.csr_matrix:
        """What stays of K; of a symmetric K a triangle U, for K̃ = U + Uᵀ."""
        import scipy.sparse

        starts = np.concatenate([[0], np.cumsum(self._lengths)])
        kept = self._values[: self._count], self._columns[: self._count], starts
        return scipy.sparse.csr_matrix(kept, shape=self.shape)


class Surrogate:
    """T̃ = diag(u ρ) K̃ diag(v σ), where ρ and σ give it nearly the marginals of T."""

    def __init__(self, sampler: Sampler) -> None:
        self._matrix = sampler.matrix()
        self._transposed = self._matrix.T  # a view
        n, m = self._matrix.shape
        self._rho, self._sigma = np.ones(n, dtype=np.float32), np.ones(m, dtype=np.float32)

    @np.errstate(all="ignore")  # a step that is lost is noticed by the next sweep
    def column_step(self, u: Tensor, v: Tensor, c: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """The step of log v for a plan whose rows are right and whose columns sum to c."""
        rows, columns = _narrow(a), _narrow(c)
        left, right = _narrow(u / u.mean()), _narrow(v / v.mean())
        for _ in range(_BALANCING):
            self._rho = rows / _positive(left * (self._matrix @ (right * self._sigma)))
            self._sigma = columns / _positive(right * (self._transposed @ (left * self._rho)))
        right = right * self._sigma

        def newton(total: FloatArray) -> _Newton:
            scaled = right * np.exp(total).astype(np.float32)
            row = _positive(self._matrix @ scaled)
            column = scaled * (self._transposed @ (rows / row))
            weights = rows / np.square(row)

            def laplacian(z: FloatArray) -> FloatArray:
                inner = weights * (self._matrix @ (scaled * z.astype(np.float32)))
                image: FloatArray = column * z - scaled * (self._transposed @ inner)
                return image

            return _Newton(column.astype(np.float64), laplacian, conserves=True)

        step = _newton_steps(newton, (b / c).log().numpy())
        return torch.from_numpy(step - float(b.numpy() @ step))

    @np.errstate(all="ignore")
    def self_step(self, s: Tensor, r: Tensor, a: Tensor) -> Tensor:
        """The step of log s for a plan diag(s) K diag(s) whose rows sum to r."""
        rows, scale = _narrow(r), _narrow(s)
        for _ in range(_BALANCING):
            self._rho = np.sqrt(self._rho * rows / _positive(self._image(scale, self._rho)))
        scale = scale * self._rho

        def newton(total: FloatArray) -> _Newton:
            scaled = scale * np.exp(total).astype(np.float32)
            row = self._image(scaled, np.ones_like(scaled))

            def operator(z: FloatArray) -> FloatArray:
                image: FloatArray = row * z + self._image(scaled, z.astype(np.float32))
                return image

            return _Newton(row.astype(np.float64), operator, conserves=False)

        return torch.from_numpy(_newton_steps(newton, (a / r).log().numpy()))

    def _image(self, scale: FloatVector, z: FloatVector) -> FloatVector:
        """diag(scale) K̃ diag(scale) z."""
        vector = scale * z
        product: FloatVector = scale * (self._matrix @ vector + self._transposed @ vector)
        return product


class _Newton(NamedTuple):
    """The linear system of a Newton step."""

    sums: FloatArray
    """Marginals, and the diagonal of the operator but for T̃."""
    operator: Callable[[FloatArray], FloatArray]
    conserves: bool
    """Whether mass only moves: the operator is a Laplacian."""


def _newton_steps(newton: Callable[[FloatArray], _Newton], lacking: FloatArray) -> FloatArray:
    """The logarithms by which scalings have to change so that the marginals do by ``lacking``.

    T̃ has the marginals of T up to some digits only; so what counts is the change from where it
    starts. One Newton step is enough, unless the change is large.
    """
    total = np.zeros_like(lacking)
    first, goal = None, 0.0
    for _ in range(_NEWTON_STEPS):
        system = newton(total)
        sums = np.maximum(system.sums, _LEAST)
        first = sums if first is None else first
        wanted = sums * (lacking - np.log(sums / first))
        if system.conserves:
            wanted -= wanted.sum() * sums / sums.sum()
        missing = float(np.abs(wanted).sum())
        goal = goal or max(_ROUGH, 0.01 * missing)
        if total.any() and missing <= goal:
            break
        step, _ = conjugate_gradients(
            system.operator, wanted, partial(_divided, sums), _GOAL * missing, _STEPS, sums
        )
        total = total + step.clip(-_LONGEST, _LONGEST)
    return total


def _divided(diagonal: FloatArray, z: FloatArray) -> FloatArray:
    return z / diagonal


def _narrow(tensor: Tensor) -> FloatVector:
    array: FloatVector = tensor.to(torch.float32).numpy()
    return array


def _positive(array: FloatVector) -> FloatVector:
    """Never zero: a row of which nothing stayed."""
    positive: FloatVector = np.maximum(array, np.float32(_LEAST))
    return positive
