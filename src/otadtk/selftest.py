"""The self-test: golden numbers of every distance and of the embedded encoders, hashes, the machine.

It needs no network, no data and no test framework, and takes seconds.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from otadtk.errors import OtadtkError

RATE = 16_000
_RELATIVE = 1e-4

GOLDEN = {
    "OTAD, epsilon 0.1": 0.563226098,
    "OTAD, epsilon 10": 0.499857586,
    "OTAD, entropic": 0.509787184,
    "OTAD, exact": 0.558567621,
    "OTAD, minibatch": 0.587762005,
    "OTAD, sliced": 0.065723864,
    "FAD": 0.485348471,
    "KAD, gaussian": 2.87816041,
    "KAD, iq": 2.33640668,
    "KAD, imq": 1.2790267,
    "logmel, vector of a fixed clip": -241.266716,
    "yamnet, vector of a fixed clip": 6.90639846,
}
"""tests/test_selftest.py derives those of the distances by other means."""
_DRAWN = {"OTAD, minibatch": 0.25, "OTAD, sliced": 0.25}
"""Tolerances of what depends on random draws, which other versions of numpy and torch may change."""

OPTIONAL = {
    # module: what it is for
    "av": "m4a, aac and webm files",
    "pyarrow": "Parquet files",
    "pandas": "to_dataframe()",
    "torchmetrics": "otadtk.torchmetrics",
}


@dataclass(frozen=True)
class Check:
    """One line of the self-test: what was looked at, whether it is well, and what was found."""

    what: str
    passed: bool
    found: str


def run_checks() -> Iterator[Check]:
    """Every check in turn; one that breaks is a check that failed."""
    for what, measure in _measures().items():
        yield _golden_check(what, measure)
    yield from _adapters()
    yield _guarded("the store gives back what it was given", _store_round_trip)


def machine() -> Iterator[str]:
    """What this machine has and lacks, a line each."""
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
            place = find_converted(spec.name, spec.weights)
            yield f"weights of {name}: {place or f'missing (otadtk-list-models --fetch {name})'}"


def fixed_sets() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Two sets of points by formula, the same with every version of numpy."""

    def points(count: int, phase: float) -> NDArray[np.float32]:
        grid = np.arange(count)[:, None] * 12.9898 + np.arange(8)[None] * 78.233
        return np.sin(grid + phase).astype(np.float32)

    return points(40, 0.0), points(30, 2.0) * np.float32(0.8) + np.float32(0.2)


def fixed_clip() -> NDArray[np.float32]:
    """Two seconds of a rising tone by formula."""
    time = np.arange(2 * RATE) / RATE
    return (0.3 * np.sin(2 * np.pi * (200.0 + 400.0 * time) * time)).astype(np.float32)


def _measures() -> dict[str, Callable[[], float | None]]:
    """What each golden number is; ``None`` when this machine lacks the weights."""
    from otadtk.distances.frechet import frechet_distance
    from otadtk.distances.kernel import KernelName, kernel_distance
    from otadtk.distances.transport import TransportSettings, transport

    x, y = fixed_sets()

    def moved(settings: TransportSettings) -> Callable[[], float]:
        return lambda: transport(x, y, settings).value

    def kernel(name: KernelName) -> Callable[[], float]:
        return lambda: kernel_distance(x, y, kernel=name).value

    return {
        "OTAD, epsilon 0.1": moved(TransportSettings(epsilon=0.1)),
        "OTAD, epsilon 10": moved(TransportSettings(epsilon=10.0)),
        "OTAD, entropic": moved(TransportSettings(epsilon=1.0, divergence="entropic")),
        "OTAD, exact": moved(TransportSettings(coupling="exact")),
        "OTAD, minibatch": moved(TransportSettings(coupling="minibatch", seed=0)),
        "OTAD, sliced": moved(TransportSettings(coupling="sliced", seed=0)),
        "FAD": lambda: frechet_distance(x, y),
        "KAD, gaussian": kernel("gaussian"),
        "KAD, iq": kernel("iq"),
        "KAD, imq": kernel("imq"),
        "logmel, vector of a fixed clip": lambda: _embedding_number("logmel"),
        "yamnet, vector of a fixed clip": lambda: _embedding_number("yamnet"),
    }


def _embedding_number(model: str) -> float | None:
    """A number that moves with every coordinate of a model's vector of the fixed clip."""
    from otadtk.encoders import get_encoder, get_spec
    from otadtk.weights import find_converted

    spec = get_spec(model)
    if spec.weights and find_converted(spec.name, spec.weights) is None:
        return None
    vector = get_encoder(model, "cpu").encode(fixed_clip(), RATE).astype(np.float64)
    return float(vector @ (1.0 + 0.5 * np.sin(np.arange(len(vector)))))


def _golden_check(what: str, measure: Callable[[], float | None]) -> Check:
    expected = GOLDEN[what]

    def compare() -> str:
        value = measure()
        if value is None:
            return "not checked: its weights are missing"
        if not abs(value - expected) <= _DRAWN.get(what, _RELATIVE) * abs(expected):
            raise OtadtkError(f"{value:.9g} instead of {expected:.9g}")
        return f"{value:.6g}"

    return _guarded(what, compare)


def _adapters() -> Iterator[Check]:
    """The hashes of the adapters inside the package."""
    from otadtk.adapter.manifest import known_adapters
    from otadtk.weights import verify

    for known in known_adapters():
        if known.file:

            def sound(path: Path = known.path, digest: str = known.digest) -> str:
                verify(path, digest)
                return digest[:19]

            yield _guarded(f"bundled adapter {known.file}", sound)


def _store_round_trip() -> str:
    from otadtk.audio import Audit
    from otadtk.store import EmbeddingStore, StoredClip

    with tempfile.TemporaryDirectory() as folder:
        store, values = EmbeddingStore(Path(folder)), fixed_sets()[0]
        store.put("ab" * 32, "cd" * 32, StoredClip(values, Audit(1.0, RATE, 1, 0.5, 0.0)))
        found = store.get("ab" * 32, "cd" * 32)
    if found is None or not np.array_equal(found.values, values):
        raise OtadtkError("it does not")
    return "it does"


def _guarded(what: str, check: Callable[[], str]) -> Check:
    try:
        return Check(what, True, check())
    except Exception as error:  # whatever breaks here is a finding, not a crash
        return Check(what, False, str(error) or type(error).__name__)
