"""The names of encoders, and the spec behind each.

A name means, in this order: a built-in encoder; ``given``; a class that the program registered; a
model of the Hugging Face format, ``hf:REPO_OR_FOLDER``; a class in a file,
``path/to/file.py:Class``; an encoder that an installed package offers. Suffixes
such as ``+signal`` put wrappers around any of them. Importing this module imports neither torch
nor any network.
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points

from otadtk.encoders import custom, huggingface
from otadtk.encoders.networks import BUILT_IN
from otadtk.encoders.precomputed import GIVEN
from otadtk.encoders.spec import EncoderSpec
from otadtk.encoders.wrappers import split_suffixes, wrap
from otadtk.errors import UsageError

ENTRY_POINT_GROUP = "otadtk.encoders"

COMPAT_NAMES = {"otadtk-0.1.2": {"audiomae": "ast", "beats": "wav2vec2"}}
"""What names meant to other versions: otadtk 0.1.2 ran other networks under two of its names."""


def list_models() -> list[str]:
    """Names of all encoders: built in, registered by this program, and installed as plug-ins.

    Examples:
        >>> from otadtk import list_models
        >>> "yamnet" in list_models()
        True
    """
    return sorted({*BUILT_IN, *custom.registered, *plug_ins()})


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
    """The facts of an encoder, known before its weights load.

    ``model`` is a name of ``list_models()``, a custom class as ``path/to/file.py:Class``, a model of
    the Hugging Face format as ``hf:REPO_OR_FOLDER[@revision][#layer]``, or
    ``"given"`` for precomputed embeddings; ``+layers`` behind it puts statistics of intermediate
    layers beside its vectors, ``+signal``, ``+texture``, ``+spectrum`` and
    ``+fullband`` weight-free features.
    ``compat`` names the version whose meaning of the names holds: under ``"otadtk-0.1.2"``,
    ``audiomae`` is AST and ``beats`` is wav2vec2. Print ``explain_compat`` wherever you pass it.
    """
    model = COMPAT_NAMES.get(compat or "", {}).get(model, model)
    name, suffixes = split_suffixes(model)
    return wrap(_plain_spec(name), suffixes)


def _plain_spec(name: str) -> EncoderSpec:
    """The spec of a name without suffixes."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    if name == GIVEN.name:
        return GIVEN
    if name in custom.registered:
        return custom.spec_of(custom.registered[name], name)
    if name.startswith(huggingface.PREFIX):
        return huggingface.spec_of(name)
    if ".py:" in name:
        return custom.spec_of(custom.class_from_file(name), name)
    point = plug_ins().get(name)
    if point is not None:
        return _plug_in_spec(name, point)
    close = difflib.get_close_matches(name, list_models(), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"Unknown model {name!r}.{hint} See otadtk-list-models.")


def _plug_in_spec(name: str, point: EntryPoint) -> EncoderSpec:
    """The spec that a plug-in offers, or that of the class that it offers."""
    try:
        offered = point.load()
    except Exception as error:
        raise UsageError(f"The plug-in encoder {name!r} ({point.value}) fails: {error}") from error
    return offered if isinstance(offered, EncoderSpec) else custom.spec_of(offered, name)
