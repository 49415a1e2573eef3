"""Measures the cost per clip and per pair on one core, and forecasts that of large sets.

A part of scale.py. Times are processor time of one thread. The points are YAMNet embeddings of
synthesised clips, at unit norm: a reference of all kinds of sound, other clips of the same kinds, and
clips of three quarters of the kinds. The forecast of KAD is rather too high: at so few clips its
constant part counts too. `sinkhorn` is the slope between half of the points and all points, with no
costs kept. It includes as many sweeps as these points need at this ε, in d dimensions;
docs/evidence/benchmarks.md has smoother sets of fewer dimensions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scale import MODEL, write_clips

from otadtk.audio.synthesis import KINDS
from otadtk.distances.frechet import frechet_distance
from otadtk.distances.kernel import kernel_distance
from otadtk.distances.moments import moments
from otadtk.distances.transport.approximate import minibatch_divergence, sliced_divergence
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.embed import Embedder, EmbedOptions, LazyEncoder
from otadtk.embed.store import EmbeddingStore
from otadtk.encoders import get_spec
from otadtk.engine import LocalEngine

POINTS = 2000
LONG_CLIPS, LONG_SECONDS = 48, 5.0
SIZES = (10**5, 10**6, 10**8)
CORES_A_GPU = 40.0
"""Assumption: the number of cores that one GPU replaces."""
SINKHORN_HOURS, CLUSTER_HOURS = 100.0, 2000.0
"""The whole divergence is advised up to this many core hours: on one machine, on a cluster."""
LARGEST_DRIVER = 256e9
"""Bytes of vectors that a driver can hold."""


def forecast() -> dict[str, Any]:
    """All measurements for the tables."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        found = clip_costs(Path(scratch))
        reference, alike, fewer = points(Path(scratch))
    found |= pair_costs(reference, alike)
    found["errors"] = {
        "the same kinds": errors(reference, alike),
        "three quarters of the kinds": errors(reference, fewer),
    }
    return found


def seconds_of(function: Callable[[], Any], times: int = 3) -> float:
    """The minimum processor time of a few calls."""
    found = []
    for _ in range(times):
        began = time.process_time()
        function()
        found.append(time.process_time() - began)
    return min(found)


def clip_costs(place: Path) -> dict[str, Any]:
    """Processor time to embed a clip, and its size in the store."""
    write_clips(place / "long", LONG_CLIPS, LONG_SECONDS, LONG_SECONDS)
    encoder, store = LazyEncoder(get_spec(MODEL)), EmbeddingStore(place / "store")
    one = LocalEngine(1)
    Embedder(encoder, store, one).load(place / "long")
    recomputing = Embedder(encoder, store, one, EmbedOptions(force=True))
    again = seconds_of(lambda: recomputing.load(place / "long"))
    entries = [path.stat() for path in store.root.rglob("*.clip")]
    assert len(entries) == LONG_CLIPS
    return {
        "clip_seconds": again / LONG_CLIPS,
        "clip_bytes": float(np.mean([entry.st_size for entry in entries])),
        "clip_disk": float(np.mean([entry.st_blocks * 512 for entry in entries])),
        "dimension": encoder.spec.dim,
    }


def points(place: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(reference, clips of the same kinds, clips of fewer kinds), each of unit norm."""
    kinds = len(KINDS)
    most = kinds * 3 // 4
    count = POINTS + -(-POINTS * kinds // most)
    write_clips(place / "short", count, 0.9, 0.9, seed=5000)
    encoder, store = LazyEncoder(get_spec(MODEL)), EmbeddingStore(place / "store")
    found = Embedder(encoder, store, LocalEngine()).load(place / "short")
    vectors = found.vectors / np.linalg.norm(found.vectors, axis=1, keepdims=True)
    number = np.arange(len(vectors))
    rest = number >= POINTS
    fewer = vectors[rest & (number % kinds < most)][:POINTS]
    return vectors[:POINTS], vectors[rest][:POINTS], fewer


def pair_costs(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Processor time of every distance, per clip or per pair."""
    pairs = float(len(x) * len(y))
    sinkhorn, terms = sinkhorn_slope(x, y)
    shard = np.concatenate([x, y, x, y])
    return {
        "fad_fixed": seconds_of(lambda: frechet_distance(moments(x), moments(y))),
        "fad_clip": seconds_of(lambda: moments(shard)) / len(shard),
        "kad_pair": seconds_of(lambda: kernel_distance(x, y)) / pairs,
        "sinkhorn_pair": sinkhorn,
        "sinkhorn_sweeps": terms,
        "minibatch_clip": seconds_of(lambda: minibatch_divergence(x, y)) / len(x),
        "sliced_clip": seconds_of(lambda: sliced_divergence(x, y)) / len(x),
    }


def sinkhorn_slope(x: np.ndarray, y: np.ndarray) -> tuple[float, tuple[int, int, int]]:
    """(processor time per pair, sweeps between the sets and within each)."""
    times = []
    for count in (len(x) // 2, len(x)):
        began = time.process_time()
        found = sinkhorn_divergence(x[:count], y[:count], max_memory=1)
        times.append(time.process_time() - began)
    slope = (times[1] - times[0]) / (len(x) ** 2 - (len(x) // 2) ** 2)
    return slope, (found.xy.iterations, found.xx.iterations, found.yy.iterations)


def errors(x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The whole divergence and both approximations."""
    return {
        "whole": sinkhorn_divergence(x, y).value,
        "minibatch": minibatch_divergence(x, y).value,
        "sliced": sliced_divergence(x, y).value,
    }


def tables(found: dict[str, Any]) -> list[str]:
    """The measurements and the forecast in Markdown."""
    return [
        "### Cost of each part",
        "",
        "In processor time of one core:",
        "",
        "| what | cost |",
        "|---|---|",
        *(f"| {what} | {cost} |" for what, cost in measured(found)),
        "",
        "### Error of the approximations",
        "",
        f"Against the whole divergence, {POINTS:,} against {POINTS:,} clips of unit norm, ε = 0.1:",
        "",
        "| evaluated clips | whole | `minibatch` | `sliced` |",
        "|---|---|---|---|",
        *(error_row(name, values) for name, values in found["errors"].items()),
        "",
        "### Forecast",
        "",
        "For N clips and their distance to N reference clips that are already embedded:",
        "",
        "- Hours are for one core; divide them by the number of cores.",
        "- `sinkhorn` takes less where workers keep their costs.",
        "- GPU hours are an assumption, not a measurement: one GPU encodes as much as "
        f"{CORES_A_GPU:g} cores.",
        "",
        "| N | store | vectors in memory | embedding, CPU h | embedding, GPU h (assumed) | FAD, h "
        "| KAD, h | `sinkhorn`, h | `minibatch`, h | use |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(size_row(found, size) for size in SIZES),
    ]


def measured(found: dict[str, Any]) -> list[tuple[str, str]]:
    """(what, cost) of one clip and one pair."""
    return [
        (f"embedding a clip of {LONG_SECONDS:g} s, `{MODEL}`", f"{found['clip_seconds']:.4f} s"),
        (
            "an entry of the store",
            f"{found['clip_bytes']:,.0f} bytes, {found['clip_disk']:,.0f} on disk",
        ),
        (
            f"FAD, d = {found['dimension']}",
            f"{found['fad_fixed']:.2f} s and {1e6 * found['fad_clip']:.1f} µs a clip",
        ),
        ("KAD, a pair", f"{1e9 * found['kad_pair']:.0f} ns"),
        (
            f"`sinkhorn` in tiles, a pair, d = {found['dimension']}",
            f"{1e9 * found['sinkhorn_pair']:,.0f} ns (sweeps: "
            "{} between the sets, {} and {} within)".format(*found["sinkhorn_sweeps"]),
        ),
        ("`minibatch`, a clip", f"{1e3 * found['minibatch_clip']:.2f} ms"),
        ("`sliced`, a clip", f"{1e3 * found['sliced_clip']:.2f} ms"),
    ]


def error_row(name: str, values: dict[str, float]) -> str:
    """The values of a pair of sets with their relative errors."""
    whole = values["whole"]
    cells = [
        f"{values[way]:.3g} ({100 * (values[way] / whole - 1):+.4g} %)"
        for way in ("minibatch", "sliced")
    ]
    return f"| {name} | {whole:.3g} | {cells[0]} | {cells[1]} |"


def size_row(found: dict[str, Any], n: int) -> str:
    """The forecast for N clips."""
    embedding = found["clip_seconds"] * n / 3600
    sinkhorn = found["sinkhorn_pair"] * n * n / 3600
    vectors = 2.0 * n * found["dimension"] * 4
    hours = [
        (found["fad_fixed"] + 2 * n * found["fad_clip"]) / 3600,
        found["kad_pair"] * n * n / 3600,
        sinkhorn,
        found["minibatch_clip"] * n / 3600,
    ]
    off = [100 * (pair["minibatch"] / pair["whole"] - 1) for pair in found["errors"].values()]
    error = f"{min(off):+.0f} to {max(off):+.0f} %"
    if sinkhorn <= SINKHORN_HOURS:
        advice = "`sinkhorn`, error certified"
    elif sinkhorn <= CLUSTER_HOURS:
        advice = f"`sinkhorn` on a hundred cores, error certified; else `minibatch`, {error}"
    elif vectors <= LARGEST_DRIVER:
        advice = f"`minibatch`, {error}"
    else:
        advice = f"`minibatch` of a million files drawn at random, {error}"
    cells = [
        f"10{'⁰¹²³⁴⁵⁶⁷⁸⁹'[len(str(n)) - 1]}",
        *(f"{size / 1e9:,.3g} GB" for size in (found["clip_disk"] * n, vectors)),
        *(short(value) for value in (embedding, embedding / CORES_A_GPU, *hours)),
        advice,
    ]
    return f"| {' | '.join(cells)} |"


def short(value: float) -> str:
    """Two significant digits."""
    return f"{float(f'{value:.2g}'):,.10g}" if value < 1e6 else f"{value:.1e}"
