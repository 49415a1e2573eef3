"""AUROC and rank correlation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from otadtk.errors import UsageError
from otadtk.statistics.ranking import auroc, rank_correlation


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


class TestRankCorrelation:
    def test_equals_scipy_with_ties(self, rng: np.random.Generator) -> None:
        x, y = rng.integers(0, 5, size=40), rng.normal(size=40)
        assert rank_correlation(x, y).value == pytest.approx(spearmanr(x, y).statistic)

    def test_interval_holds_the_value_and_narrows(self, rng: np.random.Generator) -> None:
        widths = []
        for n in (20, 500):
            x = rng.normal(size=n)
            found = rank_correlation(x, x + rng.normal(size=n))
            assert found.low < found.value < found.high
            widths.append(found.high - found.low)
        assert widths[1] < 0.5 * widths[0]

    @pytest.mark.parametrize(
        "pair", [([1, 2], [1, 2]), ([1, 2, 3], [1, 2]), ([1, 2, 3], [1, 2, np.nan])]
    )
    def test_bad_input(self, pair: tuple[list[float], list[float]]) -> None:
        with pytest.raises(UsageError, match="rank correlation needs"):
            rank_correlation(*pair)
