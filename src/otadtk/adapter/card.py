"""The card of an adapter: all that its file says of itself beside the tensors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from otadtk import __version__
from otadtk.errors import AdapterError

if TYPE_CHECKING:
    import torch

FORMAT = "otadtk-adapter/1"


@dataclass(frozen=True)
class AdapterCard:
    """What an adapter was trained on, how, and how well it did on data that it had not seen."""

    encoder: str
    """The model whose clip vectors it takes: a name of ``list_models()``, "+signal" included."""
    fingerprint: str
    """The fingerprint of that model when the adapter was trained."""
    variant: str
    network: str = "residual"
    """The class of network: "residual" (the paper's) or "artifact"."""
    input_normalisation: str = "none"
    """What is done to a clip vector before the network: "none", or "unit" for the L2 norm."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """The training configuration."""
    data: str = "unknown"
    seed: int | None = None
    validation: Mapping[str, float] = field(default_factory=dict)
    """Figures on classes held out of training."""
    licence: str = "unknown"
    origin: str = ""
    version: str = __version__
    """The version of otadtk that wrote the file."""
    content: str = ""
    """SHA-256 over the tensors and the rest of the card."""

    def to_text(self) -> str:
        """The card as JSON, in one order whatever the machine."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> AdapterCard:
        """The card in a file's metadata; an ``AdapterError`` says what is wrong with it."""
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                raise ValueError("its format is another one")
            known = {f.name for f in fields(cls)}
            card = cls(**{name: value for name, value in content.items() if name in known})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AdapterError(f"the card of the adapter cannot be read ({error})") from error
        return card


def content_digest(card: AdapterCard, tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 over the tensors by name, dtype, shape and value, and over the card without it."""
    facts = asdict(card)
    facts.pop("content")
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
