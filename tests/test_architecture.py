"""Imports point strictly down the street from the command line to the errors."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import otadtk

# Rooms from top to bottom; rooms on one line do not know each other.
LAYERS = (
    ("__main__",),
    ("cli",),
    ("experiments", "report", "document", "methods"),
    ("comparison",),
    ("training", "scoring", "selftest", "torchmetrics"),
    ("metrics",),
    ("audit", "diagnosis", "sources"),
    ("embed",),
    ("adapter",),
    ("store", "encoders"),
    ("differences",),
    ("audio", "distances", "neighbours", "statistics", "resampling", "perturb", "synthesis"),
    ("jackknife", "weights"),
    ("atomic", "citations", "device", "engine", "places", "sealed"),
    ("errors",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
ROOT = Path(otadtk.__file__).parent


def rooms_imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            names = [f"otadtk.{a.name}" for a in node.names] if module == "otadtk" else [module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("otadtk.") and name != "otadtk.__version__":
                yield name.split(".")[1]


def test_every_room_has_its_place() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert rooms - {"__init__"} == set(LEVEL)


def test_imports_point_down() -> None:
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room == "__init__":
            continue
        for other in rooms_imported(path):
            assert other == room or LEVEL[other] > LEVEL[room], f"{path}: {room} imports {other}"
