"""Renders a template of ``assets/`` into one HTML file that needs no other file, and writes it."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from otadtk import __version__
from otadtk.errors import UsageError
from otadtk.files.atomic import replacing
from otadtk.files.printable import readable
from otadtk.statistics.resampling import show_span

AudioMode = Literal["embed", "link", "none"]
AUDIO_MODES: tuple[AudioMode, ...] = ("embed", "link", "none")


@dataclass(frozen=True, kw_only=True)
class PageOptions:
    """What every page shows beside its numbers.

    ``audio``: "embed" puts the sound of clips shown in full into the page and links the others by
    relative path, "link" links all, "none" leaves sounds out.
    """

    audio: AudioMode = "embed"
    groups: str | Path | None = None
    """A CSV of groups: file, then one column per grouping."""
    command: str | None = None
    """The command line of the run."""
    methods: str | None = None
    bibtex: str | None = None

    def __post_init__(self) -> None:
        if self.audio not in AUDIO_MODES:
            known = ", ".join(AUDIO_MODES)
            raise UsageError(f"Unknown report audio {self.audio!r}; choose from {known}.")


@dataclass(frozen=True)
class Scale:
    """A linear axis of a drawing: maps values to positions between 0 and ``length``."""

    low: float
    high: float
    length: float

    @classmethod
    def around(cls, values: Sequence[float], length: float, margin: float = 0.06) -> Scale:
        """An axis that shows all values, with a margin on both sides."""
        low, high = min(values), max(values)
        room = (high - low or abs(high) or 1.0) * margin
        return cls(low - room, high + room, length)

    def at(self, value: float) -> float:
        """The position of a value."""
        return round((value - self.low) / (self.high - self.low) * self.length, 2)

    def ticks(self, most: int = 5) -> list[float]:
        """At most so many round values along the axis."""
        span = self.high - self.low
        power = 10.0 ** math.floor(math.log10(span / most))
        step = next(k * power for k in (1, 2, 5, 10, 20) if span / (k * power) <= most)
        first = math.ceil(self.low / step)
        return [round(k * step, 12) for k in range(first, math.floor(self.high / step) + 1)]


def write_page(text: str, path: Path) -> Path:
    """Write a page in one step, so that no partial file is left; gives its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(text.encode("utf-8"))
    return path


def render_template(
    name: str, scripts: Sequence[str], options: PageOptions, data: object, **values: Any
) -> str:
    """The page of a template, with style, script and data inside and a policy that allows only these.

    ``data`` is what the scripts read. ``values`` are the template's variables.
    """
    style = read_asset("style.css")
    # a plain script runs before the sounds below it are parsed; a module would wait for them
    script = "\n".join(['(() => { "use strict";', *map(read_asset, scripts), "})();"])
    return render(
        name,
        **values,
        options=options,
        command=readable(options.command) if options.command else None,
        data=_json_block(data),
        version=__version__,
        style=_markup(style),
        script=_markup(script),
        policy="; ".join(
            [
                "default-src 'none'",
                f"script-src '{_hash(script)}'",
                f"style-src '{_hash(style)}'",
                "media-src data: file: 'self'",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
    )


def read_asset(name: str) -> str:
    """A template, style or script by its name in ``assets/``."""
    return (files("otadtk.report") / "assets" / name).read_text(encoding="utf-8")


def render(name: str, **values: Any) -> str:
    """A template of ``assets/`` with these values, which are escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_asset),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["readable"] = readable
    environment.filters["options"] = _options_as_code
    environment.globals["span"] = show_span
    return environment.get_template(name).render(**values)


def number(value: float | None, digits: int = 6) -> float | None:
    """A number for JSON: rounded to significant digits, ``None`` if it is not finite."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def numbers(values: Sequence[float] | NDArray[np.floating], digits: int = 5) -> list[float | None]:
    """The same for many numbers."""
    return [number(float(value), digits) for value in values]


def _json_block(value: object) -> Any:
    """JSON for a data block: nothing in it can end the block or open a comment or a tag."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _markup(text)


def _options_as_code(text: str) -> Any:
    """The text with command-line options marked as code, so that no line breaks inside one."""
    from markupsafe import escape

    return _markup(re.sub(r"(--[a-z][a-z-]*)", r"<code>\1</code>", str(escape(text))))


def _markup(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()
