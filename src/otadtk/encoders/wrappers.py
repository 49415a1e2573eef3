"""Models that wrap another one: the suffixes of a model's name, and what each adds.

A wrapper is a function from a spec to a spec. The new spec keeps the wrapped one as ``inner``, so
that its loader can build it; nothing else has to be remembered. Suffixes compose from left to
right: ``yamnet+a+b`` is b(a(yamnet)). A new wrapper needs one line in this table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from otadtk.encoders.named_object import load_object
from otadtk.encoders.spec import EncoderSpec

Wrapper = Callable[[EncoderSpec], EncoderSpec]

WRAPPERS = {
    "+layers": "otadtk.encoders.features.layers:with_layers",
    "+signal": "otadtk.encoders.features.with_signal:with_signal",
    "+texture": "otadtk.encoders.features.with_texture:with_texture",
    "+spectrum": "otadtk.encoders.features.with_spectrum:with_spectrum",
    "+fullband": "otadtk.encoders.features.with_full_band:with_full_band",
}
"""``"module:function"`` by suffix; a module is imported when a name asks for it."""


def split_suffixes(model: str) -> tuple[str, list[str]]:
    """The plain name of a model, and its suffixes in order.

    >>> split_suffixes("yamnet+signal")
    ('yamnet', ['+signal'])
    """
    found: list[str] = []
    while (suffix := next((s for s in WRAPPERS if model.endswith(s)), None)) is not None:
        model = model.removesuffix(suffix)
        found.insert(0, suffix)
    return model, found


def wrap(spec: EncoderSpec, suffixes: Sequence[str]) -> EncoderSpec:
    """The spec with the wrappers of these suffixes around it."""
    for suffix in suffixes:
        wrapper: Wrapper = load_object(WRAPPERS[suffix])
        spec = wrapper(spec)
    return spec
