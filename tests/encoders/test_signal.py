"""Signal features: they see the faults they are made for, and live with any waveform."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.audio.perturb import perturb
from otadtk.audio.synthesis import synthesise
from otadtk.encoders import get_encoder, get_spec
from otadtk.encoders.features.signal import COUNT, NAMES, signal_features
from otadtk.encoders.features.with_signal import inner_spec, with_signal

RATE = 16_000


def value(name: str, waveform: np.ndarray) -> float:
    return float(signal_features(waveform.astype(np.float32), RATE)[NAMES.index(name)])


@pytest.mark.parametrize(
    ("kind", "feature", "sign"),
    [
        ("clipping", "flat_top", 1),
        ("dropouts", "gaps", 1),
        ("clicks", "impulse_height", 1),
        ("noise", "floor_high", 1),
        ("band_limit", "above_edge", -1),
        ("loop", "repetition", 1),
        ("hold", "held", 1),
    ],
)
def test_a_fault_moves_its_feature(kind: str, feature: str, sign: int) -> None:
    clip = synthesise("speech", 3, 3.0, RATE)
    spoilt = perturb(kind, clip, RATE, np.random.default_rng(0), 0.7)
    assert sign * (value(feature, spoilt) - value(feature, clip)) > 0.2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 6000), st.sampled_from(["zeros", "noise", "step", "tone", "impulse"]))
def test_any_waveform_gives_finite_features(length: int, shape: str) -> None:
    rng = np.random.default_rng(length)
    wave = {
        "zeros": np.zeros(length),
        "noise": 0.1 * rng.normal(size=length),
        "step": np.sign(np.arange(length) - length / 2),
        "tone": np.sin(np.arange(length) * 0.3),
        "impulse": (np.arange(length) == length // 2).astype(float),
    }[shape]
    found = signal_features(wave.astype(np.float32), RATE)
    assert found.shape == (COUNT,)
    assert np.isfinite(found).all()
    assert np.abs(found).max(initial=0.0) < 50


def test_padding_and_level_do_not_count() -> None:
    clip = synthesise("bell", 1, 1.5, RATE)
    padded = np.pad(clip, (4000, 9000))
    np.testing.assert_allclose(
        signal_features(padded, RATE), signal_features(clip, RATE), atol=0.05
    )


def test_the_model_with_signal_features_beside_it() -> None:
    plain, whole = get_spec("logmel"), get_spec("logmel+signal")
    assert whole.dim == plain.dim + COUNT
    assert whole.fingerprint != plain.fingerprint
    assert with_signal(whole) is whole
    assert inner_spec(whole) == plain
    assert inner_spec(plain) is None
    clip = synthesise("rain", 0, 1.2, RATE)
    vector = get_encoder("logmel+signal", device="cpu").encode(clip, RATE)
    np.testing.assert_array_equal(
        vector[: plain.dim], get_encoder("logmel", device="cpu").encode(clip, RATE)
    )
    np.testing.assert_allclose(vector[plain.dim :], signal_features(clip, RATE), atol=1e-6)
    assert np.isfinite(get_encoder("logmel+signal").encode(torch.zeros(16000), RATE)).all()
