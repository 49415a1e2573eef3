"""The spec of passt: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import Url, WeightFile

_CITATION = """@inproceedings{koutini2022passt,
  title     = {Efficient Training of Audio Transformers with Patchout},
  author    = {Koutini, Khaled and Schl{\\"u}ter, Jan and Eghbal-zadeh, Hamid and Widmer, Gerhard},
  booktitle = {Interspeech},
  year      = {2022}
}"""

SPEC = EncoderSpec(
    name="passt",
    summary="PaSST, a transformer on the spectrogram; FD and KL of text-to-audio papers",
    loader="otadtk.encoders.networks.passt.network:load",
    sample_rate=32_000,
    dim=768,
    preprocessing="passt/1: soxr HQ, at least 1.5 s, windows 10 s, mean of both leading tokens",
    licence="Apache-2.0",
    paper="Koutini et al., Efficient Training of Audio Transformers with Patchout, Interspeech 2022",
    citation=_CITATION,
    training_data="ImageNet, AudioSet",
    weights=(
        WeightFile(
            "passt-s-f128-p16-s10-ap.476-swa.pt",
            Url(
                "https://github.com/kkoutini/PaSST/releases/download/v0.0.1-audioset/"
                "passt-s-f128-p16-s10-ap.476-swa.pt"
            ),
            "sha256:302903fa8c4aee817b11dc982da0b29aaf8d11a3e722420476d0a12c9db70c2c",
        ),
    ),
    minimum_samples=48_000,
    segment_samples=320_000,
    shortest_tail_samples=6_400,
    frame_seconds=10.0,
    classes=527,
)

SPECS = (SPEC,)
