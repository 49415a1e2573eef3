"""The self-test: golden values of every distance and of two encoders, hashes, the machine.

It needs no network, no data and no test framework, and takes seconds.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import OtadtkError
from otadtk.metrics.entry import GoldenValue
from otadtk.metrics.registry import all_metrics

RATE = 16_000

_GOLDEN_EMBEDDINGS = {"logmel": -241.266716, "yamnet": 6.90639846}
"""By encoder: a weighted sum of its vector of the fixed clip."""

OPTIONAL = {
    # module: purpose
    "av": "m4a, aac and webm files",
    "pyarrow": "Parquet files",
    "pandas": "to_dataframe()",
    "tokenizers": "captions (the CLAP score)",
    "torchmetrics": "otadtk.torchmetrics",
}


@dataclass(frozen=True)
class Check:
    """One line of the self-test: what was checked, whether it passed, and the finding."""

    what: str
    passed: bool
    found: str


def run_checks() -> Iterator[Check]:
    """Every check in turn; one that raises has failed."""
    x, y = fixed_sets()
    for golden in golden_values():

        def score(golden: GoldenValue = golden) -> str:
            return _compare(golden.compute(x, y), golden.value, golden.tolerance)

        yield _guarded(golden.what, score)
    for model, value in _GOLDEN_EMBEDDINGS.items():
        yield _guarded(f"{model}, vector of a fixed clip", partial(_check_embedding, model, value))
    yield from _adapters()
    yield _guarded("the store gives back what it was given", _store_round_trip)


def machine() -> Iterator[str]:
    """What is installed on this machine and what is missing, a line each."""
    import torch

    from otadtk.encoders import get_spec, list_models, plug_ins
    from otadtk.weights import find_converted

    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none: the CPU is used"
    yield f"torch {torch.__version__}, numpy {np.__version__}, GPU: {gpu}"
    for module, purpose in OPTIONAL.items():
        there = importlib.util.find_spec(module) is not None
        yield f"{module}: {'there' if there else 'missing'} (for {purpose})"
    yield "transformers, torchaudio, TensorFlow: not needed by any encoder"
    for name in list_models():
        if name not in plug_ins() and (spec := get_spec(name)).weights:
            path = find_converted(spec.weights_name, spec.weights)
            yield f"weights of {name}: {path or f'missing (otadtk-list-models --fetch {name})'}"


def fixed_sets() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two sets of points from a formula, the same with every version of numpy."""

    def points(count: int, phase: float) -> NDArray[np.float32]:
        grid = np.arange(count)[:, None] * 12.9898 + np.arange(8)[None] * 78.233
        return np.sin(grid + phase).astype(np.float32)

    return points(40, 0.0), points(30, 2.0) * np.float32(0.8) + np.float32(0.2)


def fixed_clip() -> NDArray[np.float32]:
    """Two seconds of a rising tone from a formula."""
    time = np.arange(2 * RATE) / RATE
    return (0.3 * np.sin(2 * np.pi * (200.0 + 400.0 * time) * time)).astype(np.float32)


def golden_values() -> Iterator[GoldenValue]:
    """The golden values of every metric."""
    for _, metric in all_metrics():
        yield from metric.golden_values()


def _embedding_number(model: str) -> float | None:
    """A weighted sum of a model's vector of the fixed clip; ``None`` without its weights."""
    from otadtk.encoders import get_encoder, get_spec
    from otadtk.weights import find_converted

    spec = get_spec(model)
    if spec.weights and find_converted(spec.weights_name, spec.weights) is None:
        return None
    vector = get_encoder(model, "cpu").encode(fixed_clip(), RATE).astype(np.float64)
    return float(vector @ (1.0 + 0.5 * np.sin(np.arange(len(vector)))))


def _check_embedding(model: str, expected: float) -> str:
    value = _embedding_number(model)
    if value is None:
        return "not checked: its weights are missing"
    return _compare(value, expected, 1e-4)


def _compare(value: float, expected: float, tolerance: float) -> str:
    if not abs(value - expected) <= tolerance * abs(expected):
        raise OtadtkError(f"{value:.9g} instead of {expected:.9g}")
    return f"{value:.6g}"


def _adapters() -> Iterator[Check]:
    """Checks of the hashes of the bundled adapters."""
    from otadtk.adapter.manifest import known_adapters
    from otadtk.weights import verify

    for known in known_adapters():
        if known.file:

            def check_hash(path: Path = known.path, digest: str = known.digest) -> str:
                verify(path, digest)
                return digest[:19]

            yield _guarded(f"bundled adapter {known.file}", check_hash)


def _store_round_trip() -> str:
    from otadtk.audio.clip_audit import ClipAudit
    from otadtk.embed.store import EmbeddingStore, StoredClip

    with tempfile.TemporaryDirectory() as folder:
        store, values = EmbeddingStore(Path(folder)), fixed_sets()[0]
        store.put("ab" * 32, "cd" * 32, StoredClip(values, ClipAudit(1.0, RATE, 1, 0.5, 0.0)))
        found = store.get("ab" * 32, "cd" * 32)
    if found is None or not np.array_equal(found.values, values):
        raise OtadtkError("it does not")
    return "it does"


def _guarded(what: str, check: Callable[[], str]) -> Check:
    try:
        return Check(what, True, check())
    except Exception as error:  # any error is a finding, not a crash
        return Check(what, False, str(error) or type(error).__name__)
