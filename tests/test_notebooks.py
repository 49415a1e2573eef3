"""The notebooks run from beginning to end, show their results, and find what they say."""

from __future__ import annotations

import ast
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def found_all_planted(names: dict[str, Any]) -> None:
    verdicts = names["result"].measurement.diagnostics.judgement.evaluated
    files = [file.name for file in names["diagnostics"].files]
    assert {files[j] for j in verdicts.bad.nonzero()[0]} == set(names["bad"])


def ranked_the_clean_system_first(names: dict[str, Any]) -> None:
    assert [system.name for system in names["ranking"].systems] == ["clean", "dull"]
    assert names["difference"].high < 0


def learned_the_fault(names: dict[str, Any]) -> None:
    raw, mine = (names["costs"][name] for name in ("raw embeddings", "my adapter"))
    assert mine.auroc(names["bad"]) > max(0.9, raw.auroc(names["bad"]) + 0.1)


CLAIMS: dict[str, Callable[[dict[str, Any]], None]] = {
    "score_and_listen": found_all_planted,
    "compare_systems": ranked_the_clean_system_first,
    "train_a_metric": learned_the_fault,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all notebooks, which make some of the same clips."""
    return tmp_path_factory.mktemp("store")


def test_every_notebook_is_known() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} == set(CLAIMS)


@pytest.mark.weights
@pytest.mark.parametrize("name", CLAIMS)
def test_the_notebook_runs(
    name: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    monkeypatch.setenv("OTADTK_CACHE", str(store))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cells = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = [
        value
        for cell in cells
        if cell["cell_type"] == "code"
        for value in [run("".join(cell["source"]), names)]
        if value is not None
    ]
    pyplot.close("all")
    views = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert any("<audio" in view for view in views)
    assert all(cell.get("outputs", []) == [] for cell in cells)  # results are not stored
    CLAIMS[name](names)


def run(source: str, names: dict[str, Any]) -> object:
    """Run a cell; gives the value of its last line, which a notebook would show."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    value: object = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return value
