"""Measures when decoding in separate tasks pays, although waveforms must then be sent.

A part of scale.py. Decoding means to read, audit, mix and resample a clip of 5 s for an encoder at
16 kHz. Sending: batches of waveforms go from a task through Ray's object store to an actor on the
same machine, which copies them; the time of the same calls without waveforms is subtracted. Then
one actor with one CPU embeds clips of each format, alone and with one more CPU that decodes. The
encoder `logmel` is so cheap that decoding is most of the work, as it is beside a GPU.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from otadtk.audio.decode import AudioReader
from otadtk.audio.synthesis import KINDS, synthesise
from otadtk.embed import AudioPass, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.engine import RayEngine

RATE, SECONDS, BATCH = 16_000, 5.0, 64
CLIPS, TURNS = 96, 3
KINDS_OF_FILE: dict[str, tuple[str, str, int, int]] = {
    "wav, 16 kHz mono": (".wav", "PCM_16", 16_000, 1),
    "flac, 44.1 kHz stereo": (".flac", "PCM_16", 44_100, 2),
    "ogg (Vorbis), 44.1 kHz stereo": (".ogg", "VORBIS", 44_100, 2),
    "mp3, 44.1 kHz stereo": (".mp3", "MPEG_LAYER_III", 44_100, 2),
}


def decoding() -> dict[str, Any]:
    """Seconds per clip to decode, to send, and to embed in either way."""
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
    """One folder per file format, all with the same synthesised clips."""
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
    """The minimum of a few means over all clips."""
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
    """The median over some batches, per clip."""
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
    """A batch of clips, or only of their first samples."""
    made = [np.full(int(RATE * SECONDS), float(n), dtype=np.float32) for n in range(BATCH)]
    return made if whole else [samples[:1].copy() for samples in made]


class Taker:
    """Receives waveforms like an actor."""

    def take(self, batch: list[np.ndarray]) -> float:
        """A sum that reads all samples."""
        return float(sum(samples.copy()[-1] for samples in batch))


def seconds_to_embed(folder: Path, how: Any) -> float:
    """The median over a few turns, per clip, after a warm-up turn."""
    encoder, found = LazyEncoder(get_spec("logmel")), []
    with RayEngine(num_actors=1, decode=how, batch_size=8) as engine:
        for _ in range(TURNS + 1):
            with tempfile.TemporaryDirectory() as store:
                began = time.perf_counter()
                AudioPass((encoder,), EmbeddingStore(Path(store)), engine).fill_store(folder)
                found.append((time.perf_counter() - began) / CLIPS)
    return statistics.median(found[1:])


def describe(found: dict[str, Any]) -> list[str]:
    """The results as the text of the document."""
    rows = [
        f"| {name} | {1e3 * found['decoded'][name]:.2f} | {1e3 * found['actors'][name]:.2f} | "
        f"{1e3 * found['tasks'][name]:.2f} |"
        for name in KINDS_OF_FILE
    ]
    return [
        "### Decoding",
        "",
        f"Milliseconds per clip of {SECONDS:g} s, for an encoder at {RATE / 1000:g} kHz. To send its "
        f"waveform ({4 * RATE * SECONDS / 1e3:.0f} kB) to another process of the same machine takes "
        f"{1e3 * found['sent']:.2f} ms, in batches of {BATCH}.",
        "",
        "| file | decoding and audit | one actor, `logmel` | one actor and a decoding CPU |",
        "|---|---|---|---|",
        *rows,
    ]
