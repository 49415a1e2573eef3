"""The spec of beats: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, WeightFile

_CITATION = """@inproceedings{chen2023beats,
  title     = {{BEATs}: Audio Pre-Training with Acoustic Tokenizers},
  author    = {Chen, Sanyuan and Wu, Yu and Wang, Chengyi and Liu, Shujie and Tompkins, Daniel and
               Chen, Zhuo and Che, Wanxiang and Yu, Xiangzhan and Wei, Furu},
  booktitle = {International Conference on Machine Learning},
  year      = {2023}
}"""

SPEC = EncoderSpec(
    name="beats",
    summary="acoustic tokenizers, iteration 3+ on AudioSet; mean of the tokens",
    loader="otadtk.encoders.networks.beats.network:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="beats/1: soxr HQ, at least 1.5 s, windows 30.08 s, mean of the tokens",
    licence="MIT",
    paper="Chen et al., BEATs: Audio Pre-Training with Acoustic Tokenizers, ICML 2023",
    citation=_CITATION,
    training_data="AudioSet-2M",
    weights=(
        WeightFile(
            "BEATs_iter3_plus_AS2M.pt",
            HuggingFaceFile(
                "Bencr/beats-checkpoints",
                "082fb1849d55bef1ee52ee8d8910b3adc69d4bc8",
                "BEATs_iter3_plus_AS2M.pt",
            ),
            "sha256:d43cbfad4d7b56381c061d7a24774f908d4d94c72961f6eb1d9090ff18cd8d34",
        ),
    ),
    minimum_samples=24_000,
    # 188 patches along time
    segment_samples=188 * 2_560 + 240,
    overlap_samples=240,
    shortest_tail_samples=2_800,
)

SPECS = (SPEC,)
