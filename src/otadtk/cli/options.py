"""The options that choose metrics, shared by the commands that score; each belongs to a metric."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.command import positive_float
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.metrics import AudioMetric, EmbeddingOptions

METRICS = ("otad", "fad", "kad")
DEFAULT_EPSILON = 0.1
_OWNERS = {
    "otad": (
        *("variant", "epsilon", "epsilon_scale", "divergence", "coupling", "max_memory", "compat"),
        *("adapter_checkpoint", "diagnose", "top_k", "diag_out", "indiv", "strict"),
        *("report", "report_audio", "labels", "groups", "figures"),
    ),
    "kad": ("bandwidth",),
}
"""The metric that each option speaks to."""
_IDLE = {
    "exact": ("epsilon", "divergence", "strict"),
    "sliced": ("epsilon", "divergence", "strict", "max_memory"),
    "minibatch": ("max_memory",),
}
"""What a coupling has no use for."""


def add_metric_options(parser: argparse.ArgumentParser) -> None:
    """Which metrics, and how each of them is computed."""
    which = parser.add_argument_group("metric (default: OTAD)").add_mutually_exclusive_group()
    which.add_argument("--fad", action="store_true", help="Fréchet Audio Distance instead")
    which.add_argument("--kad", action="store_true", help="Kernel Audio Distance instead")
    which.add_argument(
        *("--metrics",),
        type=_metrics,
        metavar="LIST",
        help="several in one run, as otad,fad,kad",
    )
    parser.add_argument(
        *("--bandwidth",),
        type=_bandwidth,
        metavar="SIGMA",
        help="of KAD's kernel: a number, or the median distance within the evaluated set (eval, "
        "default), the reference (ref) or both (pooled)",
    )
    otad = parser.add_argument_group("OTAD")
    otad.add_argument(
        *("--variant",),
        choices=["agnostic", "native", "artifact", "raw"],
        help="ground metric (default: agnostic where that adapter has earned its place, else raw)",
    )
    otad.add_argument(
        *("--epsilon",),
        type=positive_float,
        metavar="E",
        help=f"entropic regularisation (default: {DEFAULT_EPSILON})",
    )
    otad.add_argument(
        *("--epsilon-scale",),
        choices=["absolute", "mean_cost", "median_cost"],
        help="what epsilon is a multiple of: 1 (absolute, default), or the mean or median cost",
    )
    otad.add_argument(
        *("--divergence",),
        choices=["sharp", "entropic"],
        help="transport cost alone (sharp, default), or with the entropy term",
    )
    otad.add_argument(
        *("--coupling",),
        choices=["sinkhorn", "exact", "minibatch", "sliced"],
        help="how the sets are coupled (default: sinkhorn); the last two are approximations",
    )
    otad.add_argument(
        *("--max-memory",),
        type=_bytes,
        metavar="SIZE",
        help="what the solver may take, as 500M or 4G (default: a quarter of what is free, 1.8G at most)",
    )
    otad.add_argument("--adapter-checkpoint", type=Path, metavar="FILE", help="an adapter file")
    otad.add_argument(
        *("--compat",),
        choices=["otadtk-0.1.2"],
        help="reproduce that package: its arithmetic, its adapters, the networks it really runs",
    )
    otad.add_argument(
        "--strict", action="store_true", help="exit 5 when the solver has not converged"
    )


def chosen_metrics(options: argparse.Namespace) -> tuple[str, ...]:
    """The metrics that were asked for, in their order."""
    if options.metrics is not None:
        chosen: tuple[str, ...] = options.metrics
        return chosen
    return ("fad",) if options.fad else ("kad",) if options.kad else ("otad",)


def check_metric_options(options: argparse.Namespace) -> None:
    """An option that would do nothing is an error, never silently dropped."""
    chosen = chosen_metrics(options)
    for owner, names in _OWNERS.items():
        for name in names:
            if owner not in chosen and getattr(options, name, None) not in (None, False):
                flag = "--" + name.replace("_", "-")
                raise UsageError(
                    f"{flag} belongs to {owner.upper()}; remove it or add {owner} to --metrics."
                )
    for name in _IDLE.get(options.coupling, ()):
        if getattr(options, name, None) not in (None, False):
            flag = "--" + name.replace("_", "-")
            raise UsageError(f"{flag} does nothing with --coupling {options.coupling}; remove it.")
    if options.compat is not None and options.max_memory is not None:
        raise UsageError("--max-memory does nothing with --compat; remove it.")


def check_source_options(options: argparse.Namespace, places: Sequence[Path]) -> None:
    """The same for what belongs to embedding, where nothing is embedded."""
    from otadtk.sources import holds_embeddings

    why = "embeddings that are given"
    if not all(holds_embeddings(place) for place in places):
        if options.import_cache is None:
            return
        why = f"--import-cache {options.import_cache}"
    elif options.import_cache is not None:
        raise UsageError(f"--import-cache does nothing with {why}; remove it.")
    for flag, given in {
        "--force-emb-encode": options.force_emb_encode,
        "--on-error skip": options.on_error != "fail",
        "--weights": options.weights is not None,
    }.items():
        if given:
            raise UsageError(f"{flag} does nothing with {why}; remove it.")


def make_metrics(
    options: argparse.Namespace, model: str, engine: Engine | None = None
) -> list[AudioMetric]:
    """The metrics that were asked for, each with its own options."""
    from otadtk.metrics import FAD, KAD, OTAD

    common: EmbeddingOptions = {
        "device": options.device,
        "weights": options.weights,
        "cache_dir": options.cache_dir,
        "recursive": options.recursive,
        "on_error": options.on_error,
        "force_recompute": options.force_emb_encode,
        "frames": getattr(options, "frames", None),
        "import_cache": getattr(options, "import_cache", None),
        "engine": engine,
    }

    def make(name: str) -> AudioMetric:
        if name == "fad":
            return FAD(model, **common)
        if name == "kad":
            return KAD(model, bandwidth=options.bandwidth or "eval", **common)
        return OTAD(
            model,
            variant=options.variant,
            epsilon=options.epsilon or DEFAULT_EPSILON,
            epsilon_scale=options.epsilon_scale or "absolute",
            divergence=options.divergence or "sharp",
            coupling=options.coupling or "sinkhorn",
            seed=options.seed or 0,
            max_memory=options.max_memory,
            adapter_checkpoint=options.adapter_checkpoint,
            compat=options.compat,
            **common,
        )

    return [make(name) for name in chosen_metrics(options)]


def _metrics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(text.lower().split(",")))
    for name in names:
        if name not in METRICS:
            known = ",".join(METRICS)
            raise argparse.ArgumentTypeError(f"{name!r} is no metric; choose from {known}")
    return names


def _bandwidth(text: str) -> float | str:
    return text if text in ("eval", "ref", "pooled") else positive_float(text)


def _bytes(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    unit = units.get(text[-1:].upper(), 1)
    return int(positive_float(text[:-1] if unit > 1 else text) * unit)
