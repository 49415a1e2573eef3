"""Frames instead of clip vectors: those of the encoder, or those that kadtk and fadtk compare.

How the two tools frame a clip, by model:

    vggish        both    one frame per 0.96 s, before the final ReLU; audioldm_eval does the same
    encodec       kadtk   means over 1 s of the first three minutes
                  fadtk   every frame, 75 a second, of the first three minutes
    clap          both    windows of 10 s that start every second, zeros behind the clip
    openl3        kadtk   frames of 1 s every 0.5 s
    openl3*       stable-audio-metrics   the same of each channel, side by side, with the spectrogram
                  of the package openl3 from version 0.4 on
    panns*        kadtk   the whole clip as one frame
    cdpam*        fadtk   windows of 1 s, the last one as short as it is

Short clips are not padded, except that fadtk pads those of VGGish to 1 s. kadtk fails on VGGish
below 0.975 s and on EnCodec below 1 s; here such a clip has one frame. Their caches hold float16, so
frames are rounded to it here too (the other tools round nothing). Both resample by torchaudio, then
round to 16 bits; here soxr resamples: 16-bit audio at the encoder's rate gives the same frames.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from otadtk.encoders.loading import load_encoder
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.errors import UsageError

OWN = "own"
STABLE = "stable-audio-metrics"
FRAMES = (OWN, "kadtk", "fadtk", "audioldm-eval", STABLE)
_KEPT_AS_FLOAT16 = ("kadtk", "fadtk")
_THREE_MINUTES = 180
_CLAP_SECONDS = 10
_OPENL3_STEPS = 5
"""OpenL3's frames start every 0.1 s here, and every 0.5 s in kadtk."""

Rule = Callable[[Encoder, torch.Tensor], torch.Tensor]


def with_frames(spec: EncoderSpec, whose: str) -> EncoderSpec:
    """The model that gives the frames of ``spec`` as ``whose`` tool has them."""
    if whose not in FRAMES:
        raise UsageError(f"Unknown frames {whose!r}; choose from {', '.join(FRAMES)}.")
    if whose != OWN and (spec.name, whose) not in _RULES:
        known = sorted(model for model, tool in _RULES if tool == whose)
        raise UsageError(
            f"{whose} has no frames of {spec.name!r}: choose from {', '.join(known)}, or compare "
            f"the encoder's own frames with --frames {OWN}."
        )
    if whose == STABLE and spec.reading.channels != "both":
        raise UsageError(
            f"The frames of {STABLE} are of two channels: take them by --protocol {STABLE}."
        )
    # the two tools take clips whole and, but for VGGish, as short as they are
    as_ours = whose == OWN or spec.name == "vggish"
    return replace(
        spec,
        name=f"{spec.name}@{whose}",
        loader="otadtk.encoders.frames:load",
        preprocessing=f"{spec.preprocessing}; frames of {whose} {1 if as_ours else 2}",
        minimum_samples=spec.minimum_samples if as_ours else 1,
        segment_samples=spec.segment_samples if as_ours else None,
        lead_samples=0 if whose == STABLE else spec.lead_samples,
        dim=2 * spec.dim if whose == STABLE else spec.dim,
        inner=spec,
    )


class FramesEncoder(Encoder):
    """Wraps an encoder; a rule makes the frames of a clip."""

    def __init__(self, spec: EncoderSpec, inner: Encoder, rule: Rule, *, rounded: bool) -> None:
        super().__init__(spec, inner.device)
        self._inner, self._rule, self._rounded = inner, rule, rounded

    @torch.inference_mode()
    def encode_segments(self, segments: Sequence[torch.Tensor]) -> list[Encoding]:
        """The frames of each segment, all of the same weight, in the tool's precision."""
        found = [self._rule(self._inner, segment).cpu() for segment in segments]
        found = [frames.half().float() if self._rounded else frames for frames in found]
        return [Encoding(frames, torch.ones(len(frames))) for frames in found]


def _all_frames(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    return inner.encode_segments([clip])[0].frames


def _three_minutes(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    return _all_frames(inner, clip[: _THREE_MINUTES * inner.spec.sample_rate])


def _means_of_seconds(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    clip = clip[: _THREE_MINUTES * inner.spec.sample_rate]
    frames = _all_frames(inner, clip)
    stride = int(len(frames) * inner.spec.sample_rate / len(clip))
    if stride >= len(frames):  # below a second kadtk has no answer
        return frames.mean(dim=0, keepdim=True)
    return frames.unfold(0, stride, stride).mean(dim=-1)


def _sliding_windows(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    rate = inner.spec.sample_rate
    window = _CLAP_SECONDS * rate
    padded = functional.pad(clip, (0, window))
    starts = range(0, len(clip), rate)
    windows = [padded[start : start + window] for start in starts]
    return torch.cat([encoding.frames for encoding in inner.encode_segments(windows)])


def _every_half_second(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    step = inner.spec.sample_rate // 2
    missing = max(2 * step - len(clip), -(len(clip) - 2 * step) % step)
    return _all_frames(inner, functional.pad(clip, (0, missing)))[::_OPENL3_STEPS]


def _both_channels(inner: Encoder, clip: torch.Tensor) -> torch.Tensor:
    """Of a clip whose two channels stand one after the other (``channels = both``)."""
    from otadtk.encoders.networks.openl3.network import FRAME_SAMPLES, OpenL3Encoder

    assert isinstance(inner, OpenL3Encoder)
    sides = [functional.pad(side, (inner.spec.lead_samples, 0)) for side in clip.chunk(2)]
    return torch.cat([inner.frames_every(FRAME_SAMPLES // 2, side) for side in sides], dim=1)


_RULES: dict[tuple[str, str], Rule] = {
    ("vggish", "kadtk"): _all_frames,
    ("vggish", "fadtk"): _all_frames,
    ("vggish", "audioldm-eval"): _all_frames,
    ("encodec", "kadtk"): _means_of_seconds,
    ("encodec", "fadtk"): _three_minutes,
    ("clap", "kadtk"): _sliding_windows,
    ("clap", "fadtk"): _sliding_windows,
    ("openl3", "kadtk"): _every_half_second,
    ("openl3", STABLE): _both_channels,
    ("openl3_env", STABLE): _both_channels,
    ("cdpam", "fadtk"): _all_frames,
    ("cdpam_content", "fadtk"): _all_frames,
    ("panns", "kadtk"): _all_frames,
    ("panns_wglm", "kadtk"): _all_frames,
}


def load(spec: EncoderSpec, device: torch.device, user_copy: Path | None = None) -> Encoder:
    """The wrapped encoder with its weights; its own frames need no wrapping."""
    assert spec.inner is not None, f"the spec {spec.name!r} wraps nothing"
    inner = load_encoder(spec.inner, device, user_copy)
    whose = spec.name.rpartition("@")[2]
    return inner if whose == OWN else with_rule(spec, inner, whose)


def with_rule(spec: EncoderSpec, inner: Encoder, whose: str) -> FramesEncoder:
    """A loaded encoder with the frames of a tool; VGGish loses its final ReLU."""
    from otadtk.encoders.networks.openl3.network import OpenL3Encoder, newer_spectrogram
    from otadtk.encoders.networks.vggish.network import VggishEncoder

    if isinstance(inner, VggishEncoder):
        inner.network.embeddings = nn.Sequential(*list(inner.network.embeddings)[:-1])
    if isinstance(inner, OpenL3Encoder) and whose == STABLE:
        inner.network.spectrogram = newer_spectrogram  # type: ignore[method-assign]
    rule = _RULES[inner.spec.name, whose]
    return FramesEncoder(spec, inner, rule, rounded=whose in _KEPT_AS_FLOAT16)
