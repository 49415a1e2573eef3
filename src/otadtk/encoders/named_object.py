"""Objects named by text: ``"package.module:object"``, imported when they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def load_object(name: str) -> Any:
    """The object that ``"package.module:object"`` names."""
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
