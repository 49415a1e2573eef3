"""Imports point strictly down from the command line to the errors, and no folder grows too large."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import otadtk

# Rooms from top to bottom; rooms on one line do not import each other.
LAYERS = (
    ("__main__",),
    ("cli", "loggers"),
    ("experiments", "report", "selftest", "torchmetrics"),
    ("tracking",),
    ("documents", "training"),
    ("evaluation",),
    ("metrics",),
    ("embed",),
    ("adapter", "quality"),
    ("encoders",),
    ("audio", "distances", "statistics", "weights"),
    ("engine", "files", "device"),
    ("errors",),
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
ROOT = Path(otadtk.__file__).parent


MOST_MODULES = 15
"""In one folder, without its ``__init__.py``."""
MOST_AT_THE_ROOT = 8
OTHER_VERSION = ROOT / "experiments" / "equivalence" / "peers.py"
"""Runs in a process where ``otadtk`` is version 0.1.2, and imports from that."""
NAMED_OBJECT = re.compile(r"otadtk(\.\w+)+:\w+")
"""``"otadtk.module:object"``: a registry imports it when it is asked for."""


def modules_imported(source: str) -> Iterator[str]:
    """The modules that a file imports: by statements, ``import_module`` or the name of an object."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            module = node.module or ""
            yield from [f"otadtk.{a.name}" for a in node.names] if module == "otadtk" else [module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            yield _beginning(node.args[0])
        elif isinstance(node, ast.Constant) and NAMED_OBJECT.fullmatch(str(node.value)):
            yield str(node.value).partition(":")[0]


def _called(call: ast.Call) -> str:
    """The name of the called function, without what it is an attribute of."""
    function = call.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _beginning(argument: ast.expr) -> str:
    """The text of a constant, or that with which an f-string begins; empty for a variable."""
    if isinstance(argument, ast.JoinedStr):
        argument = argument.values[0]
    return argument.value if isinstance(argument, ast.Constant) else ""


def rooms_imported(path: Path) -> Iterator[str]:
    for module in modules_imported(path.read_text()):
        if module.startswith("otadtk.") and module != "otadtk.__version__":
            yield module.split(".")[1]


def test_every_room_has_its_place() -> None:
    rooms = {path.relative_to(ROOT).parts[0].removesuffix(".py") for path in ROOT.rglob("*.py")}
    assert rooms - {"__init__"} == set(LEVEL)


def test_imports_point_down() -> None:
    for path in ROOT.rglob("*.py"):
        room = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if room == "__init__" or path == OTHER_VERSION:
            continue
        for other in rooms_imported(path):
            assert other == room or LEVEL[other] > LEVEL[room], f"{path}: {room} imports {other}"


def test_pure_distances_know_no_engine_and_no_machine() -> None:
    """What runs over an engine is in distances/distributed; the memory to use is handed in."""
    for path in (ROOT / "distances").rglob("*.py"):
        if "distributed" not in path.parts:
            known = set(rooms_imported(path))
            assert known <= {"distances", "errors"}, f"{path} imports {known}"
            assert not any(
                module.startswith("otadtk.distances.distributed")
                for module in modules_imported(path.read_text())
            ), f"{path} imports what stands above it"


def test_every_way_of_importing_is_seen() -> None:
    source = """
import otadtk.report.page
from otadtk import cli
from otadtk.training.train import train_adapter
importlib.import_module("otadtk.metrics")
import_module(f"otadtk.experiments.{name}")
__import__("otadtk.selftest")
load(name), import_module(name)
LOADER = "otadtk.encoders.networks.yamnet.network:load"
GROUP = "otadtk.adapter"
"""
    assert set(modules_imported(source)) == {
        "otadtk.report.page",
        "otadtk.cli",
        "otadtk.training.train",
        "otadtk.metrics",
        "otadtk.experiments.",
        "otadtk.selftest",
        "",
        "otadtk.encoders.networks.yamnet.network",
    }


def test_no_folder_has_too_many_modules() -> None:
    for folder in [ROOT, *(path for path in ROOT.rglob("*") if path.is_dir())]:
        modules = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
        most = MOST_AT_THE_ROOT if folder == ROOT else MOST_MODULES
        assert len(modules) <= most, f"{folder} has {len(modules)} modules; make rooms of them"
