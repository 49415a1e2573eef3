"""Measures every encoder: clips/s, speed against its original, and memory for a 10-minute file.

    python benchmarks/encoders.py [ENCODER ...] [--only speed,memory] [--turns 5] [--cores 1 2]
        [--minutes 10] [--originals build/originals] [--write docs/evidence/encoders.md]

Weights are random (tests/encoders/references/seeded.py); they do not affect the time. An encoder and
its original (downloaded by benchmarks/originals.py) run in two processes that alternate. Ours
encodes batches with one worker per core, as for a folder; the original takes one clip at a time with
as many threads. Without the original only ours is measured. The memory is the peak of a process that
embeds one long file.

Results are kept in build/encoders.json, so that encoders can be measured one by one. --write puts
the table of all kept results under the last heading of a document (--only "" measures nothing).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from otadtk.encoders.networks import BUILT_IN

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
import originals  # noqa: E402

from tests.encoders.references.cases import CASES  # noqa: E402

ROOT = originals.ROOT
KEPT = ROOT / "build" / "encoders.json"
WORKER = Path(__file__).with_name("encoders_worker.py")
MAKE_REFERENCE = ROOT / "tests" / "encoders" / "references" / "make.py"
SECONDS = 5
HEADING = "## Speed"
CORES = ("1 core", "2 cores")


class ContestantError(Exception):
    """A process ended early; the message is the last line of its stderr."""


class Contestant:
    """A process that encodes clips of 5 s on request, with a given number of cores."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while self._answer() != "ready":
            pass

    def seconds_per_clip(self, cores: int) -> dict[str, float]:
        """One turn: seconds per clip, wall clock (``wall``) and processor time (``cpu``)."""
        assert self._process.stdin is not None
        print(cores, file=self._process.stdin, flush=True)
        turn: dict[str, float] = json.loads(self._answer())
        return turn

    def end(self) -> None:
        """End the process."""
        self._process.communicate()

    def _answer(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().strip()
        if not line:
            raise ContestantError(self._process.communicate()[1].strip().rpartition("\n")[2])
        return line


def measure_speed(name: str, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Clips/s with one and two cores, for ours and for the original if available."""
    contestants = {"ours": Contestant(sys.executable, str(WORKER), name, "speed", str(scratch))}
    python = options.originals / "environment" / "bin" / "python"
    if name in CASES and python.exists():
        command = (str(python), "-W", "ignore", str(MAKE_REFERENCE), name)
        place = ("--originals", str(options.originals), "--time", str(SECONDS))
        try:
            contestants["original"] = Contestant(*command, *place)
        except ContestantError as error:
            print(f"The original of {name} does not run here ({error}): measuring only ours.")
    found: dict[str, Any] = {"turns": options.turns}
    turns: dict[tuple[str, int], list[dict[str, float]]] = {}
    for _ in range(options.turns):
        for cores in options.cores:
            for who, contestant in contestants.items():
                turns.setdefault((who, cores), []).append(contestant.seconds_per_clip(cores))
    for contestant in contestants.values():
        contestant.end()
    # one core: processor time, which other processes hardly disturb; two cores: wall clock
    for (who, cores), taken in turns.items():
        clock = "cpu" if cores == 1 else "wall"
        found[f"{who}, {cores}"] = 1.0 / statistics.median(turn[clock] for turn in taken)
    return found


def measure_memory(name: str, scratch: Path, options: argparse.Namespace) -> dict[str, Any]:
    """The peak memory of a process that embeds one long file, in GB."""
    process = subprocess.run(
        [sys.executable, str(WORKER), name, "memory", str(scratch), str(options.minutes)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {"minutes": options.minutes, **json.loads(process.stdout)}


PARTS = {"speed": measure_speed, "memory": measure_memory}


def read_kept() -> dict[str, dict[str, Any]]:
    """The results so far, by encoder and part, in the order of the encoder table."""
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    return {name: kept[name] for name in BUILT_IN if name in kept}


def keep(name: str, part: str, found: dict[str, Any]) -> None:
    """Add a result to the file of results."""
    kept = read_kept()
    kept.setdefault(name, {}).setdefault(part, {}).update(found)
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=1))


def table(kept: dict[str, dict[str, Any]]) -> list[str]:
    """The results as a table."""
    titles = ["encoder", *(f"clips/s, {n}" for n in CORES), *(f"× original, {n}" for n in CORES)]
    rows = [[*titles, "GB for a long file"], ["---"] * 6]
    for name, parts in kept.items():
        speed, memory = parts.get("speed", {}), parts.get("memory", {})
        row = [f"`{name}`"]
        ours = [speed.get(f"ours, {n}") for n in (1, 2)]
        theirs = [speed.get(f"original, {n}") for n in (1, 2)]
        row += [f"{rate:.2f}" if rate else "" for rate in ours]
        row += [f"{a / b:.2f}" if a and b else "" for a, b in zip(ours, theirs, strict=True)]
        row.append(f"{memory['gigabytes']:.2f} ({memory['minutes']:g} min)" if memory else "")
        rows.append(row)
    return [f"| {' | '.join(row)} |" for row in rows]


def write(document: Path, kept: dict[str, dict[str, Any]], note: str) -> None:
    """Put the results under the last heading of a document."""
    turns = sorted({parts["speed"]["turns"] for parts in kept.values() if "speed" in parts})
    before, heading, _ = document.read_text(encoding="utf-8").partition(HEADING)
    assert heading, f"{document} has no {HEADING!r}"
    text = (
        "Written by `python benchmarks/encoders.py --write docs/evidence/encoders.md`, a part of `make "
        f"bench`: clips of {SECONDS} s, random weights. Ours runs in batches with a worker per core, the "
        "original one clip at a time with a thread per core; they alternate; medians of "
        f"{' or '.join(map(str, turns))} turns. One core: processor time; two cores: wall clock. "
        "Memory: the peak of a process that embeds one file. Empty cells were not measured; the "
        f"originals of yamnet and logmel do not run with this version of torch. {note}"
    )
    page = [HEADING, "", *textwrap.wrap(text, 100), "", *table(kept)]
    document.write_text(before + "\n".join(page) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoders", nargs="*")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--cores", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--originals", type=Path, default=originals.PLACE)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--note", default="", help="a further remark on these figures")
    options = parser.parse_args()
    if not (options.originals / "environment").is_dir():
        print(
            f"No originals at {options.originals} (benchmarks/originals.py): measuring only ours."
        )
    parts = [part for part in options.only.split(",") if part]
    for name in (options.encoders or BUILT_IN) if parts else ():
        with tempfile.TemporaryDirectory() as scratch:
            if name in CASES:
                work = [sys.executable, str(WORKER), name, "prepare", scratch]
                subprocess.run(work, check=True)
            for part in parts:
                found = PARTS[part](name, Path(scratch), options)
                print(name, part, found, flush=True)
                keep(name, part, found)
    kept = read_kept()
    print("\n".join(table(kept)))
    if options.write:
        write(options.write, kept, options.note)


if __name__ == "__main__":
    main()
