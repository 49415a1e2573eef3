"""Bars on terminals and in notebooks, and nowhere else."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace

import pytest

from otadtk.engine import progress
from otadtk.engine.progress import in_notebook, progress_bar


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a module finds inside the kernel of a notebook."""
    module = ModuleType("IPython")
    module.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)


def test_no_bar_without_a_terminal() -> None:
    assert not in_notebook()
    with progress_bar(total=3) as bar:
        assert bar.disable


@pytest.mark.usefixtures("notebook")
def test_a_line_of_text_without_widgets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    assert in_notebook()
    with progress_bar(total=3, desc="clips", unit="clip") as bar:
        for _ in range(3):
            bar.update()
        assert bar.n == 3
    shown = capsys.readouterr()
    assert "clips: " in shown.out
    assert shown.err == ""


@pytest.mark.usefixtures("notebook")
def test_a_widget_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm.notebook

    made = []
    monkeypatch.setattr(progress, "find_spec", lambda name: importlib.util.find_spec("tqdm"))
    monkeypatch.setattr(tqdm.notebook, "tqdm", lambda **options: made.append(options))
    progress_bar(total=7, desc="clips")
    assert made == [{"leave": False, "total": 7, "desc": "clips"}]
