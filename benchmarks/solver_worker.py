"""Runs one contestant on one problem in a separate process and prints a line of JSON.

    python solver_worker.py CONTESTANT '{"x": "x.npy", "y": "y.npy", "epsilon": 0.1, ...}'

Only the contestant's packages are imported, so that each can have a separate environment.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path

import numpy as np


def ours(x, y, options):
    """The full divergence, certified."""
    import torch

    from otadtk.distances.transport.sinkhorn import sinkhorn_divergence

    torch.set_num_threads(options["threads"])
    sinkhorn_divergence(x[:200], y[:200], epsilon=options["epsilon"])  # imports, thread pools

    def run():
        memory = options.get("max_memory")
        result = sinkhorn_divergence(x, y, epsilon=options["epsilon"], max_memory=memory)
        terms = (result.xy, result.xx, result.yy)
        return {
            "value": result.value,
            "cost": result.xy.value,
            "error_bar": result.error_bar,
            "gap": max(term.gap for term in terms),
            "marginal": result.xy.row_error + result.xy.column_error,
            "converged": result.converged,
            "regime": result.xy.regime,
            # of a set with itself a sweep visits half of the pairs
            "sweeps": result.xy.iterations + 0.5 * (result.xx.iterations + result.yy.iterations),
        }

    return run


def offset(x, y, options):
    """S of float32 points with a large common offset, and S of the same points without it."""
    import torch

    from otadtk.distances.transport.sinkhorn import sinkhorn_divergence

    torch.set_num_threads(options["threads"])
    # exactly representable: the shifted float32 points are the same cloud, up to a translation
    step = 2.0**-14
    first, second = (np.round(0.4 * points / step) * step for points in (x, y))
    shift = np.full(x.shape[1], np.round(200.0 / np.sqrt(x.shape[1])))

    def run():
        near = sinkhorn_divergence(
            first.astype(np.float64), second.astype(np.float64), epsilon=options["epsilon"]
        )
        far = sinkhorn_divergence(
            (first + shift).astype(np.float32),
            (second + shift).astype(np.float32),
            epsilon=options["epsilon"],
        )
        return {"value": far.value, "apart": abs(far.value / near.value - 1.0)}

    return run


def ours_cross(x, y, options):
    """Only the cross term, which is what the other libraries compute."""
    import torch

    from otadtk.distances.costs.duplicates import merge_duplicates
    from otadtk.distances.costs.squared import working_dtype
    from otadtk.distances.transport.memory import memory_budget
    from otadtk.distances.transport.solve import Coupler

    torch.set_num_threads(options["threads"])

    def run(count=None):
        first, second = torch.from_numpy(x[:count]), torch.from_numpy(y[:count])
        n, d = first.shape
        weights = torch.full((n,), 1.0 / n, dtype=torch.float64)
        dtype = working_dtype(n, n, d, first.device)
        coupler = Coupler(
            options["epsilon"], 1e-5, 1000, memory_budget(n, n, d, 4, None), dtype, lambda *_: None
        )
        clouds = merge_duplicates(first, weights), merge_duplicates(second, weights)
        term = coupler.couple(*clouds, "xy")
        return {"cost": term.value, "marginal": term.row_error + term.column_error}

    run(200)
    return run


def ours_annealed(x, y, options):
    """Only our first stage: potentials annealed down to ε, as in geomloss."""
    import torch

    from otadtk.distances.costs.panels import Panels
    from otadtk.distances.costs.squared import SquaredCost, working_dtype
    from otadtk.distances.transport.sparse.annealing import coarse_potentials

    torch.set_num_threads(options["threads"])
    first, second = torch.from_numpy(x), torch.from_numpy(y)
    n, d = first.shape
    weights = torch.full((n,), 1.0 / n, dtype=torch.float64)
    dtype, epsilon = working_dtype(n, n, d, first.device), options["epsilon"]

    def run():
        panels = Panels(SquaredCost(first, second, dtype), 4 * n * n)
        f, g = coarse_potentials(panels, weights, weights, epsilon)
        return lambda: of_potentials(f, g, first, second, epsilon)

    run()
    return run


def published(x, y, options):
    """Otadtk 0.1.2, as published."""
    import importlib.util

    import torch

    torch.set_num_threads(options["threads"])
    path = Path(options["published"]) / "otadtk" / "sinkhorn.py"
    spec = importlib.util.spec_from_file_location("published_sinkhorn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    first, second = torch.from_numpy(x), torch.from_numpy(y)
    module.sinkhorn_divergence(first[:200], second[:200], epsilon=options["epsilon"])

    def run():
        value, plan, cost = module.sinkhorn_divergence(
            first, second, epsilon=options["epsilon"], return_transport=True
        )
        return {"value": float(value), "cost": float((plan * cost).sum()), **marginal(plan)}

    return run


def pot(x, y, options):
    """POT's Sinkhorn in float64, in the kernel or the log domain, or its exact solver."""
    import warnings

    import ot

    warnings.simplefilter("ignore")
    n = len(x)
    uniform = np.full(n, 1.0 / n)
    x, y = x.astype(np.float64), y.astype(np.float64)

    def run():
        cost = ot.dist(x, y)
        if options["method"] == "emd":
            plan = ot.emd(uniform, uniform, cost, numItermax=10_000_000)
        else:
            plan = ot.sinkhorn(
                uniform, uniform, cost, options["epsilon"], method=options["method"],
                numItermax=options.get("iterations", 2000), stopThr=1e-8,
            )  # fmt: skip
        return {"cost": float((plan * cost).sum()), **marginal(plan)}

    return run


def geomloss(x, y, options):
    """geomloss, full debiased divergence with potentials; its cost is ½‖x − y‖²."""
    import torch
    from geomloss import SamplesLoss

    torch.set_num_threads(options["threads"])
    first, second = torch.from_numpy(x), torch.from_numpy(y)
    blur = (options["epsilon"] / 2.0) ** 0.5
    solver = SamplesLoss(
        "sinkhorn", p=2, blur=blur, scaling=options["scaling"], debias=False, potentials=True,
        backend="tensorized",
    )  # fmt: skip
    solver(first[:200], second[:200])

    def run():
        f, g = (2.0 * potential.reshape(-1) for potential in solver(first, second))
        return lambda: of_potentials(f, g, first, second, options["epsilon"])

    return run


def ott(x, y, options):
    """OTT with Anderson acceleration, compiled before the clock starts."""
    import jax
    import jax.numpy as jnp
    from ott.geometry import geometry
    from ott.problems.linear import linear_problem
    from ott.solvers.linear import acceleration, sinkhorn

    def solve(first, second):
        squares = (first**2).sum(1)[:, None] + (second**2).sum(1)[None]
        cost = jnp.maximum(squares - 2.0 * first @ second.T, 0.0)
        problem = linear_problem.LinearProblem(
            geometry.Geometry(cost_matrix=cost, epsilon=options["epsilon"])
        )
        solver = sinkhorn.Sinkhorn(
            threshold=1e-6, max_iterations=2000, momentum=acceleration.Momentum(value=1.5)
        )
        plan = solver(problem).matrix
        return (plan * cost).sum(), plan.sum(1), plan.sum(0)

    compiled = jax.jit(solve)
    jax.block_until_ready(compiled(x, y))

    def run():
        cost, rows, columns = jax.block_until_ready(compiled(x, y))
        n = len(x)
        error = np.abs(np.asarray(rows) - 1 / n).sum() + np.abs(np.asarray(columns) - 1 / n).sum()
        return {"cost": float(cost), "marginal": float(error)}

    return run


def fad(x, y, options):
    """FAD here, or its covariances alone, or by scipy's matrix square root."""
    if options["method"] != "sqrtm":
        import torch

        from otadtk.distances.frechet import frechet_distance
        from otadtk.distances.moments import moments

        torch.set_num_threads(options["threads"])
        frechet_distance(moments(x[:500]), moments(y[:500]))
        if options["method"] == "ours":
            return lambda: {"value": frechet_distance(moments(x), moments(y))}
        return lambda: {"sizes": [moments(p).dimension for p in (x, y)]}

    import scipy.linalg

    def run():
        first, second = (np.cov(points.astype(np.float64), rowvar=False) for points in (x, y))
        root = scipy.linalg.sqrtm(first @ second).real
        shift = x.mean(axis=0, dtype=np.float64) - y.mean(axis=0, dtype=np.float64)
        return {"value": float(shift @ shift + np.trace(first + second - 2.0 * root))}

    return run


def kad(x, y, options):
    """KAD here, or as published."""
    import torch

    torch.set_num_threads(options["threads"])
    if options["method"] == "ours":
        from otadtk.distances.kernel import kernel_distance

        kernel_distance(x[:200], y[:200])
        return lambda: {"value": kernel_distance(x, y).value}
    import importlib.util

    path = Path(options["published"]) / "otadtk" / "kad.py"
    spec = importlib.util.spec_from_file_location("published_kad", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.compute_kad(x[:200], y[:200])
    return lambda: {"value": module.compute_kad(x, y)}


def of_potentials(f, g, x, y, epsilon):
    """The plan of given potentials; it is computed outside the timed part."""
    import torch

    cost = torch.cdist(x.double(), y.double()).square()
    plan = torch.exp((f.double()[:, None] + g.double() - cost) / epsilon) / (len(x) * len(y))
    return {"cost": float((plan * cost).sum()), **marginal(plan)}


def marginal(plan):
    """L1 error of both marginals of a plan with uniform weights."""
    n, m = plan.shape
    rows, columns = plan.sum(1), plan.sum(0)
    return {"marginal": float(abs(rows - 1 / n).sum() + abs(columns - 1 / m).sum())}


CONTESTANTS = {
    function.__name__: function
    for function in (
        ours,
        offset,
        ours_cross,
        ours_annealed,
        published,
        pot,
        geomloss,
        ott,
        fad,
        kad,
    )
}


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    options = json.loads(sys.argv[2])
    x, y = np.load(options["x"]), np.load(options["y"])
    run = CONTESTANTS[sys.argv[1]](x, y, options)
    before, peak, done = resident(), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    seconds = []
    clock = time.process_time if options.get("clock") == "cpu" else time.perf_counter
    for _ in range(options.get("repeat", 1)):
        started = clock()
        answer = run()
        seconds.append(clock() - started)
    done.set()
    watcher.join()
    answer = answer() if callable(answer) else answer
    answer |= {"seconds": seconds, "bytes": max(0, peak[0] - before)}
    print("\n" + json.dumps(answer))


if __name__ == "__main__":
    main()
