"""The picture and the table of docs/trees/cones.md.

`python benchmarks/studies/cones.py` prints the table (milliseconds of CPU time on one thread); `pictures.py cones`
draws.
"""

import time
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.base import Side
from pliant.detect.bvh.cones import Cones
from pliant.detect.detectors.bvh import BvhDetector
from pliant.kernels import jit
from pliant.kernels.bvh import cones as kernels
from pliant.state import State
from pliant_bench.cloths import SIZES, STATES, H, pile

PAPER, QUIET, INK, RED = (255, 255, 255), (120, 126, 140), (35, 38, 45), (196, 74, 62)
TINTS = ((214, 222, 235), (233, 223, 205), (214, 232, 216), (233, 214, 222), (222, 216, 238), (228, 232, 208))
WIDE, HIGH, FOOT, SCALE = 360, 330, 30, 3
WITHIN, REPEATS = 0.6 * H, 7
Point = tuple[float, ...]


def strip(turns: float = 1.1, across: int = 7, along: int = 89) -> pliant.Mesh:
    """A ring of slightly more than one turn whose ends intersect in the middle of their width."""
    r, a = np.meshgrid(np.linspace(1, 2, across), np.linspace(0, 2 * np.pi * turns, along), indexing="ij")
    x = np.stack([r * np.cos(a), r * np.sin(a), 0.02 * (r - 1.5) * a / (2 * np.pi)], 2).reshape(-1, 3)
    i, j = (k.reshape(-1) for k in np.meshgrid(np.arange(across - 1), np.arange(along - 1), indexing="ij"))
    at = i * along + j
    faces = [np.stack([at, at + along, at + along + 1], 1), np.stack([at, at + along + 1, at + 1], 1)]
    return pliant.Mesh(x, np.concatenate(faces))


def draw_cones(save: Callable[[str, Image.Image], None]) -> None:
    """The strip from above: its contour with its self-intersections, and the patches that are proved free instead."""
    mesh, within = strip(), 0.01
    state = State.at(mesh.vertices)
    detector = BvhDetector(Side(mesh), within=within)
    contacts = detector.update(state).find(state)
    cones = detector.near.cones
    assert cones is not None
    image = Image.new("RGB", (2 * WIDE * SCALE, (HIGH + FOOT) * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    flat = mesh.vertices[:, :2] * [1, -1] * SCALE * WIDE / 4.7 + np.array([WIDE, HIGH]) * SCALE / 2
    patch = patches(cones)
    order = np.argsort(patch, kind="stable")
    for side, tinted in ((0, False), (1, True)):
        at = flat + np.array([side * WIDE * SCALE, 0.0])
        for q in order:
            tint = (255, 255, 255) if patch[q] < 0 else TINTS[patch[q] % len(TINTS)]
            corners = [tuple(p) for p in at[cones.leaf_mesh.leaves.corners[q]]]
            draw.polygon(corners, tint if tinted else (240, 241, 244))
            draw.line([*corners, corners[0]], (205, 208, 216), 1)
    rows, n = cones.patches.rows[: cones.patches.start[1]], int(cones.patches.start[1])
    loop = [tuple(p) for p in flat[rows]]
    draw.line([*loop, loop[0]], INK, 2 * SCALE)
    for i in range(n):
        for j in range(i + 2, n - (i == 0)):
            a, b, c, d = loop[i], loop[i + 1], loop[j], loop[(j + 1) % n]
            if kernels.cross_each_other(a, b, c, d):
                dot(draw, crossing(a, b, c, d), 5)
    for p in {tuple(p) for p in np.round(flat[contacts["vertices"][:, 0]], 3)}:
        dot(draw, (p[0] + WIDE * SCALE, p[1]), 2)
    draw.line([(WIDE * SCALE, 20 * SCALE), (WIDE * SCALE, HIGH * SCALE)], (225, 227, 232), SCALE)
    words = ("one narrow cone, but the contour crosses itself", "patches proved free, and the contacts")
    for k, text in enumerate(words):
        place = ((k + 0.5) * WIDE * SCALE, (HIGH + 10) * SCALE)
        draw.text(place, text, QUIET, ImageFont.load_default(14 * SCALE), anchor="mm")
    save("cones", image.resize((2 * WIDE, HIGH + FOOT), Image.Resampling.LANCZOS))


def patches(cones: Cones) -> np.ndarray:
    """(m,) the proved patch of each triangle of the cover, -1 for none."""
    begin, behind = cones.begin(0.01), cones.leaf_mesh.behind
    nodes, out = cones.leaf_mesh.tree.nodes, np.full(len(begin), -1)
    i = n = 0
    while i < len(nodes):
        first, last = nodes[i]["first"], nodes[i]["first"] + nodes[i]["count"]
        if last - first > 1 and (begin[first:last] == nodes[i]["skip"]).all() and begin[first] != behind[first]:
            out[first:last], i, n = n, nodes[i]["skip"], n + 1
        else:
            i += 1
    return out


def dot(draw: ImageDraw.ImageDraw, p: Point, r: float) -> None:
    r *= SCALE
    draw.ellipse([p[0] - r, p[1] - r, p[0] + r, p[1] + r], RED)


def crossing(
    a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...], d: tuple[float, ...]
) -> tuple[float, float]:
    t = kernels.rounded_orient2d(c, d, a) / (kernels.rounded_orient2d(c, d, a) - kernels.rounded_orient2d(c, d, b))
    return (a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]))


def milliseconds(*works: Callable[[], object]) -> list[float]:
    """The least of several runs of each, interleaved, so that other load on the machine affects all alike."""
    least = [np.inf] * len(works)
    for turn in range(REPEATS + 1):
        for k, work in enumerate(works):
            start = time.process_time()
            work()
            if turn:
                least[k] = min(least[k], 1e3 * (time.process_time() - start))
    return least


def measure() -> None:
    """Flat cloth, where the whole is proved free, and folded cloth: update and find with and without cones."""
    jit.set_threads(1)
    for nx, ny in SIZES:
        rest = pile(nx, ny, "flat")
        plain, culled = (BvhDetector(Side(rest), within=WITHIN, cull=cull) for cull in (False, True))
        cones = culled.near.cones
        assert cones is not None
        for shape in STATES:
            state = State.at(pile(nx, ny, shape).vertices)
            count = len(culled.update(state).find(state))
            finds = [lambda d=d, s=state: d.update(s).find(s) for d in (plain, culled)]
            row = milliseconds(*finds, lambda c=cones: c.begin(WITHIN))
            row.append(float((cones.begin(WITHIN) != cones.leaf_mesh.behind).mean()))
            print(f"| {nx} x {ny}, {shape} | {count} | " + " | ".join(f"{t:.2f}" for t in row) + " |", flush=True)


if __name__ == "__main__":
    measure()
