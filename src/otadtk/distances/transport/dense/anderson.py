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
        """(2, size, steps): points and residuals of the last steps, oldest first."""
        self._best = float("inf")

    def step(self, point: Tensor, residual: Tensor) -> Tensor:
        """The next point."""
        size = float(torch.linalg.vector_norm(residual))
        if size > self.forgive * self._best:
            self._history = None
        self._best = min(self._best, size)
        # both in one tensor: small problems spend their time in the overhead of calls
        latest = torch.stack([point, residual])[:, :, None]
        if self._history is None:
            self._history = latest
            return point + residual
        moves, changes = latest - self._history
        self._history = torch.cat([self._history, latest], dim=2)[:, :, -self.depth :]
        normal = changes.T @ changes
        scale = normal.diagonal().clamp(min=torch.finfo(normal.dtype).tiny).rsqrt()
        normal = normal * scale[:, None] * scale
        normal.diagonal().add_(1e-10)  # nearly parallel residuals: do not extrapolate along them
        gamma = scale * torch.linalg.solve_ex(normal, scale * (changes.T @ residual))[0]
        mixed: Tensor = point + residual - (moves + changes) @ gamma
        return mixed
