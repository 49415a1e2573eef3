"""A Ray cluster of three nodes on this machine, and an encoder that takes its time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's 15 starves on a busy machine
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what binds all nodes to loopback
os.environ["RAY_health_check_period_ms"] = "500"  # noqa: SIM112 - a killed node is missed sooner

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 100_000_000}

SLOW_ENCODER = """
import os, time
from pathlib import Path
import numpy as np
import ray

class Slow:
    name, target_sr, embedding_dim = "slow", 16000, 3

    def encode(self, wav, sr):
        if ray.is_initialized() and ray.get_runtime_context().get_actor_id():
            marks = Path({marks!r})
            (marks / ray.get_runtime_context().get_node_id()).touch()
            patience = time.monotonic() + 60  # until all nodes of the cluster are at work
            while len(list(marks.iterdir())) < {nodes} and time.monotonic() < patience:
                time.sleep(0.05)
            time.sleep(0.05)
        if float(wav.max()) == 1.0:
            os._exit(1)
        return np.array([float(wav.mean()), float(wav.std()), float(wav.max())])
"""


@pytest.fixture(scope="package")
def cluster() -> Iterator[Any]:
    """A head and two more nodes, one CPU each, to which this process is connected.

    The head says that it has a GPU; encoders, which find none, run on its CPU.
    """
    import ray
    from ray.cluster_utils import Cluster

    head = {**NODE, "num_gpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(2):
            cluster.add_node(**NODE)
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


@pytest.fixture(params=[0])
def slow_encoder(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[str, Path]:
    """(model, folder): every node that encodes with it leaves its id in the folder.

    By parameter, nobody goes on before so many nodes have.
    """
    marks = tmp_path / "marks"
    marks.mkdir()
    file = tmp_path / "slow.py"
    file.write_text(SLOW_ENCODER.format(marks=str(marks), nodes=request.param))
    return f"{file}:Slow", marks


@pytest.fixture
def stored() -> Callable[[Path], dict[str, bytes]]:
    """All that lies in a store, by name."""

    def read(root: Path) -> dict[str, bytes]:
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    return read
