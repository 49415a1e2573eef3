"""Weight files: where each is published, what it must hash to, how to get it safely.

A file is looked for in this order, and its hash is checked wherever it comes from:

1. the user's copy (``--weights PATH``),
2. the directory ``$OTADTK_WEIGHTS``,
3. the address where it is published, unless ``OTADTK_OFFLINE=1``.

An encoder loads a conversion of the published file to safetensors, made once and kept in the cache
directory (``$OTADTK_WEIGHTS_CACHE``). An installed wheel may contain it (``otadtk/bundled``).
"""

from __future__ import annotations

from otadtk.weights.cache import (
    BUNDLED,
    adapter_cache,
    converted_name,
    embedding_cache,
    find_converted,
    is_bundled,
    weights_cache,
)
from otadtk.weights.check import check_present
from otadtk.weights.convert import Converter, Tensors, load_converted
from otadtk.weights.files import (
    HuggingFaceFile,
    Url,
    WeightFile,
    WheelMember,
    digest_of,
    verify,
)

__all__ = [
    "BUNDLED",
    "Converter",
    "HuggingFaceFile",
    "Tensors",
    "Url",
    "WeightFile",
    "WheelMember",
    "adapter_cache",
    "check_present",
    "converted_name",
    "digest_of",
    "embedding_cache",
    "find_converted",
    "is_bundled",
    "load_converted",
    "verify",
    "weights_cache",
]
