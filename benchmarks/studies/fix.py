"""The picture and the table of docs/fix.md: `studies/fix.py draw FOLDER`, `studies/fix.py tangles [COUNT]`."""

import pathlib
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from checking import seen

import pliant
from pliant import Clip, Mesh, shapes
from pliant.audit.fix import fix
from pliant.report.camera import Camera
from pliant.report.picture import render

WIDE, HIGH = 300, 330
BODY, CLOTH = (0.78, 0.74, 0.70), (0.62, 0.16, 0.13)
MOST = 500  # intersecting pairs in a tangle


def crumpled(seed: int, n: int = 36) -> Mesh:
    """A square metre of n x n vertices bent by six waves of random direction, possibly through itself."""
    rng = np.random.default_rng(seed)
    at = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, n)] * 2), -1).reshape(-1, 2)
    x = np.stack([at[:, 0], np.zeros(n * n), at[:, 1]], 1)
    size = rng.uniform(0.12, 0.3)
    for _ in range(6):
        wave, phase = rng.normal(size=2) * rng.uniform(3, 9), rng.uniform(0, 2 * np.pi)
        x += 0.5 * size * rng.normal(size=3) * np.sin(at @ wave + phase)[:, None]
    return shapes.cloth(1.0, 1.0, n).moved(x)


def draw_fix(save: Callable[[str, np.ndarray], None]) -> None:
    """A skirt moved 3 cm into a mannequin, and a crumpled sheet, before and after."""
    body, skirt = shapes.mannequin(), shapes.skirt()
    skirt = Mesh(skirt.vertices + np.array([0.02, 0.0, -0.03]), skirt.faces, name="skirt")
    mended = fix(skirt, body, clearance=0.004)
    tiles = []
    camera = Camera.framing([still(skirt)], WIDE / HIGH, azimuth=0.45, elevation=0.15)
    for mesh in (skirt, mended.garment.mesh):
        tiles.append(render([still(mesh, CLOTH), still(body)], 0, WIDE, HIGH, camera, samples=3))
    sheet = crumpled(6)
    camera = Camera.framing([still(sheet)], WIDE / HIGH, azimuth=0.7, elevation=0.5)
    for mesh in (sheet, fix(sheet).garment.mesh):
        tiles.append(render([still(mesh, CLOTH)], 0, WIDE, HIGH, camera, samples=3))
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "fix.html"
        mended.to_html(page)
        save("fix-page", seen(page, 1140))
    gap = np.full((HIGH, 8, 3), 255, np.uint8)
    save("fix", np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


def still(mesh: Mesh, color: tuple[float, float, float] = BODY) -> Clip:
    return Clip(mesh, mesh.vertices[None], color)


def tangles(count: int) -> None:
    """The results for `count` crumpled sheets with up to MOST intersections; seconds of CPU time."""
    rows, seed = [], -1
    while len(rows) < count:
        seed += 1
        sheet = crumpled(seed)
        pairs = len(pliant.intersections(sheet))
        if not 0 < pairs <= MOST:
            continue
        began = time.process_time()
        fixed = fix(sheet)
        took = time.process_time() - began
        left, steps = fixed.after.self_intersections, fixed.steps
        moved = float(fixed.moved.mean() / np.median(lengths(sheet)))
        rows.append((pairs, left, took, steps, moved, float(fixed.strain.mean())))
        print(f"{seed}: {pairs} -> {left}, {took:.1f} s, {steps} steps", file=sys.stderr, flush=True)
    table = np.array(rows)
    print(
        "| pairs | sheets | free | better | worse | s, median | most | steps, median | most | moved, edges | strain |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for low, high in ((0, 100), (100, 200), (200, 300), (300, 400), (400, 500), (0, MOST)):
        part = table[(table[:, 0] > low) & (table[:, 0] <= high)]
        if len(part):
            free, better, worse = (
                int(np.sum(w)) for w in (part[:, 1] == 0, part[:, 1] < part[:, 0], part[:, 1] > part[:, 0])
            )
            middle, most = np.median(part, 0), part.max(0)
            figures = f"{middle[2]:.1f} | {most[2]:.1f} | {middle[3]:.0f} | {most[3]:.0f} | {part[:, 4].mean():.2f}"
            counts = f"{len(part)} | {free} | {better} | {worse}"
            print(f"| {low + 1} to {high} | {counts} | {figures} | {part[:, 5].mean():.1%} |")


def lengths(mesh: Mesh) -> np.ndarray:
    a, b = (mesh.vertices[mesh.topology.edges[:, k]] for k in range(2))
    return np.linalg.norm(b - a, axis=1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["tangles"]:
        tangles(int(sys.argv[2]) if len(sys.argv) > 2 else 100)
    else:
        from PIL import Image

        target = pathlib.Path(sys.argv[2])
        draw_fix(lambda name, what: Image.fromarray(np.asarray(what)).save(target / f"{name}.png"))
