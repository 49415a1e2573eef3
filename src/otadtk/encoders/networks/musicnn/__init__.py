"""The spec of musicnn: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import PackageMember, WeightFile

FRAME_SAMPLES, PATCH_FRAMES = 256, 187
PATCH_SAMPLES = FRAME_SAMPLES * PATCH_FRAMES
"""2.99 s: 187 frames of 16 ms."""


def _file(name: str, sha256: str) -> WeightFile:
    source = PackageMember(
        distribution="musicnn",
        version="0.1.0",
        archive="musicnn-0.1.0-py3-none-any.whl",
        archive_digest="sha256:f38a4890c648c1ddbb141c5d96d2b0a8cfcd36746002d896989f7b88beb65cfa",
        member=f"musicnn/MSD_musicnn/{name}",
    )
    return WeightFile(f"MSD_musicnn{name}", source, f"sha256:{sha256}")


_CITATION = """@inproceedings{pons2019musicnn,
  title     = {musicnn: Pre-trained convolutional neural networks for music audio tagging},
  author    = {Pons, Jordi and Serra, Xavier},
  booktitle = {Late-Breaking/Demo, ISMIR},
  year      = {2019}
}"""

SPEC = EncoderSpec(
    name="musicnn",
    summary="musically motivated convolutions, trained to tag songs",
    loader="otadtk.encoders.networks.musicnn.network:load",
    sample_rate=16_000,
    dim=200,
    preprocessing="musicnn/1: soxr HQ, patches 2.99 s, penultimate layer",
    licence="ISC",
    paper="Pons & Serra, musicnn: Pre-trained convolutional neural networks for music audio tagging, "
    "ISMIR late-breaking 2019",
    citation=_CITATION,
    training_data="Million Song Dataset",
    weights=(
        _file(".index", "87f3e0f3550c8d3bafc840374003e5c8af5eeb5ecf6add61af09a7822d3282c8"),
        _file(
            ".data-00000-of-00001",
            "8579734ee6388f799ed0def4bbd0d1fdcbeaf213ef2a9dc860917bd76a303de6",
        ),
    ),
    # frames are centred on multiples of 16 ms, so the first one begins 16 ms before the clip
    lead_samples=FRAME_SAMPLES,
    minimum_samples=PATCH_SAMPLES - FRAME_SAMPLES,
    # 10 patches (30 s): whole ones, so that the frames do not depend on where a segment ends
    segment_samples=10 * PATCH_SAMPLES + FRAME_SAMPLES,
    overlap_samples=FRAME_SAMPLES,
    shortest_tail_samples=PATCH_SAMPLES,
    frame_seconds=PATCH_SAMPLES / 16_000,
    compared_with_original=True,
    layers=(("timbral", 408), ("temporal", 153), ("cnn1", 64), ("cnn2", 64), ("cnn3", 64)),
)

SPECS = (SPEC,)
