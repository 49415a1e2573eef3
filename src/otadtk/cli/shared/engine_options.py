"""The options of the engine, which does the work on this machine or on a Ray cluster."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from otadtk.cli.shared.common_options import given_in, positive_int
from otadtk.errors import UsageError
from otadtk.metrics.entry import positive_float

if TYPE_CHECKING:
    from otadtk.engine import Engine

GROUP = "engine"


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """``--engine`` and the options of Ray."""
    group = parser.add_argument_group(GROUP)
    group.add_argument(
        "--engine",
        choices=["local", "ray"],
        default="local",
        help="where the work is done: here (local, default) or on a Ray cluster (docs/how-to/scale.md); "
        "there --workers counts the CPUs, and the clips at a time, of each actor (default: 1)",
    )
    group.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="of the cluster (default: $RAY_ADDRESS, else a new one on this machine)",
    )
    group.add_argument(
        "--num-actors", type=positive_int, metavar="N", help="(default: as many as fit)"
    )
    group.add_argument(
        "--gpus-per-actor",
        type=positive_float,
        metavar="F",
        help="may be a fraction such as 0.25 (default: none)",
    )
    group.add_argument(
        "--batch-size",
        type=positive_int,
        metavar="B",
        help="clips that an actor gets at once (default: 64)",
    )
    group.add_argument(
        "--decode",
        choices=["tasks", "actors"],
        help="where audio is decoded: in the actors, or in tasks on free CPUs (default: tasks if "
        "actors have GPUs and CPUs are free)",
    )


def chosen_engine(options: argparse.Namespace) -> Engine:
    """The engine that was asked for; close it after use."""
    from otadtk.engine import LocalEngine, RayEngine

    if options.engine == "local":
        for flag in given_in(options, GROUP):
            raise UsageError(f"{flag} belongs to --engine ray; remove it or add --engine ray.")
        return LocalEngine(options.workers)
    return RayEngine(
        options.ray_address,
        num_actors=options.num_actors,
        gpus_per_actor=options.gpus_per_actor or 0.0,
        batch_size=options.batch_size,
        threads=options.workers,
        decode=options.decode,
    )
