"""Linear systems with a plan: solved where they can be, and finite where they cannot."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from otadtk.distances.transport.sinkhorn import sinkhorn_divergence
from otadtk.distances.transport.sparse.laplacian import PlanLaplacian, conjugate_gradients


def laplacian(plan, damping=0.0, needs_tree=False):
    matrix = scipy.sparse.csr_matrix(plan)
    rows, columns = plan.sum(axis=1), plan.sum(axis=0)
    return PlanLaplacian(matrix, matrix.T.tocsr(), rows, columns, damping, needs_tree)


@pytest.mark.parametrize("needs_tree", [False, True])
def test_a_connected_plan_is_solved_exactly(needs_tree):
    rng = np.random.default_rng(0)
    plan = rng.uniform(size=(12, 9))
    right = rng.normal(size=12)
    right -= right.sum() * plan.sum(axis=1) / plan.sum()
    solution = laplacian(plan, needs_tree=needs_tree).solve_rows(right, 1e-12)
    matrix = np.diag(plan.sum(axis=1)) - plan / plan.sum(axis=0) @ plan.T
    assert matrix @ solution == pytest.approx(right, abs=1e-10)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(-700.0, 0.0), st.booleans())
def test_parts_that_hardly_exchange_mass_give_finite_steps_in_the_right_direction(
    seed, log_link, needs_tree
):
    """Two parts, joined by a link of e^−700 or more, one with too much mass and one with too little."""
    rng = np.random.default_rng(seed)
    plan = np.zeros((12, 10))
    plan[:6, :5], plan[6:, 5:] = rng.uniform(size=(6, 5)), rng.uniform(size=(6, 5))
    plan[0, 9] = np.exp(log_link)
    right = 0.1 * plan.sum(axis=1)
    right[6:] *= -right[:6].sum() / right[6:].sum()  # no mass is created
    found = laplacian(plan, 1e-18, needs_tree).solve_rows(right, 1e-13)
    assert np.isfinite(found).all()
    assert found[:6].mean() > found[6:].mean()


def test_no_curvature_ends_with_one_step_of_bounded_length():
    ones = np.ones(4)
    for curvature in (0.0, 1e-30, -1e-30):
        found, left = conjugate_gradients(
            lambda z, c=curvature: c * z, ones, lambda z: z, 0.0, 50, ones
        )
        assert found == pytest.approx(found[0] * ones)
        assert 0 < found[0] <= 1e16
        assert np.abs(left).sum() == pytest.approx(4.0)


@pytest.mark.parametrize("seed", [4, 13, 79, 91, 170])
def test_points_a_hundred_million_epsilon_apart_raise_no_warning(seed):
    """Each of these seeds has overflowed or divided by zero; warnings are errors here."""
    rng = np.random.default_rng(seed)
    x, y = (np.exp(2 * rng.normal(size=(n, 1))) * rng.normal(size=(n, 6)) for n in (60, 50))
    result = sinkhorn_divergence(100 * x, 100 * y)
    assert np.isfinite(result.value)
