"""Frames as kadtk and fadtk make them of a clip."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from otadtk.encoders import Encoder, Encoding, get_spec
from otadtk.encoders.frames import FramesEncoder, with_frames, with_rule
from otadtk.encoders.networks.vggish.network import VggishEncoder, VggishNetwork
from otadtk.errors import UsageError

CPU = torch.device("cpu")


class Ramp(Encoder):
    """Stands for a network: frames of a given step, each with the mean of its samples and a count."""

    def __init__(self, name: str, step: int) -> None:
        super().__init__(get_spec(name), CPU)
        self.step = self.length = step
        self.seen: list[int] = []

    def encode_segments(self, segments: list[torch.Tensor]) -> list[Encoding]:  # type: ignore[override]
        self.seen += [len(segment) for segment in segments]
        found = []
        for segment in segments:
            starts = range(0, max(1, len(segment) - self.length + 1), self.step)
            means = torch.stack([segment[s : s + self.length].mean() for s in starts])
            found.append(Encoding(means[:, None], torch.ones(len(means))))
        return found


def framed(name: str, whose: str, step: int) -> tuple[FramesEncoder, Ramp]:
    inner = Ramp(name, step)
    return with_rule(with_frames(inner.spec, whose), inner, whose), inner


def frames_of(encoder: Encoder, samples: int) -> torch.Tensor:
    return encoder.encode_segments([torch.linspace(0, 1, samples)])[0].frames[:, 0]


def test_encodec_as_fadtk_and_as_kadtk() -> None:
    rate = 24_000
    fadtk, _ = framed("encodec", "fadtk", 320)
    kadtk, _ = framed("encodec", "kadtk", 320)
    clip = int(2.5 * rate)
    assert len(frames_of(fadtk, clip)) == 187
    seconds = frames_of(kadtk, clip)
    # kadtk: int(frames / duration) of them a mean, what remains is dropped
    stride = int(187 / 2.5)
    expected = frames_of(fadtk, clip)[: 2 * stride].reshape(2, stride).mean(dim=1)
    assert torch.allclose(seconds, expected, atol=1e-3)
    assert len(frames_of(kadtk, rate // 2)) == 1
    assert len(frames_of(fadtk, 200 * rate)) == 180 * 75


def test_clap_windows_start_every_second() -> None:
    encoder, inner = framed("clap", "kadtk", 480_000)
    assert len(frames_of(encoder, int(4.2 * 48_000))) == 5
    assert inner.seen == [480_000] * 5, "zeros behind the clip fill the windows"


def test_openl3_every_half_second() -> None:
    encoder, inner = framed("openl3", "kadtk", 4_800)
    for samples, padded in ((48_000, 48_000), (48_001, 72_000), (24_000, 48_000), (96_000, 96_000)):
        frames_of(encoder, samples)
        assert inner.seen[-1] == padded
    found = frames_of(encoder, 96_000)
    assert torch.allclose(
        found, inner.encode_segments([torch.linspace(0, 1, 96_000)])[0].frames[::5, 0], atol=1e-3
    )


@pytest.mark.parametrize(
    ("name", "whose", "step", "seconds", "frames"),
    [
        ("encodec", "fadtk", 320, 0.6, 45),
        ("encodec", "fadtk", 320, 1.2, 90),
        ("encodec", "kadtk", 320, 1.2, 1),
        ("clap", "kadtk", 480_000, 0.6, 1),
        ("clap", "fadtk", 480_000, 1.2, 2),
        ("openl3", "kadtk", 4_800, 0.6, 2),
        ("openl3", "kadtk", 4_800, 1.2, 3),
        ("vggish", "fadtk", 15_360, 0.6, 1),
    ],
)
def test_short_clips_are_as_long_as_there(
    name: str, whose: str, step: int, seconds: float, frames: int
) -> None:
    """The numbers are those that the two tools give; clips of ours are filled up to 1.5 s."""
    encoder, inner = framed(name, whose, step)
    if name == "openl3":  # its frames are of 1 s
        inner.length = 48_000
    samples = np.ones(round(seconds * encoder.spec.sample_rate), dtype=np.float32)
    assert len(encoder.encode_frames(samples, encoder.spec.sample_rate)) == frames


def test_vggish_without_its_final_relu() -> None:
    torch.manual_seed(0)
    spec = get_spec("vggish")
    with torch.device("meta"):
        network = VggishNetwork()
    network.features = nn.Sequential(nn.AdaptiveAvgPool2d((2, 2)))  # a small stand-in
    network.embeddings = nn.Sequential(nn.Linear(4, 128), nn.ReLU())
    inner = VggishEncoder(spec, CPU, network)
    clip = torch.randn(40_000)
    after = inner.encode_segments([clip])[0].frames
    whole = with_frames(spec, "fadtk")
    before = with_rule(whole, inner, "fadtk").encode_segments([clip])[0].frames
    assert bool((before < 0).any())
    assert torch.allclose(before.clamp(min=0), after, rtol=1e-3, atol=1e-3)
    assert torch.equal(before, before.half().float()), "as their caches hold it"


def test_fingerprints_keep_frames_apart() -> None:
    spec = get_spec("vggish")
    prints = {with_frames(spec, whose).fingerprint for whose in ("own", "kadtk", "fadtk")}
    assert len(prints | {spec.fingerprint}) == 4
    with pytest.raises(UsageError, match="fadtk has no frames of 'panns'"):
        with_frames(get_spec("panns"), "fadtk")
    with pytest.raises(UsageError, match="Unknown frames"):
        with_frames(spec, "versa")
