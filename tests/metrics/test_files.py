"""A metric is its own file, its distance and a line of the registry: nothing else knows it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from otadtk.metrics.registry import BUILT_IN, get_metric

SOURCE = Path(__file__).parents[2] / "src" / "otadtk"
REGISTRY = "metrics/registry.py"
SHARED = {"metrics/reported/class_scores.py": {"kl", "is"}}
"""What several of them stand on, with its users."""
REPORTED = [name for name, place in BUILT_IN.items() if ".reported." in place]


def words(file: Path) -> Iterator[str]:
    """The names, and the whole texts, that the code of a file uses; no comment or docstring."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.arg, ast.keyword)):
            yield node.arg or ""
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names)
            yield getattr(node, "module", None) or ""


FILES = {str(file.relative_to(SOURCE)): set(words(file)) for file in SOURCE.rglob("*.py")}


def touched(name: str) -> set[str]:
    """The registry, the file of a metric, what only it and its like import, and who names it."""
    module, _, title = BUILT_IN[name].partition(":")
    own = module.removeprefix("otadtk.").replace(".", "/") + ".py"
    metric = get_metric(name)
    options = {option.name for option in metric.options}
    named = {file for file, found in FILES.items() if found & {title, module, *options}}
    reported = {BUILT_IN[other].partition(":")[0] for other in REPORTED}
    imported = {
        file
        for file, found in FILES.items()
        if (dotted := f"otadtk.{file.removesuffix('.py').replace('/', '.')}") in FILES[own]
        and all(
            f"otadtk.{user.removesuffix('.py').replace('/', '.')}" in reported
            for user, said in FILES.items()
            if dotted in said
        )
    }
    return {REGISTRY, own} | named | imported


@pytest.mark.parametrize("name", REPORTED)
def test_a_metric_touches_three_files(name: str) -> None:
    found = touched(name)
    shared = {file for file, users in SHARED.items() if file in found and name in users}
    networks = {file for file in found if file.startswith("encoders/networks/")}
    assert len(found - shared - networks) <= 3, sorted(found)
