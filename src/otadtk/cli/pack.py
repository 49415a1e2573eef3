"""``otadtk-pack REF -m MODEL -o FILE.otadpack``: the embeddings of a reference set in one file."""

from __future__ import annotations

import argparse
import logging
import shlex
from collections.abc import Sequence
from pathlib import Path

from otadtk.adapter import VARIANTS
from otadtk.cli.inputs.reading_options import add_reading_options
from otadtk.cli.shared.common_options import add_common_options
from otadtk.cli.shared.execute import EXIT_CODES, execute, suggest
from otadtk.cli.shared.metric_options import embedding_options
from otadtk.cli.shared.output_files import check_output
from otadtk.errors import UsageError

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-pack",
        usage="%(prog)s REF [-m MODEL] -o FILE [options]",
        description="Write the embeddings of a reference set, with names, hashes and provenance, "
        "into one file that can be used as REF.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "ref", type=Path, help="reference clips: a folder, glob, @list, manifest or shard"
    )
    parser.add_argument("-m", "--model", default="yamnet", help="encoder (default: yamnet)")
    parser.add_argument(
        "--variant",
        choices=VARIANTS,
        help="pack the features that this variant takes (default: the encoder's default variant); "
        "raw packs the embedding alone",
    )
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.otadpack")
    add_reading_options(parser)
    add_common_options(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    from otadtk.embed.formats.pack import PACK_SUFFIX
    from otadtk.embed.formats.table import export_set
    from otadtk.engine import LocalEngine
    from otadtk.metrics import OTAD

    if options.out.suffix.lower() != PACK_SUFFIX:
        raise UsageError(f"{options.out} must end in {PACK_SUFFIX}.")
    check_output(options.out)
    metric = OTAD(
        options.model,
        variant=options.variant,
        **embedding_options(options, LocalEngine(options.workers)),
    )
    embedded = metric.embed(options.ref)
    for clip in embedded.bad:
        logger.warning("left out: %s: %s", clip.path, clip.reason)
    export_set(embedded, options.ref, options.out, metric.spec)
    size = options.out.stat().st_size
    print(f"{options.out}: {len(embedded.files)} clips by {metric.model_name}, {size:,} bytes")
    suggest(shlex.join(["otadtk", options.model, str(options.out), "EVAL"]), "a score against it")


if __name__ == "__main__":
    raise SystemExit(main())
