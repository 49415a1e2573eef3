"""BibTeX entries of intervals and encoders; a metric brings its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from otadtk.encoders.networks import BUILT_IN

_JACKKNIFE = """@article{efron1981jackknife,
  title   = {The Jackknife Estimate of Variance},
  author  = {Efron, Bradley and Stein, Charles},
  journal = {The Annals of Statistics},
  volume  = {9},
  number  = {3},
  pages   = {586--596},
  year    = {1981}
}"""


def cite_jackknife() -> str:
    """The entry for the intervals."""
    return _JACKKNIFE


def cite_model(model: Mapping[str, Any]) -> str | None:
    """The BibTeX entry of a document's encoder; ``None`` without a paper.

    Frames ("vggish@kadtk") and added features ("yamnet+signal") have the paper of the encoder.
    """
    name = re.split(r"[@+]", model["name"])[0]
    if model["paper"] == "none":
        return None
    if name in BUILT_IN:
        return BUILT_IN[name].citation
    key = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower() or "encoder"
    title, note = (re.sub(r"([&%$#_{}])", r"\\\1", text) for text in (name, model["paper"]))
    return f"@misc{{{key},\n  key   = {{{key}}},\n  title = {{{title}}},\n  note  = {{{note}}}\n}}"


def key_of(entry: str) -> str:
    """The citation key of an entry."""
    return entry.partition("{")[2].partition(",")[0]
