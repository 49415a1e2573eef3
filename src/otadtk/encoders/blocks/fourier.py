"""Convolutions with long kernels, computed in the frequency domain."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

_TILE = 64


class FourierConvolution(nn.Module):
    """A "same" convolution over time, ``(n, time, inputs)`` -> ``(n, time, outputs)``.

    Tiles of 64 steps are transformed, multiplied by the kernel's transform and transformed back.
    With 15 taps a tile gives 50 outputs at 2.6 multiplications per output and channel, where the
    direct sum takes 15.
    """

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        assert isinstance(convolution, nn.Conv1d)
        (taps,) = convolution.kernel_size
        assert convolution.stride == (1,), "each step gives an output"
        self._before = taps // 2
        self._step = _TILE - taps + 1
        kernel = torch.fft.rfft(convolution.weight.detach(), n=_TILE).conj()
        self.register_buffer("kernel", kernel.permute(2, 1, 0).resolve_conj().contiguous())
        assert convolution.bias is not None
        self.register_buffer("bias", convolution.bias.detach())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The convolved sequence, of the same length."""
        n, time, _ = x.shape
        tiles = -(-time // self._step)
        behind = (tiles - 1) * self._step + _TILE - self._before - time
        padded = functional.pad(x, (0, 0, self._before, behind))
        cut = padded.unfold(1, _TILE, self._step).flatten(0, 1)  # (n · tiles, inputs, 64)
        spectrum = torch.fft.rfft(cut).permute(2, 0, 1).contiguous()
        product = torch.bmm(spectrum, self.get_buffer("kernel"))
        back = torch.fft.irfft(product, n=_TILE, dim=0)[: self._step]
        joined = back.unflatten(1, (n, tiles)).permute(1, 2, 0, 3).flatten(1, 2)
        out: torch.Tensor = joined[:, :time] + self.get_buffer("bias")
        return out
