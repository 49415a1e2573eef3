"""The pieces of the other experiments: draws, per-clip costs, factors, correlations, tables."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otadtk.distances.frechet import frechet_distance
from otadtk.distances.moments import moments
from otadtk.errors import UsageError
from otadtk.experiments.data import Space, read_clips
from otadtk.experiments.factorial.experiment import replaced_classes, same_class
from otadtk.experiments.factorial.show import decompose
from otadtk.experiments.invariance.experiment import distances_to_others
from otadtk.experiments.mos.foley import read_cells, read_ratings, synthesise_foley
from otadtk.experiments.mos.show import correlate
from otadtk.experiments.per_sample.disjoint import (
    FAULTS,
    Sides,
    ceiling,
    frechet_costs,
    kernel_costs,
    plan,
)
from otadtk.experiments.per_sample.experiment import other_class
from otadtk.experiments.rows import Row, read_rows, write_rows
from otadtk.experiments.table import Table, mean_deviation
from otadtk.training.versions import VersionSet

LABELS = np.repeat(["a", "b", "c"], 20)


class TestDraws:
    def test_same_class_never_takes_the_clip_itself(self) -> None:
        chosen = same_class(LABELS, seed=0)
        assert (LABELS[chosen] == LABELS).all()
        assert (chosen != np.arange(60)).all()

    def test_a_share_is_replaced_by_other_classes(self) -> None:
        chosen = replaced_classes(LABELS, 0.1, seed=0)
        moved = np.flatnonzero(chosen != np.arange(60))
        assert len(moved) == 6
        assert (LABELS[chosen[moved]] != LABELS[moved]).all()

    def test_donors_are_of_other_classes_and_used_once(self) -> None:
        bad, donors = np.arange(0, 60, 6), np.arange(1, 60, 5)
        chosen = other_class(LABELS, bad, donors, seed=0)
        assert (LABELS[chosen] != LABELS[bad]).all()
        assert set(chosen) <= set(donors)
        assert len(set(chosen)) == len(bad)


class TestPerClipCosts:
    def test_frechet_cost_is_that_of_a_clip_alone(self, rng: np.random.Generator) -> None:
        x, y = (rng.normal(size=(n, 4)).astype(np.float32) for n in (50, 3))
        expected = [frechet_distance(moments(x), moments(np.stack([clip, clip]))) for clip in y]
        assert frechet_costs(x, y) == pytest.approx(expected, rel=1e-6)

    def test_kernel_witness_points_at_what_the_reference_lacks(
        self, rng: np.random.Generator
    ) -> None:
        x = rng.normal(size=(60, 3)).astype(np.float32)
        y = np.concatenate([rng.normal(size=(40, 3)), rng.normal(size=(20, 3)) + 6.0])
        costs = kernel_costs(x, y.astype(np.float32))
        assert costs[40:].min() > costs[:40].max()

    def test_distance_to_others_leaves_the_clip_itself_out(self, rng: np.random.Generator) -> None:
        clean = rng.normal(size=(10, 3)).astype(np.float32)
        found = distances_to_others(clean, np.array([4]))
        assert found[0, 4] == np.inf
        assert found[0, 7] == pytest.approx(np.linalg.norm(clean[4] - clean[7]), rel=1e-5)


@pytest.mark.parametrize(("shift", "low", "high"), [(3.0, 0.97, 1.0), (0.0, 0.25, 0.75)])
def test_the_ceiling_finds_what_there_is_to_find(
    shift: float, low: float, high: float, rng: np.random.Generator
) -> None:
    folds = np.repeat([1, 2, 3, 4, 5], 40)
    versions = plan(folds)
    points = rng.normal(size=(len(versions), 4)).astype(np.float32)
    points[len(folds) :] += shift
    space = Space(
        points,
        VersionSet(
            points,
            np.array([v.clip for v in versions]),
            np.array([v.kind for v in versions]),
            np.array([v.strength for v in versions]),
        ),
        points,
    )
    assert low <= ceiling(space, folds, "clicks") <= high


def test_no_clip_is_degraded_twice_with_one_fault() -> None:
    sides = Sides.of(np.repeat([1, 2, 3, 4, 5], 40))
    assert len(sides.evaluated) == 80
    for number in range(len(FAULTS)):
        degraded = sides.degraded(number)
        assert len(degraded) == 5 * 4
        assert len(set(degraded)) == len(degraded)
        assert set(degraded) <= set(sides.evaluated)


positive = st.floats(1e-3, 1e3)


class TestFactors:
    def test_no_adapter_effect_leaves_the_measure(self) -> None:
        factors = decompose(1.0, 3.0, 1.0, 3.0, fad_max=3.0, sink_max=3.0)
        assert factors.cost == factors.synergy == 0.0
        assert factors.measure == pytest.approx(0.5)  # log 4 / log 4 − log 2 / log 4
        assert factors.dominant == "measure"

    @given(a=positive, b=positive, c=positive, d=positive)
    def test_own_maximum_rules_the_measure_out(
        self, a: float, b: float, c: float, d: float
    ) -> None:
        """Normalised per cell, |Δ_syn| ≥ 2|Δ_meas| or the cost is larger: algebra, not data."""
        factors = decompose(a, b, c, d, max(a, c), max(b, d))
        others = max(abs(factors.cost), abs(factors.synergy))
        assert abs(factors.measure) <= others + 1e-12


class TestRatings:
    def write(self, path: Path, lines: list[str]) -> Path:
        path.write_text("\n".join(["submission,alg,category,criterion,mos", *lines]) + "\n")
        return path

    def test_a_tree_is_read_by_either_name(self, tmp_path: Path) -> None:
        ratings = synthesise_foley(tmp_path / "tree", systems=2, clips=1, seed=0)
        cells = read_cells(tmp_path / "tree", ratings)
        assert len(cells) == 14
        assert {cell.system for cell in cells} == {"System01", "System02"}
        text = ratings.read_text().replace("System01,System01", "Chang_1,System01")
        (tmp_path / "tree" / "System01").rename(tmp_path / "tree" / "Chang_1")
        ratings.write_text(text)
        assert read_cells(tmp_path / "tree", ratings)[0].clips.parts[-2] == "Chang_1"

    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        ratings = synthesise_foley(tmp_path / "tree", systems=2, clips=1, seed=0)
        shutil.rmtree(tmp_path / "tree" / "reference" / "rain")
        with pytest.raises(UsageError, match=r"no folder reference/…/rain"):
            read_cells(tmp_path / "tree", ratings)
        with pytest.raises(UsageError, match="There is no folder"):
            read_cells(tmp_path / "nowhere", ratings)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("s,a,rain,audio_quality,high", "'high' is not a number"),
            ("s,a,rain,loudness,3", "unknown criterion 'loudness'"),
            ("s,a,rain,audio_quality,3", "no category_fit of a rain"),
            ("s,a,rain,audio_quality,", "line 2: mos is empty"),
        ],
    )
    def test_bad_ratings(self, tmp_path: Path, line: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            read_ratings(self.write(tmp_path / "r.csv", [line]))

    def test_levels(self) -> None:
        """By system the means count; by cell, here, the order within systems is turned round."""
        rows: list[Row] = [
            {"model": "m", "metric": "fad", "system": f"s{s}", "category": str(c),
             "value": 10.0 * s + c, "audio_quality": 5.0 - s + 0.1 * c}
            for s in range(4) for c in range(3)
        ]  # fmt: skip
        by_system = correlate(rows, "m", "fad", "system", "audio_quality")
        by_cell = correlate(rows, "m", "fad", "category", "audio_quality")
        assert by_system is not None and by_system.value == -1.0
        assert by_cell is not None and -1.0 < by_cell.value < -0.8
        assert correlate(rows, "m", "kad", "system", "audio_quality") is None


class TestData:
    def test_folds_and_labels_of_esc50(self, esc: Path) -> None:
        dataset = read_clips(esc)
        assert len(dataset.clips) == 50
        assert sorted(set(dataset.folds)) == [1, 2, 3, 4, 5]
        small = dataset.subset(2, 1, seed=0)
        assert len(small.clips) == 10
        assert len(set(small.labels)) == 2

    def test_any_labelled_folder_is_dealt_by_recording(self, esc: Path, tmp_path: Path) -> None:
        for number, clip in enumerate(sorted((esc / "audio").iterdir())):
            folder = tmp_path / f"class{number % 5}"
            folder.mkdir(exist_ok=True)
            shutil.copy(clip, folder / clip.name)
        dataset = read_clips(tmp_path)
        assert np.bincount(dataset.folds)[1:].tolist() == [10, 10, 10, 10, 10]

    def test_a_missing_clip_is_named(self, esc: Path, tmp_path: Path) -> None:
        copy = tmp_path / "esc"
        shutil.copytree(esc, copy)
        victim = sorted((copy / "audio").iterdir())[0]
        victim.unlink()
        with pytest.raises(UsageError, match=f"1 clips of .* are missing, e.g. .*{victim.name}"):
            read_clips(copy)
        with (copy / "meta" / "esc50.csv").open("w") as file:
            csv.writer(file).writerows([("filename", "class"), ("a.wav", "dog")])
        with pytest.raises(UsageError, match="is not the list of ESC-50"):
            read_clips(copy)


class TestTables:
    def test_markdown_and_latex(self) -> None:
        table = Table("Size & ρ", ["what", "|Δ|"], [["a_b", "**-0.5%**"]])
        assert table.markdown().splitlines()[2:] == [
            "| what | \\|Δ\\| |", "| --- | ---: |", "| a_b | **-0.5%** |",
        ]  # fmt: skip
        latex = table.latex()
        assert r"\caption{Size \& $\rho$}" in latex
        assert r"a\_b & \textbf{-0.5\%} \\" in latex

    def test_spread(self) -> None:
        assert mean_deviation([1.0, 3.0], 1) == "2.0 ± 1.4"
        assert mean_deviation([2.0], 2) == "2.00"

    def test_rows_survive_the_csv(self, tmp_path: Path) -> None:
        rows: list[Row] = [{"a": 1, "b": 0.123456789, "c": "x, y"}, {"a": 2, "d": float("inf")}]
        write_rows(tmp_path / "r.csv", rows)
        back = read_rows(tmp_path / "r.csv")
        assert back == [{"a": 1, "b": 0.123457, "c": "x, y"}, {"a": 2, "d": float("inf")}]
