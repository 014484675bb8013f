"""The picture of docs/detectors/spatial-hash.md. Called by pictures.py, or alone with the name of a file."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from sphere_surface import CHOSEN, POINT, SPHERE, Tile
from tiles import LINE, captioned

import pliant

OTHER = (62, 142, 110)


def cells_tile() -> Image.Image:
    """A tetrahedron drawn as a triangle: its AABB, the cells looked up, the vertices in the AABB and those inside."""
    tile, h = Tile(), 0.2
    rng = np.random.default_rng(3)
    corners = np.array([[0.27, 0.31], [0.55, 0.36], [0.36, 0.57]])
    points = rng.uniform(0.04, 0.96, (60, 2))
    low, high = corners.min(0), corners.max(0)
    first = np.floor(low / h) * h
    (x_0, y_1), (x_1, y_0) = tile.at(first), tile.at([np.floor(high[0] / h) * h + h, first[1] + 2 * h])
    tile.draw.rectangle((x_0, y_0, x_1, y_1), (*CHOSEN, 38))
    for k in range(1, 5):
        tile.line([[k * h, 0.0], [k * h, 1.0]], (*LINE, 90), 0.8)
        tile.line([[0.0, k * h], [1.0, k * h]], (*LINE, 90), 0.8)
    tile.line([low, [high[0], low[1]], high, [low[0], high[1]], low], CHOSEN, 1.5)
    tile.draw.polygon([tile.at(p) for p in corners], (*SPHERE, 50))
    tile.line([*corners, corners[0]], SPHERE, 2.0)
    for p in points:
        near = (p >= low).all() and (p <= high).all()
        weights = np.linalg.solve(np.vstack([corners.T, np.ones(3)]), [*p, 1.0])
        tile.disc(p, 0.013 if near else 0.009, POINT if weights.min() >= 0.0 else CHOSEN if near else LINE)
    return tile.small()


def drawn(mesh: pliant.Mesh, x: np.ndarray, hits: Any, split: np.ndarray | None = None) -> Image.Image:
    """A body from the side, with the vertices inside and their separation directions."""
    tile = Tile()
    low, high = x[:, :2].min(0), x[:, :2].max(0)
    at = lambda p: (p[:2] - (low + high) / 2) * (0.86 / (high - low).max()) + 0.5  # noqa: E731
    front = mesh.faces[(mesh.face_normals[:, 2] > 0.9)]
    for face in front:
        color = OTHER if split is not None and split[face[0]] else SPHERE
        tile.draw.polygon([tile.at(at(p)) for p in x[face]], (*color, 40))
        tile.line([at(p) for p in x[face][[0, 1, 2, 0]]], (*color, 150), 0.9)
    for hit in hits:
        start = x[hit["vertices"][0]]
        tile.line([at(start), at(start - hit["distance"] * hit["normal"])], CHOSEN, 1.6)
        tile.disc(at(start), 0.011, POINT)
    return tile.small()


def curled_tile() -> Image.Image:
    bar = pliant.shapes.bar((1.2, 0.14, 0.1), (30, 4, 2))
    angle, r = bar.vertices[:, 0] * 5.75, 0.17 + bar.vertices[:, 1] + 0.02 * bar.vertices[:, 0]
    x = np.stack([r * np.sin(angle), -r * np.cos(angle), bar.vertices[:, 2]], 1)
    return drawn(bar, x, pliant.detector("spatial-hash", bar).update(x).find())


def cut_tile() -> Image.Image:
    """A bar that is compressed, and cut halfway through the run."""
    bar = pliant.shapes.bar((0.4, 0.16, 0.08), (10, 4, 2))
    poses = np.tile(np.eye(3, 4), (2, 2, 1, 1))
    poses[0, 1, 0, 3], poses[1, 1, 0, 3] = 0.12, -0.12
    ends = [np.flatnonzero(bar.vertices[:, 0] * s > 0.19) for s in (-1.0, 1.0)]
    grips = [pliant.Grip(rows, pliant.Motion([0.0, 1.0], pose)) for rows, pose in zip(ends, poses, strict=True)]
    body = pliant.Body(bar, material=pliant.Solid(), grips=grips)
    scene = pliant.Scene([body], gravity=(0.0, 0.0, 0.0), eps=0.002, self_contact="push")
    options = {"substeps": 8, "self_method": "spatial-hash", "self_response": "projection"}
    sim = pliant.Simulation(scene, **options)
    for _ in sim.run(10):
        pass
    made = pliant.cut(bar, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), x=sim.state.x)
    scene, state = made.carried(sim.scene, sim.state, 0)
    sim = pliant.Simulation(scene, state=state, **options)
    frame = [*sim.run(12)][-1]
    mesh = scene.bodies[0].mesh.welded
    half = mesh.topology.components
    return drawn(mesh, frame.x, frame.contacts, half == half[np.argmax(mesh.vertices[:, 0])])


def picture() -> Image.Image:
    tiles = [cells_tile(), curled_tile(), cut_tile()]
    words = [
        "cells of one AABB; in it; inside",
        "a bar rolled into itself, with directions",
        "cut during a run: the halves collide",
    ]
    return captioned(tiles, words, flat=False)


def draw_spatial_hash(save: Callable[[str, Any], None]) -> None:
    save("spatial-hash", picture())


if __name__ == "__main__":
    picture().save(sys.argv[1])
