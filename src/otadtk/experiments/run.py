"""Runs an experiment: its tasks into rows, kept as they come; then CSV, tables and figures."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from tqdm import tqdm

from otadtk import __version__
from otadtk.adapter import known_variants
from otadtk.atomic import replacing
from otadtk.encoders import get_spec
from otadtk.engine import Engine, default_workers
from otadtk.errors import UsageError
from otadtk.experiments.data import Dataset, Embedded, read_clips
from otadtk.experiments.figure import save
from otadtk.experiments.rows import Row, read_rows, write_rows
from otadtk.experiments.table import Table
from otadtk.store import EmbeddingStore
from otadtk.weights import digest_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """What the user asks for: the data, the models, where results go, and how large a run."""

    out: Path
    data: Path | None = None
    models: tuple[str, ...] = ("yamnet",)
    quick: bool = False
    workers: int | None = None
    cache_dir: Path | None = None
    engine: Engine | None = None
    """Where clips are embedded (default: on ``workers`` threads of this process)."""
    figures: bool = True
    peers: Path | None = None
    """Folder with kadtk and otadtk 0.1.2 unpacked (equivalence)."""
    foley: Path | None = None
    """Folder of generated clips, systems × categories, with a reference (mos)."""
    ratings: Path | None = None
    """CSV of human ratings (mos, mos-published)."""
    distances: Path | None = None
    """CSV of distances computed elsewhere (mos-published)."""


class Source:
    """The request with what follows from it: the dataset and its embeddings, read when needed."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.store = EmbeddingStore(request.cache_dir)
        self._dataset: Dataset | None = None
        self._embedded: dict[str, Embedded] = {}
        self.closing = ExitStack()
        """What is to be cleared away when the run ends, such as temporary folders."""

    @property
    def dataset(self) -> Dataset:
        """The labelled clips."""
        if self._dataset is None:
            if self.request.data is None:
                raise UsageError("This experiment needs labelled clips: --data path/to/ESC-50.")
            self._dataset = read_clips(self.request.data)
            if self.request.quick:
                self._dataset = self._dataset.subset(*QUICK_SUBSET, seed=0)
        return self._dataset

    def embedded(self, model: str) -> Embedded:
        """The dataset through one model."""
        if model not in self._embedded:
            request = self.request
            self._embedded[model] = Embedded(
                *(self.dataset, model, self.store), workers=request.workers, engine=request.engine
            )
        return self._embedded[model]


QUICK_SUBSET = (5, 2)
"""Classes, and clips of each in a fold, of a quick run."""


@dataclass(frozen=True)
class Task:
    """One piece of an experiment: a name that is unique in it, and what computes its rows."""

    name: str
    compute: Callable[[], list[Row]]


@dataclass(frozen=True)
class Experiment:
    """What makes an experiment: its two configurations, its tasks, and how its rows are shown."""

    name: str
    config: Any
    """The frozen configuration of the published results."""
    quick: Any
    """A small one, which shows in seconds that everything works."""
    tasks: Callable[[Any, Source], list[Task]]
    tables: Callable[[Sequence[Row]], list[Table]]
    draw: Callable[[Sequence[Row]], dict[str, Figure]]
    needs_data: bool = True
    alone: bool = False
    """Whether tasks must run one at a time, because they measure time."""
    timed: tuple[str, ...] = field(default=())
    """Columns that hold times or memory, which no second run repeats exactly."""


def run(experiment: Experiment, request: Request) -> list[Path]:
    """Compute what is missing and write the results; gives the files in the order of writing.

    A killed run goes on where it was: the rows of every finished task are kept beside the results
    until the last one is there.
    """
    config = experiment.quick if request.quick else experiment.config
    _check(request)
    source = Source(request)
    if experiment.needs_data:
        logger.info("%s: %d clips", experiment.name, len(source.dataset.clips))
    record = _record(experiment, config, source)
    request.out.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:12]
    parts = request.out / f".{experiment.name}-{digest}"
    parts.mkdir(exist_ok=True)
    with source.closing:
        rows = _all_rows(experiment, experiment.tasks(config, source), parts, request)
    target = request.out / f"{experiment.name}.csv"
    write_rows(target, rows)
    described = request.out / f"{experiment.name}.json"
    _write(described, json.dumps(record, indent=1, sort_keys=True) + "\n")
    written = [target, described, *show(experiment, target, figures=request.figures)]
    shutil.rmtree(parts)
    return written


def show(experiment: Experiment, results: Path, *, figures: bool = True) -> list[Path]:
    """Write the tables and figures of a CSV beside it; gives the files."""
    rows = read_rows(results)
    tables = experiment.tables(rows)
    written = [results.with_suffix(".md"), results.with_suffix(".tex")]
    _write(written[0], "\n".join(table.markdown() for table in tables))
    _write(written[1], "\n".join(table.latex() for table in tables))
    if figures:
        for name, figure in experiment.draw(rows).items():
            place = results.with_name(f"{experiment.name}-{name}")
            save(figure, place)
            written += [place.with_name(f"{place.name}.{kind}") for kind in ("svg", "pdf")]
    return written


def _check(request: Request) -> None:
    """Refuse names and files that are not there before any work is done."""
    for model in request.models:
        get_spec(model)
    for path in (request.ratings, request.distances):
        if path is not None and not path.is_file():
            raise UsageError(f"There is no file {path}.")


def _record(experiment: Experiment, config: Any, source: Source) -> dict[str, Any]:
    """All that decides the rows: configuration, models, data, version."""
    request = source.request
    clips = source.dataset.clips if experiment.needs_data else []
    names = "\n".join(f"{clip.path.name} {clip.label}" for clip in clips)
    return {
        "experiment": experiment.name,
        "config": dataclasses.asdict(config),
        "models": {
            model: {"fingerprint": get_spec(model).fingerprint, "adapters": known_variants(model)}
            for model in request.models
        },
        "clips": len(clips),
        "clip_list": hashlib.sha256(names.encode()).hexdigest() if clips else None,
        "inputs": {p.name: digest_of(p) for p in (request.ratings, request.distances) if p},
        "otadtk": __version__,
        "varies_between_runs": list(experiment.timed),
    }


def _all_rows(
    experiment: Experiment, tasks: Sequence[Task], parts: Path, request: Request
) -> list[Row]:
    """The rows of all tasks in their order; finished ones are read back."""

    def rows_of(task: Task) -> list[Row]:
        kept = parts / f"{hashlib.sha256(task.name.encode()).hexdigest()[:24]}.json"
        if not kept.is_file():
            _write(kept, json.dumps(task.compute()))
        bar.update()
        rows: list[Row] = json.loads(kept.read_text(encoding="utf-8"))
        return rows

    def one_thread() -> None:
        torch.set_num_threads(1)  # two that wait for each other on busy cores crawl

    workers = 1 if experiment.alone else request.workers or default_workers()
    with tqdm(total=len(tasks), desc=experiment.name, unit="task", disable=None) as bar:
        pool = ThreadPoolExecutor(workers, initializer=one_thread)
        try:
            found = [row for rows in pool.map(rows_of, tasks) for row in rows]
        finally:
            pool.shutdown(cancel_futures=True)
    return found


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
