"""The originals of the convolutional encoders, with seeded weights; see README.md for where they are.

Each function gives the tensors of the official checkpoint (name -> shape) and a function from a clip
to its vector, which pools and cuts long clips as docs/reference/encoders.md says.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from seeded import state

Original = tuple[dict[str, tuple[int, ...]], Callable[[np.ndarray], np.ndarray]]


def shapes_of(network: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: tuple(value.shape) for name, value in network.state_dict().items()}


def seed_weights(network: torch.nn.Module, keep: tuple[str, ...] = ()) -> None:
    """Give a network its seeded weights; names that contain one of ``keep`` stay as built."""
    own = network.state_dict()
    seeded = {name: torch.from_numpy(value) for name, value in state(shapes_of(network)).items()}
    kept = {name: value for name, value in own.items() if any(k in name for k in keep)}
    network.load_state_dict({**seeded, **kept})
    network.eval()


def pad(clip: np.ndarray, least: int) -> np.ndarray:
    return np.pad(clip, (0, max(0, least - len(clip))))


def windows(clip: np.ndarray, length: int) -> list[np.ndarray]:
    return [clip[start : start + length] for start in range(0, len(clip), length)]


def vggish(originals: Path) -> Original:
    sys.path.insert(0, str(originals / "torchvggish-0.2"))
    from torchvggish.torchvggish import _vgg
    from torchvggish.vggish_input import waveform_to_examples

    network = _vgg(postprocess=False)
    seed_weights(network)

    def embed(clip: np.ndarray) -> np.ndarray:
        examples = waveform_to_examples(pad(clip, 17_600), 16_000).detach()
        return network(examples).mean(dim=0).numpy()

    return shapes_of(network), embed


def encodec(originals: Path) -> Original:
    sys.modules.setdefault("torchaudio", types.ModuleType("torchaudio"))  # for its resampler only
    sys.path.insert(0, str(originals / "encodec-0.1.1"))
    from encodec import EncodecModel

    model = EncodecModel.encodec_model_24khz(pretrained=False)
    network = model.encoder.eval()

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = windows(pad(clip, 36_000), 720_000)
        # a short tail is padded to eight hops; only its own frames count
        frames = [
            network(torch.from_numpy(pad(part, 2_560))[None, None])[0, :, : -(-len(part) // 320)]
            for part in parts
        ]
        return torch.cat(frames, dim=1).mean(dim=1).numpy()

    # seeded under the names inside the whole model
    seeded = {f"encoder.{name}": shape for name, shape in shapes_of(network).items()}
    network.load_state_dict(
        {n.removeprefix("encoder."): torch.from_numpy(v) for n, v in state(seeded).items()}
    )
    others = {n: s for n, s in shapes_of(model).items() if not n.startswith("encoder.")}
    few = dict(list(others.items())[:3])  # left out by otadtk, whatever they hold
    return {**seeded, **few}, embed


def openl3(originals: Path) -> Original:
    sys.path[:0] = [str(originals / "torchopenl3"), str(originals / "julius")]
    from torchopenl3.models import PytorchOpenl3
    from torchopenl3.utils import preprocess_audio_batch

    network = PytorchOpenl3("music", "mel256", 512)
    seed_weights(network)

    def embed(clip: np.ndarray) -> np.ndarray:
        waveform = torch.from_numpy(pad(clip, 72_000))[None]
        frames = preprocess_audio_batch(waveform, 48_000).float()
        return torch.cat([network(f) for f in torch.split(frames, 4)]).mean(dim=0).numpy()

    return shapes_of(network), embed


def _panns(originals: Path, network_class: str, rate: int = 32_000) -> Original:
    sys.path.insert(0, str(originals))
    import panns_models

    build: Any = getattr(panns_models, network_class)
    highest = 14_000 if rate == 32_000 else 8_000
    network = build(rate, rate // 1000 * 32, rate // 100, 64, 50, highest, 527)
    seed_weights(network, keep=("spectrogram_extractor",))

    def embed(clip: np.ndarray) -> np.ndarray:
        parts = windows(pad(clip, 3 * rate // 2), 30 * rate)
        least = 32 * rate // 100
        vectors = [network(torch.from_numpy(pad(p, least))[None])["embedding"] for p in parts]
        lengths = np.array([len(part) for part in parts], dtype=np.float64)
        return (lengths / lengths.sum()) @ torch.cat(vectors).numpy()

    # the kernels of the Fourier transform are left out by otadtk: one number each will do
    shapes = {
        name: (1,) if "spectrogram_extractor" in name else shape
        for name, shape in shapes_of(network).items()
    }
    return shapes, embed


def panns(originals: Path) -> Original:
    return _panns(originals, "Cnn14")


def panns_16k(originals: Path) -> Original:
    return _panns(originals, "Cnn14_16k", 16_000)


def panns_wglm(originals: Path) -> Original:
    return _panns(originals, "Wavegram_Logmel_Cnn14")
