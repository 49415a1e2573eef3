"""Texture and full-band features: they see what they are made for, and live with any waveform."""

from __future__ import annotations

import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.audio.faults import apply_fault
from otadtk.audio.synthesis import synthesise
from otadtk.encoders import get_encoder, get_spec
from otadtk.encoders.features import full_band, texture
from otadtk.encoders.features.full_band import full_band_features
from otadtk.encoders.features.measured import network_spec, parts_of
from otadtk.encoders.features.texture import texture_features

RATE = 16_000


def value(name: str, waveform: np.ndarray) -> float:
    found = texture_features(waveform.astype(np.float32), RATE)
    return float(found[texture.NAMES.index(name)])


@pytest.mark.parametrize(
    ("kind", "feature", "sign"),
    [
        ("random_phase", "coherence_time_0", -1),
        ("holes", "holes_1", 1),
        ("tones", "floor_lines", 1),
        ("offset", "offset", 1),
        ("crush", "levels_used", -1),
    ],
)
def test_a_fault_moves_its_feature(kind: str, feature: str, sign: int) -> None:
    clip = synthesise("speech", 3, 3.0, RATE)
    spoilt = apply_fault(kind, clip, RATE, np.random.default_rng(0), 1.0)
    assert sign * (value(feature, spoilt) - value(feature, clip)) > 0.02


def test_repeated_frames_are_frozen() -> None:
    noise = 0.1 * np.random.default_rng(0).normal(size=2 * RATE)
    frozen = np.resize(noise[:512], 2 * RATE)  # a period of one window: no change at all
    assert value("frozen", frozen) == pytest.approx(np.log10(0.02), abs=1e-3)
    assert value("frozen", noise) > value("frozen", frozen) + 0.5


def test_a_vibrato_moves_the_pitch() -> None:
    time = np.arange(2 * RATE) / RATE
    steady = np.sin(2 * np.pi * 880 * time)
    moving = np.sin(2 * np.pi * 880 * time + 8.0 * np.sin(2 * np.pi * 6 * time))
    assert value("pitch_move_high", moving) > value("pitch_move_high", steady) + 0.5


def test_names_are_one_each() -> None:
    assert len(set(texture.NAMES)) == texture.COUNT
    assert len(set(full_band.NAMES)) == full_band.COUNT


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 6000), st.sampled_from(["zeros", "noise", "step", "tone", "impulse", "flat"]))
def test_any_waveform_gives_finite_features(length: int, shape: str) -> None:
    rng = np.random.default_rng(length)
    wave = {
        "zeros": np.zeros(length),
        "noise": 0.1 * rng.normal(size=length),
        "step": np.sign(np.arange(length) - length / 2),
        "tone": np.sin(np.arange(length) * 0.3),
        "impulse": (np.arange(length) == length // 2).astype(float),
        "flat": np.full(length, 0.5),
    }[shape].astype(np.float32)
    for found in (texture_features(wave, RATE), full_band_features(wave, 48_000)):
        assert np.isfinite(found).all()
        assert np.abs(found).max(initial=0.0) <= 50


def test_padding_does_not_count() -> None:
    clip = synthesise("bell", 1, 1.5, RATE)
    padded = np.pad(clip, (4000, 9000))
    np.testing.assert_allclose(
        texture_features(padded, RATE), texture_features(clip, RATE), atol=0.05
    )


class TestFullBand:
    def test_a_low_rate_file_equals_one_that_was_cut_there(self) -> None:
        rng = np.random.default_rng(0)
        low = (0.2 * rng.normal(size=2 * RATE)).astype(np.float32)
        from_low = soxr.resample(low, RATE, 48_000, quality="HQ")
        at_44 = np.round(soxr.resample(low, RATE, 44_100, quality="HQ") * 32767) / 32767
        cut = soxr.resample(at_44, 44_100, 48_000, quality="HQ").astype(np.float32)
        a, b = full_band_features(from_low, 48_000), full_band_features(cut, 48_000)
        noise = full_band_features((0.2 * rng.normal(size=96_000)).astype(np.float32), 48_000)
        assert np.abs(a - b).max() < 0.05 * np.abs(noise - a).max()

    def test_the_edge_of_the_band_is_seen(self) -> None:
        rng = np.random.default_rng(1)
        found = []
        for rate in (22_050, 32_000, 44_100):
            noise = (0.2 * rng.normal(size=2 * rate)).astype(np.float32)
            wide = soxr.resample(noise, rate, 48_000, quality="HQ")
            found.append(full_band_features(wide, 48_000)[full_band.NAMES.index("edge")])
        assert found[0] < found[1] < found[2]

    def test_silence_and_speech_of_16_khz_have_nothing_there(self) -> None:
        assert not full_band_features(np.zeros(48_000, dtype=np.float32), 48_000).any()
        clip = soxr.resample(synthesise("speech", 0, 1.0, RATE), RATE, 48_000, quality="HQ")
        assert np.abs(full_band_features(clip, 48_000)).max() < 0.1


def test_the_model_with_all_features_beside_it() -> None:
    plain, whole = get_spec("logmel"), get_spec("logmel+signal+texture+fullband")
    assert whole.sample_rate == 48_000
    assert whole.dim == plain.dim + 32 + texture.COUNT + full_band.COUNT
    assert network_spec(whole) == plain
    assert [spec.name for spec, _ in parts_of(whole)] == ["logmel", "signal", "texture", "fullband"]
    clip = synthesise("rain", 0, 1.2, RATE)
    vector = get_encoder(whole.name, device="cpu").encode(clip, RATE)
    own = get_encoder("logmel", device="cpu").encode(clip, RATE)
    np.testing.assert_allclose(vector[: plain.dim], own, atol=0.1)
    long = np.tile(clip, 60)  # several segments, cut at 48 kHz
    frames = get_encoder(whole.name, device="cpu").encode_frames(long, RATE)
    assert len(frames) == len(get_encoder("logmel", device="cpu").encode_frames(long, RATE))
