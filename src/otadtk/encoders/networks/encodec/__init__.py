"""The spec of encodec: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import Url, WeightFile

_CITATION = """@article{defossez2023encodec,
  title   = {High Fidelity Neural Audio Compression},
  author  = {D\\'efossez, Alexandre and Copet, Jade and Synnaeve, Gabriel and Adi, Yossi},
  journal = {Transactions on Machine Learning Research},
  year    = {2023}
}"""

SPEC = EncoderSpec(
    name="encodec",
    summary="encoder of a neural codec (SEANet and LSTM), before quantisation",
    loader="otadtk.encoders.networks.encodec.network:load",
    sample_rate=24_000,
    dim=128,
    preprocessing="encodec/1: soxr HQ, at least 1.5 s, windows 30 s, mean over time",
    licence="CC-BY-NC-4.0",
    commercial_use=False,
    paper="Défossez et al., High Fidelity Neural Audio Compression, TMLR 2023",
    citation=_CITATION,
    training_data="DNS Challenge 4, Common Voice, AudioSet, FSD50K, Jamendo",
    weights=(
        WeightFile(
            "encodec_24khz-d7cc33bc.th",
            Url("https://dl.fbaipublicfiles.com/encodec/v0/encodec_24khz-d7cc33bc.th"),
            "sha256:d7cc33bcf1aad7f2dad9836f36431530744abeace3ca033005e3290ed4fa47bf",
        ),
    ),
    minimum_samples=36_000,
    segment_samples=720_000,
    frame_seconds=1 / 75,
    published_scores="encodec-emb",
)

SPECS = (SPEC,)
