"""What the docstrings of the public names say: an example that runs, and the errors."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import otadtk
from otadtk.encoders import custom
from tests.test_documentation import world

__all__ = ["world"]  # the folders real/ and generated/

PUBLIC = [name for name in otadtk.__all__ if not name.startswith("__")]
ERRORS = [name for name in PUBLIC if name.endswith("Error") and name != "OtadtkError"]


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in ERRORS])
def test_the_example_runs(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTADTK_CACHE", str(world / "cache"))
    monkeypatch.setattr(custom, "registered", {})
    described = getattr(otadtk, name)
    examples = doctest.DocTestFinder(recurse=False).find(described, name, globs={})
    assert sum(len(test.examples) for test in examples) > 0, "a runnable example"
    for test in examples:
        assert not any(doctest.SKIP in example.options for example in test.examples)
        printed: list[str] = []
        failed = doctest.DocTestRunner(verbose=False).run(test, out=printed.append)
        assert failed.failed == 0, "".join(printed)


@pytest.mark.parametrize("name", [n for n in PUBLIC if inspect.isfunction(getattr(otadtk, n))])
def test_functions_that_can_fail_say_how(name: str) -> None:
    described = getattr(otadtk, name)
    if name not in ("list_models", "register_encoder"):
        assert "Raises:" in inspect.getdoc(described)


@pytest.mark.parametrize("name", ERRORS)
def test_errors_name_their_exit_code(name: str) -> None:
    error = getattr(otadtk, name)
    assert f"Exit code {error.exit_code}." in error.__doc__


def test_the_site_has_every_public_name() -> None:
    page = (Path(__file__).parent.parent / "docs" / "reference" / "python.md").read_text("utf-8")
    assert set(re.findall(r"^::: otadtk\.(\w+)$", page, re.MULTILINE)) == set(PUBLIC)
