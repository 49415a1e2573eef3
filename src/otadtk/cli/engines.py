"""The options that say where the work is done: on this machine, or on a Ray cluster."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from otadtk.cli.command import positive_float, positive_int
from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.engine import Engine

_RAY_ONLY = ("ray_address", "num_actors", "gpus_per_actor", "batch_size", "decode")


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """``--engine`` and what belongs to Ray."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        *("--engine",),
        choices=["local", "ray"],
        default="local",
        help="where the work is done: here (local, default) or on a Ray cluster (docs/scale.md); "
        "there --workers counts the CPUs, and the clips at a time, of each actor (default: 1)",
    )
    group.add_argument(
        *("--ray-address",),
        metavar="ADDRESS",
        help="of the cluster (default: $RAY_ADDRESS, else one is started on this machine)",
    )
    group.add_argument(
        "--num-actors", type=positive_int, metavar="N", help="(default: as many as fit)"
    )
    group.add_argument(
        *("--gpus-per-actor",),
        type=positive_float,
        metavar="F",
        help="may be a fraction, as 0.25 (default: none)",
    )
    group.add_argument(
        *("--batch-size",),
        type=positive_int,
        metavar="B",
        help="clips that an actor gets at once (default: 64)",
    )
    group.add_argument(
        *("--decode",),
        choices=["tasks", "actors"],
        help="who decodes audio: the actors, or tasks on CPUs that these leave free (default: tasks "
        "for actors with GPUs, if there are such CPUs)",
    )


def chosen_engine(options: argparse.Namespace) -> AbstractContextManager[Engine | None]:
    """The engine that was asked for, to be closed after use; ``None`` is the local one."""
    if options.engine == "local":
        for name in _RAY_ONLY:
            if getattr(options, name) is not None:
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"{flag} belongs to --engine ray; remove it or add that.")
        return nullcontext()
    from otadtk.engine import RayEngine

    return RayEngine(
        options.ray_address,
        num_actors=options.num_actors,
        gpus_per_actor=options.gpus_per_actor or 0.0,
        batch_size=options.batch_size,
        threads=options.workers,
        decode=options.decode,
    )
