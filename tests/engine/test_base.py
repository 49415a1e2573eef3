"""What every engine does: a lost item is an error where all results are needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from otadtk.engine import Engine, Lost
from otadtk.errors import OtadtkError


class Losing(Engine):
    """Loses the second item."""

    def run(self, prepare: Any, items: Any, **how: Any) -> Iterator[tuple[int, Any]]:
        yield from prepare()(iter([(0, items[0])]))
        yield 1, Lost("its worker died 3 times at it")

    def close(self) -> None:
        """Nothing."""


def test_lost_part_is_an_error() -> None:
    with pytest.raises(OtadtkError, match="numbers, part 2: its worker died 3 times"):
        Losing().map(lambda: abs, [1, 2], title="numbers")
