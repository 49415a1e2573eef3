"""``otadtk-train MODEL --data DIR``: train an adapter."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from otadtk.cli.shared.common_options import add_version, positive_int, seed_number
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.output_files import check_output
from otadtk.metrics.entry import positive_float

logger = logging.getLogger(__name__)


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
    for name, value in trained.card.validation.items():
        logger.info("%s: %.4f", name, value)
    logger.info("log in %s, curve in %s", trained.log, trained.picture)
    print(f"{trained.path}  {digest_of(trained.path)}")


if __name__ == "__main__":
    raise SystemExit(main())
