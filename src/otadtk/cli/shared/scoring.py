"""What ``otadtk`` and ``otadtk-compare`` share: inputs, checks of files, and provenance."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.cli.inputs.reading_options import add_reading_options
from otadtk.cli.shared.common_options import add_common_options, add_source_options
from otadtk.cli.shared.engine_options import add_engine_options
from otadtk.cli.shared.json_output import json_file
from otadtk.cli.shared.metric_options import check_source_options
from otadtk.cli.shared.output_files import check_outputs

if TYPE_CHECKING:
    from otadtk.evaluation.run import Provenance, UsedProtocol


def add_input_options(parser: argparse.ArgumentParser) -> None:
    """How the sets are read and embedded, and on which engine."""
    add_source_options(parser)
    add_reading_options(parser)
    add_common_options(parser)
    add_engine_options(parser)


def check_files(
    options: argparse.Namespace,
    sets: Sequence[Path],
    *,
    tables: Sequence[Path | None] = (),
    outputs: Mapping[str, Path | None] | None = None,
) -> None:
    """Refuse outputs that cannot be written or overwrite an input, and useless source options.

    ``tables`` are further inputs. ``outputs`` are further outputs, by their options.
    """
    written = {**(outputs or {}), "--json": json_file(options), "--report": options.report}
    check_outputs(written, [*sets, *tables])
    check_source_options(options, sets)


def provenance(
    options: argparse.Namespace, device: str, protocol: UsedProtocol | None = None
) -> Provenance:
    """The provenance of a run of this command line."""
    from otadtk.evaluation.run import Provenance

    seed = getattr(options, "seed", None) or 0
    return Provenance(options.command_line, seed, device, protocol)
