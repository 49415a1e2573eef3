"""Rankings: the closer system first; differences use common reference clips."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import otadtk
from otadtk import FAD, KAD, OTAD
from otadtk.embed import EmbeddingSet
from otadtk.engine import LocalEngine
from otadtk.errors import UsageError
from otadtk.evaluation.compare import compare
from otadtk.evaluation.evaluate import between_clips
from otadtk.metrics import AudioMetric
from otadtk.statistics.differences import bootstrap_scores


def embedded(vectors: np.ndarray) -> EmbeddingSet:
    files = tuple(Path(f"{i}.wav") for i in range(len(vectors)))
    nothing = (None,) * len(files)
    return EmbeddingSet(vectors.astype(np.float32), files, nothing, ("",) * len(files), (), 0)


@pytest.mark.parametrize("metric", [OTAD("logmel", epsilon=1.0), FAD("logmel"), KAD("logmel")])
def test_the_closer_system_comes_first(metric: AudioMetric, rng: np.random.Generator) -> None:
    reference = embedded(rng.normal(size=(60, 3)))
    systems = {
        f"moved by {shift}": embedded(shift + rng.normal(size=(60, 3))) for shift in (2.0, 0.2, 1.0)
    }
    found = compare(metric, reference, systems, bootstrap=40)
    assert [system.name for system in found.systems] == [f"moved by {s}" for s in (0.2, 1.0, 2.0)]
    for rank, system in enumerate(found.systems):
        alone = metric.measure(reference, systems[system.name]).score
        assert system.score == pytest.approx(alone, rel=1e-5)
        assert system.interval.low < system.score < system.interval.high
        lead = found.lead(rank)
        if lead is not None:
            assert lead.high < 0
            assert lead.probability > 0.99
    assert found.lead(2) is None
    assert found.converged
    assert found.notes() == []


@pytest.mark.parametrize("bootstrap", [0, 100])
def test_intervals_of_equal_systems_cover_zero(bootstrap: int, rng: np.random.Generator) -> None:
    """The 95 % interval of a difference of 0 covers 0 about that often."""
    covered = 0
    for seed in range(40):
        reference, *systems = (embedded(rng.normal(size=(30, 3))) for _ in range(3))
        found = compare(
            FAD("logmel"),
            reference,
            dict(zip("AB", systems, strict=True)),
            bootstrap=bootstrap,
            seed=seed,
        )
        assert found.method == ("bootstrap" if bootstrap else "jackknife")
        difference = found.differences["A", "B"]
        covered += difference.low <= 0 <= difference.high
    assert 35 <= covered <= 40


def test_the_reference_term_is_solved_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from otadtk.distances.transport.solve import Coupler

    terms: list[str] = []
    couple = Coupler.couple

    def counting(self: Coupler, x: object, y: object, term: str, *given: object) -> object:
        terms.append(term)
        return couple(self, x, y, term, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Coupler, "couple", counting)
    otad = OTAD("logmel", epsilon=1.0)
    x, a, b = (rng.normal(size=(20, 3)) for _ in range(3))
    scores = [otad.distance(x, y) for y in (a, b)]
    assert terms == ["xy", "xx", "yy", "xy", "yy"]
    assert scores == [OTAD("logmel", epsilon=1.0).distance(x, y) for y in (a, b)]
    assert otad.distance(x, x) == 0.0
    assert otad.distance(b, x) == pytest.approx(scores[1])


def test_a_replicate_solves_its_reference_term_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    from otadtk.distances.transport.solve import Coupler

    terms: list[str] = []
    couple = Coupler.couple_costs

    def counting(self: Coupler, *arguments: object) -> object:
        terms.append(str(arguments[-1]))
        return couple(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Coupler, "couple_costs", counting)
    # as draws that are too large for batches and do not converge together
    monkeypatch.setattr("otadtk.distances.subsets.LARGEST", 0)
    monkeypatch.setattr(
        "otadtk.distances.subsets.PooledDraws.solve", lambda _, a, b: [None] * len(a)
    )
    reference, *systems = (embedded(rng.normal(size=(10, 3))) for _ in range(4))
    distance = between_clips(OTAD("logmel", epsilon=1.0), [reference, *systems])
    bootstrap_scores(distance, 10, (10, 10, 10), replicates=20, engine=LocalEngine(1))
    assert (terms.count("xy"), terms.count("xx")) == (20 * 3, 20 * 4)


def test_unequal_sizes_are_remarked_on(rng: np.random.Generator) -> None:
    reference, large, small = (embedded(rng.normal(size=(n, 3))) for n in (20, 20, 12))
    systems = {"large": large, "small": small}
    assert "between 12 and 20 clips" in compare(FAD("logmel"), reference, systems).notes()[0]
    assert compare(KAD("logmel"), reference, systems).notes() == []
    with pytest.raises(UsageError, match="equal numbers"):
        compare(FAD("logmel"), reference, systems, paired=True)
    with pytest.raises(UsageError, match="at least two"):
        compare(FAD("logmel"), reference, {"large": large})


def test_paired_clips_of_other_names_are_remarked_on(rng: np.random.Generator) -> None:
    reference, one, other = (embedded(rng.normal(size=(8, 3))) for _ in range(3))
    renamed = dataclasses.replace(other, files=(*other.files[:-1], Path("else/x.wav")))
    systems = {"one": one, "other": other}
    assert compare(FAD("logmel"), reference, systems, paired=True).notes() == []
    systems = {"one": one, "other": renamed}
    assert compare(FAD("logmel"), reference, systems).notes() == []
    (note,) = compare(FAD("logmel"), reference, systems, paired=True).notes()
    assert "their names differ: 7.wav and else/x.wav" in note


def test_folders_are_embedded_by_the_public_name(tmp_path: Path, rng: np.random.Generator) -> None:
    paths = [tmp_path / f"{name}.npy" for name in ("ref", "near", "far")]
    for path, shift in zip(paths, (0.0, 0.1, 2.0), strict=True):
        np.save(path, rng.normal(size=(12, 3)) + shift)
    systems = {"far": str(paths[2]), "near": paths[1]}
    found = otadtk.compare(FAD("given"), paths[0], systems)
    assert isinstance(found, otadtk.Comparison)
    assert [system.name for system in found.systems] == ["near", "far"]


def test_a_clip_is_drawn_with_all_its_frames(rng: np.random.Generator) -> None:
    counts = (3, 1, 2)
    frames = rng.normal(size=(6, 4))
    clips = [
        EmbeddingSet(
            np.zeros((3, 4), dtype=np.float32),
            tuple(Path(n) for n in "abc"),
            (None,) * 3,
            ("",) * 3,
            (),
            0,
            frames=frames + shift,
            frame_counts=counts,
        )
        for shift in (0.0, 1.0)
    ]
    metric = KAD("logmel", bandwidth=1.0)
    distance = between_clips(metric, clips)
    second = np.concatenate([frames + 1.0])[[3, 4, 5]]
    expected = metric.distance(frames[:4], second)
    assert distance(np.array([0, 1]), np.array([4, 5])) == pytest.approx(expected, rel=1e-5)
