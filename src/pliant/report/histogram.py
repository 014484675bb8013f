"""A histogram of distances as SVG, styled by the page that contains it."""

import numpy as np
from numpy.typing import NDArray

from .heat import nice

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 460, 210, 56, 26, 10, 12
BINS = 46


def histogram_svg(distance: NDArray[np.float64], top: float, bound: float) -> str:
    """Histogram of `distance` (n,) over 0..`top` metres; the share is logarithmic, a line marks `bound`."""
    count, edges = np.histogram(distance, BINS, (0.0, top))
    share = count / max(len(distance), 1)
    decades = max(1, int(np.ceil(np.log10(max(len(distance), 10)))))
    wide, tall = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def x(value: float) -> float:
        return LEFT + wide * value / top

    def y(value: float) -> float:
        return TOP + tall * min(1.0, -np.log10(max(value, 1e-30)) / decades)

    out = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="Histogram of distances">']
    for k in range(decades + 1):
        at = y(10.0**-k)
        out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>')
        if k < decades:
            words = f"{100.0 * 10.0**-k:g} %"
            out.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{words}</text>')
    for low, high, part in zip(edges, edges[1:], share):
        if part > 0.0:
            out.append(
                f'<rect class="bar" x="{x(low) + 0.5:.1f}" width="{max(x(high) - x(low) - 1.0, 0.5):.1f}" '
                f'y="{y(part):.1f}" height="{TOP + tall - y(part):.1f}"/>'
            )
    step = nice(1e3 * top / 6)
    for value in np.arange(0.0, 1e3 * top * 1.0001, step):
        unit = " mm" if value == 0.0 else ""
        at = x(1e-3 * value)
        if at < WIDTH - RIGHT - 6:
            out.append(f'<text x="{at:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{value:.4g}{unit}</text>')
    out.append(f'<line class="bound" x1="{x(bound):.1f}" x2="{x(bound):.1f}" y1="{TOP}" y2="{TOP + tall}"/></svg>')
    return "".join(out)
