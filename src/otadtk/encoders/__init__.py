"""Encoders: from a waveform to a vector.

    spec        EncoderSpec, the facts known before weights load; Encoder, the loaded network
    registry    names, and the spec behind each
    loading     from a spec to the loaded network
    networks/   the built-in encoders, one folder each
    custom      the user's classes: registered, from a file, or installed as plug-ins
    wrappers    models around another model, by the suffix of a name; features/ holds what they add
    frames      an encoder whose frames are compared, its own or as other tools have them
    precomputed the model ``given``, for embeddings that exist already

Importing this package imports neither torch nor any network.
"""

from __future__ import annotations

from otadtk.encoders.custom import register_encoder
from otadtk.encoders.loading import get_encoder, load_encoder
from otadtk.encoders.registry import COMPAT_NAMES, explain_compat, get_spec, list_models, plug_ins
from otadtk.encoders.spec import Encoder, EncoderSpec, Encoding

__all__ = [
    "COMPAT_NAMES",
    "Encoder",
    "EncoderSpec",
    "Encoding",
    "explain_compat",
    "get_encoder",
    "get_spec",
    "list_models",
    "load_encoder",
    "plug_ins",
    "register_encoder",
]
