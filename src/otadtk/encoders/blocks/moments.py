"""Moments of the activations of a layer: what `+layers` keeps of them."""

from __future__ import annotations

import torch


def channel_moments(
    activations: torch.Tensor, sounding: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean and mean square ``(n, channels)`` of activations ``(n, channels, time, frequency)``.

    ``sounding`` ``(n, steps)`` says how much each step of the input counts, steps being a multiple
    of the activations' time; an input without any weight counts throughout.
    """
    over_frequency = activations.mean(dim=3)
    squares = activations.square().mean(dim=3)
    if sounding is None:
        return over_frequency.mean(dim=2), squares.mean(dim=2)
    times = activations.shape[2]
    share = sounding.reshape(len(sounding), times, -1).mean(dim=2)
    share = torch.where(share.sum(dim=1, keepdim=True) > 0, share, 1.0)
    share = (share / share.sum(dim=1, keepdim=True))[:, None]
    return (over_frequency * share).sum(dim=2), (squares * share).sum(dim=2)
