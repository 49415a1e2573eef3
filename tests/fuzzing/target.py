"""One thing to fuzz, and how it is repeated."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

Fuzz = Callable[[int, int], None]
"""Takes a number of examples and a seed; raises at a finding."""


@dataclass(frozen=True)
class Target:
    """What is fuzzed; ``kept`` is the file of the last example, which a finding is shown by."""

    name: str
    fuzz: Fuzz
    kept: Path | None = None


def repeated(*strategies: SearchStrategy[Any]) -> Callable[[Callable[..., None]], Fuzz]:
    """Decorates a function of drawn values: any number of examples of it, by any seed."""

    def decorate(once: Callable[..., None]) -> Fuzz:
        def fuzz(examples: int, number: int) -> None:
            how = settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=False,
                phases=(Phase.generate,),
                suppress_health_check=list(HealthCheck),
            )
            how(seed(number)(given(*strategies)(once)))()  # a test of its own: one takes one seed

        return fuzz

    return decorate


@contextmanager
def at_most(seconds: int, name: str) -> Iterator[None]:
    """Ends what hangs."""

    def too_long(*_: object) -> None:
        raise TimeoutError(f"{name}: it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
