"""Runs an experiment: computes the rows of its tasks, then writes CSV, tables and figures."""

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

from otadtk import __version__
from otadtk.adapter import known_variants
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.engine import Engine, LocalEngine, default_workers
from otadtk.engine.progress import progress_bar
from otadtk.errors import UsageError
from otadtk.experiments.data import Dataset, Embedded, read_clips
from otadtk.experiments.figure import save
from otadtk.experiments.rows import Row, read_rows, write_rows
from otadtk.experiments.table import Table
from otadtk.files.atomic import replacing
from otadtk.weights import digest_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """The user's options: data, models, output folder, size of the run."""

    out: Path
    data: Path | None = None
    models: tuple[str, ...] = ()
    """Encoders; none: those of the experiment."""
    variants: tuple[str, ...] | None = None
    """Variants of the ground metric (listening; default: all that a model has)."""
    quick: bool = False
    workers: int | None = None
    """Tasks at a time (default: one per core)."""
    cache_dir: Path | None = None
    engine: Engine = field(default_factory=LocalEngine)
    """Embeds the clips."""
    figures: bool = True
    peers: Path | None = None
    """Folder with kadtk and otadtk 0.1.2 unpacked (equivalence)."""
    foley: Path | None = None
    """Folder of generated clips by system and category, with a reference (mos)."""
    ratings: tuple[Path, ...] = ()
    """Files of human ratings: one for mos and mos-published, any number for listening."""
    sounds: Path | None = None
    """Folder of the sounds that ratings do not name (listening)."""
    stimuli: Path | None = None
    """CSV that names the sounds of a webMUSHRA test (listening)."""
    reference: str | None = None
    """Folder of reference sounds, or a system (listening)."""
    distances: Path | None = None
    """CSV of distances computed elsewhere (mos-published)."""

    @property
    def one_ratings_file(self) -> Path | None:
        """The file of ratings, where an experiment takes one."""
        if len(self.ratings) > 1:
            raise UsageError(
                "Of --ratings this experiment takes one file; listening takes several."
            )
        return self.ratings[0] if self.ratings else None


class Source:
    """The dataset and the embeddings of a request, read on first use."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.store = EmbeddingStore(request.cache_dir)
        self._dataset: Dataset | None = None
        self._embedded: dict[str, Embedded] = {}
        self.closing = ExitStack()
        """Closed when the run ends; removes temporary folders, for example."""

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
        """The dataset embedded by one model."""
        if model not in self._embedded:
            self._embedded[model] = Embedded(
                self.dataset, model, self.store, engine=self.request.engine
            )
        return self._embedded[model]


QUICK_SUBSET = (5, 2)
"""A quick run: this many classes, and clips per class and fold."""


@dataclass(frozen=True)
class Task:
    """One task of an experiment: a unique name and the function that computes its rows."""

    name: str
    compute: Callable[[], list[Row]]


@dataclass(frozen=True)
class Experiment:
    """An experiment: two configurations, its tasks, and its tables and figures."""

    name: str
    config: Any
    """The frozen configuration of the published results."""
    quick: Any
    """A small configuration, for a test run of seconds."""
    tasks: Callable[[Any, Source], list[Task]]
    tables: Callable[[Sequence[Row]], list[Table]]
    draw: Callable[[Sequence[Row]], dict[str, Figure]]
    needs_data: bool = True
    models: tuple[str, ...] = ("yamnet",)
    """The encoders of a run that names none."""
    alone: bool = False
    """Whether tasks run one at a time, because they measure time."""
    timed: tuple[str, ...] = field(default=())
    """Columns of times or memory, which differ from run to run."""


def run(experiment: Experiment, request: Request) -> list[Path]:
    """Run an experiment and write its results; returns the files written.

    A killed run can be resumed: the rows of finished tasks are kept beside the results until the
    run is complete.
    """
    config = experiment.quick if request.quick else experiment.config
    if not request.models:
        request = dataclasses.replace(request, models=experiment.models)
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
    """Write the tables and figures of a CSV beside it; returns the files written."""
    try:
        rows = read_rows(results)
        tables = experiment.tables(rows)
        drawn = experiment.draw(rows) if figures else {}
    except UsageError:
        raise
    except (KeyError, IndexError, ValueError, TypeError, AttributeError) as error:
        raise UsageError(
            f"{results} does not hold the rows of {experiment.name!r} ({type(error).__name__}: "
            f"{error}): run otadtk-experiments {experiment.name} again."
        ) from error
    written = [results.with_suffix(".md"), results.with_suffix(".tex")]
    _write(written[0], "\n".join(table.markdown() for table in tables))
    _write(written[1], "\n".join(table.latex() for table in tables))
    for name, figure in drawn.items():
        place = results.with_name(f"{experiment.name}-{name}")
        save(figure, place)
        written += [place.with_name(f"{place.name}.{kind}") for kind in ("svg", "pdf")]
    return written


def _check(request: Request) -> None:
    """Reject unknown models and missing files before any work is done."""
    for model in request.models:
        get_spec(model)
    for path in (*request.ratings, request.distances, request.stimuli):
        if path is not None and not path.is_file():
            raise UsageError(f"There is no file {path}.")


def _record(experiment: Experiment, config: Any, source: Source) -> dict[str, Any]:
    """Everything that the rows depend on: configuration, models, data, version."""
    request = source.request
    clips = source.dataset.clips if experiment.needs_data else []
    names = "\n".join(f"{clip.path.name} {clip.label}" for clip in clips)
    files = (*request.ratings, request.distances, request.stimuli)
    record: dict[str, Any] = {
        "experiment": experiment.name,
        "config": dataclasses.asdict(config),
        "models": {
            model: {"fingerprint": get_spec(model).fingerprint, "adapters": known_variants(model)}
            for model in request.models
        },
        "clips": len(clips),
        "clip_list": hashlib.sha256(names.encode()).hexdigest() if clips else None,
        "inputs": {p.name: digest_of(p) for p in files if p is not None},
        "otadtk": __version__,
        "varies_between_runs": list(experiment.timed),
    }
    if request.variants is not None:
        record["variants"] = list(request.variants)
    if request.reference is not None:
        record["reference"] = Path(request.reference).name
    return record


def _all_rows(
    experiment: Experiment, tasks: Sequence[Task], parts: Path, request: Request
) -> list[Row]:
    """The rows of all tasks, in order; those of finished tasks are read from ``parts``."""

    def rows_of(task: Task) -> list[Row]:
        kept = parts / f"{hashlib.sha256(task.name.encode()).hexdigest()[:24]}.json"
        if not kept.is_file():
            _write(kept, json.dumps(task.compute()))
        bar.update()
        rows: list[Row] = json.loads(kept.read_text(encoding="utf-8"))
        return rows

    def one_thread() -> None:
        torch.set_num_threads(1)  # the tasks fill the cores; nested threads would only wait

    workers = 1 if experiment.alone else request.workers or default_workers()
    with progress_bar(total=len(tasks), desc=experiment.name, unit="task") as bar:
        pool = ThreadPoolExecutor(workers, initializer=one_thread)
        try:
            found = [row for rows in pool.map(rows_of, tasks) for row in rows]
        finally:
            pool.shutdown(cancel_futures=True)
    return found


def _write(path: Path, text: str) -> None:
    with replacing(path) as file:
        file.write(text.encode())
