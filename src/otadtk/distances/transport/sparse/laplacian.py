"""Linear systems with the Laplacian of a plan, by preconditioned conjugate gradients.

The plan T is a bipartite graph with weights T_ij. Its Laplacian, with one side eliminated, is the
Hessian of the dual and the map that corrects marginals. A sharp plan falls into parts that hardly
exchange mass, which makes it ill conditioned; a spanning tree of the heaviest pairs, plus the
next heaviest ones, has the same weak links and factorises without fill: it is the preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from otadtk.distances.arrays import FloatArray
from otadtk.distances.transport.sparse.support import IndexArray, group_sums

if TYPE_CHECKING:  # slow to import, and smooth problems need none of it
    import scipy.sparse
    import scipy.sparse.linalg

_DIAGONAL_STEPS = 80
_TREE_STEPS = 150
_EXTRA_PAIRS = 0.3
"""Pairs beyond the tree in the preconditioner, per node."""
_ROUNDING = 1e-15
"""Curvature, relative to that of the diagonal alone, below which it is nothing but rounding."""
_DIVERGED = 1e6
"""Growth of the residual at which rounding has taken over."""
_TINY = 1e-200
"""Nothing is divided by less."""

Map = Callable[[FloatArray], FloatArray]


def conjugate_gradients(
    operator: Map, right: FloatArray, precondition: Map, goal: float, limit: int,
    diagonal: FloatArray, start: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:  # fmt: skip
    """(an approximate solution of operator(z) = right, its residual, of an L1 norm of ``goal``).

    The operator is ``diagonal`` · z less some of the same size. Along a direction that it maps to
    rounding only (parts of a plan that exchange no mass), one long step of bounded length is the
    last: the length that the rounding suggests may overflow.
    """
    solution = np.zeros_like(right) if start is None else start
    residual = right if start is None else right - operator(start)
    preconditioned = precondition(residual)
    direction, weight = preconditioned, float(residual @ preconditioned)
    left = first = float(np.abs(residual).sum())
    for step in range(limit):
        if left <= goal or weight <= 0 or not left <= _DIVERGED * first:
            break
        image = operator(direction)
        if not np.isfinite(image).all():  # scalings beyond float64: what is solved so far counts
            break
        curvature = float(direction @ image)
        least = _ROUNDING * float(diagonal @ np.square(direction))
        if curvature <= least:
            if curvature > 0 or step == 0:
                length = weight / max(least, _TINY)
                solution, residual = solution + length * direction, residual - length * image
            break
        solution = solution + (weight / curvature) * direction
        residual = residual - (weight / curvature) * image
        left = float(np.abs(residual).sum())
        preconditioned = precondition(residual)
        weight, last = float(residual @ preconditioned), weight
        direction = preconditioned + (weight / last) * direction
    return solution, residual


class PlanLaplacian:
    """Solves (diag(r)(1 + μ) − T diag(1/c) Tᵀ) z = y, and the same with the sides exchanged."""

    def __init__(
        self, plan: scipy.sparse.csr_matrix, transposed: scipy.sparse.csr_matrix,
        rows: FloatArray, columns: FloatArray, damping: float = 0.0,
        needs_tree: bool = False,
    ) -> None:  # fmt: skip
        self._plan, self._transposed = plan, transposed
        self._rows, self._columns, self._damping = rows, columns, damping
        self._tree: scipy.sparse.linalg.SuperLU | None = None
        self.needs_tree = needs_tree
        """Whether the diagonal was not enough; the next plan of a kind may start from this."""

    def solve_rows(self, right: FloatArray, goal: float) -> FloatArray:
        """Solution over the rows."""
        rows, columns = self._rows, self._columns

        def operator(z: FloatArray) -> FloatArray:
            image: FloatArray = (1.0 + self._damping) * rows * z
            image -= self._plan @ ((self._transposed @ z) / columns)
            return image

        def by_tree(z: FloatArray) -> FloatArray:
            solved: FloatArray = self._tree_solve(np.concatenate([z, np.zeros_like(columns)]))
            return solved[: len(rows)]

        return self._solve(operator, right, rows, by_tree, goal)

    def solve_columns(self, right: FloatArray, goal: float) -> FloatArray:
        """Solution over the columns."""
        rows, columns = self._rows, self._columns

        def operator(z: FloatArray) -> FloatArray:
            image: FloatArray = (1.0 + self._damping) * columns * z
            image -= self._transposed @ ((self._plan @ z) / rows)
            return image

        def by_tree(z: FloatArray) -> FloatArray:
            solved: FloatArray = self._tree_solve(np.concatenate([np.zeros_like(rows), z]))
            return solved[len(rows) :]

        return self._solve(operator, right, columns, by_tree, goal)

    def _solve(
        self, operator: Map, right: FloatArray, diagonal: FloatArray, by_tree: Map, goal: float
    ) -> FloatArray:
        solution: FloatArray | None = None
        if not self.needs_tree:
            solution, residual = conjugate_gradients(
                operator, right, lambda z: z / diagonal, goal, _DIAGONAL_STEPS, diagonal
            )
            if np.abs(residual).sum() <= goal:
                return solution
            self.needs_tree = True
        solved = conjugate_gradients(
            operator, right, by_tree, goal, _TREE_STEPS, diagonal, solution
        )
        return solved[0]

    def _tree_solve(self, right: FloatArray) -> FloatArray:
        if self._tree is None:
            self._tree = self._factorise()
        solved: FloatArray = self._tree.solve(right)
        return solved

    def _factorise(self) -> scipy.sparse.linalg.SuperLU:
        """The Laplacian of the heaviest spanning tree and the heaviest other pairs, factorised."""
        import scipy.sparse.linalg

        n, m = self._plan.shape
        weights = np.maximum(self._plan.data, 1e-300)
        kept = np.zeros(len(weights), dtype=bool)
        extra = min(len(weights), (n + m) + int(_EXTRA_PAIRS * (n + m)))
        kept[np.argpartition(-weights, extra - 1)[:extra]] = True
        kept[self._heaviest_tree(weights)] = True
        plan = self._plan.tocoo(copy=False)
        rows, columns, data = plan.row[kept], plan.col[kept] + n, weights[kept]
        degree = group_sums(rows, data, n + m) + group_sums(columns, data, n + m)
        masses = np.concatenate([self._rows, self._columns])
        degree += max(self._damping, 1e-12) * masses  # grounds every component
        nodes = np.arange(n + m)
        matrix = scipy.sparse.coo_matrix(
            (
                np.concatenate([-data, -data, degree]),
                (np.concatenate([rows, columns, nodes]), np.concatenate([columns, rows, nodes])),
            ),
            shape=(n + m, n + m),
        )
        options = {"SymmetricMode": True}
        return scipy.sparse.linalg.splu(
            matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options
        )

    def _heaviest_tree(self, weights: FloatArray) -> IndexArray:
        """Positions of the pairs of a spanning tree (or forest) of the largest weights."""
        import scipy.sparse.csgraph

        plan = self._plan.tocoo(copy=False)
        n, m = plan.shape
        # shortest lengths −log T (shifted to be positive) make the heaviest tree
        lengths = 1.0 + np.log(weights.max()) - np.log(weights)
        graph = scipy.sparse.coo_matrix((lengths, (plan.row, plan.col + n)), shape=(n + m, n + m))
        tree = scipy.sparse.csgraph.minimum_spanning_tree(graph.tocsr()).tocoo()
        head, tail = np.minimum(tree.row, tree.col), np.maximum(tree.row, tree.col) - n
        linear = plan.row.astype(np.int64) * m + plan.col  # ascending: the plan is row-major
        return np.asarray(np.searchsorted(linear, head.astype(np.int64) * m + tail))
