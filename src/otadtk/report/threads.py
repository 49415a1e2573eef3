"""Maps a function over items on several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from otadtk.engine import default_workers

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """The results in order; each thread computes with one torch thread."""
    with ThreadPoolExecutor(
        default_workers(), initializer=lambda: torch.set_num_threads(1)
    ) as pool:
        return list(pool.map(function, items))
