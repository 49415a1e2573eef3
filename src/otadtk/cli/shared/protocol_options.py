"""``--protocol``: the metrics, encoders and settings of a protocol instead of a model and options."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from otadtk.cli.shared.metric_options import embedding_options
from otadtk.errors import UsageError
from otadtk.metrics.entry import flag_of
from otadtk.metrics.registry import all_metrics, get_metric

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.evaluation.protocols.protocol import Protocol, Result
    from otadtk.evaluation.run import UsedProtocol
    from otadtk.metrics import AudioMetric

FLAG = "--protocol"
_REPLACED = {"metrics": "--metrics", "only": "--fad or --kad"}
_PINNED = {
    "variant": "--variant",
    "adapter_checkpoint": "--adapter-checkpoint",
    "frames": "--frames",
    "import_cache": "--import-cache",
    "weights": "--weights",
    "duration": "--duration",
    "crop": "--crop",
    "normalise": "--normalise",
    "channels": "--channels",
    "audit_only": "--audit-only",
}


def asks_for_protocol(arguments: Sequence[str]) -> bool:
    """Whether a command line names a protocol, and so no model."""
    return any(text == FLAG or text.startswith(f"{FLAG}=") for text in arguments)


def add_protocol_options(parser: argparse.ArgumentParser) -> None:
    """``--protocol`` and ``--results``."""
    group = parser.add_argument_group("protocol (in place of a model)")
    group.add_argument(
        FLAG,
        metavar="NAME|FILE",
        help="compute what a protocol of otadtk-protocols names, or a file of your own, as it says",
    )
    group.add_argument(
        "--results", metavar="LIST", help="of the protocol only these results, such as FD,KL"
    )


def take_protocol(options: argparse.Namespace) -> Protocol | None:
    """The protocol, if there is one; refuses what it replaces, and puts its metrics in place."""
    if options.protocol is None:
        if options.results is not None:
            raise UsageError("--results belongs to --protocol; remove it or add --protocol.")
        return None
    from otadtk.evaluation.protocols.protocol import load_protocol

    for name, flag in (_REPLACED | _PINNED).items():
        if getattr(options, name, None) not in (None, False):
            raise UsageError(f"{flag} does not go with --protocol, which decides that; remove it.")
    protocol = load_protocol(options.protocol)
    options.metrics = tuple(result.metric for result in _chosen(protocol, options))
    return protocol


def protocol_metrics(
    protocol: Protocol, options: argparse.Namespace, engine: Engine
) -> list[AudioMetric]:
    """The metrics of the protocol's results; options that were given replace the protocol's."""
    results = _chosen(protocol, options)
    for result in results:
        _check_encoder(protocol, result)
    return [_make(result, options, engine) for result in results]


def used_protocol(protocol: Protocol, options: argparse.Namespace) -> UsedProtocol:
    """What the record of the run says: a protocol that an option changed has another name."""
    from otadtk.evaluation.run import UsedProtocol

    known = [option for _, metric in all_metrics() for option in metric.options]
    names = {option.name for option in known if not option.is_data}
    changed = tuple(flag_of(n) for n in sorted(names) if getattr(options, n, None) is not None)
    name = f"changed from {protocol.name}" if changed else protocol.name
    return UsedProtocol(name, protocol.version, protocol.tool, changed)


def _chosen(protocol: Protocol, options: argparse.Namespace) -> tuple[Result, ...]:
    if options.results is None:
        return protocol.results
    return protocol.only([name for name in options.results.split(",") if name])


def _check_encoder(protocol: Protocol, result: Result) -> None:
    from otadtk.encoders import get_spec

    try:
        get_spec(result.model)
    except UsageError:
        there = [other.name for other in protocol.results if other.model != result.model]
        rest = f"; --results {','.join(there)} leaves it out" if there else ""
        raise UsageError(
            f"The protocol {protocol.name!r} needs the encoder {result.model!r} for {result.name}, "
            f"and there is none of that name here{rest}."
        ) from None


def _make(result: Result, options: argparse.Namespace, engine: Engine) -> AudioMetric:
    metric = get_metric(result.metric)
    own = {}
    for option in metric.options:
        given = getattr(options, option.name)
        own[option.name] = (
            result.options.get(option.name, option.default) if given is None else given
        )
    if metric.draws:
        own["seed"] = options.seed or 0
    how = embedding_options(options, engine)
    how["frames"], how["reading"] = result.frames, result.reading
    made = metric(result.model, variant=result.variant, **own, **how)
    made.entry = result.name
    return made
