"""Where embeddings and converted weights are kept: in the user's cache, or inside an installed wheel."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from otadtk.weights.files import WeightFile

BUNDLED = Path(__file__).parents[1] / "bundled"
"""The folder of conversions that an installed wheel may carry."""


def embedding_cache() -> Path:
    """The folder of the embedding store: in ``$OTADTK_CACHE``, or in the user's cache directory."""
    return _cache("OTADTK_CACHE") / "embeddings"


def weights_cache() -> Path:
    """The folder of converted weights: in ``$OTADTK_WEIGHTS_CACHE``, or in the user's cache."""
    return _cache("OTADTK_WEIGHTS_CACHE") / "weights"


def adapter_cache() -> Path:
    """The folder of imported adapters, beside the converted weights."""
    return _cache("OTADTK_WEIGHTS_CACHE") / "adapters"


def _cache(variable: str) -> Path:
    import platformdirs

    return Path(os.environ.get(variable) or platformdirs.user_cache_dir("otadtk"))


def converted_name(model: str, files: Sequence[WeightFile]) -> str:
    """The file name of a conversion; it changes whenever a published file does."""
    key = hashlib.sha256("\n".join(file.digest for file in files).encode()).hexdigest()
    return f"{model}-{key[:16]}.safetensors"


def find_converted(model: str, files: Sequence[WeightFile]) -> Path | None:
    """The converted weights on this machine, bundled or cached; ``None`` without any."""
    name = converted_name(model, files)
    paths = (BUNDLED / name, weights_cache() / name)
    return next((path for path in paths if path.is_file()), None)


def is_bundled(path: Path) -> bool:
    """Whether a conversion is part of the installation, not of the user's cache."""
    return path.parent == BUNDLED
