"""Pictures of height grids; `python benchmarks/studies/height_grids.py` prints the figures of their page.

CPU time is that of one thread: set NUMBA_NUM_THREADS=1.
"""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import pliant
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes import SCENES
from pliant.shapes.sheets import lattice_faces
from pliant.simulation.record import record
from pliant.simulation.result import Result

WIDE, HIGH, PAPER, QUIET = 300, 320, (255, 255, 255), (120, 126, 140)
BODY = (0.78, 0.74, 0.70)
LOOK = {"azimuth": 0.55, "elevation": 0.7, "fill": 1.12}


@functools.cache
def run() -> Result:
    scene = SCENES["cloth-on-face"](resolution=64, eps=0.0025, friction=0.4)
    return record(pliant.Simulation(scene, method="height-grid", options={"directions": ("+y",)}), 150)


def map_tile() -> np.ndarray:
    """The heights as an image, white is high."""
    heights = pliant.shapes.face_heights(HIGH - 40)
    grey = Image.fromarray((255 * (0.08 + 0.92 * heights / heights.max())).astype(np.uint8))
    tile = Image.new("RGB", (WIDE, HIGH), (236, 238, 241))
    tile.paste(grey.convert("RGB"), ((WIDE - grey.width) // 2, (HIGH - grey.height) // 2))
    return np.asarray(tile)


def grid_tile(nodes: int) -> np.ndarray:
    """The surface that a grid with this number of nodes represents."""
    grid = pliant.HeightGrid.of_mesh(pliant.shapes.face(), "+y", resolution=nodes)
    ni, nj = grid.heights.shape
    z, x = grid.origin[2] + np.arange(ni) * grid.spacing[0], grid.origin[0] + np.arange(nj) * grid.spacing[1]
    top = np.stack(np.broadcast_arrays(x[None, :], grid.heights, z[:, None]), 2).reshape(-1, 3)
    mesh = pliant.Mesh(top, lattice_faces(nj, ni)[:, ::-1])
    # separate vertices per face for flat shading, so that the cells are visible
    corners = mesh.vertices[mesh.faces].reshape(-1, 3)
    shift = np.repeat(mesh.face_normals, 3, 0) * 1e-9 + np.arange(len(corners))[:, None] * 1e-13
    flat = pliant.Mesh(corners + shift, np.arange(len(corners)).reshape(-1, 3))
    clips = [Clip(flat, flat.vertices[None], BODY)]
    camera = Camera.framing([run().clips[1]], WIDE / HIGH, **LOOK)
    return render(clips, 0, WIDE, HIGH, camera, samples=3)


def cloth_tile(frame: int) -> np.ndarray:
    """The cloth without its checker pattern, which would hide its shape."""
    clips = [dataclasses.replace(clip, mesh=dataclasses.replace(clip.mesh, uv=None)) for clip in run().clips]
    camera = Camera.framing([clips[1]], WIDE / HIGH, **LOOK)
    return render(clips, frame, WIDE, HIGH, camera, samples=3)


def captioned(tiles: list[np.ndarray], words: list[str]) -> Image.Image:
    image = Image.new("RGB", (len(tiles) * (WIDE + 8) - 8, HIGH + 30), PAPER)
    draw = ImageDraw.Draw(image)
    for k, (tile, word) in enumerate(zip(tiles, words, strict=True)):
        image.paste(Image.fromarray(tile), (k * (WIDE + 8), 0))
        at = (k * (WIDE + 8) + WIDE / 2, HIGH + 16)
        draw.text(at, word, QUIET, ImageFont.load_default(15), anchor="mm")
    return image


def draw_height_grids(save: Callable[[str, Any], None]) -> None:
    tiles = [map_tile(), grid_tile(24), grid_tile(111), cloth_tile(150)]
    words = ["a height field", "a grid of 24 nodes per side", "of 111 nodes", "a cloth on it"]
    save("height-grid", captioned(tiles, words))
    times = (11, 17, 26, 150)
    save("cloth-on-face", captioned([cloth_tile(t) for t in times], [f"{t / 100:.2f} s" for t in times]))


def errors() -> None:
    """Errors of the estimate against exact distances within a cell of the surface, in cells."""
    from pliant import shapes

    rng = np.random.default_rng(2003)
    bodies = {"ball": shapes.ball(0.25, 4), "box": shapes.box(0.35, 6), "torus": shapes.torus(), "face": shapes.face()}
    bodies |= {"bust": shapes.bust(), "mannequin": shapes.mannequin()}
    print("mesh | faces | cell, mm | seen | p50 | p99 | max | render, ms | repeated, ms")
    for name, mesh in bodies.items():
        times = []
        for _ in range(5):
            start = time.process_time()
            grids = pliant.HeightGrids.around(mesh, resolution=128)
            times.append(time.process_time() - start)
        again = []
        for _ in range(5):
            start = time.process_time()
            grids.update(mesh.vertices, mesh.vertices)
            again.append(time.process_time() - start)
        h = grids.bound / np.sqrt(2.0)
        face = rng.choice(mesh.n_faces, 40_000, p=mesh.face_areas / mesh.face_areas.sum())
        weights = rng.dirichlet((1.0, 1.0, 1.0), len(face))
        on = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]])
        p = on + mesh.face_normals[face] * rng.uniform(-h, h, len(face))[:, None]
        d, exact = grids.sample(p, reach=2.0 * h)[0], ClosestPoints(mesh).query(p)[0]
        off = np.abs(d - exact)[np.isfinite(d)] / h
        told = " | ".join(f"{v:.3f}" for v in (np.isfinite(d).mean(), *np.percentile(off, [50, 99, 100])))
        print(f"{name} | {mesh.n_faces} | {1e3 * h:.2f} | {told} | {1e3 * min(times):.1f} | {1e3 * min(again):.1f}")


if __name__ == "__main__":
    errors()
