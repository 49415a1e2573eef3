"""Which engine a public function uses, from its optional arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otadtk import FAD
from otadtk.engine import Engine, LocalEngine, default_workers, resolve_engine


class Elsewhere(Engine):
    """Stands for a cluster."""

    distributed = True

    def run(self, prepare: Any, items: Any, **how: Any) -> Iterator[tuple[int, Any]]:
        """The results of one worker."""
        yield from prepare()(enumerate(items))

    def close(self) -> None:
        """Nothing."""


def test_default_is_one_thread_per_core() -> None:
    engine = resolve_engine()
    assert isinstance(engine, LocalEngine)
    assert engine.workers == default_workers()
    assert not engine.distributed


def test_workers_replace_the_threads_of_a_local_engine() -> None:
    assert resolve_engine(None, 3).workers == 3
    assert resolve_engine(LocalEngine(2), 3).workers == 3
    two = LocalEngine(2)
    assert resolve_engine(two) is two


def test_a_cluster_keeps_its_workers() -> None:
    engine = Elsewhere()
    assert resolve_engine(engine, 3) is engine


def test_a_metric_always_has_an_engine() -> None:
    assert isinstance(FAD("logmel").engine, LocalEngine)
    engine = Elsewhere()
    assert FAD("logmel", engine=engine).engine is engine
