"""``otadtk-gate`` and ``otadtk-trend``: odd options, steps, and documents that somebody has changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.fuzzing.commands import odd_text, option_of, run, sources
from tests.fuzzing.target import Fuzz, Target, repeated

GATE, TREND = "otadtk-gate", "otadtk-trend"
OUTPUTS = ("--json", "g.json", "--junit", "g.xml", "--markdown", "g.md")
values = (
    st.none()
    | st.booleans()
    | st.integers(-2, 60)
    | st.floats()
    | odd_text
    | st.lists(st.floats() | st.none(), max_size=3)
    | st.dictionaries(odd_text, st.none(), max_size=2)
)


def targets(folder: Path) -> Iterator[Target]:
    """One target for each command, and one for the document of a baseline."""
    place = folder / "runs"
    place.mkdir()
    rng = np.random.default_rng(0)
    for name, rows, shift in (("a", 12, 0.0), ("b", 12, 0.5), ("c", 12, 0.6), ("one", 1, 0.0)):
        np.save(place / f"{name}.npy", rng.normal(size=(rows, 3)) + shift)
    np.save(place / "same.npy", np.ones((12, 3)))
    (place / "loop").symlink_to("loop")
    made = ["given", "a.npy", "b.npy", "--ci", "--no-null", "--json", "../base.json"]
    assert run(place, "otadtk", made) == 0
    document = json.loads((folder / "base.json").read_text("utf-8"))
    (place / "base.json").write_text(json.dumps(document), "utf-8")
    yield Target("gate", _gate(place))
    yield Target("trend", _trend(place))
    yield Target("documents", _documents(place, document))


def _gate(folder: Path) -> Fuzz:
    """A gate with a few options of any value."""
    baselines = st.sampled_from(["base.json", "base.json", "b.npy"]) | sources

    @repeated(st.lists(option_of(GATE), max_size=3), baselines, st.lists(sources, max_size=1))
    def once(options: list[list[str]], baseline: str, evaluated: list[str]) -> None:
        flat = [text for option in options for text in option]
        places = ["a.npy", *(evaluated or ["c.npy"])]
        run(folder, GATE, ["given", *places, *flat, "--baseline", baseline, *OUTPUTS], OUTPUTS)

    return once


def _trend(folder: Path) -> Fuzz:
    """The trend of a few steps, with options of any value."""
    steps = st.lists(st.sampled_from(["b.npy", "c.npy", "[ab].npy"]) | sources, max_size=3)

    @repeated(st.lists(option_of(TREND), max_size=3), steps)
    def once(options: list[list[str]], several: list[str]) -> None:
        flat = [text for option in options for text in option]
        run(folder, TREND, ["given", "a.npy", *several, *flat])

    return once


def _documents(folder: Path, document: dict[str, Any]) -> Fuzz:
    """A baseline in which one value is another, or gone."""
    paths = sorted(_paths(document))

    @repeated(st.sampled_from(paths), values, st.booleans(), st.sampled_from(["gate", "methods"]))
    def once(path: tuple[str, ...], value: Any, gone: bool, command: str) -> None:
        changed = copy.deepcopy(document)
        inner: Any = changed
        for step in path[:-1]:
            inner = inner[int(step)] if isinstance(inner, list) else inner[step]
        if isinstance(inner, list):
            inner[int(path[-1])] = value
        elif gone:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
        (folder / "changed.json").write_text(json.dumps(changed), "utf-8")
        if command == "methods":
            run(folder, "otadtk-methods", ["changed.json"])
        else:
            run(
                folder,
                GATE,
                ["given", "a.npy", "c.npy", "--baseline", "changed.json", *OUTPUTS],
                OUTPUTS,
            )

    return once


def _paths(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to every value of a document; of a list, to its first items."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, inner in items:
        yield (*path, str(key))
        if isinstance(inner, (dict, list)):
            yield from _paths(inner, (*path, str(key)))
