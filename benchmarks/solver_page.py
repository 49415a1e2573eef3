"""The page docs/evidence/benchmarks.md from what solver.py found: a section for each part.

python benchmarks/solver_page.py        writes the page anew from docs/evidence/benchmarks.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from solver_plot import log_log_plot

PAGE = Path(__file__).resolve().parent.parent / "docs" / "evidence" / "benchmarks.md"
MET, MISSED = "met", "**missed**"


class Section(NamedTuple):
    """What stands above the table of a part, the columns of its table, and what stands below."""

    title: str
    words: str
    columns: str
    below: str = ""


SECTIONS = {
    "gap": Section(
        "How exact",
        "The relative duality gap bounds how far a score is from the optimum. S is the score with its "
        "error bar. The marginal error is how far the plan is from giving every point its mass.",
        "regime | N | d | S | gap | bar | marginal error | time | memory | bar is",
    ),
    "published": Section(
        "Against otadtk 0.1.2",
        "The whole score, from embeddings to S. otadtk 0.1.2 is the paper's package. The marginal error "
        "is that of its plan: what it returns is not always converged. Ours is, in every row.",
        "regime | N | d | ours | otadtk 0.1.2 | ratio | bar | marginal error there | bar is",
    ),
    "libraries": Section(
        "Against POT, OTT and geomloss",
        "The transport between the two sets alone (the cross term), N = 1,000, d = 512. The bar is to be "
        "faster. geomloss anneals ε and then stops. Where its plan is no better than ours after annealing "
        "alone, it is compared with that stage. POT's `emd` solves another problem (ε = 0), and a marginal "
        "error of 1 or more is no solution: these rows have no bar.",
        "regime | solver | time | to ours | to our annealing | marginal error | ⟨T, C⟩ | bar is",
    ),
    "growth": Section(
        "How time and memory grow",
        "Time in seconds at four sizes, d = 512. The exponent k says that time grows as N^k from the "
        "smallest to the largest; its bar is 2.1. Memory and gap are those at the largest size; the bar "
        "for memory is 2 GB.",
        "regime | 2,000 | 5,000 | 10,000 | 20,000 | exponent | memory | gap | bars are",
        "![Time against N](benchmarks.svg)",
    ),
    "streaming": Section(
        "In tiles",
        "Problems whose N×N costs do not fit the memory: all costs are computed anew in every sweep. A "
        "sweep visits all pairs between the sets once; one of a set with itself visits half as many. Step "
        "2d of [the solver](../understand/solver.md) needs few of them. Before it, the first row took "
        "1,637 s and 78 sweeps.",
        "regime | N | d | threads, clock | time | sweeps | memory | gap | S | bar | bar is",
    ),
    "frechet": Section(
        "FAD",
        "Against the matrix square root by scipy (`sqrtm`), d = 2048. The column *limit* is the best ratio "
        "that any exact method can reach that starts from embeddings, because the two covariances in "
        "float64 must be computed.",
        "N | threads, clock | ours | ratio | bar | covariances alone | limit | values within | bar is",
        "On one thread the covariances take most of the time, and they already run at the speed of the "
        "processor; a second core helps. Three other ways were tried for N > d:\n\n"
        "- Two Cholesky factors and a Gram matrix took longer than the eigenvalues of the product.\n"
        "- MKL (by torch) took longer than OpenBLAS (by scipy).\n"
        "- Products in float32 lose the small eigenvalues of a nearly singular covariance.",
    ),
    "kernel": Section(
        "KAD",
        "Against otadtk 0.1.2. The bar: twice as fast, with at most 100 MB.",
        "N | ours | ratio | memory | bar is",
    ),
    "offset": Section(
        "A large offset",
        "Points with an offset of norm 200 and a spread of 0.4: S in float32 against S in float64 without "
        "the offset.",
        "relative difference | bar | bar is",
    ),
}


def write_page(page: Path, found: dict[str, Any]) -> None:
    """Write the page and its plot beside it; ``found`` has the rows and the day of each part."""
    sections = [part for part in SECTIONS if part in found]
    verdicts = [row[-1] for part in sections for row in found[part]["rows"] if row[-1]]
    missed = verdicts.count(MISSED)
    text = [
        "# Benchmarks of the solver",
        "",
        "This page shows how exact, how fast and how lean the solver is, beside other tools. "
        f"**{len(verdicts) - missed} of {len(verdicts)} rows meet their bar.** "
        "A bar is a target that was set before the measurement.",
        "",
        "Every table compares N points of d dimensions with N others. Three *regimes* say how sharp the "
        "problem is:",
        "",
        "| regime | embeddings | what the plan looks like |",
        "|---|---|---|",
        "| smooth | of unit norm | every point has many partners |",
        "| middle | of norm 4 | a few partners |",
        "| sharp | raw | nearly one partner |",
    ]
    for part in sections:
        section, rows = SECTIONS[part], found[part]["rows"]
        columns = section.columns.split(" | ")
        text += ["", f"## {section.title}", "", section.words, "", f"| {section.columns} |"]
        text += ["|" + "---|" * len(columns), *(f"| {' | '.join(row)} |" for row in rows)]
        text += ["", section.below] if section.below else []
    days = sorted({found[part]["day"] for part in sections})
    text += ["", "## How it was measured", "", _how(found["settings"], days)]
    page.write_text("\n".join(text) + "\n", encoding="utf-8")
    if "growth" in found:
        plot = log_log_plot(found["growth"]["curves"], "samples a side", "seconds")
        page.with_suffix(".svg").write_text(plot, encoding="utf-8")


def _how(settings: dict[str, Any], days: list[str]) -> str:
    return f"""```sh
make bench DATA={settings["data"]}
```

Measured {" and ".join(days)}. Later changes of the solver are in the [changelog](../../CHANGELOG.md).

- **Data**: {settings["patches"]:,} YAMNet patches, ε = {settings["epsilon"]}. For d < 1024 they are
  projected at random, with a seed. Where there are fewer patches than points, copies are added. Each copy
  gets noise as large as the distance to its nearest neighbour; identical patches stay identical.
- **Time**: {settings["clock"]}, {settings["threads"]} thread, if a table does not say otherwise. Every
  figure comes from a fresh process. The contestants alternate: {settings["turns"]} turns, or one if it
  takes more than {settings["long"]:g} s. Ratios are ratios of medians.
- **Memory** is the peak above the start.

The rows are kept in [benchmarks.json](benchmarks.json), so that one part can be measured again."""


if __name__ == "__main__":
    kept = PAGE.with_suffix(".json")
    write_page(PAGE, json.loads(kept.read_text(encoding="utf-8")))
