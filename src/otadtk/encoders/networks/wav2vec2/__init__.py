"""The spec of wav2vec2: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, WeightFile

_CITATION = """@inproceedings{baevski2020wav2vec,
  title     = {wav2vec 2.0: A Framework for Self-Supervised Learning of Speech Representations},
  author    = {Baevski, Alexei and Zhou, Yuhao and Mohamed, Abdelrahman and Auli, Michael},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2020}
}"""

SPEC = EncoderSpec(
    name="wav2vec2",
    summary="wav2vec 2.0 base 960h; what otadtk 0.1.2 called beats",
    loader="otadtk.encoders.networks.wav2vec2.network:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="wav2vec2/1: soxr HQ, at least 1.5 s, unit variance, windows 30 s, mean over time",
    licence="Apache-2.0",
    paper="Baevski et al., wav2vec 2.0, NeurIPS 2020",
    citation=_CITATION,
    training_data="LibriSpeech 960 h",
    weights=(
        WeightFile(
            "model.safetensors",
            HuggingFaceFile(
                "facebook/wav2vec2-base-960h",
                "22aad52d435eb6dbaf354bdad9b0da84ce7d6156",
                "model.safetensors",
            ),
            "sha256:8aa76ab2243c81747a1f832954586bc566090c83a0ac167df6f31f0fa917d74a",
        ),
    ),
    minimum_samples=24_000,
    # 1500 frames
    segment_samples=1_500 * 320 + 80,
    overlap_samples=80,
    shortest_tail_samples=400,
    frame_seconds=0.02,
)

SPECS = (SPEC,)
