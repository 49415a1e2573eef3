"""The map of the solver is that of the code: its steps, its constants, its pictures."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from otadtk.distances import transport

ROOT = Path(transport.__file__).parent
PAGE = (ROOT.parents[3] / "docs" / "understand" / "solver.md").read_text()
STEP = re.compile(r"^ +(\d[a-d]?)  ", re.MULTILINE)
CONSTANTS = re.findall(r"^\| `([\w.]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)


def test_page_and_package_draw_the_same_steps() -> None:
    assert transport.__doc__ is not None
    steps = STEP.findall(transport.__doc__)
    assert len(steps) == 19
    assert STEP.findall(PAGE) == steps


def test_the_code_cites_every_step_and_no_other() -> None:
    assert transport.__doc__ is not None
    steps = set(STEP.findall(transport.__doc__))
    code = "\n".join(
        path.read_text() for path in sorted(ROOT.rglob("*.py")) if path != ROOT / "__init__.py"
    )
    cited: set[str] = set()
    for found in re.findall(r"[Ss]teps? (\d[a-d]?(?:(?:,| and) \d[a-d]?)*)", code):
        cited.update(re.findall(r"\d[a-d]?", found))
    assert cited <= steps
    assert steps - cited <= {"0"}, "step 0 is that of costs/duplicates.py"


@pytest.mark.parametrize(("name", "value", "why", "trades"), CONSTANTS)
def test_constants_are_as_the_page_says(name: str, value: str, why: str, trades: str) -> None:
    module, _, constant = name.rpartition(".")
    found = getattr(importlib.import_module(f"otadtk.distances.{module}"), constant)
    tree = ast.parse(value.strip(), mode="eval")
    assert found == eval(compile(tree, "docs/understand/solver.md", "eval"))
    assert why.strip()
    assert trades.strip()


def test_the_page_names_every_constant_of_the_ladder() -> None:
    named = {name for name, *_ in CONSTANTS}
    for module in ("solve", "regime", "sparse.annealing", "sparse.sharp"):
        constants = [
            target.id
            for node in ast.parse((ROOT / f"{module.replace('.', '/')}.py").read_text()).body
            if isinstance(node, ast.Assign)
            for assigned in node.targets
            for target in (assigned.elts if isinstance(assigned, ast.Tuple) else [assigned])
            if isinstance(target, ast.Name) and target.id.isupper()
        ]
        assert constants, module
        for constant in constants:
            assert f"transport.{module}.{constant}" in named
