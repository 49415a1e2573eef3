"""The spec of audiomae: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, WeightFile

_CITATION = """@inproceedings{huang2022audiomae,
  title     = {Masked Autoencoders that Listen},
  author    = {Huang, Po-Yao and Xu, Hu and Li, Juncheng and Baevski, Alexei and Auli, Michael and
               Galuba, Wojciech and Metze, Florian and Feichtenhofer, Christoph},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2022}
}"""

SPEC = EncoderSpec(
    name="audiomae",
    summary="ViT-Base, masked autoencoder; mean of the patch tokens",
    loader="otadtk.encoders.networks.audiomae.network:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="audiomae/1: soxr HQ, at least 1.5 s, mean removed, pad to 10.24 s, windows 10.24 s",
    licence="CC-BY-NC-4.0",
    commercial_use=False,
    paper="Huang et al., Masked Autoencoders that Listen, NeurIPS 2022",
    citation=_CITATION,
    training_data="AudioSet-2M",
    weights=(
        WeightFile(
            "pytorch_model.bin",
            HuggingFaceFile(
                "gaunernst/vit_base_patch16_1024_128.audiomae_as2m", "b0f2ea3", "pytorch_model.bin"
            ),
            "revision:b0f2ea3",
        ),
    ),
    minimum_samples=24_000,
    segment_samples=164_080,
    overlap_samples=240,
    shortest_tail_samples=400,
    frame_seconds=10.24,
)

SPECS = (SPEC,)
