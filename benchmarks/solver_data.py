"""The embeddings for the solver's benchmarks: three scales, three dimensions, any size."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from otadtk import get_encoder
from otadtk.audio.decode import AudioReader
from otadtk.audio.find import find_audio

REGIMES = {"smooth": "unit norm", "middle": "norm 4", "sharp": "raw"}


def load_embeddings(data: Path) -> np.ndarray:
    """YAMNet's patch embeddings (patches, 1024) of a folder of audio; cached in build/."""
    files = find_audio(data)
    names = "\n".join(f"{file.name} {file.stat().st_size}" for file in files)
    key = hashlib.sha256(names.encode()).hexdigest()[:16]
    kept = Path(__file__).resolve().parent.parent / "build" / f"patches-{key}.npy"
    if not kept.exists():
        torch.set_num_threads(1)  # nested threads would only wait for each other
        encoder = get_encoder("yamnet")
        rate = encoder.spec.sample_rate
        patches = []
        for file in tqdm(files, desc="patches", unit="clip", disable=None):
            samples = np.concatenate([*AudioReader(file, rate)])
            patches.append(encoder.encode_frames(samples, rate))
        kept.parent.mkdir(exist_ok=True)
        with kept.open("wb") as file:
            np.save(file, np.concatenate(patches))
    return np.load(kept)


def nearest_distance(points, sample=1000):
    """The median distance to the nearest other point, which is the jitter of a copy."""
    part = points[:sample].astype(np.float64)
    squares = np.square(part).sum(1)[:, None] + np.square(points, dtype=np.float64).sum(1)
    squares -= 2.0 * part @ points.T.astype(np.float64)
    squares[np.arange(len(part)), np.arange(len(part))] = np.inf
    return float(np.sqrt(np.median(squares.min(axis=1).clip(min=0.0))))


def two_sets(embeddings, n, dimension, regime, seed=0):
    """Two disjoint sets of n samples, projected and scaled, with jittered copies if needed."""
    rng = np.random.default_rng(seed)
    points = embeddings[rng.permutation(len(embeddings))]
    if dimension < points.shape[1]:
        projection = rng.standard_normal((points.shape[1], dimension)) / np.sqrt(dimension)
        points = points @ projection.astype(np.float32)
    copies = -(-2 * n // len(points))
    # identical patches (digital silence) stay identical: their noise is drawn once
    distinct, member = np.unique(points, axis=0, return_inverse=True)
    spread = nearest_distance(distinct) / np.sqrt(points.shape[1])
    jittered = [
        points + (spread * rng.standard_normal(distinct.shape)).astype(np.float32)[member.ravel()]
        for _ in range(copies - 1)
    ]
    points = np.concatenate([points, *jittered])[rng.permutation(copies * len(points))][: 2 * n]
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    if regime == "smooth":
        points = points / norms
    elif regime == "middle":
        points = 4.0 * points / norms
    return np.ascontiguousarray(points[:n]), np.ascontiguousarray(points[n:])
