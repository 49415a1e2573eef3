"""``otadtk-trend MODEL REF step_*/``: the score of a model over its training, with what is noise."""

from __future__ import annotations

import argparse
import glob
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.inputs.tracked import (
    add_reference,
    add_tracked_options,
    embed_reference,
    one_metric,
)
from otadtk.cli.shared.common_options import positive_int
from otadtk.cli.shared.engine_options import chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.cli.shared.output_files import check_output
from otadtk.cli.shared.ranking_table import print_trend
from otadtk.cli.shared.scoring import provenance
from otadtk.errors import AudioError, UsageError

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.tracking.journal import Journal
    from otadtk.tracking.record import Record

logger = logging.getLogger(__name__)

DEFAULT_OUT = Path("trend")
DEFAULT_EVERY = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-trend",
        usage="%(prog)s MODEL REF STEP [STEP ...] [options]\n"
        "       %(prog)s MODEL REF 'step_*/' --watch [options]",
        description="Score the clips of every checkpoint against one reference: score with floor and "
        "interval against the step, which change is more than noise, and the clips that got worse. A "
        "second run embeds and solves only what is new.",
        epilog=EXIT_CODES,
    )
    add_reference(parser, "reference clips")
    parser.add_argument(
        "steps",
        nargs="+",
        metavar="STEP",
        help="the clips of a checkpoint, or a pattern in quotes, as 'runs/step_*/'; the last number of "
        "a name is the step",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=DEFAULT_OUT,
        metavar="DIR",
        help="where trend.html, trend.png and the documents of the steps go (default: trend)",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="wait for new steps of a pattern until Ctrl-C; a step counts once its files have not "
        "changed for --every seconds",
    )
    parser.add_argument(
        "--every",
        type=positive_int,
        metavar="S",
        help=f"seconds between two looks of --watch (default: {DEFAULT_EVERY})",
    )
    add_tracked_options(parser, seed="0")
    return parser


def _run(options: argparse.Namespace) -> None:
    with chosen_engine(options) as engine:
        _trend(options, engine)


def _trend(options: argparse.Namespace, engine: Engine) -> None:
    from otadtk.tracking.journal import Journal

    _check(options)
    found = _steps(options.steps)
    if not found and not options.watch:
        raise UsageError(f"No step matches {' '.join(options.steps)}.")
    reference = embed_reference(options, found, engine)
    made = provenance(options, reference.metric.device)
    journal = Journal(options.out / "steps", reference, made)
    records: dict[Path, Record] = {}
    if not options.watch:
        for path in found:
            records[path] = _score(journal, path)
        _write(records, journal, options)
        return
    try:
        _watch(records, journal, options)
    except KeyboardInterrupt:
        logger.info("ended; %d steps are in %s", len(records), options.out)


def _check(options: argparse.Namespace) -> None:
    one_metric(options, "A trend shows")
    if options.every is not None and not options.watch:
        raise UsageError("--every belongs to --watch; remove it or add --watch.")
    if options.watch and not any(map(_is_pattern, options.steps)):
        raise UsageError("--watch needs a pattern in quotes, as 'step_*/', to find new steps.")
    check_output(options.out / "trend.html")


def _is_pattern(text: str) -> bool:
    return glob.has_magic(text) and not Path(text).exists()


def _steps(given: Sequence[str]) -> list[Path]:
    """The steps that are named or match a pattern, each once."""
    found: dict[Path, None] = {}
    for text in given:
        matches = sorted(glob.glob(text)) if _is_pattern(text) else [text]  # noqa: PTH207
        found |= dict.fromkeys(Path(match) for match in matches)
    return list(found)


def _score(journal: Journal, path: Path) -> Record:
    """The record of a step; a line says what was done for it."""
    reference = journal.reference
    evaluated = reference.metric.embed(path)
    solved = journal.solved
    record = journal.record(path, evaluated)
    how = "scored" if journal.solved > solved else "as before"
    logger.info(
        "%s: %d clips (%d embedded now), %s", path, len(evaluated.files), evaluated.encoded, how
    )
    return record


def _watch(records: dict[Path, Record], journal: Journal, options: argparse.Namespace) -> None:
    """Score steps as they appear, until the user interrupts."""
    every = options.every or DEFAULT_EVERY
    failed: dict[Path, float] = {}
    logger.info("waiting for %s; Ctrl-C ends", " ".join(options.steps))
    while True:
        new = False
        for path in _steps(options.steps):
            changed = _last_change(path)
            if path in records or time.time() - changed < every or failed.get(path) == changed:
                continue
            try:
                records[path] = _score(journal, path)
                new = True
            except AudioError as error:  # it may be mended, and then counts
                logger.warning("%s is left out: %s", path, error)
                failed[path] = changed
        if new:
            _write(records, journal, options)
        time.sleep(every)


def _last_change(path: Path) -> float:
    """When the newest file of a step changed."""
    try:
        files = [path, *path.rglob("*")] if path.is_dir() else [path]
        return max(file.stat().st_mtime for file in files)
    except FileNotFoundError:  # a temporary file that is gone again
        return time.time()


def _write(records: dict[Path, Record], journal: Journal, options: argparse.Namespace) -> None:
    """Print the trend, and write the page and the picture."""
    from otadtk.report.trend_figure import has_matplotlib, write_trend_figure
    from otadtk.report.trend_page import write_trend_page
    from otadtk.tracking.trend import in_order

    names = [path.name for path in records]
    unique = len(set(names)) == len(names)
    trend = in_order({p.name if unique else str(p): record for p, record in records.items()})
    print_trend(trend)
    page = write_trend_page(
        trend,
        options.out / "trend.html",
        command=options.command_line,
        reading=journal.reference.metric.spec.reading,
        clips=journal.clips,
    )
    logger.info(
        "%d step%s scored now, %d as before; %d clips embedded; the page is in %s",
        journal.solved,
        "" if journal.solved == 1 else "s",
        journal.known,
        journal.embedded,
        page,
    )
    if has_matplotlib():
        logger.info("the picture is in %s", write_trend_figure(trend, options.out / "trend.png"))
    else:
        logger.info('no trend.png: it needs matplotlib (pip install "otadtk-audio[report]")')


if __name__ == "__main__":
    raise SystemExit(main())
