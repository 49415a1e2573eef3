"""Soak test: thousands of short clips through ``otadtk-embeds``, killed at random moments.

    python benchmarks/soak.py FOLDER --clips 20000

Memory must stay flat, nothing may be lost, and the scores must equal those of an undisturbed run.
Prints its findings and exits with 1 if one of these fails.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import soundfile

RATE = 16_000
PER_FOLDER = 1000
FLAT = 1.2
"""Memory is flat if its peak in the second half is below this multiple of that in the first."""


def main() -> int:
    options = _options()
    clips = options.folder / "clips"
    _make_clips(clips, options.clips)
    undisturbed, disturbed = options.folder / "undisturbed", options.folder / "disturbed"

    started = time.monotonic()
    memory = _run_to_the_end(clips, undisturbed)
    print(f"undisturbed run: {options.clips} clips in {time.monotonic() - started:.0f} s")
    flat = _is_flat(memory)

    kills = _run_with_kills(clips, disturbed, options)
    print(f"disturbed runs: {kills} interrupted, then one to the end")
    failures = [] if flat else ["memory grows"]
    failures += _differences(undisturbed, disturbed, options.clips)
    for scored, arguments in _scorings(clips):
        scores = [_score(root, scored, arguments) for root in (undisturbed, disturbed)]
        print(f"{' '.join(arguments)}: {scores[0]} undisturbed, {scores[1]} after the kills")
        failures += [] if scores[0] == scores[1] else [f"{arguments} differs"]
    print("soak: " + ("; ".join(failures) or "memory flat, nothing lost, scores equal"))
    return 1 if failures else 0


def _is_flat(memory: Sequence[int]) -> bool:
    """Whether memory stayed flat; a run too short for two samples says nothing against it."""
    first, second = memory[: len(memory) // 2], memory[len(memory) // 2 :]
    if not first:
        print("memory: the run was too short to be measured; take more clips")
        return True
    print(f"memory: {max(first) / 1e6:.0f} MB in the first half, {max(second) / 1e6:.0f} MB after")
    return max(second) < FLAT * max(first)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="an empty folder to work in")
    parser.add_argument("--clips", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--longest", type=float, default=40.0, help="seconds from a run's first entry to its kill"
    )
    return parser.parse_args()


def _make_clips(clips: Path, count: int) -> None:
    """Short clips, all different, the same for every run of the script."""
    for number in range(count):
        folder = clips / f"{number // PER_FOLDER:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(number)
        length = int(rng.integers(RATE // 5, RATE // 2))
        tone = np.sin(np.arange(length) * rng.uniform(0.02, 1.5))
        noise = rng.normal(size=length) * rng.uniform(0.0, 0.5)
        path = folder / f"{number:06d}.wav"
        if not path.exists():
            soundfile.write(path, 0.2 * (tone + noise), RATE, subtype="PCM_16")


def _start(clips: Path, root: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "otadtk.cli.embeds", "-m", "logmel", "-d", str(clips)]
    command += ["--cache-dir", str(root), "--workers", "2"]
    return subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=_listen_to_interrupts,
    )


def _listen_to_interrupts() -> None:
    """Restore Ctrl-C: children of a background script would ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_to_the_end(clips: Path, root: Path) -> list[int]:
    """Embed everything; returns samples of the process's memory in bytes."""
    process, memory = _start(clips, root), []
    while process.poll() is None:
        time.sleep(0.5)
        if root.exists():  # the interpreter and torch have loaded
            memory.append(_resident_bytes(process.pid))
    if process.returncode != 0 or process.stderr is None:
        raise SystemExit(f"the undisturbed run fails: exit code {process.returncode}")
    return [amount for amount in memory if amount]


def _resident_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


def _run_with_kills(clips: Path, root: Path, options: argparse.Namespace) -> int:
    """Start and kill until a run ends by itself; returns the number of kills."""
    moments = random.Random(options.seed)
    kills, stored = 0, 0
    while True:
        process = _start(clips, root)
        while process.poll() is None and _count(root) <= stored:
            time.sleep(0.2)
        try:
            process.wait(timeout=moments.uniform(0.0, options.longest))
        except subprocess.TimeoutExpired:
            process.send_signal(moments.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT]))
        errors = process.communicate()[1]
        if process.returncode == 0:
            return kills
        if process.returncode not in (-signal.SIGKILL, -signal.SIGINT, 130):
            raise SystemExit(f"a disturbed run fails by itself:\n{errors.decode()}")
        kills += 1
        now = _count(root)
        if now < stored:
            raise SystemExit(f"entries were lost: {stored} before, {now} after a kill")
        stored = now


def _count(root: Path) -> int:
    return sum(1 for _ in root.rglob("*.clip"))


def _differences(undisturbed: Path, disturbed: Path, count: int) -> list[str]:
    """What is missing, corrupted or different in the store that was written under kills."""
    entries = sorted(path.relative_to(undisturbed) for path in undisturbed.rglob("*.clip"))
    found = sorted(path.relative_to(disturbed) for path in disturbed.rglob("*.clip"))
    same = sum((undisturbed / e).read_bytes() == (disturbed / e).read_bytes() for e in entries)
    print(f"entries: {len(entries)} undisturbed, {len(found)} after the kills, {same} equal")
    return [] if len(entries) == count == same and found == entries else ["entries differ"]


def _scorings(clips: Path) -> Iterator[tuple[list[Path], list[str]]]:
    folders = sorted(clips.iterdir())
    for metric in ("--fad", "--kad", "--strict"):
        yield [folders[0], folders[-1]], [metric]


def _score(root: Path, folders: list[Path], arguments: list[str]) -> str:
    command = [sys.executable, "-m", "otadtk", "logmel", *map(str, folders), *arguments]
    command += ["--cache-dir", str(root), "--quiet"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    raise SystemExit(main())
