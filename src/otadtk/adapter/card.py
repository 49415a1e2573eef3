"""The card of an adapter: the metadata that its file holds beside the tensors."""

from __future__ import annotations

import hashlib
import json
import re
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
    """What an adapter was trained on, how, and its figures on held-out data."""

    encoder: str
    """The model whose clip vectors it takes: a name of ``list_models()``, possibly "…+signal"."""
    fingerprint: str
    """The fingerprint of that model when the adapter was trained."""
    variant: str
    network: str = "residual"
    """The class of network: "residual" (the paper's), "artifact" or "perceptual"."""
    input_normalisation: str = "none"
    """How clip vectors are normalised before the network: "none", or "unit" (L2 norm)."""
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
    """SHA-256 of the tensors and of the rest of the card."""

    def to_text(self) -> str:
        """The card as JSON with sorted keys, the same on every machine."""
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> AdapterCard:
        """The card from a file's metadata; ``AdapterError`` if it is not valid."""
        try:
            content = json.loads(text)
            if not isinstance(content, dict):
                raise ValueError("it is not a table of names and values")
            if content.pop("format", None) != FORMAT:
                raise ValueError("its format is unknown")
            known = {f.name for f in fields(cls)}
            card = cls(**{name: value for name, value in content.items() if name in known})
            card._check()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise AdapterError(f"the card of the adapter cannot be read ({error})") from error
        return card

    def _check(self) -> None:
        """A ValueError if a field has another type than the class says."""
        names = ("encoder", "fingerprint", "variant", "network", "input_normalisation", "data")
        for name in (*names, "licence", "origin", "version", "content"):
            if not isinstance(getattr(self, name), str):
                raise ValueError(f"{name} is not text")
        if not re.fullmatch(r"\w[\w.+-]{0,99}", self.variant, re.ASCII):  # it names a file
            raise ValueError("variant is not a name of letters, digits and . + - _")
        for name in names:
            if not getattr(self, name).isprintable():
                raise ValueError(f"{name} has characters that cannot be printed")
        for name in ("training", "validation"):
            if not isinstance(getattr(self, name), dict):
                raise ValueError(f"{name} is not a table")
        for name, value in self.validation.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and not number:
                raise ValueError(f"validation {name} is not a number")
        if self.seed is not None and type(self.seed) is not int:
            raise ValueError("seed is not a whole number")
        self.to_text().encode()  # a lone surrogate has no bytes


def content_digest(card: AdapterCard, tensors: Mapping[str, torch.Tensor]) -> str:
    """SHA-256 of the tensors (name, dtype, shape, values) and of the card without ``content``."""
    facts = asdict(card)
    facts.pop("content")
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()
