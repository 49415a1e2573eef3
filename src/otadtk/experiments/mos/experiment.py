"""Correlation of distances with human ratings, by system and category (5.5, B.3)."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.embed import Embedder, LazyEncoder
from otadtk.engine import resolve_engine
from otadtk.errors import UsageError
from otadtk.experiments.data import Dataset, Embedded, Points
from otadtk.experiments.measures import measure
from otadtk.experiments.mos.foley import Cell, read_cells, synthesise_foley
from otadtk.experiments.mos.show import draw, tables
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task

_VARIANTS = ("raw", "agnostic", "native")


@dataclass(frozen=True)
class MosConfig:
    """The solver's ε, and the size of the synthesised folder used without ``--foley``."""

    epsilon: float = DEFAULT_EPSILON
    systems: int = 9
    clips: int = 12
    """Per cell; DCASE 2023 Task 7 has 100."""
    seed: int = 0


QUICK = MosConfig(systems=4, clips=3)


def tasks(config: MosConfig, source: Source) -> list[Task]:
    """Every model and cell: FAD, KAD, and OTAD in each ground metric."""
    request = source.request
    if request.foley is not None:
        given = request.one_ratings_file
        if given is None:
            raise UsageError("--foley needs the ratings of its clips: --ratings CSV.")
        folder, ratings, origin = request.foley, given, "DCASE 2023 Task 7 layout"
    else:
        # the store is keyed by content, so clips synthesised again are not embedded again
        temporary = tempfile.TemporaryDirectory(prefix="otadtk-foley-")
        folder = Path(source.closing.enter_context(temporary))
        ratings = synthesise_foley(
            folder, systems=config.systems, clips=config.clips, seed=config.seed
        )
        origin = "synthesised"
    cells = read_cells(folder, ratings)
    nothing = Dataset([], np.zeros(0, dtype=np.int64))
    found = []
    for model in request.models:
        own = Embedded(nothing, model, source.store, engine=request.engine)
        vectors = _reader(own, source)
        found += [_task(config, own, cell, vectors, origin) for cell in cells]
    return found


def _reader(own: Embedded, source: Source) -> Callable[[Path], Points]:
    engine = resolve_engine(source.request.engine, 1)  # each task has a thread
    embedder = Embedder(LazyEncoder(own.spec), source.store, engine)
    return lambda folder: embedder.load(folder).vectors


def _task(
    config: MosConfig, own: Embedded, cell: Cell, vectors: Callable[[Path], Points], origin: str
) -> Task:
    def compute() -> list[Row]:
        x, y = vectors(cell.reference), vectors(cell.clips)
        values = {metric: measure(metric, x, y, config.epsilon) for metric in ("fad", "kad")}
        for variant in (v for v in _VARIANTS if v in own.variants):
            points = own.adapt(x, variant), own.adapt(y, variant)
            values[f"otad-{variant}"] = measure("sinkhorn", *points, config.epsilon)
        head: Row = {"origin": origin, "model": own.model}
        head |= {"system": cell.system, "category": cell.category, **cell.ratings}
        return [head | {"metric": metric, "value": value} for metric, value in values.items()]

    return Task(f"{own.model} {cell.system} {cell.category}", compute)


EXPERIMENT = Experiment("mos", MosConfig(), QUICK, tasks, tables, draw, needs_data=False)
