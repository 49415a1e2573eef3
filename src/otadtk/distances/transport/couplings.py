"""Transport between two sets by any of its couplings, behind one call and one kind of result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from numpy.typing import ArrayLike
from torch import Tensor

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport import DEFAULT_EPSILON
from otadtk.distances.transport.backend import HERE, Backend
from otadtk.distances.transport.certificate.plan import Progress
from otadtk.distances.transport.result import Coupling, DivergenceKind, EpsilonScale
from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.distances.validate import check_positive, check_seed
from otadtk.errors import UsageError

CouplingName = Literal["sinkhorn", "exact", "minibatch", "sliced"]
COUPLINGS: tuple[CouplingName, ...] = ("sinkhorn", "exact", "minibatch", "sliced")


@dataclass(frozen=True)
class TransportSettings:
    """What is computed: the coupling, and how much of it is entropy.

    ``coupling`` is the certified Sinkhorn divergence, exact transport (ε → 0, up to 10,000 clips),
    or one of the approximations of Section 5.6, which draw with ``seed``.
    """

    epsilon: float = DEFAULT_EPSILON
    epsilon_scale: EpsilonScale = "absolute"
    divergence: DivergenceKind = "sharp"
    coupling: CouplingName = "sinkhorn"
    max_memory: int | None = None
    compat: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_positive(self.epsilon, "epsilon")
        check_seed(self.seed)
        if self.coupling not in COUPLINGS:
            known = ", ".join(COUPLINGS)
            raise UsageError(f"Unknown coupling {self.coupling!r}; choose from {known}.")
        if self.coupling != "sinkhorn":
            if self.epsilon_scale != "absolute" or self.compat is not None:
                raise UsageError(
                    f"epsilon_scale and compat belong to the coupling 'sinkhorn', "
                    f"not to {self.coupling!r}."
                )
            if self.coupling != "minibatch" and self.divergence != "sharp":
                raise UsageError(f"The coupling {self.coupling!r} has no entropic divergence.")

    @property
    def apart(self) -> str | None:
        """What sets the number apart from the certified Sinkhorn divergence, if anything does."""
        return self.compat if self.coupling == "sinkhorn" else self.coupling


class TransportResult(Protocol):
    """What every coupling gives: a value, the cost of each sample, and its own description."""

    @property
    def value(self) -> float:
        """The distance."""

    @property
    def cj(self) -> FloatArray:
        """The cost of every evaluated sample, mass 1/M each."""

    @property
    def reference_costs(self) -> FloatArray:
        """The cost of every reference sample, mass 1/N each."""

    @property
    def converged(self) -> bool:
        """Whether the value is what was asked for, to the solver's tolerance."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the number should know, one sentence each."""

    @property
    def shares(self) -> Callable[[int], FloatArray] | None:
        """Gives for an evaluated sample the share of its mass from each reference sample.

        None where a coupling has no plan between the whole sets, as the approximations.
        """

    def describe(self) -> str:
        """How the number was computed and how exact it is, in one line."""


def transport(
    x: ArrayLike | Tensor,
    y: ArrayLike | Tensor,
    settings: TransportSettings,
    progress: Progress | None = None,
    reference_term: Coupling | None = None,
    *,
    backend: Backend = HERE,
) -> TransportResult:
    """The transport between the reference ``x`` and the evaluated ``y``, as the settings say.

    ``reference_term`` is that of an earlier Sinkhorn divergence with the same x and ε. The
    ``backend`` solves mini-batches and makes the kernels of a smooth Sinkhorn problem.
    """
    # what few runs need is imported when it is needed
    if settings.coupling == "exact":
        from otadtk.distances.transport.exact import exact_transport

        return exact_transport(x, y, max_memory=settings.max_memory)
    if settings.coupling == "sliced":
        from otadtk.distances.transport.approximate import sliced_divergence

        return sliced_divergence(x, y, seed=settings.seed)
    if settings.coupling == "minibatch":
        from otadtk.distances.transport.approximate import minibatch_divergence

        return minibatch_divergence(
            x,
            y,
            epsilon=settings.epsilon,
            divergence=settings.divergence,
            seed=settings.seed,
            backend=backend,
        )
    return sinkhorn_divergence(
        x,
        y,
        epsilon=settings.epsilon,
        epsilon_scale=settings.epsilon_scale,
        divergence=settings.divergence,
        max_memory=settings.max_memory,
        potentials=True,
        reference_term=reference_term,
        compat=settings.compat,
        progress=progress,
        backend=backend,
    )
