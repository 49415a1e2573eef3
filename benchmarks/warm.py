"""What a warm run of a small problem costs above ``import torch``.

    make demo
    python benchmarks/warm.py demo/reference demo/evaluated
    python benchmarks/warm.py demo/reference demo/evaluated --against ../before/src

The first 72 clips of both folders are scored, again and again and in turns with ``import torch``: all
embeddings come from the cache. Printed are medians of the processor time of whole processes, and in the
last column what is left without ``import torch``. The default computes a floor; ``--no-null`` is the
score and the verdicts on clips alone. Bytecode is kept, as pip does for what it installs. With
``--against`` the default runs of this version and of another one take turns instead.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

RUN = "import sys; from otadtk_audio import _start; sys.exit(_start('score'))"
HERE = Path(__file__).resolve().parent.parent / "src"
VARIANTS = ("raw", "agnostic", "artifact", "perceptual")


def linked(folder: Path, clips: int, target: Path) -> Path:
    """A folder with links to the first clips of another."""
    target.mkdir()
    for clip in sorted(folder.resolve().glob("*.wav"))[:clips]:
        (target / clip.name).symlink_to(clip)
    return target


def processor_seconds(command: list[str], source: Path) -> float:
    """Of a process that runs the command on one thread, with the package of that source."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(source.resolve())
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    subprocess.run(command, check=True, capture_output=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reference", type=Path)
    parser.add_argument("evaluated", type=Path)
    parser.add_argument("--clips", type=int, default=72)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--against", type=Path, metavar="SRC", help="src/ of another version")
    options = parser.parse_args()
    if options.against is not None and not (options.against / "otadtk").is_dir():
        parser.error(f"{options.against} is not the src/ of another version")
    if options.repeat < 1:
        parser.error("--repeat is at least 1")
    with tempfile.TemporaryDirectory() as place:
        folders = [
            str(linked(folder, options.clips, Path(place, name)))
            for name, folder in (("ref", options.reference), ("eval", options.evaluated))
        ]
        score = [sys.executable, "-c", RUN, "yamnet", *folders]
        commands = {"import torch": ([sys.executable, "-c", "import torch"], HERE)}
        if options.against is None:
            for name in VARIANTS:
                by_variant = [*score, "--no-null", "--variant", name]
                commands[f"--no-null --variant {name}"] = by_variant, HERE
        else:
            commands["default of the other version"] = score, options.against
        commands["default, with floor"] = score, HERE
        seconds: dict[str, list[float]] = {title: [] for title in commands}
        for turn in range(options.repeat + 1):
            for title, (command, source) in commands.items():
                taken = processor_seconds(command, source)
                if turn > 0:  # the first fills the cache
                    seconds[title].append(taken)
    least = statistics.median(seconds["import torch"])
    print(f"| {options.clips} + {options.clips} clips | s | above `import torch` |\n|---|---|---|")
    for title, taken in seconds.items():
        median = statistics.median(taken)
        print(f"| {title} | {median:.2f} | {median - least:.2f} |")


if __name__ == "__main__":
    main()
