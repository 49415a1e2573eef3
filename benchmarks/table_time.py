"""The time of all results of a protocol from a warm store, beside that of each result alone.

    python benchmarks/table_time.py ESC50_FOLDER [--protocol audioldm-eval] [--clips 1000]

The 2,000 files of ESC-50 are two sets of 1,000. The store is filled with random embeddings and logits,
because the time of a metric does not depend on what they say. Each run is a process of its own, from
its start to its end; processor time, one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from otadtk.audio.clip_audit import AuditTally
from otadtk.embed.store import EmbeddingStore, StoredClip
from otadtk.evaluation.protocols.protocol import Result, load_protocol
from otadtk.metrics import AudioMetric
from otadtk.metrics.registry import get_metric

FRAMES = 5
"""Of a clip, for results that compare frames."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("esc50", type=Path)
    parser.add_argument("--protocol", default="audioldm-eval")
    parser.add_argument("--clips", type=int, default=1000)
    options = parser.parse_args()
    protocol = load_protocol(options.protocol)
    files = sorted((options.esc50 / "audio").glob("*.wav"))[: 2 * options.clips]
    with tempfile.TemporaryDirectory() as scratch:
        sides = [Path(scratch) / name for name in ("reference", "evaluated")]
        for side, chosen in zip(sides, (files[0::2], files[1::2]), strict=True):
            side.mkdir()
            for number, file in enumerate(chosen):
                (side / f"{number:04d}.wav").symlink_to(file.resolve())
        fill(
            EmbeddingStore(Path(scratch) / "store"), [metric_of(r) for r in protocol.results], files
        )
        print("| results | s of processor time |\n|---|---|")
        alone = {}
        for result in protocol.results:
            alone[result.name] = seconds(options.protocol, sides, Path(scratch), [result.name])
            print(f"| {result.name} | {alone[result.name]:.1f} |", flush=True)
        together = seconds(options.protocol, sides, Path(scratch), list(alone))
        slowest = max(alone.values())
        print(f"| all {len(alone)} | {together:.1f} ({together / slowest:.2f} × the slowest) |")


def metric_of(result: Result) -> AudioMetric:
    metric = get_metric(result.metric)
    return metric(
        result.model,
        variant=result.variant,
        frames=result.frames,
        reading=result.reading,
        **result.options,
    )


def fill(store: EmbeddingStore, metrics: list[AudioMetric], files: list[Path]) -> None:
    """Write random entries for every file and encoder."""
    rng = np.random.default_rng(0)
    tally = AuditTally(44_100, 1)
    tally.add(0.1 * rng.normal(size=(44_100, 1)).astype(np.float32))
    audit = tally.audit(0.0, unheard=0.0)
    known = {(m.spec.fingerprint, m.embedder.options.kind): m.spec for m in metrics}
    for file in files:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        for (fingerprint, kind), spec in known.items():
            shape = (spec.dim,) if kind == "clip" else (FRAMES, spec.dim)
            values = rng.normal(size=shape).astype(np.float32)
            store.put(digest, fingerprint, StoredClip(values, audit), kind)
            if kind == "clip" and spec.classes:
                logits = rng.normal(size=spec.classes).astype(np.float32)
                store.put(digest, fingerprint, StoredClip(logits, audit), "labels")


def seconds(protocol: str, sides: list[Path], scratch: Path, results: list[str]) -> float:
    """The processor time of one run of the command."""
    command = [sys.executable, "-m", "otadtk", "--protocol", protocol, *map(str, sides), "-q"]
    how = ["--results", ",".join(results), "--cache-dir", str(scratch / "store"), "--workers", "1"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    one_thread = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OTADTK_OFFLINE": "1"}
    environment = {**os.environ, **one_thread}
    subprocess.run([*command, *how], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


if __name__ == "__main__":
    main()
