"""Twins are noticed by name and embedding, or by embedding alone; strangers are not."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from otadtk.embed import EmbeddingSet
from otadtk.evaluation.pairs import noticed_twins


def clips(vectors: np.ndarray, names: list[str]) -> EmbeddingSet:
    files = tuple(Path(name) for name in names)
    count = len(files)
    return EmbeddingSet(vectors.astype(np.float32), files, (None,) * count, tuple(names), (), 0)


def test_twins_of_equal_and_of_other_names() -> None:
    rng = np.random.default_rng(0)
    reference = rng.normal(size=(30, 5))
    order = rng.permutation(30)
    own = clips(reference, [f"a{k}.wav" for k in range(30)])
    coded = reference[order] + 0.3 * rng.normal(size=reference.shape)
    by_name = noticed_twins(own, clips(coded, [f"a{k}.mp3" for k in order]))
    assert by_name is not None
    assert by_name.pairs == tuple((int(k), 30 + j) for j, k in enumerate(order))
    copied = reference[order] + 0.01 * rng.normal(size=reference.shape)
    by_embedding = noticed_twins(own, clips(copied, [f"b{k}.wav" for k in range(30)]))
    assert by_embedding is not None
    assert set(by_embedding.pairs) == set(by_name.pairs)


def test_strangers_and_few_copies_are_no_twins() -> None:
    rng = np.random.default_rng(1)
    reference, others = rng.normal(size=(2, 30, 5))
    own = clips(reference, [f"{k:03}.wav" for k in range(30)])
    assert noticed_twins(own, clips(others, [f"{k:03}.wav" for k in range(30)])) is None
    others[:10] = reference[:10]
    assert noticed_twins(own, clips(others, [f"b{k}.wav" for k in range(30)])) is None
