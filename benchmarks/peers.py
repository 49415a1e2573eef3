"""Builds the environments of the packages that the benchmarks compare with, once, in one folder.

    python benchmarks/peers.py [build/peers]

``torch`` holds torch and POT, ``ott`` OTT with JAX; ``otadtk-0.1.2`` and ``geomloss`` are the bare
packages, run inside ``torch``. Torch has the version of constraints.txt: a plain torch may download
gigabytes of CUDA packages.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "peers"
ENVIRONMENTS = {
    "torch": ["torch==2.13.0", "numpy==2.4.6", "scipy==1.17.1", "POT==0.9.7.post1"],
    "ott": ["ott-jax==0.6.0", "jax==0.10.2"],
}
PACKAGES = {"otadtk-0.1.2": "otadtk==0.1.2", "geomloss": "geomloss==0.3.1"}


def build(place: Path = PLACE) -> Path:
    """The folder with every peer that could be installed; the others are named and left out."""
    place.mkdir(parents=True, exist_ok=True)
    for name, requirements in ENVIRONMENTS.items():
        home = place / name
        if not (home / "ready").exists():
            print(f"setting up {name} ...", flush=True)
            python = home / "bin" / "python"
            steps = [
                [sys.executable, "-m", "venv", str(home)],
                [str(python), "-m", "pip", "install", "-q", *requirements],
            ]
            _install(steps, home)
    for name, requirement in PACKAGES.items():
        home = place / name
        if not (home / "ready").exists():
            print(f"fetching {requirement} ...", flush=True)
            pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
            _install([[*pip, "--target", str(home), requirement]], home)
    return place


def _install(steps: list[list[str]], home: Path) -> None:
    for step in steps:
        if subprocess.run(step, check=False).returncode:
            print(f"  {home.name} cannot be installed here: left out", flush=True)
            return
    (home / "ready").touch()


if __name__ == "__main__":
    print(build(Path(sys.argv[1]) if len(sys.argv) > 1 else PLACE))
