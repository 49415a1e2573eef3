"""Measures every encoder: clips/s at 5 s, against its original, and memory for a long file.

    python benchmarks/encoders.py [ENCODER ...] [--minutes 10] [--turns 3]
        [--originals FOLDER --reference-python PYTHON]

Weights are random (tests/encoders/references/seeded.py): the time does not depend on them. Every
measurement is a fresh process with one thread. Ours, four clips in a batch, and the original, one
clip at a time, take turns; processor time is counted and the least of it taken, which a busy machine
disturbs least.
tests/encoders/references says where the originals are had. The memory is the peak of a process
that embeds one long file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

SECONDS = 5
CLIPS = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("encoders", nargs="*")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--originals", type=Path)
    parser.add_argument("--reference-python", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child))
        return
    from tests.encoders.references.cases import CASES

    print(
        f"| encoder | clips/s at {SECONDS} s | times the original | {options.minutes:g} min: GB | s |"
    )
    print("|---|---|---|---|---|", flush=True)
    for name in options.encoders or CASES:
        measure(name, options)


def measure(name: str, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch) / "cache"
        os.environ["OTADTK_CACHE"] = str(cache)
        digest = run(name, "prepare", scratch=scratch)["digest"]
        ours, theirs = [], []
        for _ in range(options.turns):
            ours.append(run(name, "time", digest=digest)["seconds"])
            if options.originals is not None:
                theirs.append(original_seconds(name, options))
        ratio = f"{min(theirs) / min(ours):.2f}" if theirs else "-"
        long = {"gigabytes": 0.0, "seconds": 0.0}
        if options.minutes:
            long = run(name, "long", digest=digest, minutes=options.minutes, scratch=scratch)
    rate = 1.0 / min(ours)
    print(
        f"| {name} | {rate:.2f} | {ratio} | {long['gigabytes']:.2f} | {long['seconds']:.0f} |",
        flush=True,
    )


def run(name: str, task: str, **facts: object) -> dict[str, float]:
    command = json.dumps({"name": name, "task": task, **facts})
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.run(
        [sys.executable, __file__, "--child", command],
        **{"env": environment, "stdout": subprocess.PIPE, "text": True, "check": True},
    )
    result: dict[str, float] = json.loads(process.stdout)
    return result


def original_seconds(name: str, options: argparse.Namespace) -> float:
    process = subprocess.run(
        [
            *(str(options.reference_python), "-W", "ignore"),
            str(ROOT / "tests" / "encoders" / "references" / "make.py"),
            *("--originals", str(options.originals), "--time", str(SECONDS), name),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(process.stdout.split()[-1])


def child(facts: dict[str, str]) -> None:
    """One measurement; its result goes to stdout as JSON."""
    import dataclasses

    import torch

    from otadtk.embed import LazyEncoder
    from otadtk.encoders import get_spec, load_encoder
    from otadtk.encoders.pooling import split
    from tests.encoders.references.seeded import clip

    torch.set_num_threads(1)
    name = facts["name"]
    if facts["task"] == "prepare":  # convert once; the other processes find the conversion
        from tests.encoders.seeded_checkpoints import official_tensors, spec_of, write_checkpoint

        path = write_checkpoint(name, official_tensors(name), Path(facts["scratch"]))
        spec = spec_of(name, path)
        load_encoder(spec, torch.device("cpu"), path)
        path.unlink()
        print(json.dumps({"digest": spec.weights[0].digest}))
        return
    file = dataclasses.replace(get_spec(name).weights[0], digest=facts["digest"])
    spec = dataclasses.replace(get_spec(name), weights=(file,))
    encoder = LazyEncoder(spec, "cpu")
    if facts["task"] == "time":
        network = encoder.get()
        clips = [clip("voice", SECONDS * spec.sample_rate, spec.sample_rate) for _ in range(CLIPS)]
        segments = [torch.from_numpy(s) for c in clips for s in split([c], spec)]
        times = []
        for _ in range(2):
            started = time.process_time()
            network.encode_segments(segments)
            times.append((time.process_time() - started) / CLIPS)
        print(json.dumps({"seconds": min(times)}))
        return
    print(json.dumps(embed_long(encoder, float(facts["minutes"]), Path(facts["scratch"]))))


def embed_long(encoder: object, minutes: float, scratch: Path) -> dict[str, float]:
    import soundfile

    from otadtk.embed import embed
    from otadtk.store import EmbeddingStore
    from tests.encoders.references.seeded import clip

    path = scratch / "long.wav"
    with soundfile.SoundFile(path, "w", 44_100, 1) as file:
        for _ in range(round(60 * minutes)):
            file.write(clip("voice", 44_100, 44_100))
    started = time.perf_counter()
    embed(path, encoder, EmbeddingStore(scratch / "store"), workers=1)  # type: ignore[arg-type]
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # Linux counts in kB
    return {"gigabytes": peak, "seconds": seconds}


if __name__ == "__main__":
    main()
