"""PRDC, Vendi Score, KID, KL and IS: closed forms, properties, and the packages that define them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from otadtk.distances.diversity import vendi_score
from otadtk.distances.manifolds import VALUES, manifolds, manifolds_between
from otadtk.distances.polynomial import SubsetDraws, polynomial_between, polynomial_distance
from otadtk.distances.posteriors import divergences, inception_score
from otadtk.errors import UsageError
from otadtk.metrics.reported import inception, kid, kl, prdc, vendi
from otadtk.selftest import fixed_sets
from tests.references.cases import REPORTED_CASES, logits_case, reported_case

KNOWN = json.loads((Path(__file__).parents[1] / "references" / "reported.json").read_text())


def cloud(seed: int, count: int, dim: int = 6, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dim)) + shift


class TestManifolds:
    @pytest.mark.parametrize("name", REPORTED_CASES)
    @pytest.mark.parametrize("k", [3, 5])
    def test_equals_the_package(self, name: str, k: int) -> None:
        found = manifolds(*reported_case(name), k)
        for value in VALUES:
            assert getattr(found, value) == pytest.approx(KNOWN[name][f"{value} {k}"], abs=1e-12)

    def test_identical_sets(self) -> None:
        x = cloud(0, 60)
        found = manifolds(x, x.copy())
        assert (found.precision, found.recall, found.coverage) == (1.0, 1.0, 1.0)
        assert found.density == pytest.approx(1.0)  # each ball holds its centre and k − 1 others

    def test_disjoint_sets(self) -> None:
        found = manifolds(cloud(0, 60), cloud(1, 50, shift=100.0))
        assert [getattr(found, value) for value in VALUES] == [0.0] * 4
        assert not found.evaluated_inside.any()
        assert not found.reference_inside.any()

    def test_a_dropped_mode_lowers_recall_and_coverage_only(self) -> None:
        first, second = cloud(0, 40), cloud(1, 40, shift=50.0)
        whole = np.concatenate([first, second])
        found = manifolds(whole, cloud(2, 60, shift=50.0))
        assert found.precision > 0.8
        assert found.recall <= 0.5
        assert found.coverage <= 0.5
        assert not found.reference_inside[:40].any()

    def test_a_spoilt_point_lies_outside(self) -> None:
        x, y = cloud(0, 80), cloud(1, 30)
        y[7] += 40.0
        found = manifolds(x, y)
        assert not found.evaluated_inside[7]
        assert found.precision == found.evaluated_inside.mean()

    def test_on_a_line(self) -> None:
        x = np.arange(6.0)[:, None]  # with one neighbour every ball has radius 1
        found = manifolds(x, np.array([[0.5], [4.25], [9.0], [12.0]]), 1)
        assert found.precision == 0.5
        assert found.coverage == 4 / 6
        assert found.density == (2 + 2) / 4

    def test_tiles_do_not_matter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        x, y = cloud(0, 70), cloud(1, 60, shift=0.5)
        whole = manifolds(x, y)
        from otadtk.distances import manifolds as module
        from otadtk.distances.costs.squared import row_tiles

        monkeypatch.setattr(module, "row_tiles", lambda n, m: row_tiles(n, m, 7 * m))
        tiled = manifolds(x, y)
        assert [getattr(tiled, v) for v in VALUES] == [getattr(whole, v) for v in VALUES]

    @pytest.mark.parametrize("memory", [None, 1])
    def test_between_is_the_same(self, memory: int | None) -> None:
        pool = cloud(0, 50)
        i, j = np.arange(0, 30), np.arange(20, 50)
        for value in VALUES:
            found = manifolds_between(pool, 4, value, max_memory=memory)(i, j)
            assert found == pytest.approx(getattr(manifolds(pool[i], pool[j], 4), value))

    def test_too_few_clips(self) -> None:
        with pytest.raises(UsageError, match="5 nearest neighbours need at least 6 clips"):
            manifolds(cloud(0, 5), cloud(1, 9))
        with pytest.raises(UsageError, match="at least 1"):
            manifolds(cloud(0, 5), cloud(1, 9), 0)


class TestVendi:
    @pytest.mark.parametrize("name", REPORTED_CASES)
    def test_equals_the_package(self, name: str) -> None:
        assert vendi_score(reported_case(name)[1]) == pytest.approx(KNOWN[name]["vendi"], rel=1e-6)

    def test_closed_forms(self) -> None:
        assert vendi_score(np.eye(9)) == pytest.approx(9.0)
        assert vendi_score(np.ones((9, 4))) == pytest.approx(1.0)
        assert vendi_score(np.repeat(3.0 * np.eye(4), 5, axis=0)) == pytest.approx(4.0)
        # two directions in shares 3/4 and 1/4
        shares = np.array([0.75, 0.25])
        points = np.eye(2)[[0, 0, 0, 1]]
        assert vendi_score(points) == pytest.approx(math.exp(-(shares * np.log(shares)).sum()))

    def test_either_side_of_the_dimension(self) -> None:
        x = cloud(0, 30, dim=12)
        doubled = np.concatenate([x, x, x])  # 90 points in 12 dimensions: the same shares
        assert vendi_score(doubled) == pytest.approx(vendi_score(x))


class TestPolynomial:
    @pytest.mark.parametrize("name", REPORTED_CASES)
    def test_equals_the_package(self, name: str) -> None:
        found = polynomial_distance(*reported_case(name), SubsetDraws(10, 60))
        assert found.value == pytest.approx(KNOWN[name]["kid"], rel=1e-4, abs=1e-7)
        assert found.deviation == pytest.approx(KNOWN[name]["kid deviation"], rel=1e-4)

    def test_closed_form(self) -> None:
        # k(0, 0) = 1, k(0, v) = 1 and k(v, v) = (|v|²/d + 1)³
        x, y = np.zeros((3, 2)), np.full((4, 2), 2.0)
        assert polynomial_distance(x, y).value == pytest.approx(1.0 + 5.0**3 - 2.0)

    def test_zero_on_average_for_one_distribution(self) -> None:
        values = [
            polynomial_distance(cloud(2 * s, 30), cloud(2 * s + 1, 30)).value for s in range(200)
        ]
        assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)

    @pytest.mark.parametrize("memory", [None, 1])
    def test_between_is_the_same(self, memory: int | None) -> None:
        pool = cloud(0, 40)
        i, j = np.array([1, 3, 5, 7, 7]), np.arange(10, 25)
        found = polynomial_between(pool, max_memory=memory)(i, j)
        assert found == pytest.approx(polynomial_distance(pool[i], pool[j]).value)

    def test_one_sample(self) -> None:
        with pytest.raises(UsageError, match="two samples"):
            polynomial_distance(np.zeros((1, 2)), np.ones((4, 2)))


class TestPosteriors:
    def test_kl_of_equal_posteriors_is_zero(self) -> None:
        x, _ = logits_case()
        assert divergences(x, x + 3.0) == pytest.approx(np.zeros(len(x)), abs=1e-6)

    def test_closed_form_in_both_directions(self) -> None:
        p, q = np.array([0.7, 0.2, 0.1]), np.array([0.1, 0.6, 0.3])
        expected = (p * np.log(p / q)).sum()
        assert divergences(np.log(p)[None], np.log(q)[None])[0] == pytest.approx(expected)
        reverse = (q * np.log(q / p)).sum()
        assert divergences(np.log(q)[None], np.log(p)[None])[0] == pytest.approx(reverse)
        added = (p * np.log(p / (q + 0.01))).sum()
        assert divergences(np.log(p)[None], np.log(q)[None], epsilon=0.01)[0] == pytest.approx(
            added
        )

    def test_sigmoid_is_the_sum_over_classes(self) -> None:
        x, y = logits_case()
        p, q = (1.0 / (1.0 + np.exp(-side.astype(float))) for side in (x, y))
        expected = (p * np.log(p / q)).sum(axis=1)
        assert divergences(x, y, "sigmoid") == pytest.approx(expected, rel=1e-9)

    def test_far_logits_stay_finite(self) -> None:
        far = np.array([[900.0, 0.0], [-900.0, 0.0]])
        assert np.isfinite(divergences(far, far[[1, 0]])).all()
        assert np.isfinite(inception_score(far).mean)

    def test_unequal_numbers(self) -> None:
        with pytest.raises(UsageError, match="as many clips on both sides"):
            divergences(np.zeros((3, 2)), np.zeros((4, 2)))

    @pytest.mark.parametrize("splits", [1, 10])
    def test_inception_score_equals_the_package(self, splits: int) -> None:
        found = inception_score(logits_case()[1], splits, seed=2020)
        known = KNOWN["logits"]
        assert found.mean == pytest.approx(known[f"is {splits}"], rel=1e-9)
        assert found.deviation == pytest.approx(known[f"is {splits} deviation"], abs=1e-9)

    def test_inception_score_closed_forms(self) -> None:
        assert inception_score(np.zeros((7, 5))).mean == pytest.approx(1.0)
        assert inception_score(100.0 * np.eye(5)).mean == pytest.approx(5.0)
        one_mode = np.repeat(100.0 * np.eye(5)[:1], 7, axis=0)
        assert inception_score(one_mode).mean == pytest.approx(1.0)
        with pytest.raises(UsageError, match="cannot be split"):
            inception_score(np.zeros((7, 5)), 8)


class TestModes:
    """What a dropped mode, duplicates and disjoint sets do to each metric, in closed form."""

    modes = np.repeat(np.eye(5), 6, axis=0)  # five modes of six clips each

    def test_a_dropped_mode_counts_as_one(self) -> None:
        fewer = self.modes[:24]
        assert vendi_score(self.modes) - vendi_score(fewer) == pytest.approx(1.0)
        scores = [inception_score(100.0 * points).mean for points in (self.modes, fewer)]
        assert scores == pytest.approx([5.0, 4.0])
        wide = 9.0 * np.repeat(self.modes, 10, axis=0)
        assert (
            polynomial_distance(wide, wide[:240]).value
            > 0.0
            > polynomial_distance(wide, wide).value
        )

    def test_duplicates_add_no_mode(self) -> None:
        twice = np.concatenate([self.modes, self.modes])
        assert vendi_score(twice) == pytest.approx(vendi_score(self.modes))
        assert inception_score(9.0 * twice).mean == pytest.approx(
            inception_score(9.0 * self.modes).mean
        )
        x = cloud(0, 40)
        found = manifolds(x, np.repeat(x[3:4], 6, axis=0))
        assert (found.precision, found.recall) == (1.0, 0.0)  # six copies: balls of radius 0
        assert found.coverage < 0.5

    def test_duplicates_bias_kid_by_their_own_kernel(self) -> None:
        x, y = cloud(0, 20), cloud(1, 10)
        k = (y @ y.T / y.shape[1] + 1.0) ** 3
        once, twice = (
            (r * r * k.sum() - r * np.trace(k)) / (10 * r * (10 * r - 1)) for r in (1, 2)
        )
        values = [polynomial_distance(x, np.repeat(y, r, axis=0)).value for r in (1, 2)]
        assert values[1] - values[0] == pytest.approx(twice - once)

    def test_identical_and_disjoint_sets(self) -> None:
        x = cloud(0, 40)
        assert polynomial_distance(x, x).value <= 0.0  # the pairs of a point with itself
        far = polynomial_distance(x, x + 5.0).value
        assert far > 100.0 * abs(polynomial_distance(x, cloud(1, 40)).value)
        logits = np.array([[8.0, 0.0]])  # two classes that change places: c · tanh(c / 2)
        assert divergences(logits, logits[:, ::-1].copy())[0] == pytest.approx(8.0 * math.tanh(4.0))


def test_golden_values_by_hand() -> None:
    x, y = (side.astype(float) for side in fixed_sets())
    away = np.sqrt(np.square(x[:, None] - y[None]).sum(axis=2))
    radii = [
        np.sort(np.sqrt(np.square(side[:, None] - side[None]).sum(axis=2)), axis=1)[:, 5]
        for side in (x, y)
    ]
    in_x = away < radii[0][:, None]
    unit = y / np.linalg.norm(y, axis=1, keepdims=True)
    shares = np.linalg.eigvalsh(unit @ unit.T / len(unit))
    shares = shares[shares > 1e-12]

    def kernel(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a @ b.T / a.shape[1] + 1.0) ** 3

    def off(k: np.ndarray) -> float:
        return (k.sum() - np.trace(k)) / (len(k) * (len(k) - 1))

    p, q = (np.exp(s) / np.exp(s).sum(axis=1, keepdims=True) for s in (x[: len(y)], y))
    ps, qs = (1.0 / (1.0 + np.exp(-s)) for s in (x[: len(y)], y))
    expected = {
        "PRDC, precision": in_x.any(axis=0).mean(),
        "PRDC, recall": (away < radii[1][None]).any(axis=1).mean(),
        "PRDC, density": in_x.sum(axis=0).mean() / 5,
        "PRDC, coverage": (away.min(axis=1) < radii[0]).mean(),
        "Vendi": np.exp(-(shares * np.log(shares)).sum()),
        "KID": off(kernel(x, x)) + off(kernel(y, y)) - 2 * kernel(x, y).mean(),
        "KL, softmax": (p * np.log(p / q)).sum(axis=1).mean(),
        "KL, sigmoid": (ps * np.log(ps / qs)).sum(axis=1).mean(),
        "IS": np.exp((q * np.log(q / q.mean(axis=0))).sum(axis=1).mean()),
    }
    classes = (prdc.PRDC, vendi.Vendi, kid.KID, kl.KL, inception.IS)
    golden = {g.what: g.value for metric in classes for g in metric.golden_values()}
    assert golden == pytest.approx(expected, rel=1e-6)
