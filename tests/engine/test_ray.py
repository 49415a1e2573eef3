"""The Ray engine on a real cluster: the same store and scores, whoever dies."""

from __future__ import annotations

import re
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
import soundfile
from pyarrow import parquet

from otadtk.cli.score import main as score
from otadtk.distances.distributed.backend import EngineBackend
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.embed import LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.engine import RayEngine
from otadtk.errors import AudioError, UsageError
from tests.embedding import embed, fill_store
from tests.engine.conftest import NODES, until

WriteClips = Callable[..., list[Path]]
Stored = Callable[[Path], dict[str, bytes]]


def kill_one_node(cluster: Any, marks: Path) -> threading.Thread:
    """Kills a node that is not the head, once all three are at work; then they may go on."""
    import ray

    def kill() -> None:
        until(lambda: len(list(marks.iterdir())) == NODES)
        cluster.remove_node(cluster.worker_nodes.copy().pop(), allow_graceful=False)
        # its actor may outlive it for a moment: what that delivers must not count any more
        until(lambda: sum(node["Alive"] for node in ray.nodes()) == NODES - 1)
        (marks / "go").touch()

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


@pytest.mark.parametrize("slow_encoder", [1], indirect=True)
def test_node_killed_while_embedding(
    cluster: Any,
    tmp_path: Path,
    write_clips: WriteClips,
    slow_encoder: tuple[str, Path],
    stored: Stored,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, marks = slow_encoder
    write_clips(tmp_path / "ref", 150, seconds=0.3)
    write_clips(tmp_path / "eval", 20, first_seed=500, seconds=0.3)
    encoder = LazyEncoder(get_spec(model))
    with RayEngine() as engine:
        killer = kill_one_node(cluster, marks)
        filled = fill_store(
            tmp_path / "ref", [encoder], EmbeddingStore(tmp_path / "far"), engine=engine
        )
        killer.join()
        assert engine.summary is not None
        assert (filled.clips, filled.bad) == (150, ())
        assert 0 < filled.encoded[0] <= 150  # the dead node may have stored what it did not deliver
        assert engine.summary.retries > 0, "no node died at work"
        again = fill_store(
            tmp_path / "ref", [encoder], EmbeddingStore(tmp_path / "far"), engine=engine
        )
        assert again.encoded == (0,)
    command = [model, str(tmp_path / "ref"), str(tmp_path / "eval"), "--metrics", "otad,fad,kad"]
    command += ["--null", "20", "--ci", "--variant", "raw"]
    assert score([*command, "--cache-dir", str(tmp_path / "far"), "--engine", "ray"]) == 0
    far = capsys.readouterr()
    assert re.search(r"on [12] nodes?\b", far.err), "the summary counts the nodes"
    assert score([*command, "--cache-dir", str(tmp_path / "near")]) == 0
    assert far.out == capsys.readouterr().out
    assert stored(tmp_path / "far") == stored(tmp_path / "near")


@pytest.mark.parametrize("gpus", [0.0, 0.5])
def test_poison_file_is_given_up_and_reported(
    cluster: Any,
    tmp_path: Path,
    write_clips: WriteClips,
    slow_encoder: tuple[str, Path],
    stored: Stored,
    gpus: float,
) -> None:
    clips = write_clips(tmp_path / "clips", 12, seconds=0.3)
    square = np.ones(4800, dtype=np.float32)
    soundfile.write(clips[1], square, 16_000, subtype="FLOAT")
    encoder = LazyEncoder(get_spec(slow_encoder[0]))
    store = EmbeddingStore(tmp_path / "far")
    with (
        RayEngine(num_actors=1, gpus_per_actor=gpus, decode="actors") as engine,
        pytest.raises(AudioError, match=r"1 of 12 files.*001.wav: its worker died 3 times"),
    ):
        embed(tmp_path / "clips", encoder, store, engine=engine)
    assert engine.summary is not None
    # with its batch, alone, and given up; the batch at hand beside it is above suspicion on a CPU
    assert engine.summary.retries == (3 if gpus else 2)
    clips[1].unlink()
    fill_store(tmp_path / "clips", [encoder], EmbeddingStore(tmp_path / "near"))
    assert stored(tmp_path / "far") == stored(tmp_path / "near")


def test_bad_files_and_errors_are_those_of_the_local_engine(
    cluster: Any, tmp_path: Path, write_clips: WriteClips
) -> None:
    write_clips(tmp_path / "clips", 3, seconds=0.3)
    (tmp_path / "clips" / "b.wav").touch()
    encoder, store = LazyEncoder(get_spec("logmel")), EmbeddingStore(tmp_path / "s")
    with RayEngine(num_actors=1) as engine:
        with pytest.raises(AudioError) as far:
            embed(tmp_path / "clips", encoder, store, engine=engine)
        with pytest.raises(AudioError) as near:
            embed(tmp_path / "clips", encoder, store)
        assert str(far.value) == str(near.value)
        with pytest.raises(UsageError, match="odd"):
            engine.map(lambda: _refuse_odd, range(6), title="numbers")
        assert engine.map(lambda: _refuse_odd, [2, 4, 6], title="numbers") == [2, 4, 6]


def _refuse_odd(number: int) -> int:
    if number % 2:
        raise UsageError("odd")
    return number


def test_cluster_without_room(cluster: Any) -> None:
    with (
        RayEngine(threads=5) as engine,
        pytest.raises(UsageError, match="No node of the Ray cluster has 5 CPU"),
    ):
        engine.map(lambda: abs, [1], title="numbers")
    with (
        RayEngine(gpus_per_actor=2.0) as engine,
        pytest.raises(UsageError, match=r"1 CPU and 2 GPU"),
    ):
        engine.map(lambda: abs, [1], title="numbers")


def test_actor_with_a_gpu_decodes_ahead(cluster: Any, tmp_path: Path) -> None:
    """Two batches of one actor meet; if it worked at one after the other, the first would wait."""

    def prepare() -> Callable[[Iterator[tuple[int, int]]], Iterator[tuple[int, int]]]:
        def work(items: Iterator[tuple[int, int]]) -> Iterator[tuple[int, int]]:
            for index, item in items:
                (tmp_path / str(item)).touch()
                until(lambda: len(list(tmp_path.iterdir())) == 2)
                yield index, item

        return work

    with RayEngine(num_actors=1, gpus_per_actor=0.25) as engine:
        found = engine.run(prepare, [5, 6], title="numbers", unit="number", batch_size=1)
        assert dict(found) == {0: 5, 1: 6}


def test_sinkhorn_of_distributed_rows_when_a_worker_dies(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    monkeypatch.setattr("otadtk.distances.transport.solve.TILED_FROM", 10**9)  # as on workers
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2600, 32)), 1.1 * rng.normal(size=(2200, 32)) + 0.2
    near = sinkhorn_divergence(x, y, epsilon=5.0, max_memory=65_000_000)
    with RayEngine() as engine:
        sweeps = []

        def progress(term: str, iteration: int, error: float) -> None:
            sweeps.append(term)
            if len(sweeps) == 3:
                ray.kill(engine.pool.members[1].handle)

        far = sinkhorn_divergence(
            x,
            y,
            epsilon=5.0,
            max_memory=65_000_000,
            backend=EngineBackend(engine),
            progress=progress,
        )
        assert engine.workers == 3
    assert far.value == pytest.approx(near.value, rel=1e-6)
    assert np.allclose(far.cj, near.cj, rtol=1e-6)


def test_clips_inside_other_files(
    cluster: Any, tmp_path: Path, write_clips: WriteClips, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers of other processes read members of shards and excerpts as this one does."""
    monkeypatch.chdir(tmp_path)
    files = write_clips(Path("clips"), 6, seconds=0.3)
    with tarfile.open("clips.tar", "w") as shard:
        for file in files:
            shard.add(file)
    cells = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
    parquet.write_table(pyarrow.table({"audio": cells}), "clips.parquet", row_group_size=4)
    Path("parts.csv").write_text("file,start\n" + "".join(f"{file},0.1\n" for file in files))
    encoder = LazyEncoder(get_spec("logmel"))
    with RayEngine(num_actors=1, batch_size=3) as engine:
        for source in ("clips.tar", "clips.parquet", "parts.csv"):
            near = embed(source, encoder, EmbeddingStore(tmp_path / "near"))
            far = embed(source, encoder, EmbeddingStore(tmp_path / f"far {source}"), engine=engine)
            assert np.array_equal(far.vectors, near.vectors)
            assert (far.digests, far.encoded) == (near.digests, 6)
