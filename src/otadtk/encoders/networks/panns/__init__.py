"""The spec of panns: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import Url, WeightFile

_CITATION = """@article{kong2020panns,
  title   = {{PANNs}: Large-Scale Pretrained Audio Neural Networks for Audio Pattern Recognition},
  author  = {Kong, Qiuqiang and Cao, Yin and Iqbal, Turab and Wang, Yuxuan and Wang, Wenwu and
             Plumbley, Mark D.},
  journal = {IEEE/ACM Transactions on Audio, Speech, and Language Processing},
  volume  = {28},
  pages   = {2880--2894},
  year    = {2020}
}"""

_LAYERS = (("block3", 256), ("block4", 512), ("block5", 1024))

CNN14 = EncoderSpec(
    name="panns",
    summary="CNN14 on the log-mel spectrogram",
    loader="otadtk.encoders.networks.panns.network:load",
    sample_rate=32_000,
    dim=2048,
    preprocessing="panns/1: soxr HQ, at least 1.5 s, windows 30 s",
    licence="CC-BY-4.0",
    paper="Kong et al., PANNs: Large-Scale Pretrained Audio Neural Networks, TASLP 2020",
    citation=_CITATION,
    training_data="AudioSet",
    weights=(
        WeightFile(
            "Cnn14_mAP=0.431.pth",
            Url("https://zenodo.org/records/3987831/files/Cnn14_mAP%3D0.431.pth?download=1"),
            "sha256:0dc499e40e9761ef5ea061ffc77697697f277f6a960894903df3ada000e34b31",
        ),
    ),
    minimum_samples=48_000,
    segment_samples=960_000,
    frame_seconds=30.0,
    classes=527,
    layers=_LAYERS,
)

CNN14_16K = EncoderSpec(
    name="panns_16k",
    summary="CNN14 at 16 kHz, the encoder of audioldm_eval",
    loader="otadtk.encoders.networks.panns.network:load",
    sample_rate=16_000,
    dim=2048,
    preprocessing="panns_16k/1: soxr HQ, at least 1.5 s, windows 30 s",
    licence="CC-BY-4.0",
    paper="Kong et al., PANNs: Large-Scale Pretrained Audio Neural Networks, TASLP 2020",
    citation=_CITATION,
    training_data="AudioSet",
    weights=(
        WeightFile(
            "Cnn14_16k_mAP=0.438.pth",
            Url("https://zenodo.org/records/3987831/files/Cnn14_16k_mAP%3D0.438.pth?download=1"),
            "sha256:e2ee543a27919542c2ea03eabaa70b24dcd4e6c8e05621de6b67a94e4c5058e6",
        ),
    ),
    minimum_samples=24_000,
    segment_samples=480_000,
    frame_seconds=30.0,
    classes=527,
    layers=_LAYERS,
)

WAVEGRAM = EncoderSpec(
    name="panns_wglm",
    summary="CNN14 on log-mel and a learned wavegram",
    loader="otadtk.encoders.networks.panns.network:load",
    sample_rate=32_000,
    dim=2048,
    preprocessing="panns_wglm/1: soxr HQ, at least 1.5 s, windows 30 s",
    licence="CC-BY-4.0",
    paper="Kong et al., PANNs: Large-Scale Pretrained Audio Neural Networks, TASLP 2020",
    citation=_CITATION,
    training_data="AudioSet",
    weights=(
        WeightFile(
            "Wavegram_Logmel_Cnn14_mAP=0.439.pth",
            Url(
                "https://zenodo.org/records/3987831/files/"
                "Wavegram_Logmel_Cnn14_mAP%3D0.439.pth?download=1"
            ),
            "md5:17fa9ab65af3c0eb5ffbc5f65552c4e1",
        ),
    ),
    minimum_samples=48_000,
    segment_samples=960_000,
    frame_seconds=30.0,
    classes=527,
    layers=_LAYERS,
)

SPECS = (CNN14, CNN14_16K, WAVEGRAM)
