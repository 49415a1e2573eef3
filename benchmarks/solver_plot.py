"""A log-log plot as SVG text, so that the benchmarks need no plotting library."""

from __future__ import annotations

import math

WIDTH, HEIGHT, MARGIN = 560, 360, 60
COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1")


def log_log_plot(curves: dict[str, list[tuple[float, float]]], x_name: str, y_name: str) -> str:
    """The plot of every curve's points, with a line of slope 2 for comparison."""
    points = [point for curve in curves.values() for point in curve]
    low_x, high_x = (f(math.log10(x) for x, _ in points) for f in (min, max))
    low_y, high_y = (f(math.log10(y) for _, y in points) for f in (min, max))

    def place(x: float, y: float) -> str:
        right = (math.log10(x) - low_x) / max(high_x - low_x, 1e-9)
        up = (math.log10(y) - low_y) / max(high_y - low_y, 1e-9)
        column = MARGIN + right * (WIDTH - 2 * MARGIN)
        return f"{column:.1f},{HEIGHT - MARGIN - up * (HEIGHT - 2 * MARGIN):.1f}"

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">{x_name}</text>',
        f'<text x="16" y="{HEIGHT / 2}" transform="rotate(-90 16 {HEIGHT / 2})" '
        f'text-anchor="middle">{y_name}</text>',
    ]
    first = min(points)
    last = 10**high_x
    slope = first[1] * (last / first[0]) ** 2
    guide = f"{place(*first)} {place(last, min(slope, 10**high_y))}"
    parts.append(f'<polyline points="{guide}" stroke="#bbb" stroke-dasharray="4" fill="none"/>')
    middle = (first[0] * last) ** 0.5
    column, row = place(middle, first[1] * (middle / first[0]) ** 2).split(",")
    parts.append(f'<text x="{column}" y="{float(row) + 18}" fill="#888">slope 2</text>')
    for x in sorted({x for x, _ in points}):
        column = place(x, first[1]).split(",")[0]
        parts.append(f'<text x="{column}" y="{HEIGHT - 38}" text-anchor="middle">{x:,.0f}</text>')
    for power in range(math.ceil(low_y), math.floor(high_y) + 1):
        row = place(first[0], 10.0**power).split(",")[1]
        parts.append(f'<text x="{MARGIN - 8}" y="{row}" text-anchor="end">{10.0**power:g}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(place(*point) for point in curve)
        parts.append(f'<polyline points="{line}" stroke="{colour}" fill="none" stroke-width="2"/>')
        parts += [
            f'<circle cx="{c.split(",")[0]}" cy="{c.split(",")[1]}" r="3" fill="{colour}"/>'
            for c in line.split()
        ]
        parts.append(
            f'<text x="{MARGIN + 10}" y="{30 + 16 * number}" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])
