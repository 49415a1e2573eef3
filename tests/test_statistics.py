"""AUROC by ranks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otadtk.errors import UsageError
from otadtk.statistics import auroc


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=40).filter(
        lambda pairs: len({p for p, _ in pairs}) == 2
    )
)
def test_auroc_is_the_share_of_ordered_pairs(pairs: list[tuple[bool, int]]) -> None:
    positive = [s for p, s in pairs if p]
    negative = [s for p, s in pairs if not p]
    wins = [(a > b) + 0.5 * (a == b) for a in positive for b in negative]
    mask, scores = zip(*pairs, strict=True)
    assert auroc(mask, scores) == pytest.approx(np.mean(wins))


@pytest.mark.parametrize(
    ("mask", "scores", "message"),
    [
        ([True], [1.0, 2.0], "1 entries for 2 scores"),
        ([True, True], [1.0, 2.0], "leave at least one unmarked"),
        ([False, False], [1.0, 2.0], "mark at least one"),
    ],
)
def test_bad_masks(mask: list[bool], scores: list[float], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        auroc(mask, scores)
