"""What each picture of the pages shows; every function gives a figure of matplotlib."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

BLUE, RUST, GREEN, GREY, INK = "#1d5a9e", "#a93c17", "#00796b", "#77726b", "#1d1b19"
matplotlib.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": "#8a857e",
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "legend.frameon": False,
        "savefig.bbox": "tight",
        "svg.fonttype": "path",  # the same letters on every machine
        "svg.hashsalt": "otadtk",  # the same picture gives the same file
    }
)


def pipeline() -> Figure:
    """From two folders to a score, a verdict and a report."""
    figure = Figure((9.8, 2.8))
    axes = figure.subplots()
    axes.set(xlim=(-1, 102), ylim=(0, 29))
    axes.axis("off")

    def box(x: float, y: float, words: str, colour: str, width: float = 14) -> None:
        from matplotlib.patches import FancyBboxPatch

        frame = {"boxstyle": "round,pad=0.2,rounding_size=1", "linewidth": 1.4}
        axes.add_patch(
            FancyBboxPatch((x, y), width, 7, facecolor=f"{colour}18", edgecolor=colour, **frame)
        )
        axes.text(x + width / 2, y + 3.5, words, ha="center", va="center", color=INK, fontsize=9)

    def arrow(x0: float, y0: float, x1: float, y1: float) -> None:
        axes.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "->", "color": GREY})

    box(0, 18, "real clips", BLUE)
    box(0, 4, "generated clips", RUST)
    box(20, 11, "encoder:\none vector a clip", GREY, 16)
    box(42, 11, "learned space:\nfaults are far", GREY)
    box(62, 11, "transport:\nwho matches whom", GREY, 18)
    for y, words in (
        (20, "score\nand its floor"),
        (11, "bad clips\n(verdict)"),
        (2, "report\nto hear"),
    ):
        box(87, y, words, GREEN, 13)
        arrow(80.6, 14.5, 86.2, y + 3.5)
    for y0, y1 in ((21.5, 16), (7.5, 13)):
        arrow(14.6, y0, 19.2, y1)
    arrow(36.6, 14.5, 41.2, 14.5)
    arrow(56.6, 14.5, 61.2, 14.5)
    return figure


def epsilon() -> Figure:
    """The plan between the same two sets of points at three values of ε."""
    import ot

    rng = np.random.default_rng(4)
    x = rng.normal(size=(14, 2))
    y = rng.normal(size=(14, 2)) * 0.8 + [2.0, 0.6]
    costs = ((x[:, None] - y[None]) ** 2).sum(-1)
    weights = np.full(14, 1 / 14)
    figure = Figure((9.2, 3.1))
    words = ("sharp: one partner each", "middle: a few partners", "smooth: everyone with everyone")
    for axes, share, title in zip(figure.subplots(1, 3), (0.01, 0.15, 3.0), words, strict=True):
        plan = ot.sinkhorn(weights, weights, costs, share * np.median(costs), numItermax=100_000)
        for i, j in np.argwhere(plan > plan.max() / 50):
            line = np.stack([x[i], y[j]]).T
            axes.plot(*line, color=GREY, alpha=float(plan[i, j] / plan.max()), lw=1.2, zorder=1)
        axes.scatter(*x.T, color=BLUE, s=22, label="real", zorder=2)
        axes.scatter(*y.T, color=RUST, s=22, marker="s", label="generated", zorder=2)
        axes.set_title(f"ε = {share:g} × median cost\n{title}")
        axes.set(xticks=[], yticks=[])
    axes.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    return figure


def floor() -> Figure:
    """Scores of one distribution fall with the number of clips; the floor says where they are."""
    from otadtk.distances.subsets import transport_between
    from otadtk.distances.transport.couplings import TransportSettings
    from otadtk.engine import LocalEngine
    from otadtk.statistics.resampling import permutation_floor

    rng = np.random.default_rng(0)
    sizes = (20, 40, 80, 160, 320)
    moved = np.zeros(8)
    moved[0] = 1.8

    def scores(shift: Any) -> list[float]:
        found = []
        for clips in sizes:
            drawn = []
            for _ in range(5):
                pool = rng.normal(size=(2 * clips, 8)) / 3
                pool[clips:] += shift / 3
                distance = transport_between(pool, TransportSettings())
                drawn.append(distance(np.arange(clips), clips + np.arange(clips)))
            found.append(float(np.mean(drawn)))
        return found

    figure = Figure((9.2, 3.1))
    left, right = figure.subplots(1, 2)
    left.plot(sizes, scores(moved), "o-", color=RUST, label="two sources")
    left.plot(sizes, scores(0 * moved), "s--", color=BLUE, label="one source, two samples")
    left.set(xscale="log", xticks=sizes, xlabel="clips a side", ylabel="OTAD", ylim=(0, None))
    left.minorticks_off()
    left.set_xticklabels([str(size) for size in sizes])
    left.set_title("The same sources score less with more clips")
    left.legend(fontsize=8)
    clips = 40
    pool = rng.normal(size=(2 * clips, 8)) / 3
    pool[clips:] += moved / 3
    distance = transport_between(pool, TransportSettings())
    known = permutation_floor(distance, clips, clips, replicates=400, engine=LocalEngine(1))
    order = np.random.default_rng(0)
    drawn = [order.permutation(2 * clips) for _ in range(400)]
    permuted = [distance(each[:clips], each[clips:]) for each in drawn]
    score = distance(np.arange(clips), clips + np.arange(clips))
    right.hist(permuted, bins=24, color=BLUE, alpha=0.6)
    right.axvline(known.mean, color=BLUE, ls="--", lw=1.2)
    right.axvline(score, color=RUST, lw=1.6)
    top = right.get_ylim()[1]
    right.text(known.mean, top * 1.02, "floor", color=BLUE, ha="center", fontsize=9)
    right.text(score, top * 1.02, "score", color=RUST, ha="center", fontsize=9)
    right.set(xlabel="OTAD, clips shuffled between the sets", ylabel="shuffles")
    right.set_title(f"N = M = {clips}: p = {known.p_value:.3f}", pad=16)
    figure.tight_layout()
    return figure


def verdict() -> Figure:
    """From the rank of a clip among the reference clips to a verdict."""
    from otadtk.metrics.verdicts import squares_between
    from otadtk.statistics.judging import judge_clips

    rng = np.random.default_rng(5)
    n, m, bad = 400, 60, 6
    pool = rng.normal(size=(n + m, 8))
    pool[n : n + bad] += 3.2 * rng.normal(size=(bad, 8)) / np.sqrt(8) + 1.6
    found = judge_clips(squares_between(pool), n, m, fdr=0.1, seed=0)
    order = np.argsort(found.p, kind="stable")
    ranks = np.arange(1, m + 1)
    called = found.bad[order]
    figure = Figure((9.2, 3.2))
    left, right = figure.subplots(1, 2)
    spoilt = np.arange(m) < bad
    bins = np.linspace(0, 1, 21)
    parts = [found.p[~spoilt], found.p[spoilt]]
    left.hist(parts, bins=bins, stacked=True, color=[BLUE, RUST], label=["good", "spoilt"])
    left.axhline(m / 20, color=GREY, ls="--", lw=1)
    left.set(xlabel="p = rank among the reference clips", ylabel="evaluated clips")
    left.set_title("Good clips have any rank; spoilt ones the first")
    left.legend(fontsize=8)
    right.plot(ranks, 0.1 * ranks / m, color=GREY, ls="--", label="0.1 × place / clips")
    right.scatter(ranks[called], found.p[order][called], color=RUST, s=18, label="called bad")
    right.scatter(
        ranks[~called], found.p[order][~called], color=BLUE, s=18, marker="s", label="not called"
    )
    right.set(
        xlim=(0, 20),
        ylim=(0, 0.2),
        xticks=range(0, 21, 5),
        xlabel="place, the smallest p first",
        ylabel="p",
    )
    right.set_title("Called bad: up to the last point below the line")
    right.legend(fontsize=8, loc="upper left")
    figure.tight_layout()
    return figure


def power(source: Path) -> Figure:
    """How often each score notices that a share of the clips is spoilt."""
    with source.open(newline="") as file:
        rows = list(csv.DictReader(file))
    styles = {
        "FAD": (BLUE, "o", "-"),
        "KAD": (GREY, "s", "-"),
        "OTAD": ("#8a5a00", "^", "-"),
        "OTAD artifact": (RUST, "D", "--"),
        "OTAD default": (GREEN, "v", "-"),
    }
    figure = Figure((7.6, 3.6))
    axes = figure.subplots()
    for name, (colour, marker, dash) in styles.items():
        mine = [row for row in rows if row["metric"] == name]
        if not mine:
            continue
        variant = mine[0]["variant"]
        label = f"{name.split()[0]}, {variant}" + (" (default)" if "default" in name else "")
        shares = [100 * float(row["share"]) for row in mine]
        seen = [100 * float(row["noticed"]) for row in mine]
        axes.plot(shares, seen, color=colour, marker=marker, ls=dash, label=label, ms=5)
    axes.axhline(5, color=GREY, lw=0.8, ls=":")
    axes.text(40.5, 5, "chance", fontsize=8, color=GREY, va="center")
    axes.set(xlabel="spoilt clips, %", ylabel="noticed, % of runs", ylim=(-2, 103))
    axes.set_title(f"N = M = {rows[0]['clips']} clips of ESC-50, {rows[0]['runs']} runs")
    axes.legend(fontsize=9)
    figure.tight_layout()
    return figure


def listeners(source: Path) -> Figure:
    """The agreement of each metric with listeners: Spearman's ρ, mean over tests."""
    with source.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["part"] == "agreement"]
    panels = {
        "pairs of sounds": "How different are two sounds?",
        "system, twins, sets": "Which system is better? (twins)",
        "system, no twins": "Which system is better? (no twins)",
    }
    figure = Figure((7.4, 8.2))
    rows_of = figure.subplots(3, 1, height_ratios=[6, 10, 10])
    for axes, (level, title) in zip(rows_of, panels.items(), strict=True):
        found: dict[str, list[float]] = {}
        for row in rows:
            if row["level"] == level:
                words = [row["model"], row["metric"], row["variant"]]
                name = " ".join(word for word in words if word)
                found.setdefault(name, []).append(float(row["spearman"]))
        names = sorted(found, key=lambda name: float(np.mean(found[name])))
        means = [float(np.mean(found[name])) for name in names]
        colours = [GREEN if "perceptual" in name else BLUE for name in names]
        axes.barh(names, means, color=colours, height=0.65)
        for place, name in enumerate(names):
            dots = found[name]
            axes.plot(dots, [place] * len(dots), "|", color=INK, ms=5, alpha=0.5)
        tests = len(next(iter(found.values())))
        axes.set_title(f"{title} {tests} tests")
        axes.set(xlim=(-0.75, 1.02))
        axes.tick_params(axis="y", labelsize=9, length=0)
        axes.axvline(0, color=GREY, lw=0.8)
    axes.set_xlabel("agreement with listeners: Spearman's ρ, mean (bar) and single tests (ticks)")
    figure.tight_layout()
    return figure
