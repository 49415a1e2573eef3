"""Optimal transport between two sets of points: Sinkhorn, exact, and approximations.

``couplings.transport`` is the door to all of them. The certified Sinkhorn divergence solves three
problems OT_ε; each goes down this ladder. The code cites the steps; ``docs/understand/solver.md`` explains
them and every constant.

    0   merge equal points                                   costs/duplicates.py
    1   choose the regime                                    regime.py
        self term: few costs within reach?                   yes: 6a   no: 6b
        cross term: median C/ε at most 50?                   yes: 2    no: 1a, 3
        1a  few points: dense Newton steps                   dense/batched.py
    2   smooth: sweeps over the Gibbs kernel, at most 200    solve.py, dense/
        2a  mass where the kernel underflows: absorb the potentials and sweep again
        2b  certify; a gap well below the tolerance: done
        2c  marginals nearly right: Newton steps in float64
        2d  too large for memory: before 2a, few sweeps      dense/tiled.py
        converged: done   else: 3, which then accepts larger supports
    3   sharp: find the few pairs that carry mass            sparse/sharp.py
        3a  coarse potentials by annealing a sample          sparse/annealing.py
        3b  exact transport by column generation             sparse/columns.py
        3c  Newton steps at 16 ε, 4 ε and ε                  sparse/newton.py
        3d  Newton steps at ε on all pairs within 17 ε, until a pass over all pairs finds no other
        too many pairs: 4   else certify: 5
    4   annealed: potentials annealed to ε, then 2 in float64 with all iterations
    5   the answer with the smaller gap
    6   self terms
        6a  averaged sweeps on a truncated kernel            sparse/sharp.py
        6b  averaged sweeps on the dense kernel              dense/smooth.py
    7   certify                                              certificate/
"""

DEFAULT_EPSILON = 0.1
"""Of the published package: smooth for unit-norm embeddings, whose mean cost is about 1."""
