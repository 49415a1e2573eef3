"""Arguments of the public functions are checked before any work is done."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from otadtk import OTAD, evaluate
from otadtk.embed import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.compare import compare
from tests.evaluation.test_compare import embedded


@pytest.fixture
def sides(rng: np.random.Generator) -> tuple[EmbeddingSet, EmbeddingSet]:
    return embedded(rng.normal(size=(8, 3))), embedded(rng.normal(size=(8, 3)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"null": 2.5}, "null must be a whole number, not 2.5"),
        ({"null": "9"}, "null must be a whole number, not '9'"),
        ({"null": True}, "null must be a whole number, not True"),
        ({"null": -1}, "null must be at least 0, not -1"),
        ({"null": 9, "seed": -1}, "seed must be at least 0, not -1"),
        ({"null": 9, "seed": 0.5}, "seed must be a whole number, not 0.5"),
        ({"null": 9, "workers": 0}, "workers must be a whole number above 0, not 0"),
        ({"null": 9, "workers": 1.5}, "workers must be a whole number above 0, not 1.5"),
    ],
)
def test_evaluate(
    sides: tuple[EmbeddingSet, EmbeddingSet], arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate(OTAD("given"), *sides, **arguments)


@pytest.mark.parametrize("arguments", [{"bootstrap": 20.5}, {"bootstrap": -1}, {"seed": "1"}])
def test_compare(sides: tuple[EmbeddingSet, EmbeddingSet], arguments: dict[str, Any]) -> None:
    systems = dict(zip("ab", sides, strict=True))
    with pytest.raises(UsageError, match="must be"):
        compare(OTAD("given"), sides[0], systems, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [{"epsilon": "0.1"}, {"epsilon": True}, {"epsilon": -1}, {"seed": 1.5}, {"coupling": "none"}],
)
def test_settings_of_a_metric(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        OTAD("given", **arguments)
