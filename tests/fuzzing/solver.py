"""Small random transport problems, whose error bars must cover the truth."""

from __future__ import annotations

from otadtk.distances.transport.sinkhorn import assemble, sinkhorn_divergence
from tests.distances.random_problems import clusters, tiny, truths
from tests.fuzzing.target import Target

APART = (0.0, 100.0, 10_000.0)
SPREAD = 1_000_003
"""Seeds of problems are this far from one run to the next, and from those of the tests."""


def target() -> Target:
    """The solver against an oracle that is more exact than its bars."""
    return Target("solver", _fuzz)


def _fuzz(examples: int, number: int) -> None:
    first = SPREAD * (number + 1)
    problems = [
        tiny(seed) if seed % 5 else clusters(seed, APART[seed // 5 % 3])
        for seed in range(first, first + examples)
    ]
    for seed, (problem, truth) in enumerate(zip(problems, truths(problems), strict=True), first):
        sharp = sinkhorn_divergence(
            problem.x,
            problem.y,
            epsilon=problem.epsilon,
            weights_x=problem.a,
            weights_y=problem.b,
        )
        terms = sharp.xy, sharp.xx, sharp.yy
        entropic = assemble(*terms, "entropic", sharp.epsilon, "absolute", 0.0, 0)
        which = f"problem {seed}, {problem.kind}"
        assert abs(sharp.value - truth.sharp) <= sharp.error_bar + truth.slack, which
        assert abs(entropic.value - truth.entropic) <= entropic.error_bar, which
