"""Pictures of the responses geometric and surface-tag; drawn by `pictures.py settling`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from tiles import BLUE, LINE, ORANGE, RED, Tile, captioned, dotted

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.respond import Geometric
from pliant.simulation.deformable_contact import DeformableContact

Save = Callable[[str, Image.Image], None]
KEPT = 0.008  # metres between the layers


def draw_geometric(save: Save) -> None:
    """Three strips that are far too near to each other, after zero, one and two detection passes and when separated."""
    strips = []
    for k, wave in enumerate((0.0, 0.8, 2.6)):
        mesh = pliant.shapes.cloth(0.16, 0.04, (17, 5))
        x = mesh.vertices.copy()
        x[:, 1] = 0.005 * k + 0.0022 * np.sin(60.0 * x[:, 0] + wave) + 0.008 * np.sin(22.0 * x[:, 0])
        strips.append(pliant.Body(mesh.moved(x)))
    scene = pliant.Scene(strips, thickness=KEPT, self_contact="push", gravity=(0.0, 0.0, 0.0))
    sim = pliant.Simulation(scene, self_method="tree", self_response="geometric")
    soft = sim.self_contact
    assert isinstance(soft, DeformableContact)
    start, tiles, words = sim.state.copy(), [], []
    for rounds in (0, 1, 40):
        state, last = start.copy(), Geometric(scene, eps=soft.thickness, rounds=max(rounds, 1))
        if rounds:
            last.end_frame(state, sim.dt, soft.detect)
        found = soft.detect(state)
        near = found[found["distance"] < 0.9 * soft.thickness]
        tile = Tile(292, 160, (-0.084, -0.028), (0.084, 0.04))
        for b, color in zip(range(3), (BLUE, ORANGE, LINE)):
            rows = scene.rows(b)
            middle = np.flatnonzero(np.abs(strips[b].mesh.vertices[:, 2]) < 1e-9)
            line = state.x[rows][middle[np.argsort(strips[b].mesh.vertices[middle, 0])]]
            tile.line(line, (*color, 60), KEPT * tile.zoom / 4)
            tile.line(line, color, 1.6)
        for hit in near:
            parts = hit["weights"][:, None] * state.x[hit["vertices"]]
            up = hit["weights"] > 0.0
            if abs(parts[up].sum(0)[2]) < 0.004:
                tile.line([parts[up].sum(0), -parts[~up].sum(0)], (*RED, 200), 1.3)
        tiles.append(tile.small())
        said = ("before", "after one pass", f"after {last.passes} passes")[len(tiles) - 1]
        words.append(f"{said}: {len(near)} too near")
    save("geometric", captioned(tiles, words))


def draw_surface_tag(save: Save) -> None:
    """Cloth that falls on a box, and its tagged vertices."""
    cloth = pliant.shapes.cloth(0.6, 0.6, 27, centre=(0.02, 0.12, 0.01))
    box = pliant.Body(pliant.shapes.box((0.34, 0.16, 0.30)), obstacle=True, color=(0.78, 0.74, 0.70))
    scene = pliant.Scene([pliant.Body(cloth, color=(0.16, 0.25, 0.42)), box], eps=0.005, friction=0.3)
    sim = pliant.Simulation(scene, method="distance-field", response="surface-tag")
    looks, size, tiles, words, kept = (9, 18, 60), (292, 220), [], [], []
    for k, frame in enumerate(sim.run(looks[-1]), 1):
        if k in looks:
            tagged = np.asarray(sim.response.tagged)
            kept.append((frame.x.copy(), tagged[tagged < cloth.n_vertices], sim.state.time))
    last = Clip(cloth, np.stack([x[: cloth.n_vertices] for x, *_ in kept[1:]]))
    camera = Camera.framing([last], size[0] / size[1], azimuth=0.5, elevation=0.62, fill=0.9)
    for x, tagged, when in kept:
        clips = [Clip(body.mesh, x[None, scene.rows(b)], body.color) for b, body in enumerate(scene.bodies)]
        at, _ = camera.project(x[tagged], *size)
        # only those on this side, which the cloth does not hide
        normals = cloth.moved(x[: cloth.n_vertices]).vertex_normals[tagged]
        seen = np.einsum("ij,ij->i", normals, np.asarray(camera.eye) - x[tagged]) > 0.0
        tiles.append(dotted(render(clips, 0, *size, camera, samples=3), at[seen], (232, 164, 62), 1.9))
        words.append(f"{when:.2f} s: {len(tagged)} tagged")
    save("surface-tag", captioned(tiles, words, flat=False))


def draw_settling(save: Any) -> None:
    draw_geometric(save)
    draw_surface_tag(save)
