"""One process of benchmarks/encoders.py: ``encoders_worker.py ENCODER TASK SCRATCH [MINUTES]``.

``prepare`` writes seeded weights into SCRATCH in otadtk's format. ``speed`` reads numbers of cores
from stdin and encodes clips for each. ``memory`` embeds one long file and prints the peak memory.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import soundfile
import torch

sys.path.insert(0, str(Path(__file__).parent.parent))

from otadtk.embed import Embedder, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import EncoderSpec, get_spec, load_encoder
from otadtk.encoders.pooling import split
from otadtk.encoders.spec import BATCH_SECONDS
from otadtk.engine import LocalEngine
from tests.encoders.references.cases import CASES
from tests.encoders.references.seeded import clip

SECONDS = 5
ENOUGH_SECONDS = 3.0
"""About how long a turn lasts; it encodes from 1 clip up to a full batch."""


def prepare(name: str, scratch: Path) -> None:
    """Convert a seeded checkpoint once, for the other processes to find."""
    from tests.encoders.seeded_checkpoints import official_tensors, spec_of, write_checkpoint

    path = write_checkpoint(name, official_tensors(name), scratch)
    spec = spec_of(name, path)
    load_encoder(spec, torch.device("cpu"), path)
    for file in spec.weights:  # one file, or a folder of several
        (path / file.name if path.is_dir() else path).unlink()
    (scratch / "digests").write_text("\n".join(file.digest for file in spec.weights))


def prepared_spec(name: str, scratch: Path) -> EncoderSpec:
    spec = get_spec(name)
    if name not in CASES:
        return spec
    digests = (scratch / "digests").read_text().splitlines()
    files = [dataclasses.replace(f, digest=d) for f, d in zip(spec.weights, digests, strict=True)]
    return dataclasses.replace(spec, weights=tuple(files))


def take_turns(spec: EncoderSpec) -> None:
    """For each number of cores on stdin: wall-clock and processor seconds per clip."""
    network = LazyEncoder(spec, "cpu").get()
    waveform = clip("voice", SECONDS * spec.sample_rate, spec.sample_rate)
    segments = [torch.from_numpy(s) for s in split([waveform], spec)]

    def encode(clips: int) -> None:
        torch.set_num_threads(1)  # for this worker thread only, as in embed/
        network.encode_segments(clips * segments)

    encode(1)
    started = time.process_time()
    encode(1)
    clips = round(ENOUGH_SECONDS / (time.process_time() - started))
    clips = min(max(1, clips), round(BATCH_SECONDS / SECONDS))
    print("ready", flush=True)
    for line in sys.stdin:
        workers = int(line)
        with ThreadPoolExecutor(workers) as pool:
            wall, cpu = time.perf_counter(), time.process_time()
            list(pool.map(encode, workers * [clips]))
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        count = workers * clips
        print(json.dumps({"wall": wall / count, "cpu": cpu / count}), flush=True)


def embed_long_file(spec: EncoderSpec, minutes: float, scratch: Path) -> None:
    path = scratch / "long.wav"
    with soundfile.SoundFile(path, "w", 44_100, 1) as file:
        for _ in range(round(60 * minutes)):
            file.write(clip("voice", 44_100, 44_100))
    started = time.perf_counter()
    store = EmbeddingStore(scratch / "store")
    Embedder(LazyEncoder(spec, "cpu"), store, LocalEngine()).load(path)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # Linux counts in kB
    print(json.dumps({"gigabytes": peak, "seconds": seconds}))


def main() -> None:
    name, task, place, *minutes = sys.argv[1:]
    scratch = Path(place)
    if name in CASES:
        os.environ["OTADTK_WEIGHTS_CACHE"] = str(scratch / "cache")
    if task == "prepare":
        prepare(name, scratch)
    elif task == "speed":
        take_turns(prepared_spec(name, scratch))
    else:
        embed_long_file(prepared_spec(name, scratch), float(minutes[0]), scratch)


if __name__ == "__main__":
    main()
