"""Every encoder of the table keeps the contract.

cdpam_content is left out where encoders run: it is cdpam with other channels of the last layer; so is
clap_fused, which hears clips of up to 10 s as clap does.
The transformers run with two of their layers here; test_reference.py runs them whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

from otadtk import get_encoder
from otadtk.audio.synthesis import synthesise
from otadtk.encoders import COMPAT_NAMES, Encoder, EncoderSpec, explain_compat, get_spec
from otadtk.encoders.networks import BUILT_IN
from otadtk.encoders.pooling import split

WITH_PUBLIC_WEIGHTS = ("yamnet", "logmel")
FRAME_BY_FRAME = ("yamnet", "logmel", "vggish", "openl3", "musicnn", "cdpam")
"""Encoders whose frames do not depend on where a segment ends."""
SMALLER_SEGMENTS = {
    "vggish": 2 * 15_360 + 240,
    "openl3": 48_000 + 2 * 4_800,
    "musicnn": 2 * 187 * 256 + 256,
    "cdpam": 22_050,
}
SHORTER_CLIPS = {"cdpam": 3_000}
"""Clips for slow encoders; the others get at least 20,000 samples."""


OTHER_NAMES = ("cdpam_content", "openl3_env", "clap_fused")
"""Encoders that share a network with another one."""


@pytest.fixture(scope="module", params=[name for name in BUILT_IN if name not in OTHER_NAMES])
def encoder(request: pytest.FixtureRequest, seeded_encoder: Callable[[str], Encoder]) -> Encoder:
    name: str = request.param
    if name in WITH_PUBLIC_WEIGHTS:
        return get_encoder(name, device="cpu")
    return shortened(seeded_encoder(name))


def shortened(encoder: Encoder) -> Encoder:
    """The encoder with the first two of its layers; the one given stays whole."""
    import copy

    network: nn.Module = encoder.network  # type: ignore[attr-defined]
    owner = next(
        ((m, n) for m in network.modules() for n in ("blocks", "layers") if has_layers(m, n)), None
    )
    if owner is None:
        return encoder
    module, name = owner
    layers = getattr(module, name)
    setattr(module, name, layers[:2])
    # the layers themselves are shared: packed weights cannot be copied
    short = copy.deepcopy(encoder, {id(layer): layer for layer in layers})
    setattr(module, name, layers)
    return short


def has_layers(module: nn.Module, name: str) -> bool:
    layers = getattr(module, name, None)
    return isinstance(layers, nn.ModuleList) and len(layers) in (4, 12)


def base_length(spec: EncoderSpec) -> int:
    return SHORTER_CLIPS.get(spec.name, max(20_000, spec.sample_rate // 2))


def sound(kind: str, seed: int, spec: EncoderSpec, samples: int) -> torch.Tensor:
    seconds = max(0.1, samples / spec.sample_rate + 0.01)
    return torch.from_numpy(synthesise(kind, seed, seconds, spec.sample_rate)[:samples])


def test_a_single_sample_gives_one_finite_vector(encoder: Encoder) -> None:
    vector = encoder.encode(sound("bell", 0, encoder.spec, 1), encoder.spec.sample_rate)
    assert vector.shape == (encoder.spec.dim,)
    assert vector.dtype == np.float32
    assert np.isfinite(vector).all()


def test_silence_and_another_rate(encoder: Encoder) -> None:
    vector = encoder.encode(np.zeros((2, 3_000), dtype=np.float32), 11_025)
    assert vector.shape == (encoder.spec.dim,)
    assert np.isfinite(vector).all()


def test_batches_equal_single_clips(encoder: Encoder) -> None:
    """In any company and order, of equal and other lengths, again and again, to the bit."""
    base = base_length(encoder.spec)
    lengths = [base, base, base + 777, base + 8_000]
    clips = [sound("engine", i, encoder.spec, length) for i, length in enumerate(lengths)]
    alone = [encoder.encode_segments([clip])[0] for clip in clips]
    for order in ([0], [2, 1], [3, 2, 1, 0]):
        together = encoder.encode_segments([clips[i] for i in order])
        for i, encoding in zip(order, together, strict=True):
            assert torch.equal(encoding.frames, alone[i].frames)
            assert torch.equal(encoding.weights, alone[i].weights)
    assert alone[0].frames.dtype == torch.float32
    assert alone[0].frames.shape == (len(alone[0].weights), encoder.spec.dim)
    vectors = [encoder.pool([encoding]) for encoding in alone]
    assert torch.linalg.norm(vectors[0] - vectors[1]) > 1e-4 * torch.linalg.norm(vectors[0])


@pytest.mark.parametrize("size", [2, 16])
def test_shared_batches_of_accelerators(
    encoder: Encoder, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where clips of one length share a batch, each gets what it gets alone, but for rounding."""
    base = base_length(encoder.spec)
    lengths = [base, base + 777, base, base]
    clips = [sound("engine", i, encoder.spec, length) for i, length in enumerate(lengths)]
    alone = [encoder.encode_segments([clip])[0].frames for clip in clips]
    monkeypatch.setattr("otadtk.encoders.blocks.batching._AT_ONCE", {"cpu": size})
    for frames, encoding in zip(alone, encoder.encode_segments(clips), strict=True):
        assert torch.allclose(
            encoding.frames, frames, rtol=1e-4, atol=1e-5 * float(frames.abs().max())
        )


@pytest.mark.parametrize("encoder", ["vggish", "encodec", "clap"], indirect=True)
def test_frames_on_request(encoder: Encoder) -> None:
    rate = encoder.spec.sample_rate
    clip = sound("rain", 0, encoder.spec, 2 * rate)
    frames = encoder.encode_frames(clip, rate)
    assert frames.shape == (
        {"vggish": 2, "encodec": 150, "clap": 1}[encoder.spec.name],
        encoder.spec.dim,
    )
    np.testing.assert_allclose(
        frames.mean(axis=0), encoder.encode(clip, rate), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("encoder", FRAME_BY_FRAME, indirect=True)
def test_long_clip_in_segments_equals_the_whole(encoder: Encoder) -> None:
    spec = encoder.spec
    if spec.name in SMALLER_SEGMENTS:
        smaller = SMALLER_SEGMENTS[spec.name]
        spec = dataclasses.replace(spec, segment_samples=smaller, minimum_samples=1)
    assert spec.segment_samples is not None
    step = spec.segment_samples - spec.overlap_samples
    clip = sound("wind", 0, spec, int(2.6 * step) + spec.overlap_samples - spec.lead_samples)
    segments = [torch.from_numpy(s) for s in split([clip.numpy()], spec)]
    assert len(segments) >= 3
    in_parts = encoder.pool(encoder.encode_segments(segments))
    whole_spec = dataclasses.replace(spec, segment_samples=None)
    whole = [torch.from_numpy(s) for s in split([clip.numpy()], whole_spec)]
    assert len(whole) == 1
    assert torch.allclose(
        in_parts, encoder.pool(encoder.encode_segments(whole)), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", [n for n in BUILT_IN if n not in (*FRAME_BY_FRAME, *OTHER_NAMES)])
@pytest.mark.parametrize("beyond", [1, 200, 500, 3_000, 50_000])
def test_segments_cover_a_long_clip(name: str, beyond: int) -> None:
    """Everything is heard in order, but for a remainder shorter than one frame of the network."""
    spec = get_spec(name)
    assert spec.segment_samples is not None
    step = spec.segment_samples - spec.overlap_samples
    clip = np.arange(step + spec.segment_samples + beyond, dtype=np.float32)
    blocks = np.split(clip, [7, 100_000, 100_001])
    segments = list(split(blocks, spec))
    for number, segment in enumerate(segments):
        start = number * step
        assert np.array_equal(segment, clip[start : start + len(segment)])
    heard = (len(segments) - 1) * step + len(segments[-1])
    assert heard == len(clip) or beyond + spec.overlap_samples < spec.shortest_tail_samples


@pytest.mark.parametrize("name", BUILT_IN)
def test_fingerprints_follow_the_weights(name: str) -> None:
    spec = get_spec(name)
    for number, file in enumerate(spec.weights):
        other = list(spec.weights)
        other[number] = dataclasses.replace(file, digest="sha256:" + 64 * "0")
        assert dataclasses.replace(spec, weights=tuple(other)).fingerprint != spec.fingerprint
    assert [s.name for s in BUILT_IN.values() if s.fingerprint == spec.fingerprint] == [name]


def test_compat_names_say_what_they_mean() -> None:
    assert get_spec("audiomae", compat="otadtk-0.1.2") is get_spec("ast")
    assert get_spec("beats", compat="otadtk-0.1.2") is get_spec("wav2vec2")
    assert get_spec("clap", compat="otadtk-0.1.2") is get_spec("clap")
    assert get_spec("beats", compat=None).name == "beats"
    for name, meant in COMPAT_NAMES["otadtk-0.1.2"].items():
        assert repr(meant) in (explain_compat(name, "otadtk-0.1.2") or "")
        assert explain_compat(name, None) is None
