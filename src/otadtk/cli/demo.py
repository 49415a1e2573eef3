"""``otadtk-demo [DIR]``: two synthesised folders, one with planted faults, scored by ``otadtk``."""

from __future__ import annotations

import argparse
import csv
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from otadtk.cli import score
from otadtk.cli.shared.common_options import add_version
from otadtk.cli.shared.execute import EXIT_CODES, execute
from otadtk.errors import OtadtkError, UsageError

SEED = 0
RATE = 16_000
CLIPS_PER_KIND = 9
REFERENCE_PER_KIND = 45
"""A verdict on a few of 72 evaluated clips needs a reference of some hundred."""
FAULTS = ("clicks", "dropouts", "clipping", "noise", "silence", "loop")
CLIPS_PER_FAULT = 2
_MARK = ".otadtk-demo"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    return execute(_parser(), _run, arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="otadtk-demo",
        description="Synthesise a reference and an evaluated folder, plant faults in some evaluated "
        "clips, score the two, show how well the transport costs find the faults, and write a report "
        "to hear them.",
        epilog=EXIT_CODES,
    )
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path("demo"), help="where to write (default: demo)"
    )
    parser.add_argument("-m", "--model", default="yamnet", help="encoder (default: yamnet)")
    add_version(parser)
    return parser


def _run(options: argparse.Namespace) -> None:
    folder: Path = options.folder
    faults = write_clips(folder)
    costs = folder / "cj.csv"
    command = [options.model, str(folder / "reference"), str(folder / "evaluated")]
    command += ["--diagnose", "--diag-out", str(costs)]
    report = folder / "report.html"
    command += ["--report", str(report), "--labels", str(folder / "faults.csv")]
    command += ["--groups", str(folder / "kinds.csv")]
    print(f"$ otadtk {shlex.join(command)}", flush=True)
    code = score.main(command)
    if code != 0:
        raise OtadtkError(f"The demo's scoring ended with exit code {code}.")
    _print_detection(costs, faults)
    print(
        f"\nHear and see the clips: open {report.resolve().as_uri()}\n"
        "\nNow with your own folders of real and generated clips:\n"
        f"$ {_otadtk()} {options.model} path/to/real path/to/generated --diagnose "
        "--report report.html"
    )


def _otadtk() -> str:
    """How this shell starts ``otadtk``: its name if it is on the path, else its place."""
    here = Path(sys.argv[0]).with_name("otadtk")
    found = shutil.which("otadtk")
    if found and (not here.is_file() or Path(found).samefile(here)):
        return "otadtk"
    return shlex.quote(str(here)) if here.is_file() else f"{shlex.quote(sys.executable)} -m otadtk"


def write_clips(folder: Path) -> dict[str, str]:
    """Write both folders; returns the planted fault of every evaluated clip, "" for none."""
    import numpy as np
    import soundfile

    from otadtk.audio.perturb import perturb
    from otadtk.audio.synthesis import KINDS, synthesise

    if folder.exists() and any(folder.iterdir()) and not (folder / _MARK).exists():
        raise UsageError(f"{folder} has other files in it; name an empty folder.")
    rng = np.random.default_rng(SEED)
    names = [f"{kind}_{number}.wav" for kind in KINDS for number in range(CLIPS_PER_KIND)]
    faulty = rng.permutation(len(names))[: len(FAULTS) * CLIPS_PER_FAULT]
    fault_of = {names[i]: FAULTS[k % len(FAULTS)] for k, i in enumerate(faulty)}
    for side in ("reference", "evaluated"):
        (folder / side).mkdir(parents=True, exist_ok=True)
    for kind in KINDS:
        for number in range(REFERENCE_PER_KIND):
            # no clip is on both sides
            seed = number if number < CLIPS_PER_KIND else number + CLIPS_PER_KIND
            clip = synthesise(kind, seed, rate=RATE)
            place = folder / "reference" / f"{kind}_{number}.wav"
            soundfile.write(place, clip, RATE, subtype="PCM_16")
    for index, name in enumerate(names):
        clip = synthesise(name.split("_")[0], CLIPS_PER_KIND + index % CLIPS_PER_KIND, rate=RATE)
        if name in fault_of:
            clip = perturb(fault_of[name], clip, RATE, np.random.default_rng(index), 1.0)
        soundfile.write(folder / "evaluated" / name, clip, RATE, subtype="PCM_16")
    groups = [(f"{kind}_{k}.wav", kind) for kind in KINDS for k in range(REFERENCE_PER_KIND)]
    with (folder / "kinds.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "kind"), *groups])
    (folder / _MARK).touch()
    faults = {name: fault_of.get(name, "") for name in names}
    with (folder / "faults.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "fault"), *faults.items()])
    return faults


def _print_detection(costs: Path, faults: dict[str, str]) -> None:
    """Print the ranks, by cost, of the clips with planted faults."""
    from otadtk.statistics.ranking import auroc

    with costs.open(newline="") as file:
        cost_of = {Path(row["file"]).name: float(row["cj"]) for row in csv.DictReader(file)}
    names = list(cost_of)
    planted = [bool(faults[name]) for name in names]
    values = [cost_of[name] for name in names]
    ranked = sorted(names, key=lambda name: -cost_of[name])
    print(
        f"\n{sum(planted)} of {len(names)} evaluated clips carry planted faults; by c_j they rank:"
    )
    for fault in FAULTS:
        ranks = [str(ranked.index(name) + 1) for name in sorted(names) if faults[name] == fault]
        print(f"  {fault:<9} {', '.join(ranks)}")
    print(f"AUROC of c_j: {auroc(planted, values):.3f}  (1 finds all of them first, 0.5 is chance)")


if __name__ == "__main__":
    raise SystemExit(main())
