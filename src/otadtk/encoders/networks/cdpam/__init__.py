"""The specs of cdpam and cdpam_content: all that is known before their weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import PackageMember, WeightFile

_CITATION = """@inproceedings{manocha2021cdpam,
  title     = {{CDPAM}: Contrastive Learning for Perceptual Audio Similarity},
  author    = {Manocha, Pranay and Jin, Zeyu and Zhang, Richard and Finkelstein, Adam},
  booktitle = {ICASSP},
  year      = {2021}
}"""

_WEIGHTS = WeightFile(
    "scratchJNDdefault_best_model.pth",
    PackageMember(
        distribution="cdpam",
        version="0.0.2",
        archive="cdpam-0.0.2.tar.gz",
        archive_digest="sha256:f024612d39115f6ac8c852966dcb773b2d4ed948ee5a69b05a3bd9a468077358",
        member="cdpam-0.0.2/cdpam/CDPAM_trained/scratchJNDdefault_best_model.pth",
    ),
    "sha256:453c8b6edee1a94f0120236156436ff28fe4d8d884485e4a67695c8e8570bdfe",
)


def _spec(name: str, half: str, summary: str) -> EncoderSpec:
    return EncoderSpec(
        name=name,
        summary=summary,
        loader="otadtk.encoders.networks.cdpam.network:load",
        sample_rate=22_050,
        dim=512,
        preprocessing=f"cdpam/1: soxr HQ, 16-bit steps, windows 1 s, unit vector of the {half} half",
        licence="MIT",
        paper="Manocha et al., CDPAM: Contrastive Learning for Perceptual Audio Similarity, ICASSP 2021",
        citation=_CITATION,
        training_data="speech and music with perturbations; human judgements of just-noticeable and "
        "larger differences",
        weights=(_WEIGHTS,),
        same_weights_as="" if name == "cdpam" else "cdpam",
        minimum_samples=441,
        # whole windows, so that the frames do not depend on where a segment ends
        segment_samples=30 * 22_050,
        frame_seconds=1.0,
        compared_with_original=True,
        published_scores=f"cdpam-{half}",
    )


ACOUSTIC = _spec("cdpam", "acoustic", "convolutions on the waveform, trained on human judgements")
CONTENT = _spec("cdpam_content", "content", "the other half of CDPAM: what is heard, not how")

SPECS = (ACOUSTIC, CONTENT)
