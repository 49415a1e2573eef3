"""Seeded embeddings on which our distances are compared with other packages."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KERNEL_CASES = {
    f"d{dim}-{scale}": (dim, scale) for dim in (128, 512, 2048) for scale in ("unit", "wide")
}
TRANSPORT_CASES = {
    f"d{dim}-eps{epsilon}": (dim, epsilon) for dim in (64, 512) for epsilon in (0.1, 0.5)
}

ADAPTER_CASES = {
    f"{encoder}-{variant}": (encoder, variant, dim)
    for encoder, dim in (
        ("vggish", 128),
        ("clap", 512),
        ("audiomae", 768),
        ("beats", 768),
        ("ast", 768),
        ("encodec", 128),
        ("openl3", 512),
        ("panns", 2048),
        ("panns_wglm", 2048),
    )
    for variant in ("agnostic", "native")
}


def adapter_case(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two small sets of sparse, positive vectors, as the encoders give them."""
    dim = ADAPTER_CASES[name][2]
    rng = np.random.default_rng(dim)
    x, y = rng.normal(size=(14, dim)), 0.2 + rng.normal(size=(11, dim))
    return np.maximum(x, 0.0).astype(np.float32), np.maximum(y, 0.0).astype(np.float32)


def kernel_case(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two sets with a shifted mean: of unit deviation, or wide and sparse as CNN embeddings are."""
    dim, scale = KERNEL_CASES[name]
    rng = np.random.default_rng(dim)
    x, y = rng.normal(size=(150, dim)), 0.1 + rng.normal(size=(120, dim))
    if scale == "wide":
        x, y = 3.0 * np.maximum(x, 0.0), 3.0 * np.maximum(y, 0.0)
    return x.astype(np.float32), y.astype(np.float32)


def transport_case(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Two sets on the unit sphere in a few clusters, where the published solver converges."""
    dim, epsilon = TRANSPORT_CASES[name]
    rng = np.random.default_rng(dim)
    centres = rng.normal(size=(6, dim))

    def draw(n: int, shift: float) -> NDArray[np.float32]:
        points = centres[rng.integers(6, size=n)] + 0.7 * rng.normal(size=(n, dim)) + shift
        return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)

    return draw(90, 0.0), draw(70, 0.3), epsilon


REPORTED_CASES = ("shifted", "narrow", "copies")


def reported_case(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two sets: of shifted means, one narrower than the other, one with copies of the other."""
    rng = np.random.default_rng(len(name))
    x, y = rng.normal(size=(150, 24)), rng.normal(size=(120, 24))
    y = {"shifted": y + 0.4, "narrow": 0.6 * y, "copies": np.concatenate([x[:40], y[40:]])}[name]
    return x.astype(np.float32), y.astype(np.float32)


def logits_case() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Logits of 90 pairs of clips for 31 classes."""
    rng = np.random.default_rng(31)
    x = 3.0 * rng.normal(size=(90, 31))
    return x.astype(np.float32), (x + rng.normal(size=x.shape)).astype(np.float32)
