"""Checkpoints in their official formats with seeded weights, and the encoders that read them."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from otadtk.encoders import Encoder, EncoderSpec, get_spec, load_encoder
from otadtk.weights import digest_of
from tests.encoders.references import seeded
from tests.encoders.tensorflow_bundles import write_bundle

REFERENCES = Path(__file__).parent / "references"
BEATS_CONFIGURATION = json.loads((REFERENCES / "beats_configuration.json").read_text())
CPU = torch.device("cpu")


def official_tensors(name: str) -> dict[str, torch.Tensor]:
    """Seeded tensors for every name in the official checkpoint of an encoder."""
    first = seeded.OTHER_WEIGHTS.get(name, "")
    with np.load(REFERENCES / f"{'openl3' if first else name}.npz") as fixture:
        shapes = json.loads(str(fixture["shapes"]))
    state = seeded.state({first + key: tuple(shape) for key, shape in shapes.items()})
    return {key.removeprefix(first): torch.from_numpy(value) for key, value in state.items()}


def write_checkpoint(name: str, tensors: dict[str, Any], folder: Path) -> Path:
    """The tensors in a file like the published one of that encoder, or in a folder of several."""
    path = folder / get_spec(name).weights[0].name
    if name == "musicnn":
        index, data = write_bundle(folder, {key: t.numpy() for key, t in tensors.items()})
        for written, file in zip((index, data), get_spec(name).weights, strict=True):
            written.rename(folder / file.name)
        return folder
    if path.suffix == ".safetensors":
        from safetensors.torch import save_file

        save_file(tensors, path)
    elif name.startswith("panns"):
        torch.save({"iteration": 1, "model": tensors}, path)
    elif name == "whisper":
        torch.save({"dims": {"n_mels": 80}, "model_state_dict": tensors}, path)
    elif name.startswith("cdpam"):
        torch.save({"epochs": 1, "state": tensors}, path)
    elif name == "clap_fused":
        named = {f"module.{key}": tensor for key, tensor in tensors.items()}
        torch.save({"epoch": np.float64(1.0), "name": "seeded", "state_dict": named}, path)
    elif name == "beats":
        torch.save({"cfg": BEATS_CONFIGURATION, "model": tensors}, path)
    else:
        torch.save(tensors, path)
    return path


def spec_of(name: str, path: Path) -> EncoderSpec:
    """The spec of an encoder whose published files are at ``path``."""
    spec = get_spec(name)
    files = tuple(
        dataclasses.replace(file, digest=digest_of(path / file.name if path.is_dir() else path))
        for file in spec.weights
    )
    return dataclasses.replace(spec, weights=files)


def build(name: str, folder: Path) -> Encoder:
    """An encoder with seeded weights; what was written on the way is removed again."""
    if not get_spec(name).weights:
        return load_encoder(get_spec(name), CPU)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OTADTK_WEIGHTS_CACHE", str(folder / "cache"))
        path = write_checkpoint(name, official_tensors(name), folder)
        encoder = load_encoder(spec_of(name, path), CPU, path)
    shutil.rmtree(folder)
    return encoder
