"""Conformal p-values, q-values and verdicts: closed forms, levels, ties and tiny sets."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.engine import LocalEngine
from otadtk.errors import UsageError
from otadtk.statistics.conformal import (
    count_exceeding,
    deal_folds,
    held_out_counts,
    least_together,
    p_values,
    q_values,
    reference_needed,
)
from otadtk.statistics.spoilt import Half, judge_all
from otadtk.statistics.verdicts import groups_of_their_own, judge_clips

ENGINE = LocalEngine(1)


def nearest(points):
    """The distance to the nearest clip of the first subset, as a cost."""

    def costs(i, j):
        return np.abs(points[j][:, None] - points[i][None]).min(axis=1)

    return costs


def fixed(values):
    """Costs that do not depend on the reference."""
    return lambda i, j: values[j]


def sides(n, m):
    return np.arange(n), n + np.arange(m)


def test_counts_include_ties():
    calibration = np.array([3.0, 1.0, 2.0])
    counts = count_exceeding(calibration, np.array([0.5, 1.0, 2.0 + 1e-9, 3.5]))
    assert counts.tolist() == [3, 3, 2, 0]


def test_p_values_are_ranks_among_the_reference():
    values = np.array([1.0, 2.0, 3.0, 4.0, 0.0, 2.5, 9.0])
    parts = [np.array([0, 3]), np.array([1, 2])]
    counts = held_out_counts(fixed(values), *sides(4, 3), parts, engine=ENGINE).sum(axis=0)
    assert counts.tolist() == [4, 2, 0]
    assert p_values(counts, np.full(3, 4)).tolist() == [1.0, 3 / 5, 1 / 5]


def test_every_reference_clip_is_held_out_once_and_never_transported_to_itself():
    seen = []

    def costs(i, j):
        held = j[j < 11]
        assert not set(held) & set(i) and len(held) + len(i) == 11
        seen.extend(held)
        return np.ones(len(j))

    parts = deal_folds([""] * 11, 4, [0])
    held_out_counts(costs, *sides(11, 2), parts, engine=ENGINE)
    assert sorted(seen) == list(range(11))


def test_folds_hold_every_kind_in_equal_numbers():
    kinds = np.array(["a"] * 20 + ["b"] * 10, dtype=object)
    for part in deal_folds(kinds, 5, [0]):
        assert sum(kinds[part] == "a") == 4 and sum(kinds[part] == "b") == 2


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
    values = np.arange(24.0)
    few = judge_clips(fixed(values), *sides(4, 20), engine=ENGINE)
    assert not few.possible and not few.bad.any()
    assert few.shortage() == (
        "too few reference clips for any verdict: finding 1 bad clip of 20 at 10 % needs 199, not 4"
    )
    some = judge_clips(fixed(np.arange(120.0)), *sides(100, 20), engine=ENGINE)
    assert some.possible and "only 2 or more bad clips of 20" in str(some.shortage())
    enough = judge_clips(fixed(np.arange(220.0)), *sides(200, 20), engine=ENGINE)
    assert enough.shortage() is None and enough.bad.all()


def test_equal_costs_find_nothing():
    verdicts = judge_clips(fixed(np.ones(300)), *sides(200, 100), engine=ENGINE)
    assert (verdicts.p == 1.0).all() and not verdicts.bad.any()
    assert verdicts.spoilt.p_value > 0.9
    assert verdicts.spoilt.share.estimate == verdicts.spoilt.share.low == 0.0
    assert verdicts.sentence() == "none of 100 clips is worse than chance allows (at 10 %)"


@pytest.mark.parametrize("m", [1, 2, 40])
def test_clear_outliers_are_found_and_counted(m):
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.random(500), 0.9 * rng.random(m)])
    values[500] = 7.0
    verdicts = judge_clips(fixed(values), *sides(500, m), engine=ENGINE)
    assert verdicts.bad.tolist() == [True] + [False] * (m - 1)
    assert verdicts.sentence().startswith(f"1 of {m} clips is worse")
    assert verdicts.at(0.001).bad.sum() == 0


def test_groups_are_compared_with_their_own_kind():
    rng = np.random.default_rng(1)
    cheap, dear = rng.random(200), 100.0 + rng.random(200)
    odd = np.concatenate([rng.random(19), [50.0]])  # dear among the cheap, not among all
    values = np.concatenate([cheap, dear, odd, 100.0 + rng.random(20)])
    groups = ["cheap"] * 200 + ["dear"] * 200, ["cheap"] * 20 + ["dear"] * 20
    plain = judge_clips(fixed(values), *sides(400, 40), engine=ENGINE)
    own = judge_clips(fixed(values), *sides(400, 40), groups=groups, fdr=0.25, engine=ENGINE)
    assert not plain.bad.any()
    assert own.own_groups == ("cheap", "dear") and np.flatnonzero(own.bad).tolist() == [19]
    assert (own.calibration == 200).all()


def test_small_groups_are_judged_together():
    reference = ["a"] * 300 + ["b", "c"]
    evaluated = ["a"] * 10 + ["b", "c", "new"]
    assert groups_of_their_own(reference, evaluated, 0.1) == ("a",)
    values = np.arange(315.0)
    verdicts = judge_clips(
        fixed(values), *sides(302, 13), groups=(reference, evaluated), engine=ENGINE
    )
    assert verdicts.calibration.tolist() == [300] * 10 + [2] * 3


def test_too_small_or_senseless_input_is_refused():
    with pytest.raises(UsageError, match="at least 2 reference clips and folds, not 1"):
        judge_clips(fixed(np.ones(3)), *sides(1, 2), engine=ENGINE)
    for rate in (0.0, 1.0, -0.1, 3.0):
        with pytest.raises(UsageError, match="between 0 and 1"):
            judge_clips(fixed(np.ones(5)), *sides(3, 2), fdr=rate, engine=ENGINE)


def test_the_share_of_false_alarms_stays_below_its_bound():
    shares, found, alarms = [], [], 0
    for run in range(80):
        rng = np.random.default_rng(run)
        points = rng.normal(size=160)
        clean = judge_clips(nearest(points), *sides(100, 60), fdr=0.2, seed=run, engine=ENGINE)
        alarms += clean.bad.any()
        points[100:112] = rng.choice([-1, 1], 12) * rng.uniform(4.0, 9.0, 12)
        bad = judge_clips(nearest(points), *sides(100, 60), fdr=0.2, seed=run, engine=ENGINE).bad
        shares.append(bad[12:].sum() / max(1, bad.sum()))
        found.append(bad[:12].mean())
    error = np.std(shares) / np.sqrt(len(shares))
    assert alarms / 80 <= 0.2 + 2 * np.sqrt(0.2 * 0.8 / 80)
    assert np.mean(shares) <= 0.2 + 2 * error
    assert np.mean(found) > 0.4


def test_the_test_for_some_bad_clips_keeps_its_level_and_has_power():
    rejected, noticed, covered = 0, 0, 0
    for run in range(100):
        rng = np.random.default_rng([7, run])
        points = rng.normal(size=160)
        clean = judge_clips(nearest(points), *sides(80, 80), seed=run, engine=ENGINE)
        rejected += clean.spoilt.p_value <= 0.05
        points[80:92] = rng.uniform(3.0, 9.0, 12)
        spoilt = judge_clips(nearest(points), *sides(80, 80), seed=run, engine=ENGINE).spoilt
        noticed += spoilt.p_value <= 0.05
        covered += spoilt.share.low <= 12 / 80 <= spoilt.share.high
    assert rejected <= 100 * (0.05 + 2 * np.sqrt(0.05 * 0.95 / 100))
    assert noticed >= 95
    assert covered >= 93


def test_the_law_of_good_clips_is_that_of_random_ranks():
    rng = np.random.default_rng(3)
    p = []
    for run in range(300):
        order = rng.permutation(70)
        counts = np.array([np.sum(order[:40] > order[40 + j]) for j in range(30)])
        p.append(judge_all([Half(counts, np.full(30, 40))], [""] * 30, seed=run).p_value)
    for level in (0.05, 0.2):
        assert np.mean(np.array(p) <= level) <= level + 2 * np.sqrt(level * (1 - level) / 300)


def test_groups_of_one_clip_have_their_law_too():
    counts, calibration = np.array([0, 5, 0]), np.array([9, 9, 0])
    spoilt = judge_all([Half(counts, calibration)], ["a", "a", "b"])
    assert 0.0 < spoilt.p_value <= 1.0
    assert 0.0 <= spoilt.share.low <= spoilt.share.estimate <= spoilt.share.high <= 1.0
