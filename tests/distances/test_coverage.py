"""The error bar covers the truth, in a thousand random problems or in ``PROBLEMS`` of them."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from otadtk.distances.transport.sinkhorn import assemble, sinkhorn_divergence

from .random_problems import Problem, clusters, tiny, truths

PROBLEMS = int(os.environ.get("PROBLEMS", "1000"))
CHUNK = 250
APART = (0.0, 100.0, 10_000.0)


def problems(start: int, stop: int) -> list[Problem]:
    """Every fifth problem has two clusters of float32 points; the others are of any kind."""
    return [
        tiny(seed) if seed % 5 else clusters(seed, APART[seed // 5 % 3])
        for seed in range(start, stop)
    ]


@pytest.mark.parametrize("start", range(0, PROBLEMS, CHUNK))
def test_the_bar_covers_the_truth(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if start // CHUNK % 2:  # the ladder of large problems, although these are small
        monkeypatch.setattr("otadtk.distances.transport.solve.LARGEST", 0)
    tiled = start // CHUNK % 4 == 3  # and every second one that of problems too large for memory
    if tiled:
        monkeypatch.setattr("otadtk.distances.transport.solve.TILED_FROM", 1)
    chunk = problems(start, min(start + CHUNK, PROBLEMS))
    converged = 0
    for number, (problem, truth) in enumerate(zip(chunk, truths(chunk), strict=True), start):
        sharp = sinkhorn_divergence(
            problem.x,
            problem.y,
            epsilon=problem.epsilon,
            weights_x=problem.a,
            weights_y=problem.b,
            max_memory=1 if tiled and number % 2 else None,
        )
        terms = sharp.xy, sharp.xx, sharp.yy
        entropic = assemble(*terms, "entropic", sharp.epsilon, "absolute", 0.0, 0)
        which = f"problem {number}, {problem.kind}"
        assert abs(sharp.value - truth.sharp) <= sharp.error_bar + truth.slack, which
        assert abs(entropic.value - truth.entropic) <= entropic.error_bar, which
        converged += sharp.converged and entropic.converged
    assert converged >= 0.99 * len(chunk), "a solver that gives up covers everything"


def test_a_bar_as_large_as_the_value_is_not_converged() -> None:
    chunk = problems(1, 2)
    found = sinkhorn_divergence(chunk[0].x, chunk[0].y, epsilon=chunk[0].epsilon)
    terms = found.xy, found.xx, found.yy
    assert found.converged
    assert assemble(*terms, "sharp", found.epsilon, "absolute", 0.0, 0).converged
    wide = replace(found.xy, value_error=found.value)
    vague = assemble(wide, *terms[1:], "sharp", found.epsilon, "absolute", 0.0, 0)
    assert not vague.converged
    assert "error bar" in vague.notes[-1]
