"""Every kind of fault keeps its promises, and its strength means what the calibration says."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from otadtk.audio.faults import (
    ALL_FAULTS,
    FAMILIES,
    FAULTS,
    UNAVAILABLE,
    Step,
    apply_chain,
    apply_fault,
    apply_value,
    draw_chain,
    random_chain,
    value_of,
)
from otadtk.audio.faults.difference import audible_difference
from otadtk.audio.faults.table import calibration
from otadtk.audio.perturb import PERTURBATIONS
from otadtk.audio.synthesis import synthesise
from otadtk.errors import UsageError

RATE = 16_000
SOUNDS = ("engine", "bell", "rain", "impacts")


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def clips() -> list[np.ndarray]:
    return [synthesise(kind, seed, 1.0) for kind in SOUNDS for seed in (0, 1)]


def test_there_are_enough_kinds_and_none_of_the_old_ones_is_missing() -> None:
    assert len(ALL_FAULTS) >= 32
    assert len(FAMILIES) >= 8
    assert all(len(kinds) >= 4 for kinds in FAMILIES.values())
    assert sorted(name for kinds in FAMILIES.values() for name in kinds) == sorted(FAULTS)
    assert set(PERTURBATIONS) <= set(FAULTS)


@pytest.mark.parametrize("rate", [RATE, 44_100])
@pytest.mark.parametrize("kind", FAULTS)
def test_every_kind(kind: str, rate: int) -> None:
    clip = synthesise("engine", 0, 0.7, rate)
    before = clip.copy()
    for strength in (0.0, 0.5, 1.0):
        first = apply_fault(kind, clip, rate, rng(), strength)
        again = apply_fault(kind, clip, rate, rng(), strength)
        assert np.array_equal(first, again)
        assert first.shape == clip.shape
        assert first.dtype == np.float32
        assert np.isfinite(first).all()
        assert np.abs(first).max() <= 1.0 + 1e-6
    assert np.array_equal(clip, before), "the input is left alone"
    assert audible_difference(clip, first, rate) > 0.03, "strength 1 does something"


@pytest.mark.parametrize("samples", [1, 2, 7, 100, 1600])
@pytest.mark.parametrize("kind", FAULTS)
def test_short_clips(kind: str, samples: int) -> None:
    clip = synthesise("engine", 0, 1.0)[:samples]
    for rate in (RATE, 44_100):
        for strength in (0.0, 1.0):
            made = apply_fault(kind, clip, rate, rng(), strength)
            assert made.shape == clip.shape
            assert np.isfinite(made).all()
    if samples == 1600:
        assert not np.array_equal(made, clip)


@pytest.mark.parametrize("kind", FAULTS)
def test_silence_and_clips_that_are_silent_in_part(kind: str) -> None:
    assert np.isfinite(apply_fault(kind, np.zeros(RATE, np.float32), RATE, rng(), 1.0)).all()
    sparse = np.zeros(2 * RATE, np.float32)
    sparse[RATE : RATE + 3200] = synthesise("engine", 0, 0.2)
    for seed in range(5):
        made = apply_fault(kind, sparse, RATE, rng(seed), 1.0)
        assert np.abs(made - sparse).max() > 1e-3, "the fault falls where the clip sounds"


@pytest.mark.parametrize("kind", FAULTS)
def test_strength_is_heard(kind: str, clips: list[np.ndarray]) -> None:
    strengths = (0.0, 0.3, 0.6, 1.0)
    means = [
        np.mean(
            [
                audible_difference(clip, apply_fault(kind, clip, RATE, rng(seed), strength), RATE)
                for seed, clip in enumerate(clips)
            ]
        )
        for strength in strengths
    ]
    if FAULTS[kind].aligned:
        assert all(later > 0.97 * sooner for sooner, later in itertools.pairwise(means))
        assert means[-1] > 1.5 * means[0]
        assert means[0] < 0.15
    assert [value_of(kind, strength) for strength in strengths] == pytest.approx(
        sorted(
            (value_of(kind, strength) for strength in strengths),
            reverse=FAULTS[kind].gross < FAULTS[kind].mild,
        )
    )


def test_most_kinds_are_inaudible_at_strength_0_and_gross_at_1() -> None:
    ends = [(place.low, place.high) for place in calibration().values() if place.low is not None]
    assert np.mean([low <= 0.011 for low, _ in ends]) > 0.8
    assert np.mean([high >= 0.399 for _, high in ends]) > 0.6
    assert min(high for _, high in ends) > 0.09


def test_the_calibration_rises_for_every_kind() -> None:
    assert set(calibration()) == set(ALL_FAULTS)
    for name, place in calibration().items():
        travel = np.array(place.travel)
        assert len(travel) == 11, name
        assert (np.diff(travel) >= 0).all(), name
        assert 0.0 <= travel[0] < travel[-1] <= 1.0, name
        assert (place.low is None) == (not ALL_FAULTS[name].aligned), name


@pytest.mark.parametrize("kind", ["noise", "opus", "gain", "reverberation", "few_partials"])
def test_equal_strengths_sound_about_equally_different(kind: str, clips: list[np.ndarray]) -> None:
    made = [
        audible_difference(clip, apply_fault(kind, clip, RATE, rng(k), 0.5), RATE)
        for k, clip in enumerate(clips)
    ]
    place = calibration()[kind]
    assert place.low is not None
    assert place.high is not None
    target = place.low + (place.high - place.low) * 0.5**1.5
    assert target / 2.5 < np.median(made) < 2.5 * target


def test_what_exceeds_full_scale_is_turned_down() -> None:
    clip = synthesise("engine", 0, 0.5)
    clip *= np.float32(0.99) / np.abs(clip).max()
    for kind in ("noise", "clicks", "hum"):
        assert np.abs(apply_fault(kind, clip, RATE, rng(), 1.0)).max() == pytest.approx(1.0)
    loud = 3.0 * clip
    assert np.abs(apply_fault("gain", loud, RATE, rng(), 0.2)).max() <= np.abs(loud).max()


def test_a_chain_is_its_faults_one_after_the_other() -> None:
    clip = synthesise("bell", 0, 0.5)
    chain = (Step("mp3", 0.5), Step("clipping", 0.7))
    once = apply_chain(chain, clip, RATE, rng())
    source = rng()
    twice = apply_fault("mp3", clip, RATE, source, 0.5)
    assert np.array_equal(once, apply_fault("clipping", twice, RATE, source, 0.7))


def test_random_chains() -> None:
    clip = synthesise("bell", 0, 0.3)
    lengths = set()
    for seed in range(60):
        made, chain = random_chain(clip, RATE, rng(seed), strengths=(0.2, 0.9))
        assert made.shape == clip.shape
        assert np.isfinite(made).all()
        assert len({step.kind for step in chain}) == len(chain)
        assert all(0.2 <= step.strength <= 0.9 for step in chain)
        lengths.add(len(chain))
        assert random_chain(clip, RATE, rng(seed), strengths=(0.2, 0.9))[1] == chain
    assert lengths == {1, 2, 3}


def test_chains_keep_to_the_kinds_that_are_given() -> None:
    chains = [draw_chain(rng(seed), kinds=FAMILIES["codec"]) for seed in range(40)]
    assert {step.kind for chain in chains for step in chain} == set(FAMILIES["codec"])
    assert {len(draw_chain(rng(seed), kinds=["gain"])) for seed in range(9)} == {1}
    for kinds, longest in (([], 3), (None, 0)):
        with pytest.raises(UsageError, match="has no fault"):
            draw_chain(rng(), kinds=kinds, longest=longest)


@pytest.mark.parametrize(
    ("kind", "strength", "waveform", "message"),
    [
        ("wobbly", 0.5, np.ones(10, np.float32), "known: mel_griffin_lim"),
        ("noise", 1.5, np.ones(10, np.float32), "between 0 and 1"),
        ("noise", float("nan"), np.ones(10, np.float32), "between 0 and 1"),
        ("noise", 0.5, np.ones(0, np.float32), "mono waveform"),
        ("noise", 0.5, np.ones((10, 2), np.float32), "mono waveform"),
        ("noise", 0.5, np.array([0.0, np.nan], np.float32), "NaN"),
    ],
)
def test_bad_arguments(kind: str, strength: float, waveform: np.ndarray, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        apply_fault(kind, waveform, RATE, rng(), strength)


def test_without_pyav_aac_is_listed_as_unavailable() -> None:
    script = (
        "import sys; sys.modules['av'] = None\n"
        "import numpy as np\n"
        "from otadtk.audio.faults import FAMILIES, FAULTS, UNAVAILABLE, apply_fault\n"
        "assert UNAVAILABLE == {'aac': 'otadtk-audio[av]'}, UNAVAILABLE\n"
        "assert 'aac' not in FAULTS and 'aac' not in FAMILIES['codec']\n"
        "apply_fault('aac', np.ones(9, np.float32), 16000, np.random.default_rng(0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "UsageError: The fault 'aac' needs otadtk-audio[av]." in done.stderr


def test_here_every_kind_is_available() -> None:
    assert not UNAVAILABLE
    assert apply_value(FAULTS["gain"], np.ones(9, np.float32), RATE, rng(), 6.0).shape == (9,)


def test_the_page_names_every_kind_with_what_it_does() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "faults.md").read_text(
        encoding="utf-8"
    )
    for name, fault in ALL_FAULTS.items():
        assert f"| `{name}` | {fault.about} | {fault.parameter} |" in page, name
    assert f"{len(ALL_FAULTS)} kinds" in page
