"""Commands and Python permute alike: within pairs, groups, subfolders and twins, else freely."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from otadtk import FAD, compare, evaluate
from otadtk.cli import score
from otadtk.embed.embedding_set import EmbeddingSet
from otadtk.errors import UsageError
from otadtk.evaluation.defaults import with_floor
from otadtk.evaluation.designs import choose_design
from otadtk.statistics.designs import Free

NULL = 19


def clips(vectors: np.ndarray, names: list[str]) -> EmbeddingSet:
    files = tuple(Path(name) for name in names)
    nothing = (None,) * len(files)
    return EmbeddingSet(vectors.astype(np.float32), files, nothing, tuple(names), (), 0)


def sets(kind: str) -> tuple[EmbeddingSet, EmbeddingSet]:
    """Two sets of twelve clips in which clips belong together in one way."""
    rng = np.random.default_rng(0)
    own, other = rng.normal(size=(2, 12, 3))
    if kind == "strata":
        names = [f"{'rain' if k % 2 else 'wind'}/{k}.wav" for k in range(12)]
        own[::2] += 50.0
        other[::2] += 50.0
        return clips(own, [f"r/{name}" for name in names]), clips(
            other, [f"e/{name}" for name in names]
        )
    names = [f"{k}.wav" for k in range(12)]
    if kind == "pairs":
        other = own + 0.01 * other
    else:
        names.reverse()
    return clips(own, [f"r/{k}.wav" for k in range(12)]), clips(other, [f"e/{n}" for n in names])


@pytest.mark.parametrize("kind", ["free", "strata", "pairs"])
def test_every_way_to_a_floor_has_the_same_design(kind: str) -> None:
    reference, evaluated = sets(kind)
    design, _ = choose_design(reference, evaluated)
    assert design is not None and design.name == kind
    metric = FAD("given")
    found = evaluate(metric, reference, evaluated, null=NULL).statistics.floor
    assert found is not None and found.design == kind
    plain = evaluate(metric, reference, evaluated, null=NULL, design=Free(24)).statistics.floor
    assert plain is not None and plain.design == "free"
    assert (plain.scores == found.scores) == (kind == "free")
    quick = with_floor(evaluate(metric, reference, evaluated), engine=metric.engine)
    assert quick.statistics.floor is not None and quick.statistics.floor.design == kind
    systems = {"a": evaluated, "b": sets("free")[1]}
    ranked = compare(metric, reference, systems, null=NULL).systems
    floors = {system.name: system.statistics.floor for system in ranked}
    assert floors["a"] is not None and floors["a"].scores == found.scores


def test_no_excess_of_twins() -> None:
    reference, evaluated = sets("pairs")
    with pytest.raises(UsageError, match="the evaluated set have a twin"):
        evaluate(FAD("given"), reference, evaluated, excess=True)
    with pytest.raises(UsageError, match="most clips of a have a twin"):
        systems = {"a": evaluated, "b": sets("free")[1]}
        compare(FAD("given"), reference, systems, excess=True)


def test_subfolders_in_python_and_on_the_command_line(
    tmp_path: Path, write_clips: Callable[..., list[Path]]
) -> None:
    for side, seed in (("ref", 0), ("eval", 100)):
        for number, folder in enumerate(("dogs", "rain")):
            write_clips(tmp_path / side / folder, 6, first_seed=seed + 10 * number, seconds=0.5)
    folders = [str(tmp_path / "ref"), str(tmp_path / "eval")]
    out = tmp_path / "r.json"
    options = ["--fad", "--null", str(NULL), "--json", str(out)]
    assert score.main(["logmel", *folders, *options]) == 0
    (result,) = json.loads(out.read_text("utf-8"))["results"]
    floor = evaluate(FAD("logmel"), *folders, null=NULL).statistics.floor
    assert floor is not None and floor.design == "strata"
    assert result["statistics"]["floor"]["scores"] == list(floor.scores)
