"""Perturbations do what their names say, the same for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from otadtk.audio import perturb as module
from otadtk.audio.perturb import PERTURBATIONS, perturb
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.errors import UsageError

RATE = 16_000


@pytest.fixture
def clip() -> np.ndarray:
    return synthesise("engine", 0, 2.0)


@pytest.mark.parametrize("kind", PERTURBATIONS)
@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_every_kind(clip: np.ndarray, kind: str, strength: float) -> None:
    before = clip.copy()
    first = perturb(kind, clip, RATE, np.random.default_rng(1), strength)
    again = perturb(kind, clip, RATE, np.random.default_rng(1), strength)
    assert np.array_equal(clip, before), "the input is left alone"
    assert np.array_equal(first, again)
    assert first.shape == clip.shape
    assert first.dtype == np.float32
    assert np.isfinite(first).all()
    assert not np.array_equal(first, clip)


@pytest.mark.parametrize("kind", PERTURBATIONS)
@pytest.mark.parametrize("samples", [1, 100])
def test_tiny_clips(kind: str, samples: int) -> None:
    tiny = synthesise("engine", 0, 1.0)[:samples]
    if kind == "shuffle" and samples == 1:
        with pytest.raises(UsageError, match="cannot be cut"):
            perturb(kind, tiny, RATE, np.random.default_rng(0))
    else:
        assert perturb(kind, tiny, RATE, np.random.default_rng(0)).shape == tiny.shape


@pytest.mark.parametrize("snr", [-5.0, 0.0, 20.0])
def test_noise_has_the_ratio_asked_for(clip: np.ndarray, snr: float) -> None:
    noise = module.add_noise(clip, np.random.default_rng(0), snr_db=snr) - clip
    measured = 10 * np.log10(np.mean(clip.astype(float) ** 2) / np.mean(noise.astype(float) ** 2))
    assert measured == pytest.approx(snr, abs=0.2)


def test_shuffle_moves_segments_and_keeps_them(clip: np.ndarray) -> None:
    steps = np.repeat(np.arange(8, dtype=np.float32), RATE // 8)
    shuffled = module.shuffle_segments(steps, RATE, np.random.default_rng(0), segments=8)
    centres = shuffled[RATE // 16 :: RATE // 8]
    assert sorted(centres) == list(range(8))
    assert list(centres) != list(range(8))


def test_shuffle_crossfades() -> None:
    ramp = np.linspace(-1, 1, 8_000, dtype=np.float32)
    shuffled = module.shuffle_segments(ramp, RATE, np.random.default_rng(0), segments=6)
    hard = module.shuffle_segments(
        ramp, RATE, np.random.default_rng(0), segments=6, crossfade_seconds=0.0
    )
    assert np.abs(np.diff(shuffled)).max() < 0.1 * np.abs(np.diff(hard)).max()


def test_clicks_are_few_and_loud(clip: np.ndarray) -> None:
    clicked = module.add_clicks(clip, RATE, np.random.default_rng(0), per_second=2.0, height=1.0)
    changed = np.flatnonzero(clicked != clip)
    assert 1 <= len(changed) <= 16
    assert np.abs(clicked).max() <= 1.0


def test_dropouts_are_silent_and_the_rest_untouched(clip: np.ndarray) -> None:
    holed = module.drop_out(clip, RATE, np.random.default_rng(0), per_second=2.0, seconds=0.05)
    gone = holed == 0
    assert 0.02 < gone.mean() < 0.2
    assert np.array_equal(holed[~gone], clip[~gone])


def test_clipping_saturates_that_share(clip: np.ndarray) -> None:
    assert (np.abs(module.clip_samples(clip, share=0.2)) == 1.0).mean() == pytest.approx(
        0.2, abs=0.01
    )


def test_band_limit_removes_what_lies_above() -> None:
    noise = np.random.default_rng(0).standard_normal(RATE).astype(np.float32)
    spectrum = np.abs(np.fft.rfft(module.limit_band(noise, RATE, cutoff_hz=1000.0)))
    assert spectrum[2_000:].mean() < 0.02 * spectrum[:900].mean()


def test_loop_repeats(clip: np.ndarray) -> None:
    looped = module.loop_fragment(clip, RATE, np.random.default_rng(0), seconds=0.25)
    assert np.array_equal(looped[:4_000], looped[4_000:8_000])
    assert np.abs(looped).max() > 0.01


@pytest.mark.parametrize(
    ("kind", "strength", "samples", "message"),
    [
        ("wobble", 0.5, 10, "known: noise"),
        ("noise", 1.5, 10, "between 0 and 1"),
        ("noise", 0.5, 0, "empty"),
    ],
)
def test_bad_arguments(kind: str, strength: float, samples: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        perturb(kind, np.ones(samples, np.float32), RATE, np.random.default_rng(0), strength)


@pytest.mark.parametrize("kind", KINDS)
def test_synthesised_sounds(kind: str) -> None:
    clip = synthesise(kind, 4, 1.5)
    assert clip.shape == (24_000,)
    assert clip.dtype == np.float32
    assert 0.3 <= np.abs(clip).max() <= 0.9
    assert np.array_equal(clip, synthesise(kind, 4, 1.5))
    assert np.abs(clip - synthesise(kind, 5, 1.5)).mean() > 1e-3
