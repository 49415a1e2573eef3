"""Adapters in the format of otadtk 0.1.2 (torch files), read without running code."""

from __future__ import annotations

from pathlib import Path

from otadtk.adapter.card import AdapterCard
from otadtk.adapter.network import RiemannianAdapter
from otadtk.encoders import EncoderSpec
from otadtk.encoders.checkpoint import read_checkpoint
from otadtk.errors import AdapterError
from otadtk.weights import digest_of


def read_foreign(
    path: Path, spec: EncoderSpec, variant: str
) -> tuple[RiemannianAdapter, AdapterCard]:
    """The adapter in such a file; the user vouches for what it was trained on."""
    if not path.is_file():
        raise AdapterError(f"There is no adapter file {path}.")
    content = read_checkpoint(path)
    state = content.get("adapter_state_dict", content)
    try:
        width = state["f_theta.1.weight"].shape[0]
        network = RiemannianAdapter(spec.dim, bottleneck_ratio=max(1, spec.dim // width))
        network.load_state_dict(state)
    except (KeyError, TypeError, AttributeError, ZeroDivisionError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise AdapterError(f"{path} holds no adapter for d = {spec.dim}: {reason}") from error
    origin = f"imported from {path.name} ({digest_of(path)})"
    return network.eval(), AdapterCard(spec.name, spec.fingerprint, variant, origin=origin)
