"""Reads adapter files of otadtk 0.1.2 (torch pickles) without running code from them."""

from __future__ import annotations

from pathlib import Path

from otadtk.adapter.card import AdapterCard
from otadtk.adapter.files import build_network
from otadtk.adapter.network import Adapter
from otadtk.encoders import EncoderSpec
from otadtk.encoders.checkpoints.matching import read_checkpoint
from otadtk.errors import AdapterError
from otadtk.weights import digest_of


def read_foreign(path: Path, spec: EncoderSpec, variant: str) -> tuple[Adapter, AdapterCard]:
    """The adapter in a torch file; the user states which encoder it was trained on."""
    if not path.is_file():
        raise AdapterError(f"There is no adapter file {path}.")
    content = read_checkpoint(path)
    state = content.get("adapter_state_dict", content)
    origin = f"imported from {path.name} ({digest_of(path)})"
    card = AdapterCard(spec.name, spec.fingerprint, variant, origin=origin)
    return build_network(card, state, spec, str(path)), card
