"""Adapter files: safetensors whose metadata names the encoder, its fingerprint and the variant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from otadtk.adapter import find_adapter
from otadtk.adapter.network import RiemannianAdapter
from otadtk.atomic import replacing
from otadtk.encoders import EncoderSpec, get_spec
from otadtk.errors import AdapterError


def save_adapter(adapter: RiemannianAdapter, path: Path, spec: EncoderSpec, variant: str) -> None:
    """Write an adapter with the encoder that it belongs to."""
    metadata = {"encoder": spec.name, "fingerprint": spec.fingerprint, "variant": variant}
    tensors = {name: tensor.contiguous() for name, tensor in adapter.state_dict().items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(save(tensors, metadata))


def read_adapter(path: Path, spec: EncoderSpec) -> tuple[RiemannianAdapter, str]:
    """The adapter in a file and its variant, refused unless it was trained on this encoder."""
    if not path.is_file():
        raise AdapterError(f"There is no adapter file {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            metadata: dict[str, Any] = dict(file.metadata() or {})
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise AdapterError(f"{path} is not a safetensors adapter: {error}.") from error
    trained_on, fingerprint = metadata.get("encoder", "nothing known"), metadata.get("fingerprint")
    if fingerprint != spec.fingerprint:
        raise AdapterError(
            f"{path} was trained on the features of {trained_on!r} "
            f"(fingerprint {str(fingerprint)[:12]}), not on these of {spec.name!r} "
            f"({spec.fingerprint[:12]}); train it anew or use --variant raw."
        )
    try:
        width = state["f_theta.1.weight"].shape[0]
        adapter = RiemannianAdapter(spec.dim, bottleneck_ratio=max(1, spec.dim // width))
        adapter.load_state_dict(state)
    except (KeyError, IndexError, ZeroDivisionError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise AdapterError(
            f"{path} does not hold an adapter for d = {spec.dim}: {reason}"
        ) from error
    return adapter.eval().requires_grad_(False), str(metadata.get("variant", "custom"))


def adapter_for(spec: EncoderSpec, variant: str) -> RiemannianAdapter | None:
    """The known adapter of an encoder and variant; ``None`` for "raw", an error when there is none."""
    if variant == "raw":
        return None
    path = find_adapter(spec.name, variant)
    if path is None:
        raise AdapterError(
            f"No {variant!r} adapter for {spec.name!r} is known; "
            "use --variant raw, or give one with --adapter-checkpoint."
        )
    return read_adapter(path, spec)[0]


def load_adapter(
    encoder_name: str,
    variant: str = "agnostic",
    *,
    checkpoint_path: str | Path | None = None,
    device: str = "cpu",
) -> RiemannianAdapter | None:
    """The adapter of an encoder by name, or the one in a file; ``None`` for the variant "raw"."""
    spec = get_spec(encoder_name)
    if checkpoint_path is not None and variant != "raw":
        return read_adapter(Path(checkpoint_path), spec)[0].to(device)
    adapter = adapter_for(spec, variant)
    return adapter if adapter is None else adapter.to(device)
