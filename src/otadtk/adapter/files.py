"""Adapter files: safetensors with a card, applied only to the features they were trained on."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from otadtk.adapter import VARIANTS, KnownAdapter, find_adapter, known_adapter
from otadtk.adapter.artifact import ArtifactAdapter
from otadtk.adapter.card import AdapterCard, content_digest
from otadtk.adapter.network import Adapter, RiemannianAdapter
from otadtk.adapter.perceptual import PerceptualAdapter
from otadtk.adapter.published import COMPAT, load_published
from otadtk.encoders import EncoderSpec, get_spec
from otadtk.encoders.wrappers import split_suffixes, wrap
from otadtk.errors import AdapterError, UsageError, WeightsError
from otadtk.files.atomic import replacing
from otadtk.weights import verify

_CARD = "otadtk"
"""The only metadata key: safetensors writes several keys in random order, which would change the
hash of the file."""
_DTYPES = (torch.float16, torch.float32, torch.float64, torch.int64)
_NOT_AN_ADAPTER = (
    KeyError, IndexError, TypeError, AttributeError, ZeroDivisionError, RuntimeError,
)  # fmt: skip
"""What torch raises when tensors do not fit the network."""


@dataclass(frozen=True)
class LoadedAdapter:
    """An adapter ready for use, its card, and the model whose clip vectors it takes."""

    network: Adapter
    card: AdapterCard
    spec: EncoderSpec
    file: Path | None = None
    """The user's file; ``None`` for one that comes with otadtk."""


def save_adapter(
    adapter: Adapter,
    path: Path,
    spec: EncoderSpec,
    variant: str,
    card: AdapterCard | None = None,
) -> AdapterCard:
    """Write an adapter and its card; returns the card with its content hash."""
    card = card or AdapterCard(spec.name, spec.fingerprint, variant)
    card = dataclasses.replace(
        card, encoder=spec.name, fingerprint=spec.fingerprint, variant=variant, content=""
    )
    tensors = {
        name: tensor.detach().cpu().contiguous() for name, tensor in adapter.state_dict().items()
    }
    try:
        card.to_text().encode()
    except UnicodeEncodeError as error:
        raise UsageError("A text of the card, such as --licence, is not valid Unicode.") from error
    card = AdapterCard.from_text(card.to_text())  # JSON turns tuples into lists: hash those
    card = dataclasses.replace(card, content=content_digest(card, tensors))
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(save(tensors, {_CARD: card.to_text()}))
    return card


def read_card(path: Path) -> tuple[AdapterCard, dict[str, torch.Tensor]]:
    """The card and the tensors of a file, for any encoder; its content hash is checked."""
    if not path.is_file():
        raise AdapterError(f"There is no adapter file {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {}).get(_CARD)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise AdapterError(
            f"{path} is not a safetensors adapter ({error}); convert files of otadtk 0.1.2 with "
            "otadtk-adapters import."
        ) from error
    if text is None:
        raise AdapterError(f"{path} has no card: it is not an adapter file of otadtk.")
    odd = sorted({str(t.dtype) for t in tensors.values() if t.dtype not in _DTYPES})
    if odd:
        raise AdapterError(f"{path} holds tensors of {', '.join(odd)}; adapters have float32.")
    try:
        card = AdapterCard.from_text(text)
    except AdapterError as error:
        raise AdapterError(f"{path}: {error}.") from error
    if content_digest(card, tensors) != card.content:
        raise AdapterError(f"{path} is corrupted or was changed: its content hash differs.")
    return card, tensors


def read_adapter(path: Path, spec: EncoderSpec) -> LoadedAdapter:
    """The adapter in a file, refused unless it was trained on the features of this encoder."""
    card, tensors = read_card(path)
    needed = model_of(card, spec)
    if card.fingerprint != needed.fingerprint:
        raise AdapterError(
            f"{path} was trained on the features of {card.encoder!r} "
            f"(fingerprint {card.fingerprint[:12]}), not on these of {spec.name!r} "
            f"({needed.fingerprint[:12]}); train it again or use --variant raw."
        )
    return LoadedAdapter(build_network(card, tensors, needed, str(path)), card, needed, path)


def model_of(card: AdapterCard, spec: EncoderSpec) -> EncoderSpec:
    """The model whose vectors an adapter takes: the encoder with the features that its card names."""
    wanted, there = split_suffixes(card.encoder)[1], split_suffixes(spec.name)[1]
    return wrap(spec, wanted[len(there) :]) if wanted[: len(there)] == there else spec


def build_network(
    card: AdapterCard, tensors: dict[str, torch.Tensor], spec: EncoderSpec, origin: str
) -> Adapter:
    """The network of a card with these tensors, ready for use; errors name ``origin``."""
    try:
        adapter = _empty_network(card, tensors, spec.dim)
        adapter.load_state_dict(tensors)
    except _NOT_AN_ADAPTER as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise AdapterError(
            f"{origin} does not hold an adapter for d = {spec.dim}: {reason}"
        ) from error
    if not all(torch.isfinite(tensor).all() for tensor in tensors.values()):
        raise AdapterError(f"{origin} holds values that are not finite.")
    return adapter.eval().requires_grad_(False)


def _empty_network(card: AdapterCard, tensors: dict[str, torch.Tensor], dim: int) -> Adapter:
    """A network of the card's class and the tensors' sizes, not yet loaded."""
    unit = card.input_normalisation == "unit"
    if card.network == "residual":
        width = tensors["f_theta.1.weight"].shape[0]
        return RiemannianAdapter(dim, max(1, dim // width), unit_input=unit)
    if card.network == "artifact":
        hidden, inputs = tensors["hears.0.weight"].shape
        if inputs != dim:
            raise KeyError(f"its network takes {inputs} values")
        kinds, features = len(tensors["hears.6.bias"]), len(tensors["mean"])
        return ArtifactAdapter(dim - features, features, kinds, hidden, unit_input=unit)
    if card.network == "perceptual":
        blocks, heard = tensors["sizes"].tolist(), tensors["heard"].tolist()
        if sum(blocks) != dim:
            raise KeyError(f"its blocks have {sum(blocks)} values")
        hidden, families = len(tensors["hears.0.bias"]), len(tensors["hears.6.bias"])
        return PerceptualAdapter(
            blocks, families, hidden, heard=(heard[0], heard[1]), unit_input=unit
        )
    raise KeyError(f"its network {card.network!r} is not known to this version of otadtk")


def adapter_for(
    spec: EncoderSpec, variant: str, *, compat: str | None = None, named: str | None = None
) -> LoadedAdapter | None:
    """The adapter of an encoder and variant; ``None`` for "raw", an error if there is none.

    ``compat="otadtk-0.1.2"`` allows only the published adapters. ``named`` is the name that an
    adapter is published under; for two of them it is not the encoder's name.
    """
    if variant == "raw":
        return None
    name = named or spec.name
    place = known_adapter(name, variant) if compat else find_adapter(name, variant)
    if place is None or (compat and isinstance(place, KnownAdapter) and not place.member):
        published = "otadtk 0.1.2 publishes none" if compat else "none is known"
        raise AdapterError(
            f"There is no {variant!r} adapter for {name!r}: {published}; use --variant raw, give "
            "one with --adapter-checkpoint, or train one with otadtk-train."
        )
    if isinstance(place, Path):
        return read_adapter(place, spec)
    if place.misnamed and not compat:
        raise AdapterError(
            f"The published {variant!r} adapter named {name!r} does not belong to these features: "
            f"{place.note}. Use --variant raw, or --compat {COMPAT} to reproduce what that package "
            "computes."
        )
    return load_known(place, spec)


def load_known(known: KnownAdapter, spec: EncoderSpec) -> LoadedAdapter:
    """An adapter of the manifest, with its hash verified; ``spec`` must match its features."""
    if known.member:
        return _published(known, spec)
    try:
        verify(known.path, known.digest)
    except (WeightsError, OSError) as error:
        raise AdapterError(
            f"The bundled adapter {known.file} is missing or was changed; install otadtk again "
            f"({error})."
        ) from error
    return dataclasses.replace(read_adapter(known.path, spec), file=None)


def _published(known: KnownAdapter, spec: EncoderSpec) -> LoadedAdapter:
    """One of the 18 published adapters; ``spec`` is the model that it was trained on."""
    if spec.name != known.trained_on:
        raise AdapterError(f"{known.member} takes the features of {known.trained_on!r}.")
    tensors, training = load_published(known)
    card = AdapterCard(
        encoder=known.trained_on,
        fingerprint=spec.fingerprint,
        variant=known.variant,
        training=training,
        data="FSD50K (as the paper says)",
        licence=known.licence,
        origin=f"{known.origin}; {known.member} ({known.digest})",
        version="0.1.2",
    )
    return LoadedAdapter(build_network(card, tensors, spec, known.member), card, spec)


def load_adapter(
    encoder_name: str,
    variant: str = "agnostic",
    *,
    checkpoint_path: str | Path | None = None,
    device: str = "cpu",
) -> Adapter | None:
    """The adapter of a named encoder, or of a file; ``None`` for the variant "raw".

    An adapter is a torch module: it maps vectors of shape (n, d) to the space of the ground cost.

    Raises:
        UsageError: There is no such variant or encoder.
        AdapterError: The file is missing, damaged, or was trained on other features.

    Examples:
        >>> from otadtk import load_adapter
        >>> load_adapter("logmel", "raw") is None
        True
    """
    if variant not in VARIANTS:
        raise UsageError(f"Unknown variant {variant!r}; choose from {', '.join(VARIANTS)}.")
    spec = get_spec(encoder_name)
    if checkpoint_path is not None and variant != "raw":
        return read_adapter(Path(checkpoint_path), spec).network.to(device)
    loaded = adapter_for(spec, variant)
    return loaded if loaded is None else loaded.network.to(device)
