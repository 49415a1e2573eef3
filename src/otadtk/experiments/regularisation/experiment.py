"""The score against the regularisation ε, absolute and relative to the mean cost (5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from otadtk.distances.transport.result import EpsilonScale
from otadtk.distances.transport.sinkhorn import assemble, sinkhorn_divergence
from otadtk.experiments.factorial.experiment import replaced_classes
from otadtk.experiments.figure import BLUE, ORANGE, PAGE, panels
from otadtk.experiments.paper import REGULARISATION
from otadtk.experiments.rows import Row, column, distinct, distinct_pairs, select
from otadtk.experiments.run import Experiment, Source, Task
from otadtk.experiments.table import Table, mean_deviation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from otadtk.experiments.data import Embedded

_SCALES: tuple[EpsilonScale, ...] = ("absolute", "mean_cost")
_VARIANTS = ("raw", "agnostic")
_PARTLY = " ({} of the draws diverged, left out)"
_LARGEST_GAP = 1e-3
"""The largest duality gap of a draw that is shown; the solver's tolerance is 1e-5."""


@dataclass(frozen=True)
class RegularisationConfig:
    """The sweep over ε on the semantic axis: a share of the clips is replaced by other classes."""

    epsilons: tuple[float, ...] = (0.01, 0.05, 0.1, 0.5, 1.0)
    share: float = 0.05
    draws: int = 2


QUICK = RegularisationConfig(epsilons=(0.05, 0.5), draws=1)


def tasks(config: RegularisationConfig, source: Source) -> list[Task]:
    """Every model, ground metric, scale, ε and draw."""
    return [
        _task(config, source.embedded(model), variant, scale, epsilon, turn)
        for model in source.request.models
        for variant in _VARIANTS
        if variant in source.embedded(model).variants
        for scale in _SCALES
        for epsilon in config.epsilons
        for turn in range(config.draws)
    ]


def _task(
    config: RegularisationConfig,
    own: Embedded,
    variant: str,
    scale: EpsilonScale,
    epsilon: float,
    turn: int,
) -> Task:
    def compute() -> list[Row]:
        x = own.adapt(own.clean(), variant)
        y = x[replaced_classes(own.dataset.labels, config.share, turn)]
        sharp = sinkhorn_divergence(x, y, epsilon=epsilon, epsilon_scale=scale)
        terms = (sharp.xy, sharp.xx, sharp.yy)  # solved once for both definitions
        entropic = assemble(*terms, "entropic", sharp.epsilon, scale, 0.0, 0)
        return [
            {
                "model": own.model,
                "variant": variant,
                "scale": scale,
                "epsilon": epsilon,
                "seed": turn,
                "absolute_epsilon": sharp.epsilon,
                "sharp": sharp.value,
                "entropic": entropic.value,
                "iterations": sharp.xy.iterations,
                "regime": sharp.xy.regime,
                "gap": max(term.gap for term in terms),
                "converged": int(sharp.converged),
                "seconds": sharp.seconds,
            }
        ]

    return Task(f"{own.model} {variant} {scale} {epsilon} {turn}", compute)


def _certified(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if float(row["gap"]) <= _LARGEST_GAP]


def tables(rows: Sequence[Row]) -> list[Table]:
    """Score, gap and time by ε."""
    cells = []
    for model, variant in distinct_pairs(rows, "model", "variant"):
        for scale, epsilon in product(_SCALES, distinct(rows, "epsilon")):
            every = select(rows, model=model, variant=variant, scale=scale, epsilon=epsilon)
            own = _certified(every) or every
            unit = "" if scale == "absolute" else " × mean cost"
            unit += "" if len(own) == len(every) else _PARTLY.format(len(every) - len(own))
            cells.append(
                [
                    f"{model}, {variant}, {epsilon}{unit}",
                    mean_deviation(column(own, "sharp").tolist(), 5),
                    mean_deviation(column(own, "entropic").tolist(), 5),
                    str(own[0]["regime"]),
                    f"{column(own, 'iterations').mean():.0f}",
                    f"{column(own, 'gap').max():.0e}",
                    f"{column(own, 'seconds').mean():.1f}",
                ]
            )
    for epsilon, value in REGULARISATION.items():
        cells.append([f"CLAP, agnostic, {epsilon} (paper)", f"{value:.5f}", "", "", "", "", ""])
    return [
        Table(
            "Sinkhorn divergence against ε_reg, 5 % of the clips of other classes: mean ± deviation "
            "over draws; times depend on the machine",
            [
                "encoder, metric, ε_reg",
                "sharp",
                "entropic",
                "regime",
                "iterations",
                "duality gap",
                "seconds",
            ],
            cells,
        )
    ]


def draw(rows: Sequence[Row]) -> dict[str, Figure]:
    """Sharp and entropic scores against ε, both scales on one axis."""
    models = distinct(rows, "model")
    with panels(1, len(models), width=PAGE, height=2.4) as (figure, axes):
        for place, model in zip(axes, models, strict=True):
            for variant, marker in zip(_VARIANTS, "os", strict=True):
                own = _certified(select(rows, model=model, variant=variant))
                if not own:
                    continue
                parts = [
                    select(own, scale=scale, epsilon=epsilon)
                    for scale in _SCALES
                    for epsilon in distinct(own, "epsilon")
                ]
                parts = [part for part in parts if part]
                parts.sort(key=lambda part: column(part, "absolute_epsilon").mean())
                x = [column(part, "absolute_epsilon").mean() for part in parts]
                for kind, colour in (("sharp", BLUE), ("entropic", ORANGE)):
                    place.plot(
                        x,
                        [column(part, kind).mean() for part in parts],
                        "-" if variant == "raw" else "--",
                        color=colour,
                        marker=marker,
                        label=f"{variant}, {kind}",
                    )
            place.set_yscale("log")
            place.set_xscale("log")
            place.set_xlabel("ε_reg, absolute (squared distance)")
            place.set_title(str(model), loc="left")
            place.legend()
        axes[0].set_ylabel("Sinkhorn divergence")
    return {"sweep": figure}


EXPERIMENT = Experiment(
    "regularisation", RegularisationConfig(), QUICK, tasks, tables, draw, timed=("seconds",)
)
