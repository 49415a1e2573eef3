"""One small report for all tests, with file names that contain markup."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import soundfile

from otadtk import OTAD
from otadtk.audio.synthesis import synthesise
from otadtk.encoders.networks.yamnet.network import YamnetEncoder
from otadtk.metrics.diagnostics import OTADDiagnostics

RATE = 16_000
NASTY_FOLDER = "<script>window.hacked=1<"
NASTY = f"{NASTY_FOLDER}/script>.wav"
NASTY_IMAGE = "bell/<img src=x onerror=window.hacked=1>.wav"
NASTY_KIND = "</script><b>loud</b>"


@dataclass(frozen=True)
class Scored:
    """Two scored folders, and a CSV of known bad clips."""

    diagnostics: OTADDiagnostics
    folder: Path
    labels: Path


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory, yamnet: YamnetEncoder) -> Scored:
    folder = tmp_path_factory.mktemp("report")
    for side, seed in (("reference", 0), ("evaluated", 100)):
        for kind in ("bell", "rain"):
            for number in range(14):
                path = folder / side / kind / f"{kind} #{number:02d}.wav"
                path.parent.mkdir(parents=True, exist_ok=True)
                write(path, synthesise(kind, seed + number, 2.0, RATE))
    evaluated = folder / "evaluated"
    (evaluated / NASTY).parent.mkdir()
    write(evaluated / NASTY, np.zeros(2 * RATE, dtype=np.float32))
    half = synthesise("rain", 7, 2.0, RATE)
    half[RATE:] = np.random.default_rng(0).normal(0, 0.3, RATE)
    write(evaluated / NASTY_IMAGE, half)
    with (folder / "labels.csv").open("w", newline="") as file:
        rows = [("file", "kind"), (NASTY, "silence"), (NASTY_IMAGE, NASTY_KIND)]
        csv.writer(file).writerows([*rows, ("bell/bell #00.wav", "clean")])
    metric = OTAD("yamnet", encoder=yamnet, cache_dir=folder / "cache", variant="raw")
    diagnostics = metric.diagnose(folder / "reference", evaluated)
    return Scored(diagnostics, folder, folder / "labels.csv")


def write(path: Path, clip: np.ndarray) -> None:
    soundfile.write(path, clip, RATE, subtype="PCM_16")


@pytest.fixture(scope="session")
def report(scored: Scored) -> Path:
    """The page of the scored folders."""
    return scored.diagnostics.to_html(scored.folder / "report.html", labels=scored.labels)
