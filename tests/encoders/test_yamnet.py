"""YAMNet: equal to the original, batch-independent, guarded against silence."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.encoders.blocks.frontend import htk_mel_matrix
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.encoders.pooling import split
from tests.encoders.golden_clips import CLIPS, golden_clip

HERE = Path(__file__).parent


@pytest.mark.parametrize("name", CLIPS)
def test_golden_vectors(yamnet: YamnetEncoder, name: str) -> None:
    golden = json.loads((HERE / "golden_yamnet.json").read_text())[name]
    vector = yamnet.encode(golden_clip(name), 16_000)
    assert vector.shape == (1024,)
    assert vector.dtype == np.float32
    assert abs(np.linalg.norm(vector) - 1.0) < 1e-6
    np.testing.assert_allclose(vector[::16], golden, atol=1e-5)


@pytest.mark.parametrize("name", CLIPS)
def test_equals_the_published_model(yamnet: YamnetEncoder, name: str) -> None:
    """The log-odds of the one score that the original gives, to 1e-3."""
    original = json.loads((HERE / "original_yamnet.json").read_text())[name]
    (encoding,) = yamnet.encode_segments([torch.from_numpy(golden_clip(name))])
    scores = yamnet.class_scores(encoding.frames)
    ours = float(scores[:, yamnet.class_names.index("Bicycle bell")].max())
    assert abs(math.log(ours / (1 - ours)) - math.log(original / (1 - original))) < 1e-3


@pytest.mark.parametrize(
    ("kind", "label"),
    [("chirps", "Bird"), ("rain", "Water"), ("engine", "Vehicle"), ("wind", "Wind")],
)
def test_recognises_synthesised_sounds(yamnet: YamnetEncoder, kind: str, label: str) -> None:
    (encoding,) = yamnet.encode_segments([torch.from_numpy(synthesise(kind, 0))])
    mean = yamnet.class_scores(encoding.frames).mean(dim=0)
    assert mean.shape == (521,)
    assert label in [yamnet.class_names[i] for i in mean.topk(5).indices]


@pytest.mark.parametrize("batch", [1, 2, 3, 8])
def test_company_does_not_change_a_clip(yamnet: YamnetEncoder, batch: int) -> None:
    clips = [torch.from_numpy(synthesise(k, 1, 0.4 + 1.1 * i)) for i, k in enumerate(KINDS)]
    alone = [yamnet.encode_segments([clip])[0].frames for clip in clips]
    for start in range(0, len(clips), batch):
        together = yamnet.encode_segments(clips[start : start + batch])
        for encoding, expected in zip(together, alone[start:], strict=False):
            assert torch.equal(encoding.frames, expected)


@pytest.mark.parametrize("seconds", [0.01, 0.975, 0.976, 1.455, 1.456, 31.0, 35.0, 80.0])
def test_segments_of_a_long_clip_give_the_frames_of_the_whole(
    yamnet: YamnetEncoder, seconds: float
) -> None:
    clip = synthesise("wind", 0, seconds)
    segments = [torch.from_numpy(s) for s in split(np.array_split(clip, 7), yamnet.spec)]
    in_parts = torch.cat([e.frames for e in yamnet.encode_segments(segments)])
    whole = yamnet.encode_segments([torch.from_numpy(clip)])[0].frames
    assert torch.equal(in_parts, whole)
    assert len(whole) == 1 + max(0, math.ceil((len(clip) - 15_600) / 7_680))


def test_padding_is_what_is_missing_to_whole_batches(yamnet: YamnetEncoder) -> None:
    for lengths in ([80_000] * 12, [80_000] * 16, [1_000, 15_600, 15_601, 23_280, 23_281]):
        encodings = yamnet.encode_segments([torch.zeros(length) for length in lengths])
        missing = -sum(len(encoding.frames) for encoding in encodings) % 16
        patches = sum(len(encoding.frames) for encoding in encodings)
        assert yamnet.padding(lengths) == missing / (patches + missing)


def test_silent_patches_do_not_count(yamnet: YamnetEncoder) -> None:
    clip = synthesise("engine", 0, 15_600 / 16_000 + 6 * 0.48)
    padded = np.concatenate([clip, np.zeros(5 * 16_000, dtype=np.float32)])
    together = yamnet.encode(padded, 16_000) @ yamnet.encode(clip, 16_000)
    assert together > 0.95
    frames = yamnet.encode_segments([torch.from_numpy(padded)])[0].frames
    plain = frames.mean(dim=0).numpy()
    assert plain @ yamnet.encode(clip, 16_000) / np.linalg.norm(plain) < 0.5, "the guard matters"


def test_all_silent_clip_has_a_vector(yamnet: YamnetEncoder) -> None:
    vector = yamnet.encode(np.zeros(32_000, dtype=np.float32), 16_000)
    assert np.isfinite(vector).all()
    assert abs(np.linalg.norm(vector) - 1.0) < 1e-6


def test_encode_takes_stereo_and_other_rates(yamnet: YamnetEncoder) -> None:
    clip = synthesise("bell", 0, 2.0, 16_000)
    stereo = np.stack([clip, clip])
    assert np.allclose(yamnet.encode(stereo, 16_000), yamnet.encode(clip, 16_000), atol=1e-6)
    import soxr

    high = soxr.resample(clip, 16_000, 44_100)
    assert yamnet.encode(high, 44_100) @ yamnet.encode(clip, 16_000) > 0.999


def test_mel_filters() -> None:
    filters = htk_mel_matrix(64, 257, 16_000, 125.0, 7_500.0)
    assert filters.shape == (257, 64)
    assert (filters[0] == 0).all()
    assert filters.max() <= 1.0
    hertz = torch.linspace(0, 8_000, 257)
    assert (filters[(hertz < 125) | (hertz > 7_500)] == 0).all()
    peaks = hertz[filters.argmax(dim=0)]
    assert (peaks.diff() >= 0).all()
