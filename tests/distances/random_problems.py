"""Random small transport problems of every kind, and their solutions beyond float64.

The tests ask whether the solver's error bar covers the truth. So the oracle must be more exact than
the bar: costs, soft minima and sums are computed in numpy's ``longdouble``, from the points as they
were given; only the directions of its Newton steps are float64. Hundreds of problems are solved at
a time, as one array, padded by points of no weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

KINDS = ("plain", "clusters", "mixed clusters", "outlier", "near copies", "heavy tails")
WIDE = np.longdouble


@dataclass(frozen=True)
class Problem:
    """Two weighted sets, and ε."""

    kind: str
    x: np.ndarray
    y: np.ndarray
    a: np.ndarray
    b: np.ndarray
    epsilon: float


@dataclass(frozen=True)
class Truth:
    """Both divergences of a problem, and how far the oracle may be from the sharp one."""

    sharp: float
    entropic: float
    slack: float
    """What the oracle's plans miss of their marginals, times the largest cost."""


def clusters(seed: int, apart: float) -> Problem:
    """Float32 points of two clusters: one is the reference, the other is evaluated."""
    rng = np.random.default_rng(seed)
    d = int(rng.choice([1, 8, 64]))
    n, m = rng.integers(8, 26, size=2)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    y[:, 0] += apart
    epsilon = 2 * d * 10.0 ** rng.uniform(-1.3, 1)
    return _problem(f"two clusters {apart:g} apart", x, y, np.ones(n), np.ones(m), epsilon)


def tiny(seed: int) -> Problem:
    """1 to 30 points, weights from 1e-4 to 1, ε from 3e-4 to 300 times the median cost."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    d = int(rng.choice([1, 2, 8, 64]))
    n, m = rng.integers(1, 31, size=2)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, d)) * rng.uniform(0.3, 3)
    far = 10.0 ** rng.uniform(0, 4)
    if kind == "clusters":
        y[:, 0] += far
    elif kind == "mixed clusters":
        x[: n // 2, 0] += far
        y[: m // 3, 0] += far
    elif kind == "outlier":
        (x if rng.random() < 0.5 else y)[0] *= far
    elif kind == "near copies":
        shared = min(n, m) - min(n, m) // 4
        y[:shared] = x[:shared] + rng.normal(size=(shared, d)) * 10.0 ** rng.uniform(-4, -1)
    elif kind == "heavy tails":
        x, y = (side * np.abs(rng.standard_t(1, size=(len(side), 1))) for side in (x, y))
    a, b = (np.ones(k) if rng.random() < 0.5 else 10.0 ** rng.uniform(-4, 0, k) for k in (n, m))
    median = float(np.median(np.square(x[:, None] - y[None]).sum(axis=2)))
    epsilon = median * 3.0 * 10.0 ** rng.uniform(-4, 2)
    return _problem(kind, x, y, a, b, epsilon, narrow=rng.random() < 0.7)


def _problem(
    kind: str, x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, epsilon: float,
    narrow: bool = True,
) -> Problem:  # fmt: skip
    dtype = np.float32 if narrow else np.float64
    return Problem(kind, x.astype(dtype), y.astype(dtype), a, b, float(epsilon))


def truths(problems: Sequence[Problem], at_once: int = 500) -> Iterator[Truth]:
    """The truth of every problem."""
    for start in range(0, len(problems), at_once):
        yield from _truths(problems[start : start + at_once])


def _truths(problems: Sequence[Problem]) -> Iterator[Truth]:
    terms = []
    for problem in problems:
        x, y = problem.x.astype(WIDE), problem.y.astype(WIDE)
        a, b = (side.astype(WIDE) / side.astype(WIDE).sum() for side in (problem.a, problem.b))
        for p, q, w, v in ((x, y, a, b), (x, x, a, a), (y, y, b, b)):
            terms.append((np.square(p[:, None] - q[None]).sum(axis=2), w, v, problem.epsilon))
    sharp, entropic, residual = (part.reshape(-1, 3) for part in _couplings(terms))
    assert residual.max() < 1e-6, "the oracle itself must converge"
    weights = np.array([1.0, -0.5, -0.5], dtype=WIDE)
    slack = residual * np.array([term[0].max() for term in terms]).reshape(-1, 3)
    for found in zip(sharp @ weights, entropic @ weights, slack @ np.abs(weights), strict=True):
        yield Truth(*map(float, found))


Term = tuple[np.ndarray, np.ndarray, np.ndarray, float]


def _couplings(terms: Sequence[Term]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(⟨T, C⟩, OT_ε, the L1 error of the row marginals) of every term."""
    n, m = (max(term[0].shape[axis] for term in terms) for axis in (0, 1))
    cost = np.zeros((len(terms), n, m), dtype=WIDE)  # in units of ε
    log_a = np.full((len(terms), n), -np.inf, dtype=WIDE)
    log_b = np.full((len(terms), m), -np.inf, dtype=WIDE)
    for index, (costs, a, b, epsilon) in enumerate(terms):
        rows, columns = costs.shape
        cost[index, :rows, :columns] = costs / WIDE(epsilon)
        log_a[index, :rows], log_b[index, :columns] = np.log(a), np.log(b)
    f = _annealed(*(part.astype(float) for part in (cost, log_a, log_b)))
    # potentials of C/ε have this rounding, and so have the marginals
    goal = 1e-17 + 8 * float(np.finfo(WIDE).eps) * cost.max(axis=(1, 2)).astype(float)
    f, residual = _newton(cost, log_a, log_b, f.astype(WIDE), 150, goal)
    g = _soft_minimum(cost.swapaxes(1, 2), log_a, f)
    plan = np.exp(f[:, :, None] + g[:, None, :] - cost + log_a[:, :, None] + log_b[:, None, :])
    epsilons = np.array([term[3] for term in terms], dtype=WIDE)
    dual = (np.exp(log_a) * f).sum(axis=1) + (np.exp(log_b) * g).sum(axis=1)
    return epsilons * (plan * cost).sum(axis=(1, 2)), epsilons * dual, residual


def _soft_minimum(cost: np.ndarray, log_b: np.ndarray, g: np.ndarray) -> np.ndarray:
    """f_i = −log Σ_j b_j exp(g_j − C_ij), in units of ε; of 0 where nothing weighs anything."""
    exponent = (g + log_b)[:, None, :] - cost
    peak = exponent.max(axis=2, keepdims=True)
    return -(peak[..., 0] + np.log(np.exp(exponent - peak).sum(axis=2)))


def _annealed(cost: np.ndarray, log_a: np.ndarray, log_b: np.ndarray) -> np.ndarray:
    """Potentials f after some Newton steps at ever smaller multiples of ε, each from the last."""
    f = np.zeros_like(log_a)
    largest = cost.max(axis=(1, 2)).clip(min=1.0)
    scale = 4.0 ** np.ceil(np.log(largest.max()) / np.log(4.0))
    while scale >= 1.0:
        todo = (scale < 4.0 * largest) | (scale == 1.0)
        start = f[todo] / scale
        goal = np.full(len(start), 1e-4)
        start = _newton(cost[todo] / scale, log_a[todo], log_b[todo], start, 12, goal)[0]
        f[todo] = scale * start
        scale /= 4.0
    return f


def _newton(
    cost: np.ndarray, log_a: np.ndarray, log_b: np.ndarray, f: np.ndarray, steps: int,
    goal: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """(f, residuals) of damped Newton steps for f, where g is always the soft minimum."""
    f, residual = f.copy(), np.full(len(cost), np.inf)
    damping, radius = np.full(len(cost), 1e-6), np.full(len(cost), 4.0)
    active = np.arange(len(cost))
    state = _State(cost, log_a, log_b, f)
    for step in range(steps + 1):
        error = np.abs(state.a - state.rows).sum(axis=1).astype(float)
        residual[active] = error
        left = error > goal[active]
        if step == steps or not left.any():
            break
        active, state = active[left], state.chosen(left)
        direction = state.direction(damping[active])
        most = np.abs(direction).max(axis=1)
        move = direction * (radius[active] / np.maximum(radius[active], most))[:, None]
        tried = _State(state.cost, state.log_a, state.log_b, f[active] + move)
        with_rounding = 4 * np.finfo(f.dtype).eps * (np.abs(tried.height) + 1.0)
        uphill = tried.height >= state.height - with_rounding
        f[active[uphill]] += move[uphill]
        state.update(uphill, tried)
        damping[active] = np.where(uphill, 0.1 * damping[active], 30.0 * damping[active])
        damping[active] = damping[active].clip(1e-15, 1.0)
        radius[active] = np.where(uphill, 2.0 * radius[active], 0.25 * radius[active])
    return f, residual


class _State:
    """Plans of given f, with g the soft minimum: columns are exact, rows are not yet."""

    def __init__(
        self, cost: np.ndarray, log_a: np.ndarray, log_b: np.ndarray, f: np.ndarray
    ) -> None:
        self.cost, self.log_a, self.log_b, self.a = cost, log_a, log_b, np.exp(log_a)
        g = _soft_minimum(cost.swapaxes(1, 2), log_a, f)
        exponent = f[:, :, None] + g[:, None, :] - cost
        exponent += log_a[:, :, None] + log_b[:, None, :]
        self.plan = np.exp(exponent)
        self.rows = self.plan.sum(axis=2)
        self.height = (self.a * f).sum(axis=1) + (np.exp(log_b) * g).sum(axis=1)

    def chosen(self, mask: np.ndarray) -> _State:
        """The states where the mask holds."""
        part = object.__new__(_State)
        part.__dict__ = {name: value[mask] for name, value in self.__dict__.items()}
        return part

    def update(self, mask: np.ndarray, other: _State) -> None:
        """Takes the other's states where the mask holds."""
        for name, value in self.__dict__.items():
            value[mask] = other.__dict__[name][mask]

    def direction(self, damping: np.ndarray) -> np.ndarray:
        """The Newton step of f in float64; padded rows stay where they are."""
        b = np.exp(self.log_b).astype(float)
        scaled = self.plan.astype(float) / np.sqrt(np.where(b > 0, b, 1.0))[:, None, :]
        root = np.sqrt(np.where(self.a > 0, self.a, 1.0)).astype(float)
        hessian = -(scaled @ scaled.swapaxes(1, 2)) / (root[:, :, None] * root[:, None, :])
        diagonal = np.arange(hessian.shape[1])
        hessian[:, diagonal, diagonal] = 0.0
        # rows of a Laplacian sum to zero: the diagonal from the others loses no digits
        degree = -(hessian * root[:, None, :]).sum(axis=2) / root
        hessian[:, diagonal, diagonal] = degree + np.where(self.a > 0, damping[:, None], 1.0)
        right = ((self.a - self.rows) / root).astype(float)
        return np.linalg.solve(hessian, right[:, :, None])[..., 0] / root
