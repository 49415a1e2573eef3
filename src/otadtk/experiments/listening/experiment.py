"""Distances against listening tests: systems, clips, items, and pairs of sounds."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from otadtk.errors import UsageError
from otadtk.experiments.listening.arrays import Arrays
from otadtk.experiments.listening.ceilings import ceilings
from otadtk.experiments.listening.correlation import STATISTICS
from otadtk.experiments.listening.dissimilarity import by_pair
from otadtk.experiments.listening.layouts.reading import Places, read_tests
from otadtk.experiments.listening.levels import (
    APART,
    PAIRED,
    SETS,
    Effort,
    Level,
    by_clip,
    by_system,
    within_item,
)
from otadtk.experiments.listening.measures import (
    Measure,
    chosen_measures,
    ground_points,
    set_distance,
)
from otadtk.experiments.listening.sets import ListeningSet, Numbers, RatedSet
from otadtk.experiments.listening.show import draw, tables
from otadtk.experiments.listening.sounds import Sounds
from otadtk.experiments.listening.system_distances import (
    apart_values,
    paired_values,
    set_values,
)
from otadtk.experiments.rows import Row
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.metrics.base import AudioMetric

AGREEMENT, VALUE, CEILING = "agreement", "value", "ceiling"
QUICK = Effort(resamples=50, set_resamples=20, splits=2, orders=199)


def tasks(effort: Effort, source: Source) -> list[Task]:
    """What the listeners of each test allow, and every metric on every test."""
    request = source.request
    if not request.ratings:
        raise UsageError("listening needs --ratings FILE …: a listening test each.")
    places = Places(request.sounds, request.stimuli, request.reference)
    tests = read_tests(request.ratings, places)
    measures = chosen_measures(request.models, request.variants)
    temporary = tempfile.TemporaryDirectory(prefix="otadtk-listening-")
    folder = Path(source.closing.enter_context(temporary))
    sounds = Sounds((e for test in tests for e in test.excerpts()), source, folder)
    metrics = {measure: measure.load() for measure in measures}
    for metric in metrics.values():
        sounds.embed(metric.spec)
    found = [Task(f"ceiling {t.name}", _ceiling_rows(t, effort)) for t in tests if _is_rated(t)]
    for test in tests:
        for measure in measures:
            name = f"{test.name} {measure} {sounds.digest(test.excerpts())}"
            found.append(Task(name, _agreement_rows(test, measure, sounds, effort)))
    return found


def _is_rated(test: ListeningSet) -> bool:
    return isinstance(test, RatedSet)


def _ceiling_rows(test: ListeningSet, effort: Effort) -> Callable[[], list[Row]]:
    def compute() -> list[Row]:
        assert isinstance(test, RatedSet)
        rows: list[Row] = []
        for level, found in ceilings(test, effort.seed).items():
            row: Row = {"part": CEILING, "set": test.name, "level": level, "n": found.objects}
            row |= {"raters": found.raters, "split_half": found.split_half}
            row |= {"reliability": found.reliability, "ceiling": found.ceiling}
            rows.append(row | {"one_against_rest": found.one_against_rest})
        return rows

    return compute


def _agreement_rows(
    test: ListeningSet, measure: Measure, sounds: Sounds, effort: Effort
) -> Callable[[], list[Row]]:
    def compute() -> list[Row]:
        metric = measure.load()
        if isinstance(test, RatedSet):
            arrays = Arrays(test)
            levels = _rated_levels(arrays, metric, measure, sounds, effort)
            systems, items = arrays.systems, len(arrays.items)
        else:
            levels, systems, items = [], (), len(test.sounds)
            if measure.compares_clips:
                vectors = sounds.vectors(metric.spec, test.sounds)
                found = by_pair(ground_points(metric, vectors), test.matrix, effort)
                levels = [] if found is None else [found]
        kind = "ratings" if isinstance(test, RatedSet) else "dissimilarity"
        head: Row = {"set": test.name, "kind": kind, "model": measure.model}
        head |= {"metric": measure.metric, "variant": measure.variant}
        rows: list[Row] = []
        for level in levels:
            rows.append({"part": AGREEMENT, **head, "items": items, **_agreement(level)})
            rows += [{"part": VALUE, **head, **row} for row in _values(level, systems)]
        return rows

    return compute


def _rated_levels(
    arrays: Arrays, metric: AudioMetric, measure: Measure, sounds: Sounds, effort: Effort
) -> list[Level]:
    vectors = sounds.vectors(metric.spec, arrays.pool)
    distance = set_distance(metric, vectors)
    found: list[Level | None] = []
    if measure.compares_clips:
        points = ground_points(metric, vectors).astype(np.float64)
        pairs: Numbers = np.square(points[arrays.rows] - points[arrays.twins]).sum(axis=1)
        pairs = np.where(arrays.paired, pairs, math.nan)
        values = paired_values(arrays, pairs)
        found.append(by_system(PAIRED, arrays, values, effort, effort.resamples))
        found += [by_clip(arrays, pairs, effort), within_item(arrays, pairs, effort)]
    apart = apart_values(arrays, distance, splits=effort.splits, seed=effort.seed)
    for name, compared in ((SETS, set_values(arrays, distance)), (APART, apart)):
        found.append(by_system(name, arrays, compared, effort, effort.set_resamples))
    return [level for level in found if level is not None]


def _agreement(level: Level) -> Row:
    """Statistics, intervals and p; what is not known has no cell."""
    agreement = level.agreement
    row: Row = {"level": level.name, "n": level.objects}
    for number, statistic in enumerate(STATISTICS):
        ends = {"": agreement.values, "_low": agreement.low, "_high": agreement.high}
        row |= {f"{statistic}{end}": triple[number] for end, triple in ends.items()}
    row |= {"p": agreement.p_value}
    known = {k: v for k, v in row.items() if not (isinstance(v, float) and math.isnan(v))}
    if "p" in known:
        known["orders"] = "all" if agreement.exact else "sampled"
    return known


def _values(level: Level, systems: tuple[str, ...]) -> list[Row]:
    """The distance and the rating of every system, where the level is one of systems."""
    if level.values is None or level.ratings is None:
        return []
    return [
        {"level": level.name, "system": system, "value": float(value), "rating": float(rating)}
        for system, value, rating in zip(systems, level.values, level.ratings, strict=True)
        if math.isfinite(value)
    ]


EXPERIMENT = Experiment(
    "listening",
    Effort(),
    QUICK,
    tasks,
    tables,
    draw,
    needs_data=False,
    models=("yamnet", "logmel"),
)
