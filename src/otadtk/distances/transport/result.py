"""What a transport solver hands back: frozen records of numbers that explain themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from otadtk.distances.arrays import FloatArray

DivergenceKind = Literal["sharp", "entropic"]
EpsilonScale = Literal["absolute", "mean_cost", "median_cost"]


@dataclass(frozen=True)
class Coupling:
    """One solved problem OT_ε(a, b) = min_T ⟨T, C⟩ + ε KL(T | a ⊗ b), and how well it is solved.

    The plan is T_ij = a_i b_j exp((f_i + g_j − C_ij)/ε); its marginals miss a and b by the two
    marginal errors. ``primal`` is the value of a feasible plan made from T, ``dual`` that of the
    potentials: OT_ε lies between them.
    """

    value: float
    """⟨T, C⟩, the transport cost without the entropy term."""
    primal: float
    """⟨T′, C⟩ + ε KL(T′ | a ⊗ b) of a feasible plan T′, or a bound just above it."""
    dual: float
    """Σ a f + Σ b g − ε (Σ T − 1), a lower bound of OT_ε."""
    gap: float
    """(primal − dual) / |primal|: no solution is better than this one by more."""
    row_error: float
    """Σ_i |Σ_j T_ij − a_i|."""
    column_error: float
    """Σ_j |Σ_i T_ij − b_j|."""
    row_costs: FloatArray = field(repr=False)
    """Σ_j T_ij C_ij for every reference sample; they sum to ``value``."""
    column_costs: FloatArray = field(repr=False)
    """Σ_i T_ij C_ij for every evaluated sample (Eq. 7); they sum to ``value``."""
    value_error: float
    """How far ``value`` may be from the exact ⟨T*, C⟩ (see :class:`Divergence`)."""
    cost_rounding: float
    """How far rounding may have moved OT_ε beside both bounds, which no gap can see."""
    iterations: int
    """Sweeps over the kernel, or Newton steps on the truncated plan."""
    regime: str
    """``smooth`` (dense kernel), ``sharp`` (truncated plan) or ``legacy``."""
    converged: bool
    """Whether the relative gap met the tolerance."""
    potentials: tuple[FloatArray, FloatArray] | None = field(default=None, repr=False)
    """(f, g), on request."""


@dataclass(frozen=True)
class Divergence:
    """A Sinkhorn divergence S = OT(x, y) − ½ OT(x, x) − ½ OT(y, y) with its three terms.

    ``error_bar`` follows from the duality gaps γ (absolute) of the three terms. The entropic
    value of a term lies between its dual and its primal; their middle is reported, and its error
    is γ/2. For the sharp value ⟨T, C⟩ the gap alone is no bound; but OT_ε is concave in ε and has
    the slope KL(T* | a ⊗ b), so that dual values at ε ± δ bound ⟨T*, C⟩ = OT_ε − ε KL from both
    sides (``bracket.py``), by about sqrt(2 γ ε Var ℓ) with ℓ the log density of T. These are bounds
    for the costs as computed. What the rounding of the costs, of the kernel and of the sums can do is
    bounded too (``costs/rounding.py``) and added. The bar is error(xy) + ½ error(xx) + ½ error(yy).
    """

    value: float
    """The divergence of the kind named by ``divergence``."""
    divergence: DivergenceKind
    """``sharp``: terms are ⟨T, C⟩, as the published package; ``entropic``: terms are OT_ε."""
    xy: Coupling
    """The coupling between the reference and the evaluated set."""
    xx: Coupling
    """The coupling of the reference set with itself."""
    yy: Coupling
    """The coupling of the evaluated set with itself."""
    epsilon: float
    """The regularisation, absolute, in units of the squared distance."""
    epsilon_scale: EpsilonScale
    """What the given epsilon was a multiple of."""
    error_bar: float
    """How far ``value`` may be from the exact divergence; see the class."""
    seconds: float
    """Wall-clock time of the solver."""
    forecast_bytes: int
    """Peak memory above the inputs, as forecast before the run."""
    converged: bool
    """Whether all three terms met the tolerance, and the bar is narrow: a tenth of the value at most,
    or a hundredth of ⟨T, C⟩ between the sets."""
    compat: str | None = None
    """The published package whose arithmetic was reproduced, if any."""
    notes: tuple[str, ...] = ()
    """What a reader of the number should know, one sentence each."""
    shares: Callable[[int], FloatArray] | None = field(default=None, repr=False)
    """Gives column j of the plan as shares of sample j's mass; there with the potentials."""

    @property
    def cj(self) -> FloatArray:
        """Per-sample costs of the evaluated set (Eq. 7): mass 1/M each, they sum to ⟨T, C⟩."""
        return self.xy.column_costs

    @property
    def reference_costs(self) -> FloatArray:
        """The same for the reference set: they too sum to ⟨T, C⟩."""
        return self.xy.row_costs

    def describe(self) -> str:
        """How the number was computed and how exact it is, in one line."""
        legacy = f" as {self.compat} computes it" if self.compat is not None else ""
        scale = "" if self.epsilon_scale == "absolute" else f" ({self.epsilon_scale})"
        error = self.xy.row_error + self.xy.column_error
        return (
            f"{self.divergence} Sinkhorn divergence{legacy}, epsilon {self.epsilon:.4g}{scale}, "
            f"{self.xy.regime} regime: {self.xy.iterations} iterations, marginal error {error:.1e}, "
            f"duality gap {self.xy.gap:.1e}, score exact to ±{self.error_bar:.1g}"
        )
