"""``--csv``: the table of scores, which grows by one row per score."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from otadtk.errors import UsageError

if TYPE_CHECKING:
    from otadtk.evaluation.evaluate import Evaluation

_COLUMNS = ("metric", "model", "variant", "ref", "eval", "score", "time")


def check_score_csv(path: Path | None) -> None:
    """Refuse a file that is not a table of scores; new and empty files are accepted."""
    if path is None or not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        first = file.readline(200).rstrip()
    if first != ",".join(_COLUMNS).encode():
        raise UsageError(
            f"{path} is not a table of scores: its first line is not {','.join(_COLUMNS)}."
        )


def append_score(evaluation: Evaluation, options: argparse.Namespace) -> None:
    """Append the score to the table in one write, after the header if the file is new."""
    path: Path = options.csv
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists() or path.stat().st_size == 0:
        writer.writerow(_COLUMNS)
    writer.writerow(_row(evaluation, options))
    content = text.getvalue().encode("utf-8", "surrogateescape")  # before a file is made
    with path.open("ab") as file:
        file.write(content)


def _row(evaluation: Evaluation, options: argparse.Namespace) -> list[object]:
    variant = evaluation.metric.settings_record.get("variant", "")
    _, at, tool = evaluation.metric.spec.name.partition("@")  # "@kadtk" marks frames
    model = f"{options.model or evaluation.metric.model_name}{at}{tool}"
    reading = evaluation.metric.spec.reading
    if not reading.usual and not evaluation.metric.entry:
        model = f"{model} ({reading.describe()})"
    inputs = [evaluation.label, model, variant, options.ref, options.eval]
    return [*inputs, evaluation.score, evaluation.seconds]
