"""The originals of the encoders whose weights are in packages; see README.md for where they are.

With a folder of the published weights they use these, otherwise seeded ones.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import torch
from originals_convolutional import Original, pad, seed_weights, shapes_of, windows
from seeded import state

WEIGHTS: Path | None = None
"""The folder of published weights, each file under the name that otadtk gives it."""


def _package(name: str, folder: Path) -> None:
    """Make the modules of a package importable without running what it runs at import."""
    shell = types.ModuleType(name)
    shell.__path__ = [str(folder)]
    sys.modules[name] = shell


def _module(name: str, path: Path) -> Any:
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _weighted(vectors: list[np.ndarray], lengths: list[int]) -> np.ndarray:
    return (np.array(lengths) / sum(lengths)) @ np.stack(vectors)


def whisper(originals: Path) -> Original:
    _package("whisper", originals / "whisper")
    for name in ("tiktoken", "tqdm", "whisper.decoding", "whisper.transcribe"):
        sys.modules.setdefault(name, MagicMock())
    from whisper.audio import log_mel_spectrogram, pad_or_trim
    from whisper.model import ModelDimensions
    from whisper.model import Whisper as Network

    dimensions = ModelDimensions(80, 1500, 384, 6, 4, 51864, 448, 384, 6, 4)
    network = Network(dimensions)
    shapes = {n: s for n, s in shapes_of(network).items() if n.startswith("encoder.")}
    # the decoder is left out by otadtk, whatever it holds
    shapes["decoder.positional_embedding"] = (1,)
    if WEIGHTS is None:
        seed_weights(network)
    else:
        content = torch.load(WEIGHTS / "tiny.en.pt", weights_only=True)
        network.load_state_dict(content["model_state_dict"])
    network.float().eval()

    def embed(clip: np.ndarray) -> np.ndarray:
        frames = []
        for part in windows(clip, 480_000):
            log_mel = log_mel_spectrogram(pad_or_trim(torch.from_numpy(part)))
            frames.append(network.encoder(log_mel[None])[0, : -(-len(part) // 320)])
        return torch.cat(frames).double().mean(dim=0).numpy()

    return shapes, embed


def ecapa(originals: Path) -> Original:
    for name in ("torchaudio", "hyperpyyaml", "sentencepiece", "joblib", "huggingface_hub"):
        sys.modules.setdefault(name, MagicMock())
    root = originals / "speechbrain" / "speechbrain"
    for name in ("", ".lobes", ".lobes.models", ".nnet", ".processing"):
        _package(f"speechbrain{name}", root.joinpath(*name.strip(".").split(".")))
    from speechbrain.lobes.features import Fbank
    from speechbrain.lobes.models.ECAPA_TDNN import ECAPA_TDNN
    from speechbrain.processing.features import InputNormalization

    network = ECAPA_TDNN(80, channels=[1024, 1024, 1024, 1024, 3072], lin_neurons=192)
    if WEIGHTS is None:
        seed_weights(network)
    else:
        network.load_state_dict(
            torch.load(WEIGHTS / "embedding_model.ckpt", map_location="cpu", weights_only=True)
        )
    network.eval()
    front, norm = Fbank(n_mels=80), InputNormalization(norm_type="sentence", std_norm=False)

    def embed_part(part: np.ndarray) -> np.ndarray:
        whole = torch.ones(1)
        features = norm(front(torch.from_numpy(part)[None]), whole)
        return network(features, whole)[0, 0].numpy()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = [
            p for i, p in enumerate(windows(pad(clip, 1_600), 480_000)) if i == 0 or len(p) >= 1_600
        ]
        return _weighted([embed_part(p) for p in parts], [len(p) for p in parts])

    return shapes_of(network), embed


def _cdpam(originals: Path, half: int) -> Original:
    models = _module("cdpam_models", originals / "cdpam-0.0.2" / "cdpam" / "models.py")
    network = models.FINnet(encoder_layers=16, encoder_filters=64, input_size=512, classif_BN=0)
    encoder = network.base_encoder
    if WEIGHTS is None:
        seed_weights(network)
    else:
        sys.path.insert(0, str(Path(__file__).parents[3] / "src"))
        from otadtk.encoders.checkpoints.legacy import read_legacy

        network.load_state_dict(read_legacy(WEIGHTS / "scratchJNDdefault_best_model.pth")["state"])
    network.eval()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = windows(np.round(clip * np.float32(32_768)), 22_050)
        vectors = [encoder(torch.from_numpy(part)[None, None])[half] for part in parts]
        units = [torch.nn.functional.normalize(vector, dim=1)[0].numpy() for vector in vectors]
        return _weighted(units, [len(part) for part in parts])

    shapes = shapes_of(network)
    return {n: s if n.startswith("base_encoder") else (1,) for n, s in shapes.items()}, embed


def cdpam(originals: Path) -> Original:
    return _cdpam(originals, 1)


def cdpam_content(originals: Path) -> Original:
    return _cdpam(originals, 2)


def musicnn(originals: Path) -> Original:
    """The package's own extractor; its variables get the seeded values before it runs."""
    sys.path.insert(0, str(originals / "musicnn"))
    import soundfile
    import tensorflow
    from musicnn import extractor as package

    # one batch for all patches: from the second batch on the package repeats the first embedding
    package.config.BATCH_SIZE = 1_000
    shapes: dict[str, tuple[int, ...]] = {}

    class Saver:
        """Restores seeded values in the place of the published ones."""

        def restore(self, session: Any, path: str) -> None:
            variables = tensorflow.compat.v1.global_variables()
            shapes.update({v.op.name: tuple(v.shape.as_list()) for v in variables})
            for variable, value in zip(variables, state(shapes).values(), strict=True):
                variable.load(value, session)

    if WEIGHTS is None:
        tensorflow.compat.v1.train.Saver = Saver

    def embed(clip: np.ndarray) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/clip.wav"
            soundfile.write(path, pad(clip, 186 * 256), 16_000, subtype="FLOAT")
            _, _, features = package.extractor(path, "MSD_musicnn", 3, extract_features=True)
        return features["penultimate"].mean(axis=0)

    embed(np.zeros(48_000, dtype=np.float32))  # so that the names of the variables are known
    return shapes, embed


def passt(originals: Path) -> Original:
    """The package's wrapper; no published weights are at hand."""
    from originals_transformer import _kaldi

    _kaldi(originals)
    sys.modules["torchaudio"].transforms = MagicMock()
    for name in ("timm", "timm.models", "timm.models.hub"):  # for its downloads only
        sys.modules.setdefault(name, MagicMock())
    stft = torch.stft

    def real_stft(*arguments: Any, return_complex: bool, **options: Any) -> torch.Tensor:
        # newer torch has complex results only
        return torch.view_as_real(stft(*arguments, return_complex=True, **options))

    sys.path.insert(0, str(originals / "hear21passt"))
    from hear21passt.models.passt import PaSST
    from hear21passt.models.preprocess import AugmentMelSTFT
    from hear21passt.wrapper import PasstBasicWrapper

    network = PaSST(stride=10, distilled=True)
    seed_weights(network)
    mel = AugmentMelSTFT(freqm=0, timem=0, fmin_aug_range=10, fmax_aug_range=2000)
    model = PasstBasicWrapper(mel=mel, net=network, mode="embed_only").eval()

    def embed(clip: np.ndarray) -> np.ndarray:
        torch.stft = real_stft
        parts = [p for p in windows(pad(clip, 48_000), 320_000) if len(p) >= 6_400]
        vectors = [model(torch.from_numpy(part)[None])[0].numpy() for part in parts]
        torch.stft = stft
        return _weighted(vectors, [len(part) for part in parts])

    return shapes_of(network), embed
