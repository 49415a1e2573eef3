"""The registry of metrics: where each is found by name; none is loaded before it is asked for.

Installed packages add metrics by the entry-point group ``otadtk.metrics``: a subclass of
``AudioMetric`` under the name that ``--metrics`` takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.metrics.base import AudioMetric
    from otadtk.metrics.entry import Input

BUILT_IN = {
    "otad": "otadtk.metrics.otad:OTAD",
    "fad": "otadtk.metrics.fad:FAD",
    "kad": "otadtk.metrics.kad:KAD",
    "prdc": "otadtk.metrics.reported.prdc:PRDC",
    "vendi": "otadtk.metrics.reported.vendi:Vendi",
    "kid": "otadtk.metrics.reported.kid:KID",
    "kl": "otadtk.metrics.reported.kl:KL",
    "is": "otadtk.metrics.reported.inception:IS",
    "clap_score": "otadtk.metrics.reported.clap_score:ClapScore",
    "copies": "otadtk.metrics.reported.copies:Copies",
}
"""Every metric of this package by the name that the commands know; the first is the default."""
DEFAULT = next(iter(BUILT_IN))
ENTRY_POINT_GROUP = "otadtk.metrics"


def metric_names() -> tuple[str, ...]:
    """The names of all metrics: built in, and installed as plug-ins."""
    return (*BUILT_IN, *(name for name in plug_ins() if name not in BUILT_IN))


@cache
def plug_ins() -> dict[str, EntryPoint]:
    """Metrics that installed packages offer, by name; none of them is imported."""
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


@cache
def get_metric(name: str) -> type[AudioMetric]:
    """The class of a metric by the name that the commands know."""
    from otadtk.metrics.base import AudioMetric

    key = name.lower()
    if key in BUILT_IN:
        module, _, attribute = BUILT_IN[key].partition(":")
        found: type[AudioMetric] = getattr(importlib.import_module(module), attribute)
        return found
    point = plug_ins().get(key)
    if point is None:
        known = ",".join(metric_names())
        raise UsageError(f"{name!r} is no metric; choose from {known}.")
    try:
        loaded = point.load()
    except Exception as error:
        raise UsageError(f"The plug-in metric {name!r} ({point.value}) fails: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, AudioMetric)):
        raise UsageError(f"The plug-in metric {name!r} ({point.value}) is no AudioMetric.")
    return loaded


def metric_printed_as(name: str) -> type[AudioMetric]:
    """The class of a metric by its printed name, as documents have it."""
    for _, metric in all_metrics():
        if metric.name == name:
            return metric
    raise UsageError(f"No metric {name!r} is installed here.")


def all_metrics() -> Iterator[tuple[str, type[AudioMetric]]]:
    """Every metric with its name; a plug-in that cannot be loaded is left out."""
    for name in metric_names():
        try:
            yield name, get_metric(name)
        except UsageError:
            continue


def names_that_accept(wanted: Input) -> str:
    """The metrics that can compare these, for a message: ``FAD and KAD``."""
    *others, last = [cls.name for _, cls in all_metrics() if wanted in cls.accepts]
    return f"{', '.join(others)} and {last}" if others else last
