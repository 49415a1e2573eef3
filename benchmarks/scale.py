"""Measures the figures of docs/how-to/scale.md: Ray against threads, a million files, a forecast.

    python benchmarks/scale.py [overhead] [listing] [exchange] [decoding] [forecast]
        [--write docs/how-to/scale.md] [--clips 5000] [--turns 3] [--files 1000000]

Results are kept in build/scale.json, so that the parts can be measured one by one. --write puts all
of them between the markers of the document.

overhead: short clips through YAMNet into empty stores. The engines alternate, with two cores each,
after a warm-up of Ray, its actors and both encoders. Ray's workers run at the niceness of this
process (RAY_worker_niceness=0); the default of 15 would measure how busy the machine is.
listing: empty files through everything that otadtk-embeds does on the driver of a Ray cluster; the
actors' work is replaced by work that opens no file.
exchange: see scale_exchange.py.
decoding: see scale_decoding.py.
forecast: see scale_forecast.py.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's spelling

from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.embed import AudioPass, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.embed.worker import Record
from otadtk.encoders import get_spec
from otadtk.engine import Engine, LocalEngine, RayEngine

KEPT = Path(__file__).resolve().parent.parent / "build" / "scale.json"
START, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PARTS = ("overhead", "listing", "exchange", "decoding", "forecast")
MODEL = "yamnet"
WARM_UP = 200


def write_clips(folder: Path, count: int, shortest: float, longest: float, seed: int = 0) -> None:
    """Synthesised clips of all kinds, as 16-bit wav files at 16 kHz."""
    folder.mkdir()
    lengths = np.random.default_rng(seed).uniform(shortest, longest, count)
    kinds = list(KINDS)
    for number, seconds in enumerate(lengths):
        samples = synthesise(kinds[number % len(kinds)], seed + number, float(seconds))
        soundfile.write(folder / f"{number:06d}.wav", samples, 16_000, subtype="PCM_16")


def overhead(clips: int, turns: int) -> dict[str, Any]:
    """Seconds of both engines in every turn, and the ratio of their medians."""
    found: dict[str, list[float]] = {"local": [], "ray": []}
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        write_clips(place / "warm-up", WARM_UP, 0.3, 0.5, seed=10**6)
        write_clips(place / "clips", clips, 0.3, 0.5)
        encoder = LazyEncoder(get_spec(MODEL))
        with RayEngine(num_actors=2) as ray:
            engines: dict[str, Engine] = {"local": LocalEngine(2), "ray": ray}
            for name, engine in engines.items():
                store = EmbeddingStore(place / f"warm-{name}")
                AudioPass((encoder,), store, engine).fill_store(place / "warm-up")
            for turn in range(turns):
                for name in list(engines)[:: 1 if turn % 2 == 0 else -1]:
                    store = EmbeddingStore(place / f"{name}-{turn}")
                    began = time.perf_counter()
                    audio = AudioPass((encoder,), store, engines[name])
                    filled = audio.fill_store(place / "clips")
                    found[name].append(time.perf_counter() - began)
                    assert filled.encoded == (clips,), f"{name} embedded {filled.encoded}"
                    print(f"  {name}: {found[name][-1]:.1f} s", flush=True)
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    return {"clips": clips, **found, "ratio": medians["ray"] / medians["local"]}


def listing(files: int) -> dict[str, Any]:
    """Seconds and peak memory of a driver that lists this many files and distributes them."""
    with tempfile.TemporaryDirectory() as scratch:
        for start in range(0, files, 1000):
            folder = Path(
                scratch, f"speaker_{start // 100_000:03d}", f"session_{start // 1000:05d}"
            )
            folder.mkdir(parents=True)
            for number in range(start, min(start + 1000, files)):
                os.mknod(f"{folder}/utterance_{number:08d}.wav")
        done = subprocess.run(
            [sys.executable, __file__, "--plan", scratch], stdout=subprocess.PIPE, check=True
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["clips"] == files, f"planned {found['clips']} of {files} files"
    return found


class WithoutAudio(Engine):
    """Ray with the full work of the driver, but with actors that open no file."""

    def __init__(self) -> None:
        self._ray = RayEngine(num_actors=2)

    def run(self, prepare: Any, items: Any, **how: Any) -> Iterator[tuple[int, Any]]:
        """A record for every item, as if it had been embedded."""
        yield from self._ray.run(_nothing_to_open, items, **how)
        self.summary = self._ray.summary

    def close(self) -> None:
        """End Ray."""
        self._ray.close()


def _nothing_to_open() -> Any:
    return lambda items: ((index, Record("0" * 64, (), (True,))) for index, _ in items)


def plan(folder: Path) -> None:
    """List and distribute the files of a folder in this process; print time and memory."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as store, WithoutAudio() as engine:
        encoder = LazyEncoder(get_spec(MODEL))
        audio = AudioPass((encoder,), EmbeddingStore(Path(store)), engine)
        filled = audio.fill_store(folder)
        seconds = time.perf_counter() - began
        # not ru_maxrss: that of a child begins with its parent's
        peak = Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0]
    found = {"clips": filled.clips, "seconds": seconds, "gigabytes": int(peak) * 1024 / 1e9}
    print(json.dumps(found))


def sentences(kept: dict[str, Any]) -> list[str]:
    """The results as the text of the document."""
    out = [
        "Written by `python benchmarks/scale.py --write docs/how-to/scale.md`, a part of `make bench`."
    ]
    if "overhead" in kept:
        part = kept["overhead"]
        out += [
            "",
            "### Threads and Ray on one machine",
            "",
            f"{part['clips']:,} clips of 0.3 to 0.5 s through `{MODEL}` on two cores, after start-up. Ray "
            f"takes {part['ratio']:.2f} times the time of threads.",
            "",
            "| | clips/s, by the median | turns, s |",
            "|---|---|---|",
        ]
        for name, way in (("threads", "local"), ("Ray", "ray")):
            rate = part["clips"] / statistics.median(part[way])
            out += [f"| {name} | {rate:.0f} | {', '.join(f'{s:.1f}' for s in part[way])} |"]
    if "listing" in kept:
        part = kept["listing"]
        out += [
            "",
            "### Many files",
            "",
            f"{part['clips']:,} files were listed and distributed to Ray actors that open none of them. "
            f"This took {part['seconds']:.0f} s and {part['gigabytes']:.2f} GB in the driver at most.",
        ]
    if "exchange" in kept:
        from scale_exchange import describe

        out += ["", *describe(kept["exchange"])]
    if "decoding" in kept:
        from scale_decoding import describe as describe_decoding

        out += ["", *describe_decoding(kept["decoding"])]
    if "forecast" in kept:
        from scale_forecast import tables

        out += ["", *tables(kept["forecast"])]
    return out


def write(document: Path, kept: dict[str, Any]) -> None:
    """Put the results between the markers of a document."""
    before, start, rest = document.read_text(encoding="utf-8").partition(START)
    _, end, after = rest.partition(END)
    assert start and end, f"{document} lacks {START} or {END}"
    page = "\n".join(sentences(kept))
    document.write_text(f"{before}{START}\n{page}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    parser.add_argument("--clips", type=int, default=5000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--files", type=int, default=1_000_000)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--plan", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.plan is not None:
        plan(options.plan)
        return
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for part in options.parts or PARTS:
        print(part, flush=True)
        if part == "overhead":
            kept[part] = overhead(options.clips, options.turns)
        elif part == "listing":
            kept[part] = listing(options.files)
        elif part == "exchange":
            from scale_exchange import exchange

            kept[part] = exchange()
        elif part == "decoding":
            from scale_decoding import decoding

            kept[part] = decoding()
        else:
            from scale_forecast import forecast

            kept[part] = forecast()
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept, indent=1))
    print("\n".join(sentences(kept)))
    if options.write:
        write(options.write, kept)


if __name__ == "__main__":
    main()
