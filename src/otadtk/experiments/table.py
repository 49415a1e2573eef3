"""Tables of results as Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LATEX = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "·": r"$\cdot$", "–": "--", "−": "$-$"}
_LATEX |= {"Δ": r"$\Delta$", "ε": r"$\varepsilon$", "ρ": r"$\rho$", "≤": r"$\leq$", "≥": r"$\geq$"}
_LATEX |= {"σ": r"$\sigma$", "λ": r"$\lambda$", "×": r"$\times$", "±": r"$\pm$", "²": r"$^2$"}
_LATEX |= {"₁": r"$_1$", "₂": r"$_2$", "∞": r"$\infty$", "é": r"\'e", "½": r"$\frac12$"}
_LATEX |= {"μ": r"$\mu$", "η": r"$\eta$", "→": r"$\to$", "|": r"$|$", "’": "'", "…": r"\dots{}"}
_LATEX |= {"<": "$<$", ">": "$>$", "^": r"\^{}", "~": r"\~{}"}


@dataclass(frozen=True)
class Table:
    """A caption, a header and cells; the first column is text, the others are numbers."""

    caption: str
    header: Sequence[str]
    cells: Sequence[Sequence[str]]

    def markdown(self) -> str:
        """The table in Markdown, its caption above it."""
        rule = ["---", *("---:" for _ in self.header[1:])]
        rows = [self.header, rule, *self.cells]
        body = "\n".join(
            "| " + " | ".join(_markdown_cell(cell) for cell in row) + " |" for row in rows
        )
        return f"**{self.caption}**\n\n{body}\n"

    def latex(self) -> str:
        """The table as a LaTeX float; it needs the package booktabs."""
        columns = "l" + "r" * (len(self.header) - 1)
        lines = [r"\begin{table}", rf"  \caption{{{_latex(self.caption)}}}", r"  \centering"]
        lines += [rf"  \begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"    \toprule"]
        lines += [_latex_row(self.header), r"    \midrule"]
        lines += [_latex_row(row) for row in self.cells]
        lines += [r"    \bottomrule", r"  \end{tabular}", r"\end{table}"]
        return "\n".join(lines) + "\n"


def _markdown_cell(text: str) -> str:
    return text.replace("|", "\\|")


def _latex_row(cells: Sequence[str]) -> str:
    return "    " + " & ".join(_latex(cell) for cell in cells) + r" \\"


def _latex(text: str) -> str:
    translated = "".join(_LATEX.get(character, character) for character in text)
    translated = re.sub(r"\*\*(.+?)\*\*", r"\\textbf{\1}", translated)
    return translated.replace("$$", "")  # merges adjacent formulas


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage."""
    return f"{100.0 * share:.{digits}f}%"


def mean_deviation(values: Sequence[float], digits: int = 3) -> str:
    """Mean ± standard deviation over draws; the value alone if there is one draw."""
    mean = sum(values) / len(values)
    if len(values) < 2:
        return f"{mean:.{digits}f}"
    deviation = (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"
