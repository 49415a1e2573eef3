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
        self._points: list[Tensor] = []
        self._residuals: list[Tensor] = []
        self._best = float("inf")

    def step(self, point: Tensor, residual: Tensor) -> Tensor:
        """The next point."""
        size = float(residual.norm())
        if size > self.forgive * self._best:
            self._points, self._residuals = [], []
        self._best = min(self._best, size)
        self._points = [*self._points[-self.depth :], point]
        self._residuals = [*self._residuals[-self.depth :], residual]
        if len(self._points) == 1:
            return point + residual
        moves = torch.stack([point - p for p in self._points[:-1]], dim=1)
        changes = torch.stack([residual - r for r in self._residuals[:-1]], dim=1)
        normal = changes.T @ changes
        scale = normal.diagonal().clamp(min=torch.finfo(normal.dtype).tiny).rsqrt()
        normal = normal * scale[:, None] * scale[None, :]
        normal.diagonal().add_(1e-10)  # nearly parallel residuals: do not extrapolate along them
        gamma = scale * torch.linalg.solve(normal, scale * (changes.T @ residual))
        mixed: Tensor = point + residual - (moves + changes) @ gamma
        return mixed
