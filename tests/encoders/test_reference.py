"""Every encoder says of a clip what its original implementation says; see references/README.md."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from otadtk.encoders import Encoder
from tests.encoders.references.cases import CASES
from tests.encoders.references.seeded import clip
from tests.encoders.seeded_checkpoints import REFERENCES

TOLERANCE = 1e-4
ALL_CASES = [(name, kind, samples) for name, cases in CASES.items() for kind, samples in cases]


@pytest.mark.parametrize(("name", "kind", "samples"), ALL_CASES)
def test_equals_the_original(
    name: str, kind: str, samples: int, seeded_encoder: Callable[[str], Encoder]
) -> None:
    encoder = seeded_encoder(name)
    rate = encoder.spec.sample_rate
    ours = encoder.encode(clip(kind, samples, rate), rate)
    with np.load(REFERENCES / f"{name}.npz") as fixture:
        theirs = fixture[f"{kind} {samples}"]
    deviation = np.abs(ours - theirs).max() / np.abs(theirs).max()
    print(f"deviation {name} {kind} {samples}: {deviation:.1e}")
    assert deviation <= TOLERANCE


@pytest.mark.parametrize("name", CASES)
def test_references_tell_clips_apart(name: str) -> None:
    """A comparison of vectors that hardly depend on the clip would show nothing."""
    with np.load(REFERENCES / f"{name}.npz") as fixture:
        vectors = [fixture[f"{kind} {samples}"] for kind, samples in CASES[name]]
    scale = max(np.abs(vector).max() for vector in vectors)
    for index, vector in enumerate(vectors):
        for other in vectors[:index]:
            assert np.abs(vector - other).max() > 50 * TOLERANCE * scale


@pytest.mark.parametrize("name", ["panns", "panns_16k", "panns_wglm", "ast"])
def test_class_scores_equal_the_original(
    name: str, seeded_encoder: Callable[[str], Encoder]
) -> None:
    encoder = seeded_encoder(name)
    rate = encoder.spec.sample_rate
    ours = encoder.classify(clip("voice", 5 * rate, rate), rate)
    with np.load(REFERENCES / "class_scores.npz") as fixture:
        theirs = fixture[name]
    if name.startswith("panns"):  # which gives probabilities
        ours = 1.0 / (1.0 + np.exp(-ours.astype(np.float64)))
    deviation = np.abs(ours - theirs).max() / np.abs(theirs).max()
    assert deviation <= TOLERANCE
    assert theirs.std() > 100 * TOLERANCE * np.abs(theirs).max()
