"""Where converted weights are kept: in the user's cache, or inside an installed wheel."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from otadtk.weights.files import WeightFile

BUNDLED = Path(__file__).parents[1] / "bundled"
"""The folder of conversions that an installed wheel may carry."""


def cache_directory() -> Path:
    """The user's cache directory for otadtk: ``$OTADTK_CACHE``, or the platform's usual folder."""
    import platformdirs

    return Path(os.environ.get("OTADTK_CACHE") or platformdirs.user_cache_dir("otadtk"))


def converted_name(model: str, files: Sequence[WeightFile]) -> str:
    """The file name of a conversion; it changes whenever a published file does."""
    key = hashlib.sha256("\n".join(file.digest for file in files).encode()).hexdigest()
    return f"{model}-{key[:16]}.safetensors"


def find_converted(model: str, files: Sequence[WeightFile]) -> Path | None:
    """The converted weights on this machine, bundled or cached; ``None`` without any."""
    name = converted_name(model, files)
    paths = (BUNDLED / name, cache_directory() / "weights" / name)
    return next((path for path in paths if path.is_file()), None)


def is_bundled(path: Path) -> bool:
    """Whether a conversion is part of the installation, not of the user's cache."""
    return path.parent == BUNDLED
