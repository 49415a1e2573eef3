"""``otadtk MODEL REF EVAL``: the distance of two folders of audio, and the clips that cause it."""

from __future__ import annotations

import argparse
import csv
import io
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.command import (
    EXIT_CODES,
    add_common_options,
    check_output,
    execute,
    positive_float,
    positive_int,
)
from otadtk.errors import AudioError, NotConvergedError, UsageError

if TYPE_CHECKING:
    from otadtk.audit import PairAudit
    from otadtk.diagnosis import OTADDiagnostics
    from otadtk.embed import EmbeddingSet
    from otadtk.metrics import AudioMetric, EmbeddingOptions

logger = logging.getLogger(__name__)

DEFAULT_EPSILON = 0.1
DEFAULT_TOP_K = 10
_OTAD_ONLY = (
    *(
        "variant",
        "epsilon",
        "epsilon_scale",
        "divergence",
        "coupling",
        "seed",
        "max_memory",
        "compat",
    ),
    *("adapter_checkpoint", "diagnose", "top_k", "diag_out", "indiv", "strict"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk",
        description="How far is a folder of evaluated clips from a folder of reference clips, "
        "and which clips are bad? The score goes to stdout, notes and progress to stderr.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("model", help="an encoder of otadtk-list-models, or path/to/file.py:Class")
    parser.add_argument("ref", type=Path, help="folder (or file) of reference clips")
    parser.add_argument("eval", type=Path, help="folder (or file) of evaluated clips")

    metric = parser.add_argument_group("metric (default: OTAD)").add_mutually_exclusive_group()
    metric.add_argument("--fad", action="store_true", help="Fréchet Audio Distance instead")
    metric.add_argument("--kad", action="store_true", help="Kernel Audio Distance instead")
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
    otad.add_argument("--seed", type=int, help="of the approximations (default: 0)")
    otad.add_argument(
        *("--max-memory",),
        type=_bytes,
        metavar="SIZE",
        help="what the solver may take, as 500M or 4G (default: a quarter of what is free, 1.7G at most)",
    )
    otad.add_argument("--adapter-checkpoint", type=Path, metavar="FILE", help="an adapter file")
    otad.add_argument(
        *("--compat",),
        choices=["otadtk-0.1.2"],
        help="reproduce that package: its arithmetic, its adapters, the networks it really runs",
    )
    otad.add_argument(
        "--diagnose", action="store_true", help="print the clips of largest transport cost"
    )
    otad.add_argument(
        *("--top-k",),
        type=positive_int,
        metavar="K",
        help=f"how many clips --diagnose prints (default: {DEFAULT_TOP_K})",
    )
    otad.add_argument("--diag-out", type=Path, metavar="CSV", help="write file,cj of every clip")
    otad.add_argument("--indiv", type=Path, metavar="CSV", help="the same, sorted by cost")
    otad.add_argument(
        "--strict", action="store_true", help="exit 5 when the solver has not converged"
    )
    parser.add_argument("--csv", type=Path, metavar="CSV", help="append the score as one row")
    parser.add_argument(
        *("--audit-only",),
        action="store_true",
        help="report odd clips, duplicates and leakage between the sets; score nothing",
    )
    add_common_options(parser)
    return parser


def _bandwidth(text: str) -> float | str:
    return text if text in ("eval", "ref", "pooled") else positive_float(text)


def _bytes(text: str) -> int:
    units = {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
    unit = units.get(text[-1:].upper(), 1)
    return int(positive_float(text[:-1] if unit > 1 else text) * unit)


def _run(options: argparse.Namespace) -> None:
    _check_combination(options)
    for path in (options.diag_out, options.indiv, options.csv):
        check_output(path)
    metric = _metric(options)
    reference = metric.embed(options.ref, workers=options.workers)
    evaluated = metric.embed(options.eval, workers=options.workers)
    audit = _describe(metric, reference, evaluated)
    if options.audit_only:
        _conclude(audit, options.on_error)
        return
    started = time.perf_counter()
    diagnostics = None
    if options.fad or options.kad:
        score, variant = metric.distance(reference.vectors, evaluated.vectors), ""
    else:
        diagnostics = _diagnose(metric, reference, evaluated, strict=options.strict)
        score, variant = diagnostics.score, diagnostics.variant
    seconds = time.perf_counter() - started

    print(f"{metric.name}: {score:.6f}", flush=True)
    if options.csv is not None:
        row = [metric.name, options.model, variant, options.ref, options.eval, score, seconds]
        _append_row(options.csv, row)
    if diagnostics is None:
        return
    if options.diagnose:
        _print_worst(diagnostics, options.top_k or DEFAULT_TOP_K)
    if options.diag_out is not None:
        diagnostics.to_csv(options.diag_out)
        logger.info("per-clip costs are in %s", options.diag_out)
    if options.indiv is not None:
        diagnostics.to_csv(options.indiv, ascending=True)
        logger.info("per-clip costs, sorted, are in %s", options.indiv)


def _check_combination(options: argparse.Namespace) -> None:
    """An option that would do nothing is an error, never silently dropped."""
    if options.audit_only:
        for name in ("fad", "kad", "bandwidth", "csv", *_OTAD_ONLY):
            if getattr(options, name) not in (None, False):
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"{flag} does nothing with --audit-only; remove one of them.")
    if options.bandwidth is not None and not options.kad:
        raise UsageError("--bandwidth belongs to --kad; remove it or add --kad.")
    if options.fad or options.kad:
        for name in _OTAD_ONLY:
            if getattr(options, name) not in (None, False):
                flag = "--" + name.replace("_", "-")
                chosen = "--fad" if options.fad else "--kad"
                raise UsageError(f"{flag} belongs to OTAD; remove it or {chosen}.")
    if options.coupling in ("exact", "sliced") and options.epsilon is not None:
        raise UsageError(f"--epsilon does nothing with --coupling {options.coupling}; remove it.")
    if options.seed is not None and options.coupling not in ("minibatch", "sliced"):
        raise UsageError("--seed belongs to --coupling minibatch or sliced; remove it.")
    if options.top_k is not None and not options.diagnose:
        raise UsageError("--top-k belongs to --diagnose; remove it or add --diagnose.")


def _metric(options: argparse.Namespace) -> AudioMetric:
    from otadtk.metrics import FAD, KAD, OTAD

    common: EmbeddingOptions = {
        "device": options.device,
        "weights": options.weights,
        "cache_dir": options.cache_dir,
        "recursive": options.recursive,
        "on_error": "skip" if options.audit_only else options.on_error,
        "force_recompute": options.force_emb_encode,
    }
    if options.fad or options.audit_only:
        return FAD(options.model, **common)
    if options.kad:
        return KAD(options.model, bandwidth=options.bandwidth or "eval", **common)
    return OTAD(
        options.model,
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


def _describe(metric: AudioMetric, reference: EmbeddingSet, evaluated: EmbeddingSet) -> PairAudit:
    """Notes on what is being compared: counts, files left out, what the audit found."""
    from otadtk.audit import audit_sets

    for name, side in {"reference": reference, "evaluated": evaluated}.items():
        cached = len(side.files) - side.encoded
        clips = "clip" if len(side.files) == 1 else "clips"
        logger.info("%d %s %s (%d from the cache)", len(side.files), name, clips, cached)
    minimum = metric.spec.minimum_samples / metric.spec.sample_rate
    audit = audit_sets(reference, evaluated, minimum_seconds=minimum)
    for line in audit.warnings():
        logger.warning("%s", line)
    return audit


def _conclude(audit: PairAudit, on_error: str) -> None:
    """The end of ``--audit-only``: how many findings, and a failure if audio is bad."""
    bad = [side.unreadable or side.not_finite for side in (audit.reference, audit.evaluated)]
    if any(bad) and on_error == "fail":
        raise AudioError("some files cannot be scored (--on-error skip leaves them out).")
    count = len(audit.warnings())
    print(f"audit: {count or 'no'} finding{'' if count == 1 else 's'}")


def _diagnose(
    metric: AudioMetric, reference: EmbeddingSet, evaluated: EmbeddingSet, *, strict: bool
) -> OTADDiagnostics:
    from otadtk.metrics import OTAD

    assert isinstance(metric, OTAD)
    diagnostics = metric.diagnose_embedded(reference, evaluated)
    result = diagnostics.transport
    assert result is not None
    logger.info(
        "OTAD with %s, variant %s: %s", metric.model_name, metric.variant, result.describe()
    )
    if diagnostics.volume is not None:
        logger.info("the adapter changes volumes: %s", diagnostics.volume)
    if strict and not result.converged:
        raise NotConvergedError(f"{result.notes[-1]} (--strict)")
    return diagnostics


def _print_worst(diagnostics: OTADDiagnostics, count: int) -> None:
    flags = dict(zip(diagnostics.files, diagnostics.flags, strict=True))
    print(f"\n{'c_j':>12}  worst clips")
    for file, cost in diagnostics.top_k(count):
        note = f"  [{', '.join(flags[file])}]" if flags[file] else ""
        print(f"{cost:12.6g}  {file}{note}")


def _append_row(path: Path, row: Sequence[object]) -> None:
    """Append to the CSV, with its header when the file is new, in one write."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists() or path.stat().st_size == 0:
        writer.writerow(["metric", "model", "variant", "ref", "eval", "score", "time"])
    writer.writerow(row)
    with path.open("ab") as file:
        file.write(text.getvalue().encode("utf-8", "surrogateescape"))


if __name__ == "__main__":
    raise SystemExit(main())
