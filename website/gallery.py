"""Makes the pages of the gallery from the demo's sounds, and the demo's lines in the README.

python -m website.gallery build/gallery            report.html, comparison.html, demo.txt
python -m website.gallery build/gallery --readme   writes the demo's lines into README.md, too
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile

from otadtk.audio.perturb import perturb
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.cli.demo import CLIPS_PER_KIND, RATE

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"(<!-- demo -->\n```console\n).*?(```\n<!-- end -->)", re.DOTALL)
SYSTEMS = "systems"
SHOWN_CLIPS = 3


def main(arguments: list[str] | None = None) -> None:
    """Make the gallery in the folder named."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    text = run(folder, "demo", "demo")
    (folder / "demo.txt").write_text(text, encoding="utf-8")
    (folder / "demo" / "report.html").replace(folder / "report.html")
    write_systems(folder / SYSTEMS)
    places = ["demo/reference", "systems/clean", "demo/evaluated", "systems/muffled"]
    run(
        folder,
        "compare",
        "yamnet",
        *places,
        "--groups",
        "demo/kinds.csv",
        "--report",
        "comparison.html",
    )
    block = BLOCK.search(README.read_text(encoding="utf-8"))
    whole = BLOCK.sub(lambda found: found[1] + summary(text) + found[2], README.read_text("utf-8"))
    if options.readme:
        README.write_text(whole, encoding="utf-8")
    elif block is None or summary(text) not in block[0]:
        print("The demo's lines in README.md are of another version; make readme renews them.")


def run(folder: Path, command: str, *arguments: str) -> str:
    """Run a command of otadtk in the folder; returns what it prints to stdout."""
    start = [sys.executable, "-m", f"otadtk.cli.{command}", *arguments]
    done = subprocess.run(start, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(start)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def write_systems(folder: Path) -> None:
    """Two more systems: clips like the demo's without faults, and the same without their treble."""
    for kind in KINDS:
        for number in range(CLIPS_PER_KIND):
            clip = synthesise(kind, CLIPS_PER_KIND + number, rate=RATE)
            dull = perturb("band_limit", clip, RATE, np.random.default_rng(number), 0.5)
            for system, sound in (("clean", clip), ("muffled", dull)):
                place = folder / system / f"{kind}_{number}.wav"
                place.parent.mkdir(parents=True, exist_ok=True)
                soundfile.write(place, sound, RATE, subtype="PCM_16")


def summary(text: str) -> str:
    """Six of the demo's lines for the README: the score, the verdict, and the worst clips."""
    lines = text.splitlines()
    head = [line for line in lines if line.startswith(("OTAD:", "  verdict:"))]
    table = next(k for k, line in enumerate(lines) if "worst clips" in line)
    return "\n".join([*head, *lines[table : table + SHOWN_CLIPS + 1], ""])


if __name__ == "__main__":
    main()
