"""The table of encoders: names, specs, lazy loaders, and where one's own encoders join it.

Importing this module imports neither torch nor any network.
"""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.encoders import own
from otadtk.encoders.given import GIVEN
from otadtk.encoders.shipping import ShippedSpec, ship
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding
from otadtk.encoders.table import BUILT_IN
from otadtk.errors import UsageError

if TYPE_CHECKING:
    import torch

__all__ = [
    "COMPAT_NAMES",
    "Encoder",
    "EncoderSpec",
    "Encoding",
    "ShippedSpec",
    "explain_compat",
    "get_encoder",
    "get_spec",
    "list_models",
    "load_encoder",
    "plug_ins",
    "register_encoder",
    "ship",
]

ENTRY_POINT_GROUP = "otadtk.encoders"

COMPAT_NAMES = {"otadtk-0.1.2": {"audiomae": "ast", "beats": "wav2vec2"}}
"""What names meant to other versions: otadtk 0.1.2 ran other networks under two of its names."""
register_encoder = own.register_encoder


def list_models() -> list[str]:
    """Names of all encoders: built in, registered by this program, and installed as plug-ins.

    >>> from otadtk import list_models
    >>> "yamnet" in list_models()
    True
    """
    return sorted({*BUILT_IN, *own.registered, *plug_ins()})


def plug_ins() -> dict[str, EntryPoint]:
    """Encoders that installed packages offer, by name; none of them is imported."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def explain_compat(model: str, compat: str | None) -> str | None:
    """A sentence for the output when a name means another network under ``compat``, else ``None``.

    >>> from otadtk.encoders import explain_compat
    >>> explain_compat("beats", "otadtk-0.1.2")
    "Under otadtk-0.1.2 'beats' means the features of 'wav2vec2', not those of 'beats'."
    """
    meant = COMPAT_NAMES.get(compat or "", {}).get(model)
    if meant is None:
        return None
    return f"Under {compat} {model!r} means the features of {meant!r}, not those of {model!r}."


def get_spec(model: str, compat: str | None = None) -> EncoderSpec:
    """What is known of an encoder before its weights load.

    ``model`` is a name of ``list_models()``, or one's own class as ``path/to/file.py:Class``;
    ``+signal`` behind it puts weight-free signal features beside its vectors; ``"given"`` stands
    for embeddings that are given.
    ``compat`` names the version whose meaning of the names holds: under ``"otadtk-0.1.2"``,
    ``audiomae`` is AST and ``beats`` is wav2vec2. Whoever passes it prints ``explain_compat``.
    """
    model = COMPAT_NAMES.get(compat or "", {}).get(model, model)
    if model in BUILT_IN:
        return BUILT_IN[model]
    if model == GIVEN.name:
        return GIVEN
    if model.endswith("+signal"):
        from otadtk.encoders.signal import with_signal

        return with_signal(get_spec(model.removesuffix("+signal")))
    if model in own.registered:
        return own.spec_of(own.registered[model], model)
    if ".py:" in model:
        return own.spec_of(own.class_from_file(model), model)
    point = plug_ins().get(model)
    if point is None:
        close = difflib.get_close_matches(model, list_models(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise UsageError(f"Unknown model {model!r}.{hint} See otadtk-list-models.")
    try:
        plugged = point.load()
    except Exception as error:
        raise UsageError(f"The plug-in encoder {model!r} ({point.value}) fails: {error}") from error
    return plugged if isinstance(plugged, EncoderSpec) else own.spec_of(plugged, model)


def load_encoder(spec: EncoderSpec, device: torch.device, weights: Path | None = None) -> Encoder:
    """The network of a spec, with its weights, ready to encode."""
    if weights is not None and not spec.weights:
        raise UsageError(f"{spec.name!r} takes no --weights: it has no published weight file.")
    module, _, function = spec.loader.partition(":")
    load = getattr(importlib.import_module(module), function)
    encoder: Encoder = load(spec, device, weights)
    return encoder


def get_encoder(
    name: str, device: str | None = None, *, weights: str | Path | None = None
) -> Encoder:
    """The loaded encoder of that name; ``.encode(wav, sr)`` gives the vector of one clip."""
    from otadtk.device import resolve_device

    own_copy = Path(weights) if weights is not None else None
    return load_encoder(get_spec(name), resolve_device(device), own_copy)
