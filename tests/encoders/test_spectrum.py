"""The spectrum features, and the columns of plainer models in the vectors of wider ones."""

from __future__ import annotations

import numpy as np
import pytest
import soxr

from otadtk.audio.synthesis import synthesise
from otadtk.encoders import get_encoder, get_spec
from otadtk.encoders.features.columns import columns_within
from otadtk.encoders.features.with_spectrum import spectrum_features

RATE = 16_000


def test_a_tone_stands_in_its_band() -> None:
    time = np.arange(RATE) / RATE
    low, high = (
        spectrum_features((0.5 * np.sin(2 * np.pi * hertz * time)).astype(np.float32), RATE)
        for hertz in (300.0, 5000.0)
    )
    assert low[:64].argmax() < 15
    assert high[:64].argmax() > 45
    assert low[64:].max() < 0.1  # a steady tone does not vary


def test_silence_around_a_sound_does_not_count() -> None:
    clip = synthesise("rain", 1, 1.0, RATE)
    padded = np.concatenate([np.zeros(RATE, np.float32), clip, np.zeros(RATE, np.float32)])
    inside, around = spectrum_features(clip, RATE), spectrum_features(padded, RATE)
    assert np.abs(inside - around)[:64].max() < 0.2
    silence = spectrum_features(np.zeros(RATE, np.float32), RATE)
    np.testing.assert_allclose(silence[:64], np.log(0.001), rtol=1e-5)


@pytest.mark.parametrize("samples", [1, 399, 400, 561])
def test_short_waveforms(samples: int) -> None:
    found = spectrum_features(np.full(samples, 0.1, np.float32), RATE)
    assert found.shape == (128,)
    assert np.isfinite(found).all()


def test_any_rate_gives_the_same_bands() -> None:
    clip = synthesise("speech", 2, 1.0, RATE)
    faster = soxr.resample(clip, RATE, 32_000, quality="HQ")
    np.testing.assert_allclose(
        spectrum_features(faster, 32_000), spectrum_features(clip, RATE), atol=0.05
    )


def test_columns_of_a_plainer_model() -> None:
    clip = synthesise("bell", 0, 1.0, RATE)
    wide = get_encoder("logmel+signal+spectrum")
    vector = wide.encode(clip[None], RATE)
    for name in ("logmel", "logmel+signal", "logmel+spectrum"):
        columns = columns_within(wide.spec, get_spec(name))
        assert columns is not None
        np.testing.assert_array_equal(vector[columns], get_encoder(name).encode(clip[None], RATE))
    assert columns_within(wide.spec, get_spec("logmel+texture")) is None
    assert columns_within(wide.spec, get_spec("yamnet")) is None


def test_the_network_is_within_its_layers() -> None:
    wide, plain = get_spec("yamnet+layers+signal"), get_spec("yamnet")
    columns = columns_within(wide, plain)
    assert columns is not None
    np.testing.assert_array_equal(columns, np.arange(1024))
    both = columns_within(wide, get_spec("yamnet+signal"))
    assert both is not None
    assert len(both) == get_spec("yamnet+signal").dim
    assert both[1024] == get_spec("yamnet+layers").dim
