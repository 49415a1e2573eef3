"""The code of the recipes in CONTRIBUTING.md works when it is put where the recipes say."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from otadtk.cli.score import main
from otadtk.encoders import get_encoder
from otadtk.encoders.networks import BUILT_IN
from otadtk.metrics import registry

PAGE = Path(__file__).parents[1] / "CONTRIBUTING.md"
FOLDERS = ("distances", "metrics", "encoders.networks")


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A source tree with the files of the recipes, on the path of the package."""
    blocks = re.findall(r"^```python (\S+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    for name, code in blocks:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    before = set(sys.modules)
    for folder in FOLDERS:
        package = importlib.import_module(f"otadtk.{folder}")
        place = tmp_path / "src" / "otadtk" / folder.replace(".", "/")
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(place)])
    registry.get_metric.cache_clear()
    yield tmp_path
    registry.get_metric.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith("otadtk."):
            del sys.modules[name]


def test_files_of_the_tables_exist() -> None:
    """All but those that a recipe adds."""
    added = ("energy", "centroid", "docs/understand/solver.md")
    for name in re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE):
        assert (PAGE.parent / name).exists() or any(word in name for word in added), name


def test_the_encoder(recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.import_module("otadtk.encoders.networks.energy").SPEC
    monkeypatch.setitem(BUILT_IN, spec.name, spec)
    clip = np.repeat(np.float32([0.2, 0.6]), 16_000)
    vector = get_encoder("energy", device="cpu").encode(clip, 16_000)
    assert vector == pytest.approx([0.4, 0.4])


def test_the_metric(
    recipes: Path,
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (line,) = re.findall(r'^    "cad": "(\S+)",$', PAGE.read_text(), re.MULTILINE)
    monkeypatch.setitem(registry.BUILT_IN, "cad", line)
    options = ["--metrics", "fad,cad", "--null", "20", "--json", "-", "-q"]
    assert main(["logmel", *map(str, folders), *options]) == 0
    result = json.loads(capsys.readouterr().out)["results"][1]
    cad = registry.get_metric("cad")("logmel")
    x, y = (cad.embed(folder).vectors.astype(float) for folder in folders)
    expected = np.square(x.mean(axis=0) - y.mean(axis=0)).sum()
    assert result["metric"] == "CAD"
    assert result["score"] == pytest.approx(expected, rel=1e-5)
    assert 0.0 < result["statistics"]["floor"]["p_value"] <= 1.0
    pool, first, second = np.concatenate([x, y]), np.arange(2), np.arange(2, 5)
    found = cad.between(pool)(first, second)
    assert found == pytest.approx(cad.distance(pool[first], pool[second]))
