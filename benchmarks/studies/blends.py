"""Pictures of blended BVHs and of skins by rigid parts; drawn by `pictures.py blends`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from tiles import BLUE, INK, LINE, RED, Tile, captioned
from volumes import depths

import pliant
from pliant.detect.base import Side
from pliant.detect.bvh.blend import BlendTree
from pliant.detect.detectors.bone_fields import BoneFieldsDetector
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.motion.clip import Clip
from pliant.motion.deforming import Skinned
from pliant.motion.rigid import placed
from pliant.report.camera import Camera
from pliant.report.heat import Heat, heat_pictures
from pliant.report.picture import render
from pliant.state import State

Save = Callable[[str, Image.Image], None]


def draw_blended(save: Save) -> None:
    """A strip whose shape is a sum of two bends: boxes from the weights, and those traversed, for three sums."""
    strip = pliant.shapes.cloth(1.0, 0.06, (49, 2))
    x = strip.vertices
    bends = np.zeros((2, *x.shape))
    bends[0, :, 1] = 0.30 * np.cos(2.0 * np.pi * x[:, 0])
    bends[1, :, 1] = 0.16 * np.sin(6.0 * np.pi * x[:, 0])
    tree = BlendTree.bounded(x, bends, strip.faces, leaf=2, arity=2)
    post = pliant.shapes.box((0.08, 0.08, 0.08), 1, centre=(0.19, 0.12, 0.0))
    other = BlendTree.bounded(post.vertices, np.zeros((0, *post.vertices.shape)), post.faces)
    tiles, words = [], []
    for q in ((0.15, 0.0), (0.9, 0.0), (0.45, 1.0)):
        found = tree.set(q).pairs(other.set([1.0]))
        tile = Tile(292, 250, (-0.58, -0.44), (0.58, 0.44))
        reached = tree._stamp == tree.now
        depth = depths(tree.tree.nodes["skip"])
        bounds = tree.tree.nodes["bounds"]
        for i in np.flatnonzero(reached):
            shade = (*(BLUE if depth[i] > 2 else LINE), 120 if depth[i] > 2 else 160)
            tile.box(bounds[i][:2], bounds[i][3:5], shade, 1.0)
        tile.area([(0.15, 0.08), (0.23, 0.08), (0.23, 0.16), (0.15, 0.16)], (*RED, 90))
        row = np.argsort(x[:49, 0])
        tile.line(tree.positions()[:49][row], INK, 2.0)
        tiles.append(tile.small())
        words.append(f"weights {q[0]:g}, {q[1]:g}: {reached.sum()} of {len(depth)} nodes, {len(found.pairs)} pairs")
    save("blended", captioned(tiles, words))


def draw_skins(save: Save) -> None:
    """The parts that carry a distance field, their poses in a stride, and their distance from the skin there."""
    character = pliant.shapes.walking_mannequin(1.0)
    motion = Skinned(character, "walk")
    mesh, point = character.mesh, np.zeros((1, 3))
    cloud = Side(pliant.Mesh(point, np.zeros((0, 3), int)), 0, 0)
    detector = BoneFieldsDetector(cloud, Side(mesh, 1, 1, motion), within=0.01, cache=False)
    sample = motion.sample(np.array([0.25]))[0]
    skin = mesh.moved(motion.shape(sample))
    state = State.at(np.concatenate([point, skin.vertices]))
    state.bones = {1: sample}
    detector.update(state)
    parts = [part.moved(placed(part.vertices, pose)) for part, pose in zip(detector.parts.meshes, detector.poses)]
    hues = np.array([(0.62, 0.16, 0.13), (0.16, 0.25, 0.42), (0.60, 0.42, 0.16), (0.20, 0.40, 0.30), (0.5, 0.47, 0.44)])
    size = 278, 390
    camera = Camera.framing([Clip(skin, skin.vertices[None])], size[0] / size[1], azimuth=0.9, elevation=0.12)
    centre = skin.bounds.mean(0)
    apart = []
    for k, part in enumerate(parts):
        away = part.bounds.mean(0) - centre
        apart.append(Clip(part, (part.vertices + 0.22 * away)[None], tuple(hues[k % len(hues)])))
    whole = [Clip(part, part.vertices[None], tuple(hues[k % len(hues)])) for k, part in enumerate(parts)]
    wide = Camera.framing(apart, size[0] / size[1], azimuth=0.9, elevation=0.12)
    heat = Heat(0.01)
    union = joined(parts)
    tiles = [Image.fromarray(render(apart, 0, *size, wide)), Image.fromarray(render(whole, 0, *size, camera))]
    tiles += [Image.fromarray(p) for p in heat_pictures(skin, ClosestPoints(union), heat, [camera], *size)]
    words = [
        f"{len(parts)} parts, cuts closed",
        "moved by their bones",
        "distance from skin to parts: dark is 10 mm",
    ]
    save("skins", captioned(tiles, words, flat=False))


def joined(meshes: list[pliant.Mesh]) -> pliant.Mesh:
    start = np.cumsum([0] + [m.n_vertices for m in meshes])
    faces = [m.faces + s for m, s in zip(meshes, start)]
    return pliant.Mesh(np.concatenate([m.vertices for m in meshes]), np.concatenate(faces))


def draw_blends(save: Any) -> None:
    draw_blended(save)
    draw_skins(save)
