"""Measurements of isosurface stuffing; `draw_stuffing` draws its pictures.

`python benchmarks/studies/stuffing.py [angles] [speed] [loss]` prints the figures.
Seconds are CPU time of this process (set NUMBA_NUM_THREADS=1 for that of one thread).
"""

import sys
import time
from collections.abc import Callable

import numpy as np

import pliant
from pliant import shapes
from pliant.fill import dihedral_angles, fill_and_measure
from pliant.mesh import Mesh
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render

WIDE, HIGH, GAP = 294, 250, 8
SKIN, MEAT = (0.62, 0.16, 0.13), (0.80, 0.45, 0.36)


def angles() -> None:
    """Dihedral angles of the shapes."""
    print("shape       vertices   tets  least  1 %  largest  seconds")
    for make in (shapes.creature, shapes.liver, shapes.intestine, shapes.tet_ball, shapes.tet_box):
        start = time.process_time()
        mesh = make()
        spent = time.process_time() - start
        found = dihedral_angles(mesh)
        least = np.percentile(found.min(1), 1)
        sizes = f"{mesh.n_vertices:8}  {len(mesh.tets):5}"
        print(f"{mesh.name:10}  {sizes}  {found.min():5.1f}  {least:4.1f}  {found.max():6.1f}  {spent:7.2f}")


def speed() -> None:
    """A ball as a function and as 20 480 triangles, by size."""

    def ball(p: np.ndarray) -> np.ndarray:
        return np.sqrt((p * p).sum(1)) - 0.5

    surface = shapes.ball(0.5, 5)
    pliant.fill_with_tets(surface, 0.3)
    print("cells across    tets  function s  surface s")
    for cells in (10, 20, 40, 60):
        size, spent = 1.0 / cells, []
        for make in (
            lambda h=size: shapes.stuffed(ball, [-0.5] * 3, [0.5] * 3, h, slope=1.0),
            lambda h=size: pliant.fill_with_tets(surface, h),
        ):
            start = time.process_time()
            mesh = make()
            spent.append(time.process_time() - start)
        print(f"{cells:12}  {len(mesh.tets):6}  {spent[0]:10.2f}  {spent[1]:9.2f}", flush=True)


def loss() -> None:
    """The loss of filling: bodies with the default size, and the mannequin by size."""
    print("surface        size mm    tets  volume lost  farthest, cells  pieces")
    made = [(shapes.ball(), None), (shapes.box(), None), (shapes.torus(), None), (shapes.bust(), None)]
    for surface, size in [*made, *((shapes.mannequin(), size) for size in (0.04, 0.02, 0.01, None))]:
        mesh, lost = fill_and_measure(surface, size)
        what = f"{lost.lost_share:11.2%}  {lost.farthest / lost.size:15.2f}  {lost.filled_pieces:6}"
        print(f"{surface.name:10}  {1e3 * lost.size:10.1f}  {len(mesh.tets):6}  {what}", flush=True)


def shrunk(mesh: Mesh, keep: np.ndarray, share: float = 0.86) -> Mesh:
    """The tets of `keep`, shrunk, with separate vertices per face for flat shading."""
    x = mesh.vertices[mesh.tets[keep]]
    x = x.mean(1, keepdims=True) + share * (x - x.mean(1, keepdims=True))
    sides = x[:, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]]].reshape(-1, 3, 3)
    sides = sides.mean(1, keepdims=True) + 0.999 * (sides - sides.mean(1, keepdims=True))
    return Mesh(sides.reshape(-1, 3), np.arange(3 * len(sides)).reshape(-1, 3), name=mesh.name)


def tile(mesh: Mesh, open_at: tuple[float, float, float] | None, azimuth: float, elevation: float) -> np.ndarray:
    """The whole shape, or the tets behind a plane through its centre."""
    mesh = mesh.moved(mesh.vertices - (0.0, mesh.bounds[0, 1], 0.0))
    whole = Clip(mesh, mesh.vertices[None], SKIN)
    camera = Camera.framing([whole], WIDE / HIGH, azimuth=azimuth, elevation=elevation, fill=0.9)
    if open_at is not None:
        middle = mesh.vertices[mesh.tets].mean(1) - mesh.bounds.mean(0)
        cut = shrunk(mesh, middle @ np.array(open_at) < 0.0)
        whole = Clip(cut, cut.vertices[None], MEAT)
    return render([whole], 0, WIDE, HIGH, camera, samples=3)


def draw_stuffing(save: Callable[[str, np.ndarray], None]) -> None:
    """Creature, liver, intestine; below, the creature, a ball and the bust cut open."""
    creature = shapes.creature()
    bust = pliant.fill_with_tets(shapes.bust(), 0.03)
    rows = [
        [
            tile(creature, None, 0.8, 0.25),
            tile(shapes.liver(), None, 0.5, 0.3),
            tile(shapes.intestine(), None, 0.7, 0.7),
        ],
        [
            tile(creature, (1.0, 0.0, 0.0), 0.9, 0.2),
            tile(shapes.tet_ball(), (0.6, 0.0, 1.0), 0.6, 0.2),
            tile(bust, (1.0, 0.0, 0.0), 0.9, 0.15),
        ],
    ]
    gap, line = np.full((HIGH, GAP, 3), 255, np.uint8), np.full((GAP, 3 * WIDE + 2 * GAP, 3), 255, np.uint8)
    joined = [np.concatenate([a, gap, b, gap, c], 1) for a, b, c in rows]
    save("tets", np.concatenate([joined[0], line, joined[1]]))


if __name__ == "__main__":
    every = {"angles": angles, "speed": speed, "loss": loss}
    for chosen in sys.argv[1:] or every:
        every[chosen]()
