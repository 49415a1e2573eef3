"""The 18 published adapters in the wheel of otadtk 0.1.2 (CC-BY-4.0), downloaded on demand.

The wheel is downloaded once. Every file in it is verified and read without running code; all are
then cached as one safetensors file, which ``make wheel`` bundles.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from otadtk.adapter.manifest import KnownAdapter, published_files
from otadtk.encoders.checkpoints.matching import read_checkpoint
from otadtk.errors import WeightsError
from otadtk.weights import Tensors, find_converted, load_converted

COMPAT = "otadtk-0.1.2"
_MODEL = "adapters-otadtk-0.1.2"


def find_published() -> Path | None:
    """The converted file on this machine, bundled or cached, if there is one."""
    return find_converted(_MODEL, published_files())


def load_published(known: KnownAdapter) -> tuple[Tensors, dict[str, Any]]:
    """The tensors of one published adapter, and its file's training metadata."""
    tensors, texts = _load()
    prefix = f"{known.encoder}-{known.variant}."
    own = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    training: dict[str, Any] = json.loads(texts[prefix.removesuffix(".")])
    return own, training


def fetch_published() -> Path:
    """Download the published adapters if needed; returns the converted file."""
    _load()
    path = find_published()
    assert path is not None
    return path


def _load() -> tuple[Tensors, dict[str, str]]:
    raw = "score raw embeddings (--variant raw)"
    return load_converted(_MODEL, published_files(), convert, otherwise=raw)


def convert(files: Mapping[str, Path]) -> tuple[Tensors, dict[str, str]]:
    """The tensors of all files as ``<encoder>-<variant>.<tensor>``, and their training metadata."""
    tensors: Tensors = {}
    texts: dict[str, str] = {}
    for name, path in files.items():
        content = read_checkpoint(path)
        state = content.get("adapter_state_dict")
        if not isinstance(state, dict):
            raise WeightsError(f"{name} of otadtk 0.1.2 holds no adapter.")
        key = Path(name).stem
        tensors.update({f"{key}.{n}": tensor.contiguous().clone() for n, tensor in state.items()})
        facts = {n: content[n] for n in ("loss_type", "epoch", "loss") if n in content}
        texts[key] = json.dumps(
            {n: v if isinstance(v, (str, int)) else float(v) for n, v in facts.items()}
        )
    return tensors, texts
