"""``+layers``: statistics of intermediate layers beside the vectors of an encoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from otadtk.audio.synthesis import synthesise
from otadtk.encoders import Encoder, get_spec
from otadtk.encoders.blocks.moments import channel_moments
from otadtk.encoders.features.layers import LayersEncoder, channels_of
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.encoders.pooling import join, split
from otadtk.errors import UsageError

RATE = 16_000


@pytest.fixture(scope="module")
def layered(yamnet: YamnetEncoder) -> LayersEncoder:
    return LayersEncoder(get_spec("yamnet+layers"), yamnet)


def frames_and_vector(encoder: Encoder, clip: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    encodings = encoder.encode_segments([torch.from_numpy(s) for s in split([clip], encoder.spec)])
    return join(encodings).frames, encoder.pool(encodings)


def test_the_embedding_comes_first_and_is_the_same(
    yamnet: YamnetEncoder, layered: LayersEncoder
) -> None:
    clip = synthesise("bell", 0, 2.3, RATE)
    vector = layered.encode(clip, RATE)
    assert vector.shape == (1024 + 2 * channels_of(yamnet.spec),) == (layered.spec.dim,)
    np.testing.assert_allclose(vector[:1024], yamnet.encode(clip, RATE), atol=1e-6)
    assert np.isfinite(vector).all()


def test_a_clip_of_one_frame_is_that_frame(layered: LayersEncoder) -> None:
    frames, vector = frames_and_vector(layered, synthesise("rain", 0, 0.9, RATE))
    assert len(frames) == 1
    torch.testing.assert_close(vector[1024:], frames[0, 1024:], atol=1e-5, rtol=0)


def test_frames_pool_to_the_statistics_of_the_whole_clip(layered: LayersEncoder) -> None:
    """Means average; mean squares average, so that deviations follow the law of total variance."""
    frames, vector = frames_and_vector(layered, synthesise("engine", 1, 3.0, RATE))
    means, deviations = (frames[:, 1024:].double().exp() - 0.02).chunk(2, dim=1)
    square = (deviations**2 + means**2).mean(dim=0)
    mean = means.mean(dim=0)
    expected = torch.cat([mean, (square - mean**2).clamp_min(0).sqrt()]) + 0.02
    torch.testing.assert_close(vector[1024:].double(), expected.log(), atol=1e-5, rtol=0)


def test_silence_behind_a_clip_does_not_count(layered: LayersEncoder) -> None:
    clip = synthesise("bell", 2, 0.96, RATE)
    padded = np.pad(clip, (0, 4 * RATE))
    plain, longer = layered.encode(clip, RATE)[1024:], layered.encode(padded, RATE)[1024:]
    other = layered.encode(synthesise("rain", 0, 0.96, RATE), RATE)[1024:]
    assert np.abs(plain - longer).mean() < 0.3 * np.abs(plain - other).mean()


def test_digital_silence_is_finite(layered: LayersEncoder) -> None:
    assert np.isfinite(layered.encode(np.zeros(RATE, dtype=np.float32), RATE)).all()


def test_moments_in_closed_form() -> None:
    x = torch.arange(24.0).reshape(1, 2, 3, 4)
    mean, square = channel_moments(x)
    torch.testing.assert_close(mean[0], torch.stack([x[0, c].mean() for c in range(2)]))
    torch.testing.assert_close(square[0], torch.stack([(x[0, c] ** 2).mean() for c in range(2)]))
    first = torch.tensor([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]])  # of six steps the first two: time 0
    mean, _ = channel_moments(x, first)
    torch.testing.assert_close(mean[0], x[0, :, 0].mean(dim=1))
    nothing, _ = channel_moments(x, torch.zeros(1, 6))
    torch.testing.assert_close(nothing, channel_moments(x)[0])


def test_vggish_shows_its_layers(seeded_encoder: Callable[[str], Encoder]) -> None:
    inner = seeded_encoder("vggish")
    encoder = LayersEncoder(get_spec("vggish+layers"), inner)
    vector = encoder.encode(synthesise("rain", 0, 2.5, RATE), RATE)
    assert vector.shape == (128 + 2 * (256 + 512),)
    assert np.isfinite(vector).all()


def test_musicnn_shows_its_layers(seeded_encoder: Callable[[str], Encoder]) -> None:
    """The mean and deviation over time of what every convolution sees, before its batch norm."""
    inner: Any = seeded_encoder("musicnn")
    clip = synthesise("rain", 0, 3.2, RATE)  # one patch
    seen: list[torch.Tensor] = []
    hooks = [
        norm.register_forward_pre_hook(lambda _, given: seen.append(given[0].amax(dim=3)[0]))
        for norm in inner.network.norms[1:]
    ]
    vector = LayersEncoder(get_spec("musicnn+layers"), inner).encode(clip, RATE)
    for hook in hooks:
        hook.remove()
    rows = torch.cat(seen)
    assert rows.shape[0] == channels_of(get_spec("musicnn")) == 753
    np.testing.assert_allclose(vector[:200], inner.encode(clip, RATE), atol=1e-6)
    means, deviations = np.exp(vector[200:]).reshape(2, 753) - 0.02
    np.testing.assert_allclose(means, rows.mean(dim=1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(deviations, rows.std(dim=1, correction=0), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["panns", "panns_wglm"])
def test_panns_shows_its_layers(seeded_encoder: Callable[[str], Encoder], name: str) -> None:
    inner = seeded_encoder(name)
    encoder = LayersEncoder(get_spec(f"{name}+layers"), inner)
    clip = synthesise("rain", 0, 2.5, 32_000)
    vector = encoder.encode(clip, 32_000)
    assert vector.shape == (2048 + 2 * (256 + 512 + 1024),)
    np.testing.assert_allclose(vector[:2048], inner.encode(clip, 32_000), atol=1e-6)
    assert np.isfinite(vector).all()


def test_specs() -> None:
    plain, whole = get_spec("yamnet"), get_spec("yamnet+layers")
    assert whole.inner == plain
    assert len({plain.fingerprint, whole.fingerprint, get_spec("yamnet+signal").fingerprint}) == 3
    assert get_spec("yamnet+layers").fingerprint == whole.fingerprint
    with pytest.raises(UsageError, match="names no intermediate layers"):
        get_spec("logmel+layers")
    with pytest.raises(UsageError, match="names no intermediate layers"):
        get_spec("yamnet+signal+layers")
