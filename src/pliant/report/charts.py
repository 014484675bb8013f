"""Bar and line charts as self-contained SVG, mostly on logarithmic scales, for light and dark pages."""

import html
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

COLORS = ("#2f6fdb", "#d9822b", "#7a8699", "#3a9d6e", "#a25bb5", "#c2483d", "#8a7a3c", "#4aa3b8")
_STYLE = (
    "<style>.chart text{font:12px system-ui,sans-serif;fill:#3b4150}.chart .quiet{fill:#6b7280}"
    ".chart .grid{stroke:#8a93a5;stroke-opacity:.25}"
    "@media (prefers-color-scheme:dark){.chart text{fill:#e4e7ee}.chart .quiet{fill:#a2a9b8}}</style>"
)
_BAR, _GAP, _LEFT, _RIGHT, _WIDTH = 17, 14, 190, 84, 760


def bars_svg(groups: Mapping[str, Mapping[str, float]], unit: str, label: str) -> str:
    """Horizontal bars: group -> series -> value (> 0), on one logarithmic scale."""
    series = list(dict.fromkeys(who for group in groups.values() for who in group))
    color = {who: COLORS[k % len(COLORS)] for k, who in enumerate(series)}
    values = [v for group in groups.values() for v in group.values()]
    low, high = _decades(values)
    wide = _WIDTH - _LEFT - _RIGHT

    def x(value: float) -> float:
        return _LEFT + wide * (np.log10(value) - low) / (high - low)

    out, y = _legend(series, color)
    top = y
    for name, group in groups.items():
        middle = y + len(group) * _BAR / 2 + 4
        out.append(f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end">{html.escape(name)}</text>')
        for who, value in group.items():
            value_text, end = html.escape(f"{_number(value)} {unit}"), max(x(value), _LEFT + 1.5)
            out.append(
                f'<rect x="{_LEFT}" y="{y + 2}" width="{end - _LEFT:.1f}" height="{_BAR - 4}" rx="2" '
                f'fill="{color[who]}"><title>{html.escape(who)}: {value_text}</title></rect>'
                f'<text x="{end + 6:.1f}" y="{y + 13}">{value_text}</text>'
            )
            y += _BAR
        y += _GAP
    for k in range(low, high + 1):
        at = x(10.0**k)
        out.insert(1, f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{y - _GAP + 4}"/>')
        out.append(f'<text class="quiet" x="{at:.1f}" y="{y + 6}" text-anchor="middle">{_number(10.0**k)}</text>')
    return _svg(out, _WIDTH, y + 16, label)


def curves_svg(
    curves: Mapping[str, Sequence[tuple[float, float]]], axes: tuple[str, str], label: str, slope: float | None = None
) -> str:
    """Line chart with two logarithmic axes; `slope` adds a dashed reference line."""
    points = np.array([p for curve in curves.values() for p in curve], float)
    (x_0, _), (x_1, y_1) = np.log10(points.min(0)), np.log10(points.max(0))
    low, high = _decades(points[:, 1].tolist())
    width, height, left, right, top, bottom = _WIDTH, 400, 62, 76, 54, 44

    def at(x: float, y: float) -> tuple[float, float]:
        across = (np.log10(x) - x_0) / max(x_1 - x_0, 1e-9)
        up = (np.log10(y) - low) / (high - low)
        return left + across * (width - left - right), top + (1.0 - up) * (height - top - bottom)

    color = {who: COLORS[k % len(COLORS)] for k, who in enumerate(curves)}
    out, _ = _legend(list(curves), color)
    for k in range(low, high + 1):
        y = at(10.0**x_0, 10.0**k)[1]
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="quiet" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(10.0**k)}</text>')
    for value in sorted(set(points[:, 0].tolist())):
        x = at(value, 10.0**low)[0]
        out.append(f'<text class="quiet" x="{x:.1f}" y="{height - 26}" text-anchor="middle">{_number(value)}</text>')
    if slope is not None:
        first = max(x_0, x_1 - (y_1 - low) / slope)  # where the line leaves the chart at the bottom
        (a, b), (c, d) = at(10.0**first, 10.0 ** (y_1 - slope * (x_1 - first))), at(10.0**x_1, 10.0**y_1)
        out.append(f'<path d="M{a:.1f} {b:.1f}L{c:.1f} {d:.1f}" stroke="#8a93a5" stroke-dasharray="5 5"/>')
    for who, curve in curves.items():
        pixels = [at(*p) for p in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels)
        out.append(f'<path d="M{path}" fill="none" stroke="{color[who]}" stroke-width="2.5"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{color[who]}"/>' for x, y in pixels]
    last = [at(*curve[-1]) for curve in curves.values()]
    for (x, _), y, curve in zip(last, _apart([y for _, y in last]), curves.values()):
        out.append(f'<text x="{x + 9:.1f}" y="{y + 4:.1f}">{_number(curve[-1][1])}</text>')
    out.append(
        f'<text class="quiet" x="{(left + width) / 2:.0f}" y="{height - 8}" text-anchor="middle">{axes[0]}</text>'
    )
    out.append(f'<text class="quiet" x="8" y="{top - 12}">{axes[1]}</text>')
    return _svg(out, width, height, label)


def timeline_svg(curves: Mapping[str, Sequence[tuple[float, float]]], axes: tuple[str, str], label: str) -> str:
    """Line chart over time: linear x axis, logarithmic y axis, values above 0."""
    points = np.array([p for curve in curves.values() for p in curve], float)
    first, last = float(points[:, 0].min()), max(float(points[:, 0].max()), float(points[:, 0].min()) + 1.0)
    low, high = _decades(points[:, 1].tolist())
    width, height, left, right, top, bottom = _WIDTH, 360, 62, 30, 54, 44

    def at(x: float, y: float) -> tuple[float, float]:
        across, up = (x - first) / (last - first), (np.log10(y) - low) / (high - low)
        return left + across * (width - left - right), top + (1.0 - up) * (height - top - bottom)

    color = {who: COLORS[k % len(COLORS)] for k, who in enumerate(curves)}
    out, _ = _legend(list(curves), color)
    for k in range(low, high + 1):
        y = at(first, 10.0**k)[1]
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="quiet" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_number(10.0**k)}</text>')
    for value in np.linspace(first, last, 6):
        x = at(value, 10.0**low)[0]
        out.append(f'<text class="quiet" x="{x:.1f}" y="{height - 26}" text-anchor="middle">{value:.0f}</text>')
    for who, curve in curves.items():
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in (at(*p) for p in curve))
        out.append(f'<path d="M{path}" fill="none" stroke="{color[who]}" stroke-width="2"/>')
    middle = (left + width) / 2
    out.append(f'<text class="quiet" x="{middle:.0f}" y="{height - 8}" text-anchor="middle">{axes[0]}</text>')
    out.append(f'<text class="quiet" x="8" y="{top - 12}">{axes[1]}</text>')
    return _svg(out, width, height, label)


def plain_svg(curves: Mapping[str, Sequence[tuple[float, float]]], axes: tuple[str, str], label: str) -> str:
    """Line chart with two linear axes from 0; the y axis reaches at least 1."""
    points = np.array([p for curve in curves.values() for p in curve], float)
    wide, high = max(float(points[:, 0].max()), 1e-9), max(float(points[:, 1].max()), 1.0)
    color = {who: COLORS[k % len(COLORS)] for k, who in enumerate(curves)}
    out, top = _legend(list(curves), color)
    width, height, left, right, bottom = _WIDTH, top + 320, 62, 40, 44
    top += 16

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x / wide * (width - left - right), top + (1.0 - y / high) * (height - top - bottom)

    for k in range(6):
        y, x = at(0.0, high * k / 5)[1], at(wide * k / 5, 0.0)[0]
        out.append(f'<line class="grid" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        out.append(f'<text class="quiet" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{high * k / 5:.3g}</text>')
        out.append(f'<text class="quiet" x="{x:.1f}" y="{height - 26}" text-anchor="middle">{wide * k / 5:.3g}</text>')
    for who, curve in curves.items():
        pixels = [at(*p) for p in curve]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels)
        out.append(f'<path d="M{path}" fill="none" stroke="{color[who]}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color[who]}"/>' for x, y in pixels]
    middle = (left + width) / 2
    out.append(f'<text class="quiet" x="{middle:.0f}" y="{height - 8}" text-anchor="middle">{axes[0]}</text>')
    out.append(f'<text class="quiet" x="8" y="{top - 8}">{axes[1]}</text>')
    return _svg(out, width, height, label)


def _legend(series: Sequence[str], color: Mapping[str, str]) -> tuple[list[str], int]:
    """The SVG elements of the legend, and the y coordinate below it."""
    out, x, y = [_STYLE], 8.0, 16
    for who in series:
        room = 7.2 * len(who) + 34
        if x + room > _WIDTH and x > 8.0:
            x, y = 8.0, y + 20
        out.append(
            f'<rect x="{x:.1f}" y="{y - 10}" width="12" height="12" rx="2" fill="{color[who]}"/>'
            f'<text x="{x + 17:.1f}" y="{y}">{html.escape(who)}</text>'
        )
        x += room
    return out, y + 18


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Exponents of the powers of ten around all values, with a margin so that the shortest bar is visible."""
    low = int(np.floor(np.log10(min(values)) - 0.05))
    return low, max(int(np.ceil(np.log10(max(values)))), low + 1)


def _apart(heights: Sequence[float], least: float = 13.0) -> list[float]:
    """Heights of labels, spread to a distance of at least `least` so that they do not overlap."""
    out = np.array(heights, float)
    order = np.argsort(out, kind="stable")
    for _ in range(50):  # moving one label may move its neighbour
        for a, b in itertools.pairwise(order):
            if (lack := least - (out[b] - out[a])) > 0.0:
                out[a], out[b] = out[a] - lack / 2, out[b] + lack / 2
    return [float(y) for y in out]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _svg(parts: Sequence[str], width: int, height: int, label: str) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width} {height}" role="img"'
    return f'{head} aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
