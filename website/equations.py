"""Equations of the pages: LaTeX in a ``math`` fence becomes MathML, which browsers draw themselves."""

from __future__ import annotations

from html import escape
from typing import Any

from latex2mathml.converter import convert


def equation(source: str, *_: Any, **__: Any) -> str:
    """A fenced block ``math`` as displayed MathML, with its source for screen readers and copying."""
    label = escape(" ".join(source.split()), quote=True)
    formula = convert(source, display="block")
    return f'<div class="equation" role="math" aria-label="{label}" tabindex="0">{formula}</div>'
