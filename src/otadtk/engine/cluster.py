"""Joins a Ray cluster, and keeps Ray from what users would stumble over."""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any

from otadtk.errors import OtadtkError, UsageError


def connect(ray: Any, address: str | None) -> bool:
    """Whether this process has joined or started a cluster now; else it had before."""
    _keep_stdout_for_results()
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _knock(address)
    alone: dict[str, Any] = {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    try:
        ray.init(
            address=address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(alone if address == "local" else {}),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UsageError(f"No Ray cluster answers at {address}: {last_line(error)}") from error
    except Exception as error:  # Ray's own word for a machine too busy to start on
        raise OtadtkError(f"Ray did not start: {last_line(error)}") from error
    return True


def _knock(address: str) -> None:
    """Refuse an address where nobody listens: Ray itself tries for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10.0).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"No Ray cluster answers at {address}: {reason}.") from None


def all_cpus(ray: Any) -> int:
    """The CPUs of all nodes that live."""
    return sum(int(resources.get("CPU", 0.0)) for resources in _resources(ray))


def room_for_actors(ray: Any, threads: int, gpus: float) -> int:
    """How many actors of so many CPUs and GPUs fit on the nodes that live."""
    fit = 0
    for resources in _resources(ray):
        room = int(resources.get("CPU", 0.0) // threads)
        fit += min(room, _shares(resources.get("GPU", 0.0), gpus)) if gpus else room
    if fit == 0:
        also = f" and {gpus:g} GPU" if gpus else ""
        raise UsageError(
            f"No node of the Ray cluster has {threads} CPU{also} for a worker; ask for less "
            f"(--workers, --gpus-per-actor), or name --num-actors and let it grow."
        )
    return fit


def _resources(ray: Any) -> list[dict[str, float]]:
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _shares(gpus: float, share: float) -> int:
    """How many actors fit on a node's GPUs; one of a fraction stays on one GPU."""
    return int(gpus) * int(1.0 / share + 1e-6) if share <= 1.0 else int(gpus // share)


def _keep_stdout_for_results() -> None:
    """Ray tells of dead nodes on stdout, in the middle of a score or of JSON; send it to stderr."""
    from ray._private import worker

    module: Any = worker
    tell = getattr(module, "print_to_stdstream", None)
    if tell is not None and not hasattr(tell, "by_otadtk"):

        def tell_on_stderr(data: dict[str, Any], *rest: Any, **options: Any) -> None:
            tell({**data, "is_err": True}, *rest, **options)

        tell_on_stderr.by_otadtk = True  # type: ignore[attr-defined]
        module.print_to_stdstream = tell_on_stderr


def pickle_own_encoders_by_value() -> None:
    """One's own encoder from a file is no module that a worker could import."""
    import ray

    cloudpickle: Any = ray.cloudpickle
    for name, module in list(sys.modules.items()):
        if name.startswith("otadtk_own_"):
            cloudpickle.register_pickle_by_value(module)


def last_line(error: BaseException) -> str:
    """What an exception says in the end; Ray's begin with traces of other processes."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
