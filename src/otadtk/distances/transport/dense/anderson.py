"""Anderson mixing: the fixed point of a contraction from the last few residuals."""

from __future__ import annotations

import torch
from torch import Tensor


class Anderson:
    """Extrapolates a fixed-point iteration h ← h + r(h) over the last ``depth`` steps.

    The next point minimises the residual that a linear map would have there:
    h + r − (ΔH + ΔR) γ with γ = argmin ‖r − ΔR γ‖. When a residual grows well beyond the
    smallest one so far, the history is forgotten and a plain step is taken.
    """

    def __init__(self, depth: int = 6, forgive: float = 4.0) -> None:
        self.depth, self.forgive = depth, forgive
        self._history: Tensor | None = None
        """(2, steps, size): points and residuals of the last steps, oldest first."""
        self._best = float("inf")

    def step(self, point: Tensor, residual: Tensor) -> Tensor:
        """The next point."""
        size = float(torch.linalg.vector_norm(residual))
        if size > self.forgive * self._best:
            self._history = None
        self._best = min(self._best, size)
        # both in one tensor: small problems spend their time in the overhead of calls
        latest = torch.stack([point, residual])[:, None]
        if self._history is None:
            self._history = latest
            return point + residual
        moves, changes = latest - self._history
        self._history = torch.cat([self._history[:, 1 - self.depth :], latest], dim=1)
        normal = changes @ changes.T
        scale = normal.diagonal().clamp(min=torch.finfo(normal.dtype).tiny).rsqrt()
        normal = normal * scale[:, None] * scale
        normal.diagonal().add_(1e-10)  # nearly parallel residuals: do not extrapolate along them
        gamma = scale * torch.linalg.solve_ex(normal, scale * (changes @ residual))[0]
        mixed: Tensor = point + residual - gamma @ (moves + changes)
        return mixed


class RowAnderson:
    """The same for every row of a matrix of points, each for itself.

    It remembers the changes from step to step, so that of their products one row a step is new.
    """

    def __init__(self, points: Tensor, depth: int = 10, forgive: float = 4.0) -> None:
        rows, size = points.shape
        self.depth, self.forgive = depth, forgive
        self._changes = points.new_zeros((rows, depth, size))
        """Of the residuals."""
        self._moves = points.new_zeros((rows, depth, size))
        """Of points and residuals together."""
        self._products = points.new_zeros((rows, depth, depth))
        """Of the changes with each other."""
        self._best = points.new_full((rows,), float("inf"))
        self._last: tuple[Tensor, Tensor] | None = None
        """The last residuals, and how the points moved since."""
        self._taken = 0

    def keep(self, rows: Tensor) -> None:
        """Goes on with the rows where the mask holds."""
        self._changes, self._moves = self._changes[rows], self._moves[rows]
        self._products, self._best = self._products[rows], self._best[rows]
        if self._last is not None:
            residual, moved = self._last
            self._last = residual[rows], moved[rows]

    def step(self, points: Tensor, residual: Tensor) -> Tensor:
        """The next points."""
        size = torch.linalg.vector_norm(residual, dim=1)
        lost = size > self.forgive * self._best
        forgotten = lost.nonzero()[:, 0]  # rows whose history is
        if len(forgotten) > 0:
            self._changes[forgotten], self._moves[forgotten] = 0.0, 0.0
            self._products[forgotten] = 0.0
        torch.minimum(self._best, size, out=self._best)
        step = residual if self._last is None else residual - self._correction(residual, forgotten)
        self._last = residual, step
        return points + step

    def _correction(self, residual: Tensor, forgotten: Tensor) -> Tensor:
        assert self._last is not None
        before, moved = self._last
        place = self._taken % self.depth
        self._taken += 1
        known = min(self._taken, self.depth)
        # one after the other in memory, as rows of a tensor: stacked as columns they take far longer
        both = torch.stack([residual - before, residual], dim=1)
        change = both[:, 0]
        move = change + moved
        if len(forgotten) > 0:
            change[forgotten], move[forgotten] = 0.0, 0.0
        self._changes[:, place], self._moves[:, place] = change, move
        changes, moves = self._changes[:, :known], self._moves[:, :known]
        found = torch.bmm(changes, both.mT)
        self._products[:, place, :known] = self._products[:, :known, place] = found[:, :, 0]
        normal = self._products[:, :known, :known]
        scale = normal.diagonal(dim1=1, dim2=2).clamp(min=torch.finfo(normal.dtype).tiny).rsqrt()
        normal = normal * scale[:, :, None] * scale[:, None, :]
        normal.diagonal(dim1=1, dim2=2).add_(1e-10)
        right = (scale * found[:, :, 1])[:, :, None]
        gamma = scale * torch.linalg.solve_ex(normal, right)[0][:, :, 0]
        return torch.bmm(gamma[:, None, :], moves)[:, 0]
