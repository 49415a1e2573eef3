"""The training curve as SVG: loss and validation score by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT, _EDGE = 640, 320, 56
_COLOURS = {"loss": "#b3541e", "score": "#1f5fa8"}


def draw_curve(history: Sequence[dict[str, float]], title: str) -> bytes:
    """An SVG with the loss and the score, each on its own scale."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_WIDTH / 2}" y="20" text-anchor="middle">{escape(title)}</text>',
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">'
        f"epoch 1 to {len(history)}; best at {_best(history)}</text>",
    ]
    for side, (name, colour) in enumerate(_COLOURS.items()):
        values = [row[name] for row in history]
        low, high = min(values), max(values)
        span = (high - low) or 1.0
        points = " ".join(
            f"{_x(i, len(values)):.1f},{_y((value - low) / span):.1f}"
            for i, value in enumerate(values)
        )
        lines.append(
            f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'
        )
        x, anchor = (_EDGE - 6, "end") if side == 0 else (_WIDTH - _EDGE + 6, "start")
        for value, share in ((low, 0.0), (high, 1.0)):
            lines.append(
                f'<text x="{x}" y="{_y(share) + 4:.1f}" text-anchor="{anchor}" fill="{colour}">'
                f"{value:.3g}</text>"
            )
        lines.append(
            f'<text x="{x}" y="{_HEIGHT / 2}" text-anchor="{anchor}" fill="{colour}">{name}</text>'
        )
    return ("\n".join([*lines, "</svg>"]) + "\n").encode()


def _best(history: Sequence[dict[str, float]]) -> int:
    scores = [row["score"] for row in history]
    return len(scores) - scores[::-1].index(max(scores))


def _x(index: int, count: int) -> float:
    return _EDGE + (_WIDTH - 2 * _EDGE) * index / max(1, count - 1)


def _y(share: float) -> float:
    return _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * share
