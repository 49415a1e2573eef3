"""The spec of ast: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, WeightFile

_CITATION = """@inproceedings{gong2021ast,
  title     = {{AST}: Audio Spectrogram Transformer},
  author    = {Gong, Yuan and Chung, Yu-An and Glass, James},
  booktitle = {Interspeech},
  pages     = {571--575},
  doi       = {10.21437/Interspeech.2021-698},
  year      = {2021}
}"""

SPEC = EncoderSpec(
    name="ast",
    summary="Audio Spectrogram Transformer; mean of all tokens",
    loader="otadtk.encoders.networks.ast.network:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="ast/1: soxr HQ, at least 1.5 s, pad to 10.24 s, windows 10.24 s",
    licence="BSD-3-Clause",
    paper="Gong et al., AST: Audio Spectrogram Transformer, Interspeech 2021",
    citation=_CITATION,
    training_data="ImageNet, AudioSet",
    weights=(
        WeightFile(
            "model.safetensors",
            HuggingFaceFile(
                "MIT/ast-finetuned-audioset-10-10-0.4593",
                "f826b80d28226b62986cc218e5cec390b1096902",
                "model.safetensors",
            ),
            "sha256:ae0c1e2ad4e1381d851fa9bf298ba13ebc9c5a914cdee2dbe427a6583869924d",
        ),
    ),
    minimum_samples=24_000,
    segment_samples=164_080,
    overlap_samples=240,
    shortest_tail_samples=400,
    frame_seconds=10.24,
    classes=527,
)

SPECS = (SPEC,)
