"""The spec of logmel: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec

SPEC = EncoderSpec(
    name="logmel",
    summary="mean and deviation of 64 log-mel bands; no weights, for a first offline try",
    loader="otadtk.encoders.networks.logmel.network:load",
    sample_rate=16_000,
    dim=128,
    preprocessing="logmel/1: soxr HQ, 64 HTK bands, mean and deviation over the clip",
    licence="Apache-2.0",
    paper="none",
    training_data="none",
    minimum_samples=400,
    segment_samples=40 * 96 * 160 + 240,
    overlap_samples=240,
    frame_seconds=0.96,
)

SPECS = (SPEC,)
