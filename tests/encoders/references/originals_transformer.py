"""The originals of the transformer encoders, with seeded weights; see README.md for where they are."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock
from unittest.mock import MagicMock

import numpy as np
import torch
from originals_convolutional import Original, pad, seed_weights, shapes_of, windows
from seeded import state

Shapes = dict[str, tuple[int, ...]]
COMPARE_WITNESSES = True
"""Whether a second implementation, where there is one, is asked as well."""


def _kaldi(originals: Path) -> Any:
    """Torchaudio's pure-Python Kaldi front end, without the rest of torchaudio."""
    package = sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))
    name = "torchaudio.compliance.kaldi"
    if name not in sys.modules:
        path = originals / "torchaudio" / "torchaudio" / "compliance" / "kaldi.py"
        found = importlib.util.spec_from_file_location(name, path)
        assert found is not None and found.loader is not None
        module = importlib.util.module_from_spec(found)
        compliance = types.ModuleType("torchaudio.compliance")
        compliance.kaldi = module
        package.compliance = compliance
        sys.modules["torchaudio.compliance"] = compliance
        sys.modules[name] = module
        found.loader.exec_module(module)
    return sys.modules[name]


def _framed(
    clip: np.ndarray, frames: int, window: int, hop: int, least: int
) -> Iterator[np.ndarray]:
    """Parts of a clip that hold so many frames each, every frame in one part."""
    start = 0
    while start == 0 or len(clip) - start >= least:
        yield clip[start : start + window + (frames - 1) * hop]
        start += frames * hop


def _by_length(
    parts: Iterator[np.ndarray], frames: Callable[[int], int], embed: Callable[[np.ndarray], Any]
) -> np.ndarray:
    parts_ = list(parts)
    counts = np.array([frames(len(part)) for part in parts_], dtype=np.float64)
    return (counts / counts.sum()) @ np.stack([embed(part) for part in parts_])


def _kaldi_frames(samples: int) -> int:
    return 1 + (samples - 400) // 160


def _from_pretrained(model_class: Any, configuration: Any, shapes: Shapes) -> Any:
    """A transformers model with seeded weights, read from a checkpoint with the published names."""
    from safetensors.numpy import save_file

    with tempfile.TemporaryDirectory() as folder:
        configuration.save_pretrained(folder)
        save_file(state(shapes), Path(folder) / "model.safetensors", metadata={"format": "pt"})
        model, report = model_class.from_pretrained(folder, output_loading_info=True)
    strange = {key: value for key, value in report.items() if value}
    unexpected = {k: v for k, v in strange.items() if k != "missing_keys"}
    assert not unexpected, unexpected
    assert all("text" in key or "logit" in key for key in strange.get("missing_keys", ())), strange
    return model.eval()


def ast(originals: Path) -> Original:
    from transformers import ASTConfig, ASTFeatureExtractor, ASTForAudioClassification

    top = "audio_spectrogram_transformer"
    shapes: Shapes = {
        f"{top}.embeddings.cls_token": (1, 1, 768),
        f"{top}.embeddings.distillation_token": (1, 1, 768),
        f"{top}.embeddings.position_embeddings": (1, 1214, 768),
        f"{top}.embeddings.patch_embeddings.projection.weight": (768, 1, 16, 16),
        f"{top}.embeddings.patch_embeddings.projection.bias": (768,),
    }
    linear = {
        **{f"attention.attention.{part}": (768, 768) for part in ("query", "key", "value")},
        "attention.output.dense": (768, 768),
        "intermediate.dense": (3072, 768),
        "output.dense": (768, 3072),
    }
    for number in range(12):
        for name, shape in linear.items():
            shapes[f"{top}.encoder.layer.{number}.{name}.weight"] = shape
            shapes[f"{top}.encoder.layer.{number}.{name}.bias"] = shape[:1]
        for norm in ("layernorm_before", "layernorm_after"):
            for kind in ("weight", "bias"):
                shapes[f"{top}.encoder.layer.{number}.{norm}.{kind}"] = (768,)
    for norm in (f"{top}.layernorm", "classifier.layernorm"):
        shapes |= {f"{norm}.weight": (768,), f"{norm}.bias": (768,)}
    shapes |= {"classifier.dense.weight": (527, 768), "classifier.dense.bias": (527,)}
    model = _from_pretrained(ASTForAudioClassification, ASTConfig(num_labels=527), shapes)
    network = model.audio_spectrogram_transformer
    extract = ASTFeatureExtractor()

    def embed_window(part: np.ndarray) -> np.ndarray:
        inputs = extract(part, sampling_rate=16_000, return_tensors="pt")
        return network(**inputs).last_hidden_state.mean(dim=1)[0].numpy()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = _framed(pad(clip, 24_000), 1024, 400, 160, 400)
        return _by_length(parts, _kaldi_frames, embed_window)

    return shapes, embed


def audiomae(originals: Path) -> Original:
    for name in ("", ".transforms", ".transforms.functional", ".ops", ".ops.misc", ".datasets"):
        sys.modules.setdefault(f"torchvision{name}", MagicMock())  # timm's image side, unused here
    from timm.models.vision_transformer import VisionTransformer

    network = VisionTransformer(
        img_size=(1024, 128), patch_size=16, in_chans=1, num_classes=0, global_pool="token"
    )
    seed_weights(network)
    kaldi = _kaldi(originals)

    def embed_window(part: np.ndarray) -> np.ndarray:
        waveform = torch.from_numpy(part)[None]
        energies = kaldi.fbank(
            waveform - waveform.mean(),
            htk_compat=True,
            sample_frequency=16_000,
            use_energy=False,
            window_type="hanning",
            num_mel_bins=128,
            dither=0.0,
            frame_shift=10,
        )
        energies = torch.nn.functional.pad(energies, (0, 0, 0, 1024 - len(energies)))
        image = ((energies + 4.2677393) / (2 * 4.5689974))[None, None]
        return network.forward_features(image)[:, 1:].mean(dim=1)[0].numpy()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = _framed(pad(clip, 24_000), 1024, 400, 160, 400)
        return _by_length(parts, _kaldi_frames, embed_window)

    return shapes_of(network), embed


def beats(originals: Path) -> Original:
    _kaldi(originals)
    sys.path.insert(0, str(originals / "beats"))
    from BEATs import BEATs, BEATsConfig

    network = BEATs(BEATsConfig(BEATS_CONFIGURATION))
    shapes = shapes_of(network)
    values = {name: torch.from_numpy(value) for name, value in state(shapes).items()}
    shared = "self_attn.relative_attention_bias.weight"
    for number in range(12):
        values[f"encoder.layers.{number}.{shared}"] = values[f"encoder.layers.0.{shared}"]
    network.load_state_dict(values)
    network.eval()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = _framed(pad(clip, 24_000), 3008, 400, 160, 2_800)
        tokens = [network.extract_features(torch.from_numpy(part)[None])[0][0] for part in parts]
        return torch.cat(tokens).mean(dim=0).numpy()

    return shapes, embed


BEATS_CONFIGURATION = json.loads((Path(__file__).parent / "beats_configuration.json").read_text())


def wav2vec2(originals: Path) -> Original:
    from transformers import Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2ForCTC

    # as published; transformers renames the two halves of the weight norm on reading
    with torch.device("meta"):
        named = shapes_of(Wav2Vec2ForCTC(Wav2Vec2Config()))
    halves = {"original0": "weight_g", "original1": "weight_v"}
    shapes = {}
    for name, shape in named.items():
        for new, old in halves.items():
            name = name.replace(f"parametrizations.weight.{new}", old)
        shapes[name] = shape
    network = _from_pretrained(Wav2Vec2ForCTC, Wav2Vec2Config(), shapes).wav2vec2
    extract = Wav2Vec2FeatureExtractor()

    def embed(clip: np.ndarray) -> np.ndarray:
        frames = []
        for part in _framed(pad(clip, 24_000), 1500, 400, 320, 400):
            inputs = extract(part, sampling_rate=16_000, return_tensors="pt")
            frames.append(network(**inputs).last_hidden_state[0])
        return torch.cat(frames).mean(dim=0).numpy()

    return shapes, embed


def clap(originals: Path) -> Original:
    from transformers import ClapConfig, ClapFeatureExtractor, ClapModel

    with torch.device("meta"):
        named = shapes_of(ClapModel(ClapConfig()))
    shapes = {name: shape for name, shape in named.items() if "text" not in name}
    witness = _from_pretrained(ClapModel, ClapConfig(), shapes)
    extract = ClapFeatureExtractor(
        frequency_min=50, frequency_max=14_000, truncation="rand_trunc", padding="repeatpad"
    )
    network = _laion_htsat(originals)
    values = state(shapes)
    laion = {name: torch.from_numpy(value) for name, value in _laion_names(values).items()}
    built = network.state_dict()
    front_end = {n: v for n, v in built.items() if "_extractor" in n or "index" in n or "mask" in n}
    unused = {n: v for n, v in built.items() if n.startswith(("tscam_conv", "head"))}
    network.load_state_dict({**laion, **front_end, **unused})
    network.eval()
    dense = [
        [
            torch.from_numpy(values[f"audio_projection.linear{n}.{kind}"])
            for kind in ("weight", "bias")
        ]
        for n in (1, 2)
    ]

    def project(latent: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(torch.nn.functional.linear(latent, *dense[0]))
        return torch.nn.functional.normalize(torch.nn.functional.linear(hidden, *dense[1]), dim=-1)

    def embed_window(part: np.ndarray) -> np.ndarray:
        quantised = (np.clip(part, -1.0, 1.0) * 32767.0).astype(np.int16)
        wave = torch.from_numpy((quantised / 32767.0).astype(np.float32))
        repeated = wave.repeat(480_000 // len(wave))
        repeated = torch.nn.functional.pad(repeated, (0, 480_000 - len(repeated)))
        vector = project(network({"waveform": repeated[None]})["embedding"])[0].numpy()
        if not COMPARE_WITNESSES:
            return vector
        inputs = extract(wave.numpy(), sampling_rate=48_000, return_tensors="pt")
        second = witness.get_audio_features(input_features=inputs["input_features"])
        second = torch.nn.functional.normalize(getattr(second, "pooler_output", second), dim=-1)
        print(f"  transformers differs by {np.abs(vector - second[0].numpy()).max():.1e}")
        return vector

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = windows(pad(clip, 72_000), 480_000)
        mean = _by_length(iter(parts), lambda samples: samples, embed_window)
        return mean / np.linalg.norm(mean)

    return {**shapes, "text_projection.linear1.bias": (512,)}, embed


def clap_fused(originals: Path) -> Original:
    """The network of laion_clap; the images come from transformers, with the middle windows."""
    from transformers import ClapFeatureExtractor

    tower = _laion_htsat(originals, enable_fusion=True, fusion_type="aff_2d")
    network = torch.nn.Module()
    network.audio_branch = tower
    network.audio_projection = torch.nn.Sequential(
        torch.nn.Linear(768, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512)
    )
    seed_weights(network, keep=("_extractor", "attn_mask"))
    extract = ClapFeatureExtractor(frequency_min=50, frequency_max=14_000, truncation="fusion")

    def embed(clip: np.ndarray) -> np.ndarray:
        quantised = (np.clip(clip, -1.0, 1.0) * 32767.0).astype(np.int16)
        wave = (quantised / 32767.0).astype(np.float32)
        with mock.patch("numpy.random.choice", lambda places: places[len(places) // 2]):
            inputs = extract(wave, sampling_rate=48_000, return_tensors="pt")
        longer = torch.tensor([len(wave) >= 480_000 + 480])
        seen = {"mel_fusion": inputs["input_features"], "longer": longer}
        vector = network.audio_projection(tower(seen, device="cpu")["embedding"])
        return torch.nn.functional.normalize(vector, dim=-1)[0].numpy()

    shapes = shapes_of(network)
    return {n: s for n, s in shapes.items() if "attn_mask" not in n}, embed


def _laion_htsat(originals: Path, **fusion: Any) -> torch.nn.Module:
    """The network of laion_clap, without the package around it, which wants much more."""
    folder = originals / "laion_clap" / "laion_clap" / "clap_module"
    package = types.ModuleType("clap_module")
    package.__path__ = [str(folder)]
    sys.modules["clap_module"] = package
    for name in ("torchvision", "torchvision.ops", "torchvision.ops.misc", "h5py"):
        sys.modules.setdefault(name, MagicMock())  # for training only
    htsat = importlib.import_module("clap_module.htsat")
    audio = json.loads((folder / "model_configs" / "HTSAT-tiny.json").read_text())["audio_cfg"]
    return htsat.create_htsat_model(types.SimpleNamespace(**audio), **fusion)


def _laion_names(values: dict[str, Any]) -> dict[str, Any]:
    """The tensors of the audio tower under the names of the original."""
    renamed: dict[str, Any] = {}
    tower = "audio_model.audio_encoder."
    pairs = (
        ("batch_norm.", "bn0."),
        ("layernorm_before", "norm1"),
        ("layernorm_after", "norm2"),
        ("attention.output.dense", "attn.proj"),
        ("attention.self.relative_position", "attn.relative_position"),
        ("intermediate.dense", "mlp.fc1"),
        ("output.dense", "mlp.fc2"),
    )
    for name, value in values.items():
        if not name.startswith(tower) or name.endswith("relative_position_index"):
            continue
        name = name.removeprefix(tower)
        if ".attention.self.query." in name:
            parts = [
                values[tower + name.replace("query", part)] for part in ("query", "key", "value")
            ]
            renamed[name.replace("attention.self.query", "attn.qkv")] = np.concatenate(parts)
        elif ".attention.self.key." not in name and ".attention.self.value." not in name:
            for old, new in pairs:
                name = name.replace(old, new)
            renamed[name] = value
    return renamed
