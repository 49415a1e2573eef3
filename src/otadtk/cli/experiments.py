"""``otadtk-experiments NAME --data DIR --out DIR``: reproduce the experiments of the paper."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.shared.common_options import add_version, positive_int
from otadtk.cli.shared.engine_options import add_engine_options, chosen_engine
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import UsageError
from otadtk.experiments import EXPERIMENTS

if TYPE_CHECKING:
    from otadtk.engine import Engine
    from otadtk.experiments.run import Request

logger = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-experiments",
        description="Reproduce the experiments of the paper: rows into NAME.csv, tables into "
        "NAME.md and NAME.tex, figures into NAME-*.svg and NAME-*.pdf.",
        epilog=f"The same command resumes a killed run. {EXIT_CODES}",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="one or more experiments, or all; list: print their names; show: redraw tables and "
        "figures from the CSV files in DIR; page FILE.md: put them into a page",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="labelled clips: ESC-50 as published (audio/, meta/esc50.csv), a folder per class, or "
        "labels.csv",
    )
    parser.add_argument(
        "-m",
        "--model",
        nargs="+",
        help="encoders (default: yamnet; for listening yamnet and logmel)",
    )
    parser.add_argument(
        "--variant",
        nargs="+",
        help="listening: variants of OTAD's ground metric (default: all that a model has)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="folder of the results (default: results)",
    )
    parser.add_argument("--quick", action="store_true", help="a small version, in seconds")
    parser.add_argument("--no-figures", dest="figures", action="store_false", help="tables only")
    parser.add_argument(
        "--foley",
        type=Path,
        metavar="DIR",
        help="mos: <system>/<category>/*.wav and reference/<category>/*.wav (default: a small "
        "synthesised tree)",
    )
    parser.add_argument(
        "--ratings",
        type=Path,
        nargs="+",
        default=[],
        metavar="FILE",
        help="listening: tests as CSV files with the columns file, system, item, reference, "
        "rating[, rater], as results of webMUSHRA, or as dissimilarity matrices; mos, "
        "mos-published: a CSV with the columns submission, alg, category, criterion, mos",
    )
    parser.add_argument(
        "--sounds",
        type=Path,
        metavar="DIR",
        help="listening: sounds of a webMUSHRA test (TRIAL/STIMULUS.wav) or of a matrix (its rows "
        "in the order of the sorted names)",
    )
    parser.add_argument(
        "--stimuli",
        type=Path,
        metavar="CSV",
        help="listening: trial_id, stimulus, file[, system, item, reference] of a webMUSHRA test",
    )
    parser.add_argument(
        "--reference",
        metavar="DIR_OR_SYSTEM",
        help="listening: references of clips that name none: a folder of sounds, or the system "
        "whose clips they are",
    )
    parser.add_argument(
        "--distances", type=Path, metavar="CSV", help="mos-published: encoder,alg,category,fad"
    )
    parser.add_argument(
        "--peers",
        type=Path,
        metavar="DIR",
        help="equivalence: folder with kadtk 1.1 and otadtk 0.1.2, unpacked",
    )
    parser.add_argument("--workers", type=positive_int, metavar="N", help="tasks at a time")
    parser.add_argument("--cache-dir", type=Path, metavar="DIR", help="where embeddings are kept")
    parser.add_argument("-q", "--quiet", action="store_true", help="warnings and errors only")
    add_engine_options(parser)
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    first, *others = options.names
    if first in ("list", "page", "show") and options.engine != "local":
        raise UsageError(f"--engine does nothing with {first}, which computes nothing; remove it.")
    if first == "list":
        for name, summary in EXPERIMENTS.items():
            print(f"{name:15} {summary}")
    elif first == "page":
        _page(others, options.out)
    elif first == "show":
        _show(others or list(EXPERIMENTS), options)
    else:
        _experiments(list(EXPERIMENTS) if options.names == ["all"] else options.names, options)


def _page(files: Sequence[str], out: Path) -> None:
    from otadtk.experiments.page import refresh

    if len(files) != 1:
        raise UsageError(
            "Name one page to refresh: otadtk-experiments page docs/evidence/results.md."
        )
    for name in refresh(Path(files[0]), out):
        logger.info("%s is up to date with %s", name, out)


def _show(names: Sequence[str], options: argparse.Namespace) -> None:
    from otadtk.experiments import get_experiment
    from otadtk.experiments.run import show

    for name in names:
        results = options.out / f"{name}.csv"
        experiment = get_experiment(name)
        if not results.is_file():
            raise UsageError(f"There is no {results}: run otadtk-experiments {name} first.")
        for path in show(experiment, results, figures=options.figures):
            print(path)


def _experiments(names: Sequence[str], options: argparse.Namespace) -> None:
    from otadtk.experiments import get_experiment
    from otadtk.experiments.run import run

    with chosen_engine(options) as engine:
        request = _request(options, engine)
        for experiment in [get_experiment(name) for name in names]:
            for path in run(experiment, request):
                print(path)


def _request(options: argparse.Namespace, engine: Engine) -> Request:
    from otadtk.experiments.run import Request

    return Request(
        out=options.out,
        data=options.data,
        models=tuple(dict.fromkeys(options.model)) if options.model else (),
        variants=tuple(dict.fromkeys(options.variant)) if options.variant else None,
        quick=options.quick,
        workers=options.workers,
        cache_dir=options.cache_dir,
        engine=engine,
        figures=options.figures,
        peers=options.peers,
        foley=options.foley,
        ratings=tuple(options.ratings),
        sounds=options.sounds,
        stimuli=options.stimuli,
        reference=options.reference,
        distances=options.distances,
    )


if __name__ == "__main__":
    raise SystemExit(main())
