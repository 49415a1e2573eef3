"""A Ray cluster of three nodes on this machine, and an encoder that waits when told."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

import otadtk.engine.ray.run
from otadtk.files.atomic import TEMPORARY_PREFIX

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's 15 starves on a busy machine
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what binds all nodes to loopback
os.environ["RAY_health_check_period_ms"] = "500"  # noqa: SIM112 - a killed node is missed sooner

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100_000_000}
T = TypeVar("T")
NODES = 3
PATIENCE = 300.0
"""Seconds that a loaded machine may take for anything."""

SLOW_ENCODER = """
import os, time
from pathlib import Path
import numpy as np
import ray

class Slow:
    name, target_sr, embedding_dim = "slow", 16000, 3
    clips = 0

    def encode(self, wav, sr):
        if ray.is_initialized() and ray.get_runtime_context().get_actor_id():
            self.clips += 1
            marks = Path({marks!r})
            (marks / ray.get_runtime_context().get_node_id()).touch()
            patience = time.monotonic() + {patience}
            while self.clips > {free} and not (marks / "go").exists():
                assert time.monotonic() < patience
                time.sleep(0.05)
        if float(wav.max()) == 1.0:
            os._exit(1)
        return np.array([float(wav.mean()), float(wav.std()), float(wav.max())])
"""


@pytest.fixture(scope="package")
def started() -> Iterator[Any]:
    """A head, to which this process is connected.

    It says that it has a GPU; encoders, which find none, run on its CPU.
    """
    import ray
    from ray.cluster_utils import Cluster

    head = {**NODE, "num_gpus": 1, "include_dashboard": False}
    cluster = patiently(lambda: Cluster(initialize_head=True, head_node_args=head))
    try:
        ray.init(
            address=cluster.address,
            log_to_driver=False,
            logging_level="ERROR",
            runtime_env={"env_vars": {"PYTHONWARNINGS": "error"}},  # in workers, as everywhere
        )
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture
def cluster(started: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A head and two more nodes of one CPU each, none of them busy, whatever tests have killed."""
    import ray

    monkeypatch.setattr(otadtk.engine.ray.run, "_PATIENCE", PATIENCE)
    while len(started.list_all_nodes()) < NODES:
        patiently(lambda: started.add_node(**NODE))
    started.wait_for_nodes(timeout=PATIENCE)
    until(lambda: ray.available_resources().get("CPU") == NODES)
    return started


def patiently(start: Callable[[], T]) -> T:
    """What is started; Ray gives a node 30 s, which a loaded machine may not have."""
    for _ in range(4):
        with contextlib.suppress(Exception):
            return start()
    return start()


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    patience = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.02)


@pytest.fixture(params=[1_000_000])
def slow_encoder(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, Path]:
    """(model, folder): every node that encodes with it leaves its id in the folder.

    An actor encodes as many clips as the parameter says. It goes on when ``go`` is in the folder.
    """
    marks = tmp_path / "marks"
    marks.mkdir()
    file = tmp_path / "slow.py"
    file.write_text(SLOW_ENCODER.format(marks=str(marks), free=request.param, patience=PATIENCE))
    return f"{file}:Slow", marks


@pytest.fixture
def stored() -> Callable[[Path], dict[str, bytes]]:
    """All that lies in a store, by name, without what a kill has left half written."""

    def read(root: Path) -> dict[str, bytes]:
        files = [path for path in root.rglob("*") if path.is_file()]
        whole = [path for path in files if not path.name.startswith(TEMPORARY_PREFIX)]
        return {str(path.relative_to(root)): path.read_bytes() for path in whole}

    return read
