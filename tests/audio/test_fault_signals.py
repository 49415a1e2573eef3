"""What the faults do, against closed forms: transforms, tones, delays, levels, differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from otadtk.audio.faults import FAULTS, apply_value
from otadtk.audio.faults.difference import audible_difference
from otadtk.audio.faults.kinds.quantisation import lapped, unlapped
from otadtk.audio.faults.kinds.stretching import stretched
from otadtk.audio.faults.samples import edge_of, lengthened, pieces_of, smooth_noise
from otadtk.audio.faults.stft import frame_size, signal_of, spectra_of, through_bands
from otadtk.audio.synthesis import synthesise

RATE = 16_000


def tone(hertz: float, seconds: float = 1.0, rate: int = RATE) -> np.ndarray:
    return 0.3 * np.sin(2 * np.pi * hertz * np.arange(int(seconds * rate)) / rate)


def pitch(signal: np.ndarray, rate: int = RATE) -> float:
    spectrum = np.abs(np.fft.rfft(signal * np.hanning(len(signal))))
    return float(np.argmax(spectrum) * rate / len(signal))


def made(
    kind: str, signal: np.ndarray, value: float, seed: int = 0, rate: int = RATE
) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return apply_value(FAULTS[kind], signal.astype(np.float32), rate, rng, value)


def ratio_db(clean: np.ndarray, spoilt: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(clean**2) / np.mean((spoilt - clean) ** 2)))


@pytest.mark.parametrize("length", [1, 255, 4096, 9999])
def test_transforms_are_inverted(length: int) -> None:
    signal = np.random.default_rng(0).standard_normal(length)
    assert np.allclose(signal_of(spectra_of(signal, 512), length), signal, atol=1e-5)
    assert np.allclose(unlapped(lapped(signal, 256), length), signal, atol=1e-10)


def test_the_lapped_transform_keeps_energy() -> None:
    signal = np.random.default_rng(0).standard_normal(5000)
    assert np.sum(lapped(signal, 128) ** 2) == pytest.approx(np.sum(signal**2))


def test_resampling_keeps_a_tone() -> None:
    for rate in (8_000, 22_050, 48_000):
        moved = lengthened(tone(440.0), rate)
        assert np.allclose(moved, tone(440.0, rate=rate), atol=1e-6)


def test_bands_keep_a_flat_spectrum_flat() -> None:
    flat = np.ones((3, 257), np.float32)
    for bands in (4, 40, 400):
        assert np.allclose(through_bands(flat, RATE, bands), 1.0, atol=1e-3)


@pytest.mark.parametrize("factor", [0.5, 0.8, 1.0, 1.3, 2.0])
def test_stretching_keeps_pitch_and_place(factor: float) -> None:
    bump = np.exp(-(((np.arange(RATE) - RATE / 2) / 2000) ** 2))
    burst = tone(1000.0) * bump
    longer = stretched(burst, 512, factor)
    assert len(longer) == round(factor * RATE)
    assert pitch(longer) == pytest.approx(1000.0, abs=20.0)
    rough = bump * np.random.default_rng(0).standard_normal(RATE)
    centre, before = (
        np.sum(np.arange(len(each)) * each**2) / np.sum(each**2)
        for each in (stretched(rough, 512, factor), rough)
    )
    assert centre == pytest.approx(factor * before, abs=0.006 * RATE)
    if factor == 1.0:
        assert np.allclose(longer, burst, atol=1e-4)


def test_pitch_shift_moves_a_tone_by_so_many_semitones() -> None:
    pitches = {round(pitch(made("pitch_shift", tone(1000.0), 7.0, seed))) for seed in range(8)}
    assert len(pitches) == 2, "up and down"
    for found, expected in zip(sorted(pitches), (667.4, 1498.3), strict=True):
        assert found == pytest.approx(expected, abs=15.0)


def test_back_and_forth_keeps_the_pitch() -> None:
    for kind, value in (("stretch_back", 0.5), ("shift_back", 5.0)):
        assert pitch(made(kind, tone(1000.0), value)) == pytest.approx(1000.0, abs=5.0)


def test_aliasing_folds_a_tone() -> None:
    signal = tone(3000.0) + 0.02 * tone(7900.0)
    travel = np.log(2000.0 / edge_of(signal, RATE)) / np.log(100.0 / edge_of(signal, RATE))
    assert pitch(made("aliasing", signal, travel)) == pytest.approx(1000.0, abs=5.0)


def test_mel_reconstruction_with_many_bands_is_nearly_exact_and_with_few_is_not() -> None:
    clip = synthesise("engine", 0, 1.0).astype(float)
    assert ratio_db(clip, made("mel_griffin_lim", clip, 512)) > 40.0
    assert ratio_db(clip, made("mel_griffin_lim", clip, 20)) < 3.0


def test_griffin_lim_comes_nearer_to_the_magnitudes_than_random_phases() -> None:
    clip = synthesise("engine", 0, 1.0).astype(float)
    wanted = np.abs(spectra_of(clip, frame_size(0.05, RATE)))
    errors = [
        np.mean(
            [
                np.abs(np.abs(spectra_of(made(kind, clip, 0.5, seed), 1024)) - wanted).mean()
                for seed in range(6)
            ]
        )
        for kind in ("griffin_lim", "random_phase")
    ]
    assert errors[0] < 0.8 * errors[1]


@pytest.mark.parametrize("rate", [16_000, 22_050, 44_100, 48_000])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("vorbis", (0.0, 1.0, 2.0)),
        ("opus", (96.0, 12.0)),
        ("mp3", (96.0, 32.0, 12.0)),
        ("aac", (96.0, 32.0, 12.0)),
        ("adpcm", (2.0, 0.5)),
        ("gsm", (2.0, 0.5)),
    ],
)
def test_codecs_neither_delay_nor_change_the_level(kind: str, values: tuple, rate: int) -> None:
    clip = synthesise("engine", 0, 1.0, rate).astype(float)
    for value in values:
        for seed in range(2):
            coded = made(kind, clip, value, seed, rate).astype(float)
            likeness = np.fft.irfft(np.fft.rfft(coded) * np.conj(np.fft.rfft(clip)))
            lag = (int(np.argmax(likeness)) + rate // 2) % rate - rate // 2
            assert abs(lag) <= 0.0005 * rate
            assert np.std(coded) == pytest.approx(np.std(clip), rel=0.3)


def test_levels_are_those_that_were_asked_for() -> None:
    clip = synthesise("bell", 0, 1.0).astype(float) * 0.3
    for kind in ("noise", "pink_noise", "hum", "tones", "whistle", "crackle", "following_noise"):
        assert ratio_db(clip, made(kind, clip, -20.0)) == pytest.approx(20.0, abs=0.3)
    changes = {
        round(20 * np.log10(np.std(made("gain", clip, 6.0, k)) / np.std(clip))) for k in range(9)
    }
    assert changes == {-6, 6}


def test_faults_of_level_do_what_they_say() -> None:
    clip = synthesise("engine", 0, 1.0)
    assert np.array_equal(np.abs(made("polarity", clip, 20.0)), np.abs(clip))
    gone = made("dropouts", clip, 0.3) != clip
    assert gone.mean() == pytest.approx(0.3, abs=0.05)
    assert not made("dropouts", clip, 0.3)[gone].any()
    soft = 0.4 * clip
    shifts = {round(float(np.mean(made("offset", soft, 0.5, k) - soft)), 3) for k in range(9)}
    assert shifts == {round(sign * 0.2 * float(np.abs(clip).max()), 3) for sign in (-1, 1)}
    flat = np.abs(made("clipping", clip, 12.0)) >= 0.999 * np.abs(clip).max()
    assert flat.mean() > 0.1
    assert not made("silence", clip, 1.0).any()


def test_pieces_do_not_overlap_and_avoid_silence() -> None:
    signal = np.zeros(1000)
    signal[400:700] = 1.0
    for seed in range(20):
        places = pieces_of(signal, 30.0, 0.2, np.random.default_rng(seed))
        assert all(a.stop <= b.start for a, b in itertools.pairwise(places))
        assert all(signal[place].any() for place in places)
        assert sum(place.stop - place.start for place in places) == pytest.approx(200, abs=6)
        more = pieces_of(signal, 30.0, 0.25, np.random.default_rng(seed))
        longer = {k for place in more for k in range(place.start, place.stop)}
        assert all(set(range(place.start, place.stop)) <= longer for place in places)


def test_random_curves_have_unit_deviation() -> None:
    curve = smooth_noise(200_000, 50.0, np.random.default_rng(0))
    assert np.std(curve) == pytest.approx(1.0, abs=0.03)
    assert np.abs(np.diff(curve)).max() < 0.3


def test_the_difference_has_its_fixed_points() -> None:
    clip = synthesise("engine", 0, 1.0).astype(float)
    assert audible_difference(clip, clip, RATE) == 0.0
    assert audible_difference(clip, np.zeros_like(clip), RATE) == pytest.approx(1.0)
    assert audible_difference(clip, clip * 10 ** (1 / 20), RATE) == pytest.approx(0.06, abs=0.02)
    assert audible_difference(clip, clip + 0.2 * 0.2, RATE) < 0.15, "an offset is hardly heard"


def test_the_difference_does_not_depend_on_the_level_of_both() -> None:
    clip = synthesise("bell", 0, 1.0).astype(float)
    noisy = clip + 0.01 * np.random.default_rng(0).standard_normal(len(clip))
    assert audible_difference(0.1 * clip, 0.1 * noisy, RATE) == pytest.approx(
        audible_difference(clip, noisy, RATE)
    )


def test_the_difference_hears_masking() -> None:
    loud = tone(1000.0)
    beside, far = (
        audible_difference(loud, loud + 10 ** (-35 / 20) * tone(hertz), RATE)
        for hertz in (1100.0, 4000.0)
    )
    assert beside < 0.5 * far


def test_the_difference_rises_with_noise() -> None:
    clip = synthesise("impacts", 0, 1.0).astype(float)
    noise = np.random.default_rng(0).standard_normal(len(clip))
    differences = [
        audible_difference(clip, clip + level * noise, RATE) for level in 10.0 ** np.arange(-6, 1)
    ]
    assert (np.diff(differences) > 0).all()
    assert differences[0] < 0.01
    assert differences[-1] < 1.0
