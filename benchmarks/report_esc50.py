"""Makes the folders, labels and groups of the ESC-50 report, and times writing and opening it.

    python benchmarks/report_esc50.py ESC50_FOLDER OUT_FOLDER [--browser CHROMIUM]

ESC50_FOLDER holds audio/ and meta/esc50.csv as published. Reference: folds 1-3 (1,200 clips).
Evaluated: folds 4-5 (800 clips), of which 40 have a planted fault, five of each of eight kinds.
The report is written twice; the second time everything comes from the store.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import soundfile

from otadtk.audio.perturb import perturb

KINDS = ("silence", "noise", "clicks", "dropouts", "clipping", "band_limit", "loop", "shuffle")
PER_KIND = 5
SEED = 0
STRENGTH = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("esc50", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--variant", default="artifact")
    parser.add_argument("--browser", default="/usr/bin/chromium")
    options = parser.parse_args()
    make_folders(options.esc50, options.out)
    report = options.out / "report.html"
    command = [sys.executable, "-m", "otadtk.cli.score", "yamnet"]
    command += [str(options.out / "reference"), str(options.out / "evaluated")]
    command += ["--variant", options.variant, "--report", str(report), "-q"]
    command += ["--labels", str(options.out / "labels.csv")]
    command += ["--groups", str(options.out / "groups.csv")]
    for state in ("first run", "warm store"):
        started = time.perf_counter()
        subprocess.run(command, check=True)
        size = report.stat().st_size / 1e6
        print(f"{state}: {time.perf_counter() - started:.1f} s, {size:.1f} MB", flush=True)
    open_in_browser(report, options.browser)


def make_folders(esc50: Path, out: Path) -> None:
    """Links to the clean clips, degraded copies of forty, and the two CSV files."""
    with (esc50 / "meta" / "esc50.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sides = {"reference": "123", "evaluated": "45"}
    evaluated = [row["filename"] for row in rows if row["fold"] in sides["evaluated"]]
    rng = np.random.default_rng(SEED)
    chosen = rng.permutation(len(evaluated))[: len(KINDS) * PER_KIND]
    fault_of = {evaluated[i]: KINDS[k % len(KINDS)] for k, i in enumerate(chosen)}
    for side, folds in sides.items():
        folder = out / side
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for row in rows:
            if row["fold"] not in folds:
                continue
            name = row["filename"]
            source = (esc50 / "audio" / name).resolve()
            if side == "evaluated" and name in fault_of:
                clip, rate = soundfile.read(source, dtype="float32")
                draw = np.random.default_rng(evaluated.index(name))
                degraded = perturb(fault_of[name], clip, rate, draw, STRENGTH)
                soundfile.write(folder / name, degraded, rate, subtype="PCM_16")
            else:
                (folder / name).symlink_to(source)
    with (out / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "fault"), *sorted(fault_of.items())])
    with (out / "groups.csv").open("w", newline="") as file:
        groups = [(row["filename"], row["category"]) for row in rows]
        csv.writer(file).writerows([("file", "category"), *groups])


def open_in_browser(report: Path, browser: str) -> None:
    """Seconds until the page is interactive, in headless Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for _ in range(3):
            page = chromium.new_page(viewport={"width": 1400, "height": 900})
            page.goto(report.resolve().as_uri())
            ready = page.evaluate("Number(document.documentElement.dataset.ready)")
            print(f"interactive after {ready / 1000:.2f} s", flush=True)
            page.close()
        chromium.close()


if __name__ == "__main__":
    main()
