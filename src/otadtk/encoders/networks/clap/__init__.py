"""The specs of clap and clap_fused: all that is known before their weights load."""

from __future__ import annotations

from dataclasses import replace

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

FUSED_SPEC = replace(
    SPEC,
    name="clap_fused",
    summary="HTSAT, trained with captions (LAION, fused, 630k-audioset)",
    loader="otadtk.encoders.networks.clap.fused:load",
    preprocessing="clap_fused/1: soxr HQ, at least 20 ms, 16 bit, repeat and pad to 10 s; longer: shrunk "
    "to 10 s, fused with three windows of 10 s in the middle of their thirds; parts of 5 minutes",
    licence="CC0-1.0",
    weights=(
        WeightFile(
            "630k-audioset-fusion-best.pt",
            HuggingFaceFile(
                "lukewys/laion_clap",
                "b3708341862f581175dba5c356a4ebf74a9b6651",
                "630k-audioset-fusion-best.pt",
            ),
            "revision:b3708341862f581175dba5c356a4ebf74a9b6651",
        ),
    ),
    minimum_samples=960,
    segment_samples=14_400_000,
    frame_seconds=None,
    published_scores="",
)

SPECS = (SPEC, FUSED_SPEC)
