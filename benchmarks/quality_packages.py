"""Compares --quality with the published packages, both with the published weights.

    python benchmarks/quality_packages.py distillmos --packages FOLDER --speech speech.wav
    python benchmarks/quality_packages.py dnsmos --packages FOLDER --speech speech.wav

FOLDER holds distillmos 0.9.1 and xls-r-sqa 0.1.0, or speechmos 0.0.1.1, as pip installs them with
--target; librosa and onnxruntime are needed for the latter. Printed are the scores of eight clips and
the largest relative deviation.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np
import soundfile
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from otadtk.quality import distillmos, dnsmos
from tests.encoders.references.seeded import clip

RATE = 16_000
Scores = Callable[[NDArray[np.float32]], list[float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("measure", choices=["distillmos", "dnsmos"])
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--speech", type=Path, required=True, help="speech at 16 kHz")
    options = parser.parse_args()
    sys.path.insert(0, str(options.packages))
    package = packaged_distillmos() if options.measure == "distillmos" else packaged_dnsmos()
    ours = {"distillmos": distillmos, "dnsmos": dnsmos}[options.measure].load(torch.device("cpu"))
    speech = soundfile.read(options.speech, dtype="float32")[0]
    worst = 0.0
    for name, samples in clips(speech).items():
        theirs, found = np.array(package(samples)), np.array(ours(samples))
        worst = max(worst, float(np.abs(theirs - found).max() / np.abs(theirs).max()))
        print(name, theirs, found, flush=True)
    print(f"{options.measure}: largest relative deviation {worst:.1e}")


def clips(speech: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    found = {
        "speech": speech,
        "long speech": np.tile(speech, 12),
        "short": clip("voice", 5_000, RATE),
        "long": clip("voice", 144_160, RATE),
        "silence": np.zeros(20_000, dtype=np.float32),
        "noise": clip("noise", 80_000, RATE),
        "saw": clip("saw", 48_000, RATE),
        "bassoon": clip("bassoon", 48_000, RATE),
    }
    return {name: np.clip(samples, -1.0, 1.0) for name, samples in found.items()}


def packaged_distillmos() -> Scores:
    sys.modules["torchaudio"] = MagicMock()  # it is for the package's command line only
    from distillmos.sqa import ConvTransformerSQAModel

    network = ConvTransformerSQAModel().eval()

    @torch.inference_mode()
    def score(samples: NDArray[np.float32]) -> list[float]:
        return [float(network(torch.from_numpy(samples)[None]))]

    return score


def packaged_dnsmos() -> Scores:
    from speechmos import dnsmos as package

    def score(samples: NDArray[np.float32]) -> list[float]:
        found = package.run(samples, RATE)
        return [float(found[name]) for name in ("sig_mos", "bak_mos", "ovrl_mos")]

    return score


if __name__ == "__main__":
    main()
