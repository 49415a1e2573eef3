"""A metric from a plug-in is known everywhere: options, scores, documents, pages, torchmetrics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from numpy.typing import NDArray

from otadtk.cli.compare import main as compare
from otadtk.cli.methods import main as methods
from otadtk.cli.score import main
from otadtk.documents.schema import document_schema
from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.metrics import AudioMetric, Measurement, registry
from otadtk.metrics.entry import GoldenValue, Option, positive_float

Array = NDArray[np.floating]


class Nearness(AudioMetric):
    """The share of clips that lie within ``reach`` of the other side's mean, and its square."""

    name = "NEAR"
    title = "Nearness of Means"
    citation = "@misc{near2026, title = {Nearness}}"
    higher_is_better = True
    has_flag = True
    options = (Option("reach", help="distance", default=1e3, parse=positive_float, metavar="R"),)

    def __init__(self, model: str = "yamnet", *, reach: float = 1e3, **others: Any) -> None:
        super().__init__(model, **others)
        self.reach = reach

    @property
    def settings_record(self) -> dict[str, Any]:
        return {**super().settings_record, "reach": self.reach}

    def distance(self, ref: Array, test: Array) -> float:
        away = np.linalg.norm(test - ref.mean(axis=0), axis=1)
        return float(np.mean(away / self.reach < 1.0) / (1.0 + away.mean()))

    def between(self, pool: Array) -> Any:
        return lambda i, j: self.distance(pool[i], pool[j])

    def measure(self, reference: EmbeddingSet, evaluated: EmbeddingSet) -> Measurement:
        score = self.compare_sets(reference, evaluated)
        return Measurement(score, values={"near": score, "square": score**2})

    @classmethod
    def golden_values(cls) -> Sequence[GoldenValue]:
        return (GoldenValue("NEAR, itself", 1.0, lambda x, y: 1.0),)


@pytest.fixture
def nearness(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = EntryPoint("near", f"{__name__}:Nearness", registry.ENTRY_POINT_GROUP)
    broken = EntryPoint("broken", "no_such_module:Metric", registry.ENTRY_POINT_GROUP)
    no_metric = EntryPoint("text", "string:capwords", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: [point, broken, no_metric])
    _forget()
    yield
    _forget()


def _forget() -> None:
    registry.plug_ins.cache_clear()
    registry.get_metric.cache_clear()


@pytest.mark.usefixtures("nearness")
class TestPlugIn:
    def test_score_document_and_methods(
        self,
        folders: tuple[Path, Path],
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        file = tmp_path / "run.json"
        arguments = [*map(str, folders), "--metrics", "fad,near", "--reach", "500"]
        assert main(["logmel", *arguments, "--json", str(file), "--ci"]) == 0
        line = capsys.readouterr().out.splitlines()[2]
        assert line.startswith("NEAR: near 0.")
        assert ", square 0." in line
        document = json.loads(file.read_text())
        jsonschema.validate(document, document_schema())
        near = document["results"][1]
        assert near["settings"] == {"reach": 500.0}
        assert near["values"]["square"] == pytest.approx(near["score"] ** 2)
        assert methods([str(file)]) == 0
        text = capsys.readouterr().out
        numbers = r"0\.\S+ \(near\) and \S+ \(square\) \(higher is better\)"
        assert re.search(rf"\(NEAR\) \[near2026\] is {numbers}\.", text)
        assert "@misc{near2026" in text
        assert (
            compare(["logmel", *arguments[:1], *arguments[:2], "--near", "--json", str(file)]) == 0
        )
        jsonschema.validate(json.loads(file.read_text()), document_schema())
        capsys.readouterr()
        assert methods([str(file)]) == 0
        assert "ranks them, best first" in capsys.readouterr().out

    def test_its_option_belongs_to_it(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["logmel", *map(str, folders), "--reach", "3"]) == 2
        assert "--reach belongs to NEAR; remove it or add near" in capsys.readouterr().err

    def test_higher_is_better_ranks_first(
        self, folders: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
    ) -> None:
        reference, evaluated = map(str, folders)
        assert compare(["logmel", reference, reference, evaluated, "--near"]) == 0
        header, line, *_ = capsys.readouterr().out.splitlines()
        assert "next is worse by" in header
        first = line.split()
        assert first[2:4] == ["1", reference]
        assert float(first[9]) > 0.0
        assert float(first[-1]) > 0.5

    def test_self_test_and_torchmetrics(self) -> None:
        import otadtk.torchmetrics
        from otadtk.selftest import golden_values

        assert "NEAR, itself" in [golden.what for golden in golden_values()]
        assert otadtk.torchmetrics.NearnessOfMeans.higher_is_better
        assert otadtk.torchmetrics.metric_class("near").__name__ == "NearnessOfMeans"

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("broken", "plug-in metric 'broken'"),
            ("text", "is no AudioMetric"),
            ("fid", "no metric"),
        ],
    )
    def test_what_cannot_be_loaded_is_named(self, name: str, message: str) -> None:
        with pytest.raises(UsageError, match=message):
            registry.get_metric(name)
        assert name not in [found for found, _ in registry.all_metrics()]
