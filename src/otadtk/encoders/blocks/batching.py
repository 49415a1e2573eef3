"""Batches that give each input the result it would get alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import torch

Network = Callable[[torch.Tensor], torch.Tensor]

_AT_ONCE = {"cpu": 1}
_AT_ONCE_ON_ACCELERATORS = 16


def in_fixed_batches(network: Network, inputs: torch.Tensor, size: int) -> torch.Tensor:
    """Outputs ``(n, …)`` for inputs ``(n, …)`` of one shape, in batches of one fixed size.

    The kernels that torch picks depend on the batch size, and with them the last bits of the
    result. With a fixed size, an input gives the same bits in every batch.
    """
    count, missing = len(inputs), -len(inputs) % size
    if missing:
        inputs = torch.cat([inputs, inputs.new_zeros(missing, *inputs.shape[1:])])
    return torch.cat([network(batch) for batch in torch.split(inputs, size)])[:count]


def by_shape(network: Network, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """One output per input, in order; only inputs of one shape share a batch.

    On the CPU each input is a batch of its own: a transformer or convolution over seconds of audio
    keeps a core busy (batches of 4 and 8 were no faster), and the bits depend on no other input.
    """
    device = inputs[0].device.type if inputs else "cpu"
    size = _AT_ONCE.get(device, _AT_ONCE_ON_ACCELERATORS)
    alike: dict[torch.Size, list[int]] = defaultdict(list)
    for index, x in enumerate(inputs):
        alike[x.shape].append(index)
    outputs: dict[int, torch.Tensor] = {}
    for indices in alike.values():
        for start in range(0, len(indices), size):
            batch = indices[start : start + size]
            results = network(torch.stack([inputs[i] for i in batch]))
            outputs.update(zip(batch, results, strict=True))
    return [outputs[i] for i in range(len(inputs))]
