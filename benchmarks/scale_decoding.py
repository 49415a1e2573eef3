"""Measures when it pays that tasks decode for the actors, and waveforms travel.

A part of scale.py. To decode is to read, audit, mix and resample a clip of 5 s for an encoder at
16 kHz. Waveforms go in batches from a task through Ray's object store to an actor of the same
machine, which copies them; what the same takes without them is taken off. Then one actor with one
CPU embeds clips of each kind, by itself and with one more CPU that decodes for it. Its encoder,
`logmel`, is so cheap that decoding is most of the work, as it is beside a GPU.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from otadtk.audio import AudioReader
from otadtk.embed import LazyEncoder, fill_store
from otadtk.encoders import get_spec
from otadtk.engine import RayEngine
from otadtk.store import EmbeddingStore
from otadtk.synthesis import KINDS, synthesise

RATE, SECONDS, BATCH = 16_000, 5.0, 64
CLIPS, TURNS = 96, 3
KINDS_OF_FILE: dict[str, tuple[str, str, int, int]] = {
    "wav, 16 kHz mono": (".wav", "PCM_16", 16_000, 1),
    "flac, 44.1 kHz stereo": (".flac", "PCM_16", 44_100, 2),
    "ogg (Vorbis), 44.1 kHz stereo": (".ogg", "VORBIS", 44_100, 2),
    "mp3, 44.1 kHz stereo": (".mp3", "MPEG_LAYER_III", 44_100, 2),
}


def decoding() -> dict[str, Any]:
    """Seconds a clip takes to be decoded and sent, and to be embedded by either way."""
    with tempfile.TemporaryDirectory() as scratch, RayEngine(num_actors=1) as engine:
        folders = write_clips(Path(scratch))
        decoded = {name: seconds_to_decode(folder) for name, folder in folders.items()}
        assert engine.workers == 1  # which has connected this process
        sent = seconds_to_send()
        embedded = {
            how: {name: seconds_to_embed(folder, how) for name, folder in folders.items()}
            for how in ("actors", "tasks")
        }
    return {"decoded": decoded, "sent": sent, **embedded}


def write_clips(place: Path) -> dict[str, Path]:
    """For each kind of file a folder with the same synthesised clips."""
    folders = {name: place / kind[0][1:] for name, kind in KINDS_OF_FILE.items()}
    for folder in folders.values():
        folder.mkdir()
    kinds = list(KINDS)
    for number in range(CLIPS):
        clip = (kinds[number % len(kinds)], number, SECONDS)
        mono = {rate: synthesise(*clip, rate) for rate in (16_000, 44_100)}
        for name, (suffix, subtype, rate, channels) in KINDS_OF_FILE.items():
            samples = np.stack([np.roll(mono[rate], 99 * n) for n in range(channels)], axis=1)
            file = folders[name] / f"{number:03d}{suffix}"
            soundfile.write(file, samples, rate, subtype=subtype)
    return folders


def seconds_to_decode(folder: Path) -> float:
    """The least of a few means over all clips."""
    files = sorted(folder.iterdir())
    return min(_seconds_of_all(files) for _ in range(TURNS)) / len(files)


def _seconds_of_all(files: list[Path]) -> float:
    began = time.process_time()
    for file in files:
        reader = AudioReader(file, RATE)
        for _ in reader:
            pass
        assert reader.audit.seconds > 0
    return time.process_time() - began


def seconds_to_send() -> float:
    """The median over some batches, for one clip."""
    import ray

    task = ray.remote(waveforms).options(num_cpus=1)
    taker = ray.remote(Taker).options(num_cpus=0).remote()
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(20):
        for whole, found in times.items():
            began = time.perf_counter()
            ray.get(taker.take.remote(task.remote(whole)))
            found.append(time.perf_counter() - began)
    return (statistics.median(times[True]) - statistics.median(times[False])) / BATCH


def waveforms(whole: bool) -> list[np.ndarray]:
    """A batch of clips, or of their first samples."""
    made = [np.full(int(RATE * SECONDS), float(n), dtype=np.float32) for n in range(BATCH)]
    return made if whole else [samples[:1].copy() for samples in made]


class Taker:
    """Takes waveforms as an actor does."""

    def take(self, batch: list[np.ndarray]) -> float:
        """Something that needs them all."""
        return float(sum(samples.copy()[-1] for samples in batch))


def seconds_to_embed(folder: Path, how: Any) -> float:
    """The median of a few turns, for one clip, after a turn that starts processes."""
    encoder, found = LazyEncoder(get_spec("logmel")), []
    with RayEngine(num_actors=1, decode=how, batch_size=8) as engine:
        for _ in range(TURNS + 1):
            with tempfile.TemporaryDirectory() as store:
                began = time.perf_counter()
                fill_store(folder, [encoder], EmbeddingStore(Path(store)), engine=engine)
                found.append((time.perf_counter() - began) / CLIPS)
    return statistics.median(found[1:])


def told(found: dict[str, Any]) -> list[str]:
    """What was measured, as the document says it."""
    rows = [
        f"| {name} | {1e3 * found['decoded'][name]:.2f} | {1e3 * found['actors'][name]:.2f} | "
        f"{1e3 * found['tasks'][name]:.2f} |"
        for name in KINDS_OF_FILE
    ]
    return [
        f"Milliseconds for a clip of {SECONDS:g} s, of which an encoder wants {RATE / 1000:g} kHz. To send "
        f"its {4 * RATE * SECONDS / 1e3:.0f} kB of waveform, in batches of {BATCH}, to another process of "
        f"the same machine: {1e3 * found['sent']:.2f} ms.",
        "",
        "| file | to decode and audit | by one actor, `logmel` | and a CPU that decodes for it |",
        "|---|---|---|---|",
        *rows,
    ]
