"""Levels of agreement: which clips meet which references, and what comes out in closed form."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from otadtk.experiments.listening.arrays import Arrays, Indices
from otadtk.experiments.listening.ceilings import ceilings
from otadtk.experiments.listening.dissimilarity import by_pair
from otadtk.experiments.listening.levels import (
    APART,
    CLIP,
    PAIRED,
    Effort,
    by_clip,
    by_system,
    within_item,
)
from otadtk.experiments.listening.sets import Excerpt, RatedClip, RatedSet
from otadtk.experiments.listening.system_distances import (
    SetDistance,
    apart_values,
    halves,
    paired_values,
    set_values,
)

EFFORT = Effort(resamples=60, set_resamples=30, splits=3, orders=199)
SYSTEMS, ITEMS = 4, 6


def sound(name: str) -> Excerpt:
    return Excerpt(Path(f"{name}.wav"))


def make_set(*, hidden: bool = False, twins: bool = True) -> RatedSet:
    """Four systems × six items; the rating falls by ten from system to system."""
    clips = [
        RatedClip(
            sound(f"s{system}-{item}"),
            f"s{system}",
            f"i{item}",
            sound(f"ref-{item}") if twins else None,
            100.0 - 10.0 * system - item,
            {"a": 100.0 - 10.0 * system, "b": 90.0 - 10.0 * system - item},
        )
        for system in range(SYSTEMS)
        for item in range(ITEMS)
    ]
    if hidden:
        clips += [
            RatedClip(sound(f"ref-{i}"), "hidden", f"i{i}", sound(f"ref-{i}"), 100.0, {"a": 100.0})
            for i in range(ITEMS)
        ]
    extra = () if twins else (sound("x"), sound("y"))
    return RatedSet("made", tuple(clips), extra)


def whole(arrays: Arrays) -> Indices:
    return np.ones(len(arrays.items), dtype=np.int64)


def pair_distances(arrays: Arrays) -> np.ndarray:
    """1, 2, 3, 4 for the systems: what listeners say, turned round."""
    return np.where(arrays.paired, 1.0 + arrays.system, np.nan)


class TestSystems:
    def test_a_distance_that_ranks_as_listeners_do(self) -> None:
        arrays = Arrays(make_set())
        values = paired_values(arrays, pair_distances(arrays))
        assert values(whole(arrays), None) == pytest.approx([1.0, 2.0, 3.0, 4.0])
        level = by_system(PAIRED, arrays, values, EFFORT, EFFORT.resamples)
        assert level is not None
        found = level.agreement
        assert found.values == pytest.approx((1.0, 1.0, 1.0))
        assert found.low == found.high == pytest.approx((1.0, 1.0, 1.0))
        assert (found.p_value, found.exact) == (pytest.approx(1 / 24), True)
        assert level.objects == SYSTEMS

    def test_a_distance_that_ranks_the_other_way(self) -> None:
        arrays = Arrays(make_set())
        values = paired_values(arrays, -pair_distances(arrays))
        level = by_system(PAIRED, arrays, values, EFFORT, 0)
        assert level is not None
        assert level.agreement.values == pytest.approx((-1.0, -1.0, -1.0))
        assert level.agreement.p_value == 1.0
        assert math.isnan(level.agreement.low[0])

    def test_items_are_drawn_as_wholes(self) -> None:
        """One item turns the ranking round: draws without it agree, draws full of it do not."""
        arrays = Arrays(make_set())
        pairs = pair_distances(arrays)
        last = arrays.item == ITEMS - 1
        pairs[last] = 20.0 * (SYSTEMS - arrays.system[last])
        level = by_system(PAIRED, arrays, paired_values(arrays, pairs), EFFORT, 200)
        assert level is not None
        assert level.agreement.low[0] == pytest.approx(-1.0)
        assert level.agreement.high[0] == pytest.approx(1.0)

    def test_hidden_references_do_not_count_with_twins(self) -> None:
        arrays = Arrays(make_set(hidden=True))
        values = paired_values(arrays, pair_distances(arrays))
        found = values(whole(arrays), None)
        assert np.isnan(found[-1])
        level = by_system(PAIRED, arrays, values, EFFORT, 0)
        assert level is not None
        assert level.objects == SYSTEMS

    def test_fewer_than_three_comparable_systems_give_nothing(self) -> None:
        arrays = Arrays(make_set())
        pairs = pair_distances(arrays)
        arrays.paired &= arrays.system < 2
        assert by_system(PAIRED, arrays, paired_values(arrays, pairs), EFFORT, 0) is None

    def test_ratings_of_whole_systems(self) -> None:
        rated = make_set()
        clips = tuple(RatedClip(c.excerpt, c.system, c.item, c.reference) for c in rated.clips)
        given = {f"s{s}": {"a": 5.0 - s, "b": 4.0 - s} for s in range(SYSTEMS)}
        arrays = Arrays(RatedSet("made", clips, system_ratings=given))
        assert arrays.system_ratings(whole(arrays)) == pytest.approx([4.5, 3.5, 2.5, 1.5])
        assert by_clip(arrays, pair_distances(arrays), EFFORT) is None


class TestSets:
    def recorded(self, fewest: int = 1) -> tuple[SetDistance, list[tuple[Indices, Indices]]]:
        calls: list[tuple[Indices, Indices]] = []

        def distance(i: Indices, j: Indices) -> float:
            calls.append((i, j))
            return float(len(calls))

        return SetDistance(distance, distance, fewest), calls

    def test_sets_are_clips_and_their_own_twins(self) -> None:
        arrays = Arrays(make_set(hidden=True))
        distance, calls = self.recorded()
        set_values(arrays, distance)(whole(arrays), None)
        assert len(calls) == SYSTEMS  # not the hidden reference
        for twins, clips in calls:
            names = [arrays.pool[row].file.stem for row in clips]
            expected = [f"ref-{name.split('-')[1]}" for name in names]
            assert [arrays.pool[row].file.stem for row in twins] == expected

    def test_no_clip_meets_its_own_item_without_twins(self) -> None:
        arrays = Arrays(make_set(hidden=True))
        distance, calls = self.recorded()
        apart_values(arrays, distance, splits=5, seed=0)(whole(arrays), None)
        assert len(calls) == 5 * 2 * (SYSTEMS + 1)  # the hidden reference is a system here
        for references, clips in calls:
            items = [
                {arrays.pool[row].file.stem.split("-")[1] for row in side}
                for side in (references, clips)
            ]
            assert not items[0] & items[1]
            assert len(references) == len(clips) == ITEMS // 2

    def test_a_twin_is_left_out_even_under_another_item(self) -> None:
        """One sentence in several noises: the items differ, the reference is the same."""
        clips = tuple(
            RatedClip(sound(f"s{s}-{i}"), f"s{s}", f"i{i}", sound(f"ref-{i % 3}"), 1.0)
            for s in range(3)
            for i in range(6)
        )
        arrays = Arrays(RatedSet("shared", clips))
        distance, calls = self.recorded()
        apart_values(arrays, distance, splits=10, seed=0)(whole(arrays), None)
        for references, rows in calls:
            twins = {int(arrays.pool[row].file.stem.split("-")[1]) % 3 for row in rows}
            others = {int(arrays.pool[row].file.stem.split("-")[1]) for row in references}
            assert not twins & others

    def test_without_any_twin_all_clips_meet_all_references(self) -> None:
        arrays = Arrays(make_set(twins=False))
        distance, calls = self.recorded()
        apart_values(arrays, distance, splits=5, seed=0)(whole(arrays), None)
        assert len(calls) == SYSTEMS
        for references, clips in calls:
            assert [arrays.pool[row].file.stem for row in references] == ["x", "y"]
            assert len(clips) == ITEMS

    def test_sets_that_are_too_small_have_no_distance(self) -> None:
        arrays = Arrays(make_set())
        distance, calls = self.recorded(fewest=ITEMS + 1)
        assert np.isnan(set_values(arrays, distance)(whole(arrays), None)).all()
        few = whole(arrays)
        few[3:] = 0
        distance, calls = self.recorded()
        assert np.isnan(apart_values(arrays, distance, splits=5, seed=0)(few, None)).all()
        assert not calls

    def test_all_halves_of_few_items_and_some_of_many(self) -> None:
        rng = np.random.default_rng(0)
        few = halves(np.arange(4), 6, rng)
        assert len({tuple(side) for side in few}) == 6
        many = halves(np.arange(11), 6, rng)
        assert len(many) == 12
        for first, second in zip(many[::2], many[1::2], strict=True):
            assert sorted([*first, *second]) == list(range(11))


class TestClips:
    def test_within_items_the_items_do_not_matter(self) -> None:
        """Items differ in level by more than systems do: clips disagree, items do not."""
        arrays = Arrays(make_set())
        pairs = 1.0 + arrays.system + 100.0 * (ITEMS - arrays.item)
        single, inside = by_clip(arrays, pairs, EFFORT), within_item(arrays, pairs, EFFORT)
        assert single is not None and inside is not None
        assert inside.agreement.values == pytest.approx((1.0, 1.0, 1.0))
        assert inside.agreement.p_value == pytest.approx(1 / 200)
        assert inside.objects == ITEMS
        assert single.agreement.values[0] < 0.5
        assert single.objects == SYSTEMS * ITEMS

    def test_reversed_within_items(self) -> None:
        arrays = Arrays(make_set())
        inside = within_item(arrays, -pair_distances(arrays), EFFORT)
        assert inside is not None
        assert inside.agreement.values == pytest.approx((-1.0, -1.0, -1.0))
        assert inside.agreement.p_value == 1.0

    def test_a_distance_that_never_changes_says_nothing(self) -> None:
        arrays = Arrays(make_set())
        assert by_clip(arrays, np.ones(len(arrays.rows)), EFFORT) is None
        assert within_item(arrays, np.ones(len(arrays.rows)), EFFORT) is None


class TestDissimilarities:
    def test_distances_that_are_the_dissimilarities(self, rng: np.random.Generator) -> None:
        points = rng.normal(size=(9, 3)).astype(np.float32)
        gaps = points[:, None] - points[None]
        level = by_pair(points, np.sqrt((gaps.astype(float) ** 2).sum(-1)), EFFORT)
        assert level is not None
        rho, tau, r = level.agreement.values
        assert (rho, tau) == pytest.approx((1.0, 1.0))
        assert 0.9 < r < 1.0
        assert level.agreement.p_value == pytest.approx(1 / 200)
        assert level.objects == 9

    def test_similarities_are_the_other_way_round(self, rng: np.random.Generator) -> None:
        points = rng.normal(size=(9, 3)).astype(np.float32)
        gaps = points[:, None] - points[None]
        level = by_pair(points, -((gaps.astype(float) ** 2).sum(-1)), EFFORT)
        assert level is not None
        assert level.agreement.values == pytest.approx((-1.0, -1.0, -1.0))
        assert level.agreement.p_value == 1.0

    def test_equal_dissimilarities_say_nothing(self, rng: np.random.Generator) -> None:
        points = rng.normal(size=(5, 3)).astype(np.float32)
        assert by_pair(points, np.ones((5, 5)), EFFORT) is None


def test_ceilings_are_of_the_clips_that_a_level_compares() -> None:
    found = ceilings(make_set(hidden=True))
    assert {level: value.objects for level, value in found.items()} == {
        PAIRED: SYSTEMS,
        APART: SYSTEMS + 1,
        CLIP: SYSTEMS * ITEMS,
    }
    assert found[PAIRED].ceiling == 1.0
