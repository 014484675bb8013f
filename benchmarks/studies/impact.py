"""Finding a time of impact: a vertex falls onto a rotating face; drawn by `pictures.py impact`.

`python benchmarks/studies/impact.py` prints the nanoseconds per candidate instead, on a moving folded cloth, one
thread, and those of ipctk if it is installed.
"""

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pliant.geometry import edge_edge_impact, point_triangle_distance, vertex_face_impact
from pliant.kernels.geometry.impact import impacts
from pliant.kernels.geometry.impact_motion import free_until, nearest_gap, relative_motion
from pliant_bench.cloths import pile, stepped

PAPER, INK, QUIET, RED, PALE = (255, 255, 255), (35, 38, 45), (120, 126, 140), (196, 74, 62), (232, 234, 238)
SCALE, WIDTH, HEIGHT = 3, 860, 330
START = np.array([(0.42, 1.0, 0.35), (0.0, 0.1, 0.0), (1.0, 0.4, 0.0), (0.2, 0.1, 1.0)])
END = np.array([(0.42, -1.0, 0.35), (0.0, 0.4, 0.0), (1.0, -0.8, 0.0), (0.2, -0.2, 1.0)])


def points(t: float) -> np.ndarray:
    return START + t * (END - START)


def steps() -> list[tuple[float, float, np.ndarray]]:
    """(start, end, direction) of each step of conservative advancement, as in the kernel `impact`, to a gap of 1e-6."""
    start, end = (tuple(tuple(map(float, x)) for x in p) for p in (START, END))
    motion, t, out = relative_motion(start, end, True), 0.0, []
    while True:
        gap = nearest_gap(motion, True, t)
        x = points(t)
        n = np.cross(x[2] - x[1], x[3] - x[1])
        tries = (np.array(gap), n if n @ np.array(gap) > 0.0 else -n)
        free, best = max((free_until(tuple(n), motion, True, t, 1e-6), k) for k, n in enumerate(tries))
        if free - t < 1e-4 or free > 1.0:
            return out
        out.append((t, free, tries[best] / np.linalg.norm(tries[best])))
        t = free


def least(n: np.ndarray, t: float) -> float:
    x = points(t)
    return float(((x[0] - x[1:]) @ n).min())


def text(draw: ImageDraw.ImageDraw, at: tuple[float, float], words: str, ink: Any = QUIET, anchor: str = "mm") -> None:
    draw.text((SCALE * at[0], SCALE * at[1]), words, ink, ImageFont.load_default(13 * SCALE), anchor=anchor)


def seen(x: np.ndarray) -> list[tuple[float, float]]:
    """Pixel coordinates of points, from the side and slightly above."""
    view = np.array([(190.0, 0.0, -45.0), (0.0, -120.0, 50.0)])
    return [(SCALE * (80 + u), SCALE * (160 + v)) for u, v in x @ view.T]


def draw_scene(draw: ImageDraw.ImageDraw, times: list[float]) -> None:
    middle = seen(points(times[-1])[1:])
    draw.polygon(middle, (214, 219, 230))
    for t, words, ink in ((0.0, "start", (176, 182, 196)), (1.0, "end", (176, 182, 196)), (times[-1], "contact", INK)):
        corners = seen(points(t)[1:])
        draw.line([*corners, corners[0]], ink, SCALE)
        x, y = corners[1]
        text(draw, (x / SCALE + 6, y / SCALE), words, INK if ink == INK else QUIET, "lm")
    draw.line(seen(np.array([START[0], END[0]])), QUIET, SCALE)
    for t in times:
        (x, y), r = seen(points(t)[:1])[0], 3.5 * SCALE
        draw.ellipse([x - r, y - r, x + r, y + r], RED)


def draw_chart(draw: ImageDraw.ImageDraw, found: list[tuple[float, float, np.ndarray]]) -> None:
    left, right, top, bottom, last, high = 400, 840, 40, 285, 0.7, 1.0

    def at(t: float, d: float) -> tuple[float, float]:
        return SCALE * (left + (right - left) * t / last), SCALE * (bottom - (bottom - top) * d / high)

    for d in np.arange(0.0, 1.01, 0.25):
        draw.line([at(0, d), at(last, d)], PALE, SCALE)
        text(draw, (left - 8, at(0, d)[1] / SCALE), f"{d:.2f}", anchor="rm")
    for t in np.arange(0.0, last + 0.01, 0.1):
        text(draw, (at(t, 0)[0] / SCALE, bottom + 14), f"{t:.1f}")
    text(draw, ((left + right) / 2, bottom + 34), "time as a fraction of the motion")
    text(draw, (left, 16), "distance (grey) and its lower bound by one direction (red)", INK, "lm")
    times = np.linspace(0.0, last, 300)
    gaps = point_triangle_distance(np.array([points(t) for t in times]))
    draw.line([at(t, d) for t, d in zip(times, gaps)], QUIET, 2 * SCALE)
    for start, stop, n in found:
        draw.line([at(t, max(least(n, t), 0.0)) for t in np.linspace(start, stop, 40)], RED, 2 * SCALE)
        (x, y), r = at(start, least(n, start)), 3.5 * SCALE
        draw.ellipse([x - r, y - r, x + r, y + r], RED)


def draw_impact(save: Callable[[str, Image.Image], None]) -> None:
    found = steps()
    hit, time = vertex_face_impact(START[None], END[None])
    print(f"{len(found)} steps to {found[-1][1]:.6f}; hit {hit[0]} at {time[0]:.6f}")
    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    draw_scene(draw, [start for start, _, _ in found] + [found[-1][1]])
    draw_chart(draw, found)
    save("impact", image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def swept_pairs(corners: list[np.ndarray], x_0: np.ndarray, x_1: np.ndarray) -> np.ndarray:
    """(k,2) rows of two sets of features whose swept AABBs overlap, without those that share a vertex."""
    a, b = (np.concatenate([x_0[c], x_1[c]], axis=1) for c in corners)
    low, high, out = b.min(1), b.max(1), []
    for first in range(0, len(a), 128):
        part = a[first : first + 128]
        i, j = np.nonzero(((part.max(1)[:, None] >= low) & (part.min(1)[:, None] <= high)).all(-1))
        out.append(np.stack([i + first, j], 1))
    rows = np.concatenate(out)
    left, right = corners[0][rows[:, 0]], corners[1][rows[:, 1]]
    rows = rows[~(left[:, :, None] == right[:, None, :]).any((1, 2))]
    return rows[rows[:, 0] < rows[:, 1]] if corners[0] is corners[1] else rows


def least_seconds(work: Callable[[], Any], repeats: int = 7) -> float:
    """CPU time, which other load on the machine affects least."""
    work()
    spent = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return min(spent)


def measure_ipctk(kind: str, rows: np.ndarray, edges: np.ndarray, faces: np.ndarray, x: list[np.ndarray]) -> None:
    import ipctk

    mesh, (x_0, x_1) = ipctk.CollisionMesh(x[0], edges, faces), (np.asfortranarray(p) for p in x)
    found = ipctk.Candidates()
    if kind == "vertex-face":
        found.fv_candidates = [ipctk.FaceVertexCandidate(int(f), int(v)) for v, f in rows]
    else:
        found.ee_candidates = [ipctk.EdgeEdgeCandidate(int(a), int(b)) for a, b in rows]
    for name, solver in (("tight inclusion", ipctk.TightInclusionCCD()), ("additive", ipctk.AdditiveCCD())):
        spent = least_seconds(lambda: found.compute_collision_free_stepsize(mesh, x_0, x_1, 0.0, solver), 2)  # noqa: B023
        print(f"    {name}: {1e9 * spent / len(rows):.0f} ns each, least time of impact only")


def measure() -> None:
    cloth = pile(100, 100, "folded")
    edges = cloth.topology.edges
    for motion in ("miss", "hit"):
        x = [cloth.vertices, stepped(cloth.vertices, motion)]
        vertices = np.arange(len(x[0]))[:, None]
        for kind, impact, sets in (
            ("vertex-face", vertex_face_impact, [vertices, cloth.faces]),
            ("edge-edge", edge_edge_impact, [edges, edges]),
        ):
            rows = swept_pairs(sets, *x)
            corners = np.concatenate([sets[0][rows[:, 0]], sets[1][rows[:, 1]]], axis=1)
            p_0, p_1 = x[0][corners], x[1][corners]
            hit, t = impact(p_0, p_1)
            print(f"{motion}, {kind}: {len(rows)} candidates, {hit.sum()} hits, least time of impact {t.min():.6f}")
            for name, chosen in (("misses", ~hit), ("hits", hit)):
                if chosen.any():
                    start, end, out = p_0[chosen], p_1[chosen], (hit[chosen], t[chosen])
                    spent = least_seconds(lambda: impacts.serial(start, end, kind == "vertex-face", 1e-6, *out))  # noqa: B023
                    print(f"    {name}: {1e9 * spent / chosen.sum():.0f} ns each")
            if importlib.util.find_spec("ipctk"):
                measure_ipctk(kind, rows, edges, cloth.faces, x)


if __name__ == "__main__":
    measure()
