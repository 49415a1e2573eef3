"""Decoding as tasks of its own: on the CPUs of other nodes, the same store, whoever dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

import otadtk.engine.ray.run
from otadtk.audio.synthesis import synthesise
from otadtk.cli.embeds import main as embeds
from otadtk.embed import LazyEncoder
from otadtk.embed.reader import FileReader, Segment
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.engine import Lost, RayEngine
from tests.embedding import embed, fill_store
from tests.engine.conftest import NODES, PATIENCE, until

WriteClips = Callable[..., list[Path]]
Stored = Callable[[Path], dict[str, bytes]]


@pytest.fixture
def clips(tmp_path: Path, write_clips: WriteClips) -> Path:
    """Good clips, one that needs resampling, one too long to be prefetched, two bad ones."""
    folder = tmp_path / "clips"
    write_clips(folder, 40, seconds=0.3)
    stereo = np.stack([synthesise("alarm", seed, 1.0, 44_100) for seed in (1, 2)], axis=1)
    soundfile.write(folder / "stereo.flac", stereo, 44_100)
    rng = np.random.default_rng(0)
    soundfile.write(folder / "long.wav", 0.1 * rng.normal(size=140 * 16_000), 16_000)
    (folder / "empty.wav").touch()
    soundfile.write(folder / "nan.wav", np.full(900, np.nan, np.float32), 16_000, subtype="FLOAT")
    return folder


@pytest.mark.parametrize("how", [{"gpus_per_actor": 0.5}, {"decode": "tasks"}])
def test_other_nodes_decode_and_the_store_is_the_same(
    cluster: Any, tmp_path: Path, clips: Path, stored: Stored, how: dict[str, Any]
) -> None:
    encoders = [LazyEncoder(get_spec(name)) for name in ("logmel", "yamnet")]
    far, near = EmbeddingStore(tmp_path / "far"), EmbeddingStore(tmp_path / "near")
    embed(sorted(clips.glob("00*.wav")), encoders[0], far)
    with RayEngine(num_actors=1, **how) as engine:
        found = fill_store(clips, encoders, far, on_error="skip", engine=engine)
        assert found.encoded == (32, 42)
        summary = engine.summary
        assert summary is not None
        assert sum(summary.prefetched.values()) > 0
        assert not set(summary.prefetched) & set(summary.nodes), "the actor's node has no CPU free"
        assert "prefetched on" in summary.describe("clip", 0)
        again = fill_store(clips, encoders, far, on_error="skip", engine=engine)
        assert again.encoded == (0, 0)
        from_far = embed(clips, encoders[1], far, on_error="skip", engine=engine)
    same = fill_store(clips, encoders, near, on_error="skip")
    assert found.bad == same.bad
    assert [clip.path.name for clip in found.bad] == ["empty.wav", "nan.wav"]
    assert stored(tmp_path / "far") == stored(tmp_path / "near")
    from_near = embed(clips, encoders[1], near, on_error="skip")
    assert np.array_equal(from_far.vectors, from_near.vectors)
    assert (from_far.audits, from_far.digests) == (from_near.audits, from_near.digests)


def test_memory_of_prefetched_files_is_bounded(
    tmp_path: Path, clips: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = FileReader((get_spec("yamnet"),), EmbeddingStore(tmp_path / "s"), False, "clip")
    files = sorted(clips.iterdir())
    done = reader.prefetch(files)
    assert [file.name for file in done if isinstance(file, Path)] == ["long.wav"]
    monkeypatch.setattr("otadtk.embed.reader.PREFETCH_BYTES", 100_000)
    parts = [part for file in reader.prefetch(files) if isinstance(file, tuple) for part in file]
    size = sum(part.samples.nbytes for part in parts if isinstance(part, Segment))
    assert 50_000 < size <= 100_000


class Numbers:
    """Work at numbers, of which one kills its process; prefetched they are large arrays.

    Each result tells whether it was prefetched. With ``held_nodes``, tasks wait at the second batch of
    their node until there is a file ``go``, and actors wait until so many nodes do: one alone might
    take all batches.
    """

    def __init__(
        self, folder: Path, poison: int = -1, held_nodes: int = 0, seconds: float = 0.0
    ) -> None:
        self._folder, self._poison = folder, poison
        self._held_nodes, self._seconds = held_nodes, seconds

    def prepare(self) -> Callable[[Iterator[tuple[int, Any]]], Iterator[tuple[int, Any]]]:
        """The worker."""

        def work(items: Iterator[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
            for index, item in items:
                until(lambda: len(list(self._folder.glob("held-*"))) >= self._held_nodes)
                done = isinstance(item, np.ndarray)
                yield index, (self._look(int(item[0] if done else item)), done)

        return work

    def prefetch(self, items: Sequence[Any]) -> list[Any]:
        """The items as arrays, too large for Ray to send them with its messages."""
        import ray

        node = ray.get_runtime_context().get_node_id()
        first, held, go = (self._folder / name for name in (f"first-{node}", f"held-{node}", "go"))
        if self._held_nodes and first.exists():
            held.touch()
            until(go.exists)
        time.sleep(self._seconds)
        done = [np.full(50_000, self._look(item)) for item in items]
        first.touch()
        return done

    def _look(self, item: int) -> int:
        if item == self._poison:
            with (self._folder / "deaths").open("a") as file:
                file.write("x")
            os._exit(1)
        return item


def test_item_that_kills_whoever_prefetches_it(cluster: Any, tmp_path: Path) -> None:
    work = Numbers(tmp_path, poison=2)
    with RayEngine(num_actors=1, decode="tasks", batch_size=4) as engine:
        found = dict(
            engine.run(work.prepare, range(40), title="n", unit="n", prefetch=work.prefetch)
        )
    assert found.pop(2) == Lost("its worker died 3 times at it")
    assert sorted(found) == sorted(set(range(40)) - {2})
    assert all(found[index][0] == index for index in found)
    assert any(done for _, done in found.values())
    assert (tmp_path / "deaths").read_text() == "xxx"


def test_node_killed_with_what_it_has_decoded(cluster: Any, tmp_path: Path) -> None:
    work = Numbers(tmp_path, held_nodes=2)
    found = {}
    with RayEngine(num_actors=1, gpus_per_actor=1.0, batch_size=8) as engine:
        runs = engine.run(work.prepare, range(120), title="n", unit="n", prefetch=work.prefetch)
        for index, result in runs:
            if not found:  # both other nodes have done a batch and hold another
                cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
                (tmp_path / "go").touch()
            found[index] = result
        assert engine.summary is not None
        assert engine.summary.retries > 0, "the node had nothing"
    assert {index: number for index, (number, _) in found.items()} == {i: i for i in range(120)}


def test_actors_that_wait_for_room_go_before_tasks(cluster: Any, tmp_path: Path) -> None:
    work = Numbers(tmp_path)
    with RayEngine(num_actors=2, gpus_per_actor=0.5) as engine:  # one CPU beside the GPU
        found = dict(
            engine.run(work.prepare, range(9), title="n", unit="n", prefetch=work.prefetch)
        )
    assert found == {index: (index, False) for index in range(9)}


def test_tasks_end_with_their_run(cluster: Any, tmp_path: Path) -> None:
    import ray

    work = Numbers(tmp_path, seconds=2 * PATIENCE)
    with RayEngine(num_actors=1, decode="tasks", batch_size=1) as engine:
        runs = engine.run(work.prepare, range(20), title="n", unit="n", prefetch=work.prefetch)
        next(runs)
        runs.close()
        until(lambda: ray.available_resources().get("CPU") == NODES)


def test_tasks_that_find_no_cpu_are_called_back(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    work = Numbers(tmp_path)
    monkeypatch.setattr(otadtk.engine.ray.run, "_PATIENCE", 1.0)
    others = [ray.remote(Other).options(num_cpus=1).remote() for _ in range(2)]
    try:
        ray.get([other.here.remote() for other in others])
        with RayEngine(num_actors=1, decode="tasks") as engine:
            found = dict(
                engine.run(work.prepare, range(9), title="n", unit="n", prefetch=work.prefetch)
            )
    finally:
        for other in others:
            ray.kill(other)
    assert found == {index: (index, False) for index in range(9)}


class Other:
    """An actor of somebody else, who has a CPU."""

    def here(self) -> bool:
        """That it lives."""
        return True


def test_tasks_without_a_free_cpu_are_refused(
    cluster: Any, tmp_path: Path, clips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["-m", "logmel", "-d", str(clips), "--cache-dir", str(tmp_path / "s")]
    assert embeds([*command, "--engine", "ray", "--decode", "tasks"]) == 2
    assert "needs CPUs beside those of the actors, 3 of 1 CPU" in capsys.readouterr().err
