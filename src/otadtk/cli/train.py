"""``otadtk-train MODEL --data DIR``: train an adapter."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from otadtk.cli.shared.common_options import add_version, positive_int, seed_number
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.output_files import check_output
from otadtk.metrics.entry import positive_float

logger = logging.getLogger(__name__)

_RAW = "raw "
_MEANS = ("auroc, unseen kinds", "auroc, trained kinds", "auroc, families")
"""The figures that tell most, first choice first."""
_ALIKE = 0.01
"""A smaller difference of two AUROCs tells nothing at these numbers of clips."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-train",
        description="Train an adapter (a learned ground metric) for an encoder on labelled clips: "
        "a folder per class, a CSV with the columns file and label, or FSD50K as published.",
        epilog=f"The same command resumes a killed run. {EXIT_CODES}",
    )
    parser.add_argument("model", help="an encoder of otadtk-list-models, or path/to/file.py:Class")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the clips")
    parser.add_argument(
        "--labels", type=Path, metavar="CSV", help="file,label[,source,recording] below DIR"
    )
    parser.add_argument(
        "--variant",
        choices=["agnostic", "native", "artifact", "perceptual"],
        default="agnostic",
        help="the training objective (default: agnostic)",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the adapter")
    parser.add_argument(
        "--start", type=Path, metavar="FILE", help="the agnostic adapter a native one starts from"
    )
    parser.add_argument("--licence", default="unknown", help="of the adapter, for its card")
    parser.add_argument("--seed", type=seed_number, default=0, help="(default: 0)")
    recipe = parser.add_argument_group("recipe (defaults depend on the variant)")
    recipe.add_argument("--epochs", type=positive_int, metavar="N", help="at most")
    recipe.add_argument("--steps", type=positive_int, metavar="N", help="batches per epoch")
    recipe.add_argument("--batch", type=positive_int, metavar="N")
    recipe.add_argument("--learning-rate", type=positive_float, metavar="R")
    recipe.add_argument("--patience", type=positive_int, metavar="N", help="epochs")
    recipe.add_argument("--margin", type=positive_float, metavar="M")
    recipe.add_argument("--epsilon", type=positive_float, metavar="E", help="of native")
    recipe.add_argument("--fault-weight", type=positive_float, metavar="W", help="of faults")
    recipe.add_argument("--feature-weight", type=positive_float, metavar="W", help="of artifact")
    parser.add_argument(
        "--device", help="for embedding: cpu, cuda … (default: cuda if there is one)"
    )
    parser.add_argument("--workers", type=positive_int, metavar="N", help="clips at a time")
    parser.add_argument("--cache-dir", type=Path, metavar="DIR", help="where embeddings are kept")
    parser.add_argument("--weights", type=Path, metavar="PATH", help="the encoder's own weights")
    parser.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    check_output(options.out)
    from otadtk.training.config import TrainingConfig
    from otadtk.training.train import train_adapter
    from otadtk.weights import digest_of

    names = (
        "epochs",
        "steps",
        "batch",
        "learning_rate",
        "patience",
        "margin",
        "epsilon",
        "fault_weight",
        "feature_weight",
    )
    changes = {n: getattr(options, n) for n in names if getattr(options, n) is not None}
    trained = train_adapter(
        options.model,
        options.data,
        options.out,
        TrainingConfig.for_variant(options.variant, seed=options.seed, **changes),
        labels=options.labels,
        start=options.start,
        licence=options.licence,
        device=options.device,
        weights=options.weights,
        cache_dir=options.cache_dir,
        workers=options.workers,
    )
    for line in summary_lines(trained.card.validation):
        logger.info("%s", line)
    logger.info("log in %s, curve in %s", trained.log, trained.picture)
    logger.info(
        "use it: otadtk %s REF EVAL --adapter-checkpoint %s; or otadtk-adapters import %s, and then "
        "--variant %s",
        options.model,
        trained.path,
        trained.path,
        options.variant,
    )
    print(f"{trained.path}  {digest_of(trained.path)}")


def summary_lines(figures: Mapping[str, float]) -> list[str]:
    """The figures on held-out classes: raw against trained, most important first, and a verdict.

    >>> summary_lines({"auroc, unseen kinds": 0.9, "raw auroc, unseen kinds": 0.8})[-1]
    'verdict: it finds faults of unseen kinds better than raw embeddings: AUROC 0.900 instead of 0.800'
    """
    rows = []
    for name, value in figures.items():
        before = figures.get(f"{_RAW}{name}")
        if not name.startswith(_RAW) and before is not None:
            rows.append((name not in _MEANS, before - value, name, before, value))
    if not rows:
        return [f"{name}: {value:.4f}" for name, value in figures.items()]
    wide = max(len(name) for _, _, name, _, _ in rows)
    lines = [f"{'on held-out classes':<{wide}}     raw  trained   change"]
    lines += [
        f"{name:<{wide}}  {before:6.3f}  {value:7.3f}  {value - before:+7.3f}"
        for _, _, name, before, value in sorted(rows)
    ]
    alone = [n for n in figures if not n.startswith(_RAW) and f"{_RAW}{n}" not in figures]
    lines += [f"{name:<{wide}}          {figures[name]:7.3f}" for name in alone]
    return [*lines, *_verdict(figures)]


def _verdict(figures: Mapping[str, float]) -> list[str]:
    """One line on the mean that tells most: faults that training did not contain."""
    for name in _MEANS:
        before, value = figures.get(f"{_RAW}{name}"), figures.get(name)
        if before is None or value is None:
            continue
        kinds = name.removeprefix("auroc, ")
        if value > before + _ALIKE:
            found = f"it finds faults of {kinds} better than raw embeddings"
        elif value < before - _ALIKE:
            found = f"it finds faults of {kinds} WORSE than raw embeddings, so do not use it"
        else:
            found = f"it finds faults of {kinds} as raw embeddings do, so it gains nothing there"
        return [f"verdict: {found}: AUROC {value:.3f} instead of {before:.3f}"]
    return []


if __name__ == "__main__":
    raise SystemExit(main())
