"""The specs of openl3 and openl3_env: all that is known before their weights load."""

from __future__ import annotations

from dataclasses import replace

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import Url, WeightFile

_CITATION = """@inproceedings{cramer2019openl3,
  title     = {Look, Listen, and Learn More: Design Choices for Deep Audio Embeddings},
  author    = {Cramer, Aurora and Wu, Ho-Hsiang and Salamon, Justin and Bello, Juan Pablo},
  booktitle = {ICASSP},
  year      = {2019}
}"""

_FOLDER = (
    "https://github.com/torchopenl3/torchopenl3-models/raw/a5df8fd155993e1601590b19649e882a68f80186"
)

SPEC = EncoderSpec(
    name="openl3",
    summary="audio-visual correspondence, mel256, music, 512-d",
    loader="otadtk.encoders.networks.openl3.network:load",
    sample_rate=48_000,
    dim=512,
    preprocessing="openl3/1: soxr HQ, at least 1.5 s, 0.5 s before, frames 1/0.1 s, mean",
    licence="CC-BY-4.0",
    paper="Cramer et al., Look, Listen and Learn More, ICASSP 2019",
    citation=_CITATION,
    training_data="AudioSet videos of music",
    weights=(
        WeightFile(
            "torchopenl3_mel256_music_512.pth.tar",
            Url(f"{_FOLDER}/torchopenl3_mel256_music_512.pth.tar"),
            "git-blob-sha1:54df87b6bfe9747d001991da436b3d1ac768b2a6",
        ),
    ),
    lead_samples=24_000,
    minimum_samples=72_000,
    # 50 frames: whole ones, so that they do not depend on where a segment ends
    segment_samples=48_000 + 49 * 4_800,
    overlap_samples=48_000 - 4_800,
    frame_seconds=0.1,
)

ENVIRONMENTAL = replace(
    SPEC,
    name="openl3_env",
    summary="the same, trained on environmental sounds",
    training_data="AudioSet videos of environmental sounds",
    weights=(
        WeightFile(
            "torchopenl3_mel256_env_512.pth.tar",
            Url(f"{_FOLDER}/torchopenl3_mel256_env_512.pth.tar"),
            "git-blob-sha1:a37a08222ebf9d8a88a84beeae76ad909dac0bc6",
        ),
    ),
)

SPECS = (SPEC, ENVIRONMENTAL)
