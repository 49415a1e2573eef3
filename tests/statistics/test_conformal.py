"""Conformal p-values, q-values and verdicts: closed forms, levels, ties and tiny sets."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.errors import UsageError
from otadtk.statistics import judging
from otadtk.statistics.conformal import (
    chosen_by_e,
    count_exceeding,
    least_together,
    p_values,
    q_values,
    rank_in_bags,
    reference_needed,
)
from otadtk.statistics.judging import groups_of_their_own, halve, judge_clips
from otadtk.statistics.prices import prices, swapped_prices
from otadtk.statistics.spoilt import Half, judge_all


def between(points):
    """The squared distances of points on a line, or of rows."""
    rows = np.asarray(points, dtype=float).reshape(len(points), -1)
    return lambda i, j: np.square(rows[i][:, None] - rows[j][None]).sum(axis=2)


def every(points):
    pool = np.arange(len(points))
    return between(points)(pool, pool)


def test_counts_include_ties():
    calibration = np.array([3.0, 1.0, 2.0])
    counts = count_exceeding(calibration, np.array([0.5, 1.0, 2.0 + 1e-12, 3.5]))
    assert counts.tolist() == [3, 3, 2, 0]
    assert p_values(counts, np.full(4, 3)).tolist() == [1.0, 1.0, 0.75, 0.25]


def test_halves_hold_every_kind_in_equal_numbers():
    kinds = np.array(["a"] * 20 + ["b"] * 10, dtype=object)
    halves = halve(kinds, [0])
    assert sorted(np.concatenate(halves)) == list(range(30))
    for half in halves:
        assert sum(kinds[half] == "a") == 10 and sum(kinds[half] == "b") == 5


@pytest.mark.parametrize("swapped", [0, 3])
def test_a_column_of_prices_only_knows_the_unordered_bag(swapped):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(12, 3))  # 7 reference clips and 5 evaluated ones
    before = swapped_prices(every(points), 7)
    j = 2
    points[[swapped, 7 + j]] = points[[7 + j, swapped]]
    after = swapped_prices(every(points), 7)
    bag = np.append(before.reference[:, j], before.own[j])
    bag[[swapped, 7]] = bag[[7, swapped]]
    assert np.allclose(np.append(after.reference[:, j], after.own[j]), bag, rtol=1e-10)
    others = np.arange(5) != j
    assert np.allclose(after.others[others, j], before.others[others, j], rtol=1e-10)
    ranks = [rank_in_bags(found, np.arange(7), np.arange(5)) for found in (before, after)]
    assert (ranks[0].rivals[:, j] == ranks[1].rivals[:, j]).all()


def test_swapped_prices_are_those_of_the_plain_algorithm():
    points = np.random.default_rng(1).normal(size=(9, 2))
    squares = every(points)
    found = swapped_prices(squares, 5)
    j = 1
    bag, others = [0, 1, 2, 3, 4, 5 + j], [5, 7, 8]
    length = squares / (0.1 * np.median(squares))
    kernel = np.exp(-length)
    stock = np.ones(6)
    for _ in range(20):
        stock = 1.0 / (kernel[np.ix_(bag, others)] @ (1.0 / (kernel[np.ix_(others, bag)] @ stock)))
    for place, clip in enumerate(bag):
        rest = [k for k in range(6) if k != place]
        weights = stock[rest] * kernel[clip, [bag[k] for k in rest]]
        paid = (weights * length[clip, [bag[k] for k in rest]]).sum() / weights.sum()
        price = found.own[j] if clip == 5 + j else found.reference[place, j]
        assert price == pytest.approx(paid - np.log(weights.sum()), rel=1e-9)


def test_prices_see_what_costs_do_not():
    """Many clips at one reference clip pay for its scarcity, although each is near to it."""
    line = np.concatenate([np.linspace(0, 10, 20), [30.0]])
    crowd, alone = np.full(10, 30.1), np.array([30.1])
    shared = prices(between(np.concatenate([line, crowd]))(np.arange(21), 21 + np.arange(10)))
    others = np.linspace(0, 10, 9)
    single = prices(
        between(np.concatenate([line, alone, others]))(np.arange(21), 21 + np.arange(10))
    )
    assert single[0] < shared[0] or shared.std() < 1e-9  # a crowd alone is an even price
    mixed = prices(
        between(np.concatenate([line, crowd, others]))(np.arange(21), 21 + np.arange(19))
    )
    assert mixed[0] > np.max(mixed[10:])


def test_far_and_equal_clips_have_finite_prices():
    far = np.concatenate([np.arange(10.0), [1e6, 1e8]])
    found = swapped_prices(every(far), 8)
    assert all(np.isfinite(part).all() for part in (found.reference, found.own, found.others))
    assert found.own[3] > found.own[2] > found.own[1], "far clips keep their order"
    same = swapped_prices(np.zeros((6, 6)), 3)
    assert np.isfinite(same.own).all() and np.isfinite(same.reference).all()


def test_e_values_of_good_clips_are_at_most_one_on_average():
    for clips in (1, 30):
        e = []
        for run in range(100):
            points = np.random.default_rng([3, run]).normal(size=(40 + clips, 2))
            if clips > 1:
                points[40:46] *= 6.0  # some clips are bad; the others' e-values count
            ranked = rank_in_bags(
                swapped_prices(every(points), 40), np.arange(40), np.arange(clips)
            )
            e.append(ranked.e_values(0.3)[6 if clips > 1 else 0 :].mean())
        assert np.mean(e) <= 1.0 + 2 * np.std(e) / np.sqrt(len(e))


def test_the_procedure_for_e_values():
    assert chosen_by_e(np.array([40.0, 19.0, 0.0, 9.0]), 0.1).tolist() == [
        True,
        False,
        False,
        False,
    ]
    assert chosen_by_e(np.array([20.0, 20.0, 0.0, 1.0]), 0.1).tolist() == [True, True, False, False]
    assert not chosen_by_e(np.zeros(3), 0.1).any()


def test_q_values_follow_benjamini_and_hochberg():
    p = np.array([0.04, 0.01, 0.03, 0.5])
    assert np.allclose(q_values(p), [0.16 / 3, 0.04, 0.16 / 3, 0.5])
    for level in (0.03, 0.045, 0.06, 0.6):
        ordered = np.sort(p)
        passing = [k for k in range(4, 0, -1) if ordered[k - 1] <= level * k / 4]
        cut = ordered[passing[0] - 1] if passing else -1.0
        assert ((q_values(p) <= level) == (p <= cut)).all()


def test_the_number_of_reference_clips_needed():
    assert reference_needed(72, 0.1) == 719 and reference_needed(72, 0.1, bad=72) == 9
    for m, fdr, bad in ((72, 0.1, 4), (500, 0.05, 25), (3, 0.2, 1)):
        needed = reference_needed(m, fdr, bad)
        assert least_together(m, needed, fdr) <= bad < least_together(m, needed - 1, fdr)


def test_a_shortage_is_said_with_the_number():
    rng = np.random.default_rng(0)
    few = judge_clips(between(rng.normal(size=24)), 4, 20)
    assert not few.possible and not few.bad.any()
    assert few.shortage() == (
        "too few reference clips for any verdict: finding 1 bad clip of 20 at 10 % needs 199, not 4"
    )
    some = judge_clips(between(rng.normal(size=120)), 100, 20)
    assert some.possible and "only 2 or more bad clips of 20" in str(some.shortage())
    assert judge_clips(between(rng.normal(size=220)), 200, 20).shortage() is None


def test_equal_clips_find_nothing():
    verdicts = judge_clips(between(np.ones(300)), 200, 100)
    assert (verdicts.p == 1.0).all() and not verdicts.bad.any()
    assert verdicts.spoilt.p_value > 0.9
    assert verdicts.spoilt.share.estimate == verdicts.spoilt.share.low == 0.0
    assert verdicts.sentence() == "none of 100 clips is worse than chance allows (at 10 %)"


@pytest.mark.parametrize("work", [0.0, 2e9], ids=["held out", "swapped"])
@pytest.mark.parametrize("m", [1, 2, 30])
def test_clear_outliers_are_found_and_counted(m, work, monkeypatch):
    monkeypatch.setattr(judging, "_SWAPPED_WORK", work)
    points = np.random.default_rng(0).normal(size=700 + m)
    points[700:] *= 0.5
    points[700] = 9.0
    verdicts = judge_clips(between(points), 700, m)
    assert verdicts.method == ("swapped" if work else "held out")
    assert verdicts.bad.tolist() == [True] + [False] * (m - 1)
    assert verdicts.sentence().startswith(f"1 of {m} clips is worse")
    assert verdicts.at(0.001).bad.sum() == 0


def test_groups_are_compared_with_their_own_kind():
    rng = np.random.default_rng(1)
    narrow, wide = rng.normal(size=220), 100.0 * rng.normal(size=220)
    narrow[219] = 7.0  # far from its group, well within the other
    points = np.concatenate([narrow[:200], wide[:200], narrow[200:], wide[200:]])
    groups = ["narrow"] * 200 + ["wide"] * 200, ["narrow"] * 20 + ["wide"] * 20
    plain = judge_clips(between(points), 400, 40, fdr=0.25)
    own = judge_clips(between(points), 400, 40, groups=groups, fdr=0.25)
    assert not plain.bad.any()
    assert own.own_groups == ("narrow", "wide") and np.flatnonzero(own.bad).tolist() == [19]
    assert (own.calibration == 200).all()


def test_small_groups_are_judged_together():
    reference = ["a"] * 300 + ["b", "c"]
    evaluated = ["a"] * 10 + ["b", "c", "new"]
    assert groups_of_their_own(reference, evaluated, 0.1) == ("a",)
    points = np.random.default_rng(0).normal(size=315)
    verdicts = judge_clips(between(points), 302, 13, groups=(reference, evaluated))
    assert verdicts.calibration.tolist() == [300] * 10 + [2] * 3


def test_too_small_or_senseless_input_is_refused():
    with pytest.raises(UsageError, match="at least 2 reference clips, not 1"):
        judge_clips(between(np.arange(3)), 1, 2)
    for rate in (0.0, 1.0, -0.1, 3.0):
        with pytest.raises(UsageError, match="between 0 and 1"):
            judge_clips(between(np.arange(5)), 3, 2, fdr=rate)


@pytest.mark.parametrize("work", [0.0, 2e9], ids=["held out", "swapped"])
def test_the_share_of_false_alarms_stays_below_its_bound(work, monkeypatch):
    monkeypatch.setattr(judging, "_SWAPPED_WORK", work)
    shares, found, alarms = [], [], 0
    for run in range(40):
        rng = np.random.default_rng(run)
        points = rng.normal(size=(160, 2))
        alarms += judge_clips(between(points), 100, 60, fdr=0.2, seed=run).bad.any()
        points[100:112] *= 4.0
        verdicts = judge_clips(between(points), 100, 60, fdr=0.2, seed=run)
        for called in (verdicts.bad, verdicts.proven):
            shares.append(called[12:].sum() / max(1, called.sum()))
            found.append(called[:12].mean())
    both = np.reshape(shares, (-1, 2))
    errors = both.std(axis=0) / np.sqrt(len(both))
    assert alarms / len(both) <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / len(both))
    assert (both.mean(axis=0) <= 0.2 + 2 * errors).all()
    assert (np.reshape(found, (-1, 2)).mean(axis=0) > 0.4).all()


def test_the_test_for_some_bad_clips_keeps_its_level_and_has_power():
    rejected, noticed, covered = 0, 0, 0
    for run in range(50):
        rng = np.random.default_rng([7, run])
        points = rng.normal(size=(160, 2))
        clean = judge_clips(between(points), 80, 80, seed=run)
        rejected += clean.spoilt.p_value <= 0.05
        points[80:92] *= 5.0
        spoilt = judge_clips(between(points), 80, 80, seed=run).spoilt
        noticed += spoilt.p_value <= 0.05
        covered += spoilt.share.low <= 12 / 80 <= spoilt.share.high
    assert rejected <= 50 * (0.05 + 2 * np.sqrt(0.05 * 0.95 / 50))
    assert noticed >= 45
    assert covered >= 45


def test_the_law_of_good_clips_is_that_of_random_ranks():
    rng = np.random.default_rng(3)
    p = []
    for run in range(150):
        order = rng.permutation(70)
        counts = np.array([np.sum(order[:40] > order[40 + j]) for j in range(30)])
        p.append(judge_all([Half(counts, np.full(30, 40))], [""] * 30, seed=run).p_value)
    for level in (0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 2 * np.sqrt(level * (1 - level) / 150)


def test_groups_of_one_clip_have_their_law_too():
    counts, calibration = np.array([0, 5, 0]), np.array([9, 9, 0])
    spoilt = judge_all([Half(counts, calibration)], ["a", "a", "b"])
    assert 0.0 < spoilt.p_value <= 1.0
    assert 0.0 <= spoilt.share.low <= spoilt.share.estimate <= spoilt.share.high <= 1.0
