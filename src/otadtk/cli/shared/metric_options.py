"""The options of metrics and of their ground metric, from the registry."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otadtk.adapter import VARIANTS, WITH_FEATURES, default_variant
from otadtk.cli.inputs.reading_options import reading_options
from otadtk.errors import OtadtkError, UsageError
from otadtk.metrics.entry import flag_of
from otadtk.metrics.registry import DEFAULT, all_metrics, get_metric, metric_names

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.metrics import AudioMetric, EmbeddingOptions

logger = logging.getLogger(__name__)

_FOR_CLIP_COSTS = (
    "diagnose",
    "top_k",
    "diag_out",
    "indiv",
    "strict",
    "report",
    "report_audio",
    "labels",
    "groups",
    "figures",
)
"""Options that need a metric with costs of single clips."""


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Options to choose metrics and the ground metric, and the options of each metric."""
    default = get_metric(DEFAULT)
    title = f"metric (default: {default.name})"
    which = parser.add_argument_group(title).add_mutually_exclusive_group()
    for name, metric in all_metrics():
        if metric.has_flag:
            which.add_argument(
                f"--{name}",
                dest="only",
                action="store_const",
                const=name,
                help=f"{metric.title} instead",
            )
    which.add_argument(
        "--metrics",
        type=_metrics,
        metavar="LIST",
        help=f"several in one run, such as {','.join(metric_names())}",
    )
    ground = parser.add_argument_group("ground metric (every metric)")
    ground.add_argument(
        "--variant",
        choices=VARIANTS,
        help="the space in which clips are compared (default: raw; for OTAD the encoder's default "
        "adapter, if it has one)",
    )
    ground.add_argument("--adapter-checkpoint", type=Path, metavar="FILE", help="an adapter file")
    for _, metric in all_metrics():
        if metric.options or metric.has_clip_costs:
            group = parser.add_argument_group(metric.name)
            for option in metric.options:
                group.add_argument(
                    option.flag,
                    type=option.parse,
                    choices=option.choices,
                    metavar=option.metavar,
                    help=option.help,
                )
        if metric.has_clip_costs:
            group.add_argument(
                "--strict", action="store_true", help="exit 5 when the solver has not converged"
            )


def chosen_metrics(options: argparse.Namespace) -> tuple[str, ...]:
    """The metrics that were asked for, in order, some by their options; a protocol names its own."""
    chosen: tuple[str, ...] = options.metrics or (options.only or DEFAULT,)
    if getattr(options, "protocol", None) is not None:
        return chosen
    asked = [
        name
        for name, metric in all_metrics()
        if any(
            option.asks and getattr(options, option.name) is not None for option in metric.options
        )
    ]
    return (*chosen, *(name for name in asked if name not in chosen))


def check_metric_options(options: argparse.Namespace) -> None:
    """Refuse options that would do nothing with the chosen metrics."""
    given = {name: value for name, value in vars(options).items() if value not in (None, False)}
    chosen = chosen_metrics(options)
    for option, owners in _owners().items():
        if option in given and not set(owners).intersection(chosen):
            owner = owners[0]
            raise UsageError(
                f"{flag_of(option)} belongs to {get_metric(owner).name}; remove it or add {owner} "
                f"to --metrics."
            )
    for name in chosen:
        get_metric(name).check_options(given)


def _owners() -> Mapping[str, Sequence[str]]:
    """The metrics that use each option."""
    owners: dict[str, list[str]] = {}
    for name, metric in all_metrics():
        options = [option.name for option in metric.options]
        for option in (*options, *(_FOR_CLIP_COSTS if metric.has_clip_costs else ())):
            owners.setdefault(option, []).append(name)
    return owners


def check_source_options(options: argparse.Namespace, sets: Sequence[Path]) -> None:
    """Refuse sets that are not there, and options of embedding if nothing is embedded."""
    from otadtk.embed.audio_files import check_source
    from otadtk.embed.formats.table import holds_embeddings

    why = "embeddings that are given"
    audio = [path for path in sets if not holds_embeddings(path)]
    for path in audio:
        check_source(path, recursive=options.recursive)
    if audio:
        if options.import_cache is None:
            return
        why = f"--import-cache {options.import_cache}"
    elif options.import_cache is not None:
        raise UsageError(f"--import-cache does nothing with {why}; remove it.")
    for flag, given in {
        **{f"--{name}": True for name in reading_options(options)},
        "--force-emb-encode": options.force_emb_encode,
        "--on-error skip": options.on_error != "fail",
        "--weights": options.weights is not None,
    }.items():
        if given:
            raise UsageError(f"{flag} does nothing with {why}; remove it.")


def embedding_options(options: argparse.Namespace, engine: Engine) -> EmbeddingOptions:
    """The options of embedding, from the command line."""
    return {
        "device": options.device,
        "weights": options.weights,
        "cache_dir": options.cache_dir,
        "recursive": options.recursive,
        "on_error": options.on_error,
        "force_recompute": options.force_emb_encode,
        "frames": getattr(options, "frames", None),
        "import_cache": getattr(options, "import_cache", None),
        "engine": engine,
        **reading_options(options),
    }


def make_metrics(
    options: argparse.Namespace, model: str, sets: Sequence[Path], engine: Engine
) -> list[AudioMetric]:
    """The metrics that were asked for, each with its options, for these sets."""
    common = embedding_options(options, engine)
    variant = options.variant
    if variant is None and options.adapter_checkpoint is None and options.compat is None:
        variant = _variant_for(model, sets, options)

    def make(name: str) -> AudioMetric:
        metric = get_metric(name)
        own: dict[str, Any] = {}
        for option in metric.options:
            value = getattr(options, option.name)
            own[option.name] = option.default if value is None else value
        if metric.draws:
            own["seed"] = options.seed or 0
        return metric(
            model,
            variant=variant,
            adapter_checkpoint=options.adapter_checkpoint,
            **own,
            **common,
        )

    return [make(name) for name in chosen_metrics(options)]


def _variant_for(model: str, sets: Sequence[Path], options: argparse.Namespace) -> str | None:
    """The variant raw, if a set has embeddings without the features of the default variant."""
    from otadtk.embed.formats.table import holds_embeddings, read_embeddings
    from otadtk.metrics.otad import OTAD

    given = [path for path in sets if holds_embeddings(path)]
    if not given and options.import_cache is None:
        return None
    default = default_variant(model)
    if default not in WITH_FEATURES:
        return None
    try:
        if options.import_cache is None:
            spec = OTAD(model).spec
            for path in given:
                read_embeddings(path, spec, None)
            return None
    except OtadtkError:
        pass  # reading them as plain embeddings says what else may be wrong
    logger.info(
        "given embeddings are compared as they are (variant raw): the variant %s needs the audio, "
        "or a pack made by otadtk-pack",
        default,
    )
    return "raw"


def _metrics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.lower().split(",")))
    for name in names:
        try:
            get_metric(name)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error).removesuffix(".")) from error
    return names
