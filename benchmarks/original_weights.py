"""Compares encoders with their originals, both with the published weights.

    python benchmarks/originals.py build/originals
    build/originals/environment/bin/python tests/encoders/references/make.py \
        --originals build/originals --weights WEIGHTS --output build/originals \
        --recordings speech.wav music.wav -- whisper ecapa cdpam cdpam_content
    python benchmarks/original_weights.py build/originals --recordings speech.wav music.wav

The originals of whisper, ecapa and cdpam read their published files from the folder WEIGHTS; that of
musicnn has them in its package (and runs under TensorFlow). otadtk fetches its own. Printed is the
largest deviation from the original, relative to the largest entry of the vector.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from otadtk import get_encoder
from tests.encoders.references.make import PACKAGED, recording
from tests.encoders.references.seeded import clip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where make.py wrote the originals' vectors")
    parser.add_argument("--recordings", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    print("| name | clips | deviation | on |\n|---|---|---|---|")
    for name in PACKAGED:
        if (options.folder / f"{name}.npz").is_file():
            compare(name, options.folder / f"{name}.npz", options.recordings)


def compare(name: str, path: Path, recordings: list[Path]) -> None:
    encoder = get_encoder(name, device="cpu")
    rate = encoder.spec.sample_rate
    recorded = {file.name: file for file in recordings}
    deviations = {}
    with np.load(path) as original:
        for case in original.files:
            if case == "shapes":
                continue
            if case in recorded:
                samples = recording(recorded[case], rate)
            else:
                kind, count = case.split()
                samples = clip(kind, int(count), rate)
            theirs = original[case]
            ours = encoder.encode(samples, rate)
            deviations[case] = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    worst = max(deviations, key=lambda case: deviations[case])
    print(f"| `{name}` | {len(deviations)} | {deviations[worst]:.1e} | {worst} |", flush=True)


if __name__ == "__main__":
    main()
