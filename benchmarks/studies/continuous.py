"""A folded strip and its largest collision-free step: drawn by `pictures.py continuous`.

`python benchmarks/studies/continuous.py` prints the milliseconds of the largest collision-free step of cloth instead,
CPU time of one thread, and those of ipctk if it is installed.
"""

import functools
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from pliant.detect.bvh.leaf_mesh import LeafMesh
from pliant.detect.detectors.continuous import Sweep
from pliant.detect.queries.collisions import CollisionQuery, Moving
from pliant.kernels import jit
from pliant.kernels.kinds import EDGE_TO_EDGE
from pliant_bench.cloths import pile, stepped

PAPER, INK, QUIET, RED = (255, 255, 255), (35, 38, 45), (120, 126, 140), (196, 74, 62)
SCALE, WIDTH, HEIGHT = 3, 860, 300


def draw_strip(draw: ImageDraw.ImageDraw, x: np.ndarray, left: float, view: Callable[[Any], Any], words: str) -> None:
    draw.line([tuple(SCALE * np.array([left, 0.0]) + SCALE * p) for p in view(x)], INK, 2 * SCALE, joint="curve")
    draw.text((SCALE * (left + 125), SCALE * 276), words, QUIET, ImageFont.load_default(13 * SCALE), anchor="mm")


def draw_continuous(save: Callable[[str, Image.Image], None]) -> None:
    nx, ny = 5, 60
    mesh = pile(nx, ny, "folded")
    x_0 = mesh.vertices
    x_1 = x_0.copy()
    x_1[:, 2] = x_0[:, 2].mean() + (x_0[:, 2] - x_0[:, 2].mean()) * 0.25
    # constant across the strip, so that its centre line represents it
    x_1 += np.tile(np.random.default_rng(2).normal(size=(ny, 3)) * (0.0, 0.0004, 0.0012), (nx, 1))
    step = Sweep(mesh).step(x_0, x_1)
    collisions = CollisionQuery(Moving(LeafMesh(x_0, mesh.topology, mesh.weld_index)))
    collisions.a.move(x_0, x_1)
    hits = collisions.all(1e-6, "conservative")
    met, (kind, i, j) = len(hits.time), hits.pairs[hits.time.argmin()]
    print(f"step {step:.4f}, {met} pairs intersect, first {kind}, {i}, {j}")
    ends = mesh.topology.edges[[i, j]].ravel() if kind == EDGE_TO_EDGE else np.array([i])
    middle = np.arange(ny) + (nx // 2) * ny
    low, high = x_0[middle][:, 1:].min(0), x_0[middle][:, 1:].max(0)
    scale = 225.0 / (high - low).max()

    def view(x: np.ndarray, rows: np.ndarray = middle) -> np.ndarray:
        p = (x[rows][:, 1:] - 0.5 * (low + high)) * scale
        return np.asarray(np.stack([125.0 + p[:, 0], 135.0 - p[:, 1]], 1))

    image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), PAPER)
    draw = ImageDraw.Draw(image)
    draw_strip(draw, x_0, 10, view, "start")
    draw_strip(draw, x_0 + step * (x_1 - x_0), 305, view, f"collision-free step: {100 * step:.0f} % of the motion")
    x, y = np.array([305.0, 0.0]) + view(x_0 + step * (x_1 - x_0), ends).mean(0)
    draw.ellipse([SCALE * (x - 9), SCALE * (y - 9), SCALE * (x + 9), SCALE * (y + 9)], outline=RED, width=2 * SCALE)
    draw_strip(draw, x_1, 600, view, f"target: {met} pairs intersect")
    save("continuous", image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))


def seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """CPU time, which other load on the machine affects least."""
    work()
    spent = []
    for _ in range(repeats):
        before = time.process_time()
        work()
        spent.append(time.process_time() - before)
    return min(spent)


def main() -> None:
    jit.set_threads(1)
    theirs = importlib.util.find_spec("ipctk") is not None
    if theirs:
        from pliant_bench import ipc

        ipc.set_threads(1)
    for nx, ny in ((30, 100), (100, 100), (300, 300)):
        for state in ("folded", "crumpled"):
            mesh = pile(nx, ny, state)
            x_0, sweep = mesh.vertices, Sweep(mesh)
            for kind in ("miss", "hit"):
                x_1 = stepped(x_0, kind)
                ours = 1e3 * seconds(functools.partial(sweep.step, x_0, x_1))
                line = f"{nx}x{ny} {state} {kind}: {ours:.1f} ms, step {sweep.step(x_0, x_1):.6f}"
                if theirs:
                    known, ends = ipc.collision_mesh(mesh), [np.asfortranarray(x) for x in (x_0, x_1)]
                    for solver in ("Additive", "TightInclusion"):
                        spent = 1e3 * seconds(functools.partial(ipc.free_step, known, *ends, solver), 2)
                        line += f"; {solver} {spent:.1f} ms, {ipc.free_step(known, *ends, solver):.6f}"
                        line += f", {spent / ours:.1f} times pliant's"
                print(line, flush=True)


if __name__ == "__main__":
    main()
