"""Connects to a Ray cluster, counts its CPUs and GPUs, and works around quirks of Ray."""

from __future__ import annotations

import logging
import os
import socket
import sys
from typing import Any

from otadtk.errors import OtadtkError, UsageError


def connect(ray: Any, address: str | None) -> bool:
    """Connect; whether this call joined or started a cluster, and none was there before."""
    _keep_stdout_for_results()
    if ray.is_initialized():
        return False
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _check_address(address)
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
    except Exception as error:  # Ray raises it on a machine too busy to start on
        raise OtadtkError(f"Ray did not start: {last_line(error)}") from error
    return True


def _check_address(address: str) -> None:
    """A UsageError for an address where nothing listens: Ray itself would try for minutes."""
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
    """How many actors of ``threads`` CPUs and ``gpus`` GPUs fit on the nodes that live."""
    fit = 0
    for resources in _resources(ray):
        room = int(resources.get("CPU", 0.0) // threads)
        fit += min(room, _fractions(resources.get("GPU", 0.0), gpus)) if gpus else room
    if fit == 0:
        also = f" and {gpus:g} GPU" if gpus else ""
        raise UsageError(
            f"No node of the Ray cluster has {threads} CPU{also} for a worker; ask for less "
            f"(--workers, --gpus-per-actor), or name --num-actors and let it grow."
        )
    return fit


def _resources(ray: Any) -> list[dict[str, float]]:
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _fractions(gpus: float, each: float) -> int:
    """How many actors fit on a node's GPUs; an actor that has a fraction stays on one GPU."""
    return int(gpus) * int(1.0 / each + 1e-6) if each <= 1.0 else int(gpus // each)


def _keep_stdout_for_results() -> None:
    """Send Ray's messages on dead nodes to stderr: stdout is for scores and JSON."""
    from ray._private import worker

    module: Any = worker
    show = getattr(module, "print_to_stdstream", None)
    if show is not None and not hasattr(show, "by_otadtk"):

        def show_on_stderr(data: dict[str, Any], *rest: Any, **options: Any) -> None:
            show({**data, "is_err": True}, *rest, **options)

        show_on_stderr.by_otadtk = True  # type: ignore[attr-defined]
        module.print_to_stdstream = show_on_stderr


def pickle_custom_encoders_by_value() -> None:
    """Send the classes of custom encoders themselves: workers cannot import the module of a file."""
    import ray

    cloudpickle: Any = ray.cloudpickle
    for name, module in list(sys.modules.items()):
        if name.startswith("otadtk_custom_"):
            cloudpickle.register_pickle_by_value(module)


def last_line(error: BaseException) -> str:
    """The last line of an exception's text; Ray's begin with traces of other processes."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
