"""The options of OTAD on the command line, and which of them exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.encoders import COMPAT_NAMES
from otadtk.errors import UsageError
from otadtk.metrics.entry import Option, byte_count, flag_of, positive_float

_NO_EFFECT = {
    "exact": ("epsilon", "divergence", "strict"),
    "sliced": ("epsilon", "divergence", "strict", "max_memory"),
    "minibatch": ("max_memory",),
}
"""Options that a coupling has no use for."""
OPTIONS = (
    Option(
        "epsilon",
        help=f"entropic regularisation (default: {DEFAULT_EPSILON})",
        default=DEFAULT_EPSILON,
        parse=positive_float,
        metavar="E",
    ),
    Option(
        "epsilon_scale",
        help="what epsilon is a multiple of: 1 (absolute, default), or the mean or median cost",
        default="absolute",
        choices=("absolute", "mean_cost", "median_cost"),
    ),
    Option(
        "divergence",
        help="transport cost alone (sharp, default), or with the entropy term",
        default="sharp",
        choices=("sharp", "entropic"),
    ),
    Option(
        "coupling",
        help="how the sets are coupled (default: sinkhorn); the last two are approximations",
        default="sinkhorn",
        choices=("sinkhorn", "exact", "minibatch", "sliced"),
    ),
    Option(
        "max_memory",
        help="what the solver may take, as 500M or 4G (default: a quarter of what is free, "
        "1.8G at most)",
        parse=byte_count,
        metavar="SIZE",
    ),
    Option(
        "compat",
        help="reproduce that package: its arithmetic, its adapters, the networks it really runs",
        choices=tuple(COMPAT_NAMES),
    ),
)


def check_otad_options(given: Mapping[str, Any]) -> None:
    """Refuse what the coupling or ``compat`` has no use for."""
    coupling = given.get("coupling")
    for name in _NO_EFFECT.get(coupling or "", ()):
        if given.get(name) not in (None, False):
            raise UsageError(f"{flag_of(name)} does nothing with --coupling {coupling}; remove it.")
    if given.get("compat") is not None and given.get("max_memory") is not None:
        raise UsageError("--max-memory does nothing with --compat; remove it.")
