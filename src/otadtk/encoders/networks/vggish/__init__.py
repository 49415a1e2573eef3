"""The spec of vggish: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import Url, WeightFile

_CITATION = """@inproceedings{hershey2017cnn,
  title     = {{CNN} Architectures for Large-Scale Audio Classification},
  author    = {Hershey, Shawn and Chaudhuri, Sourish and Ellis, Daniel P. W. and Gemmeke, Jort F.
               and Jansen, Aren and Moore, R. Channing and Plakal, Manoj and Platt, Devin and
               Saurous, Rif A. and Seybold, Bryan and Slaney, Malcolm and Weiss, Ron J. and
               Wilson, Kevin},
  booktitle = {ICASSP},
  year      = {2017}
}"""

SPEC = EncoderSpec(
    name="vggish",
    summary="VGG on log-mel examples; the encoder of the first FAD",
    loader="otadtk.encoders.networks.vggish.network:load",
    sample_rate=16_000,
    dim=128,
    preprocessing="vggish/1: soxr HQ, at least 1.1 s, examples 0.96 s, after the final ReLU",
    licence="Apache-2.0",
    paper="Hershey et al., CNN Architectures for Large-Scale Audio Classification, ICASSP 2017",
    citation=_CITATION,
    training_data="YouTube-8M (a preliminary version)",
    weights=(
        WeightFile(
            "vggish-10086976.pth",
            Url(
                "https://github.com/harritaylor/torchvggish/releases/download/v0.1/"
                "vggish-10086976.pth"
            ),
            "sha256:10086976245803799d9194e9a73d9b6c1549c71d1b80106f5cade5608a561f4b",
        ),
    ),
    minimum_samples=17_600,
    # 32 examples (31 s): whole ones, so that the frames do not depend on where a segment ends
    segment_samples=32 * 15_360 + 240,
    overlap_samples=240,
    shortest_tail_samples=15_600,
    frame_seconds=0.96,
    published_scores="vggish",
    layers=(("conv3_2", 256), ("conv4_2", 512)),
)

SPECS = (SPEC,)
