"""The spec of clap: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, WeightFile

_CITATION = """@inproceedings{wu2023clap,
  title     = {Large-Scale Contrastive Language-Audio Pretraining with Feature Fusion and
               Keyword-to-Caption Augmentation},
  author    = {Wu, Yusong and Chen, Ke and Zhang, Tianyu and Hui, Yuchen and
               Berg-Kirkpatrick, Taylor and Dubnov, Shlomo},
  booktitle = {ICASSP},
  year      = {2023}
}"""

SPEC = EncoderSpec(
    name="clap",
    summary="HTSAT, trained with captions (LAION, unfused, 630k-audioset)",
    loader="otadtk.encoders.networks.clap.network:load",
    sample_rate=48_000,
    dim=512,
    preprocessing="clap/1: soxr HQ, at least 1.5 s, 16 bit, repeat and pad to 10 s, windows 10 s",
    licence="Apache-2.0",
    paper="Wu et al., Large-Scale Contrastive Language-Audio Pretraining, ICASSP 2023",
    citation=_CITATION,
    training_data="LAION-Audio-630K, AudioSet, AudioCaps, Clotho",
    weights=(
        WeightFile(
            "pytorch_model.bin",
            HuggingFaceFile(
                "laion/clap-htsat-unfused",
                "8fa0f1c6d0433df6e97c127f64b2a1d6c0dcda8a",
                "pytorch_model.bin",
            ),
            "sha256:1cd3c601bc4afe0fa87be3de4c13dd2cfadd249fac1e29acf74a9b296c3219bb",
        ),
    ),
    minimum_samples=72_000,
    segment_samples=480_000,
    frame_seconds=10.0,
    published_scores="clap-laion-audio",
    unit_norm=True,
)

SPECS = (SPEC,)
