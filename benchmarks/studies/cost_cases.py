"""The cases of `costs.py`: the calls that are timed, and their sizes."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from costs import Case, Prepared, Run

import pliant
from pliant import contacts as _contacts
from pliant import geometry, shapes
from pliant.detect.base import Side
from pliant.detect.bvh.blend import BlendTree
from pliant.detect.bvh.tree import find_pairs, refit, tree_of
from pliant.detect.fields import cache as _cache
from pliant.detect.fields.bsp import PlanarField
from pliant.detect.fields.fill import filled
from pliant.detect.fields.octree import AdaptiveField
from pliant.detect.fields.reconstruct import reconstruct
from pliant.detect.methods import METHODS
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.tet_hash import TetHash
from pliant.detect.queries.volume_gradient import VolumeGradient
from pliant.motion.deforming import Skinned
from pliant.respond import RESPONSES, Volume
from pliant.state import State

Made = tuple[float, Mapping[str, Run]]
RADIUS = 0.25


@functools.cache
def over_ball(count: int) -> tuple[pliant.Mesh, pliant.Mesh, float]:
    """A cloth on a ball of about as many triangles, half of its vertices nearer than half an edge."""
    cloth = shapes.cloth(1.0, 1.0, count)
    u, v = 2.2 * cloth.vertices[:, 0], 2.2 * cloth.vertices[:, 2]
    angle = np.hypot(u, v)
    share = np.sinc(angle / np.pi)
    way = np.stack([u * share, np.cos(angle), v * share], 1)
    within = 0.5 * 2.2 * RADIUS / (count - 1)
    lift = within * (1.0 + 0.6 * np.sin(9.0 * u) * np.cos(7.0 * v))
    level = max(2, round(np.log(cloth.n_faces / 20) / np.log(4)))
    return cloth.moved(way * (RADIUS + lift)[:, None]), shapes.ball(RADIUS, level), within


def asked(name: str, **options: Any) -> Callable[[float], Made]:
    """`update` and `find` of one detector, without its construction."""

    def runs(count: float) -> Made:
        cloth, ball, within = over_ball(int(count))
        detector, state = _detector(name, cloth, ball, within, **options)
        return cloth.n_faces + ball.n_faces, {name: lambda: detector.update(state).find(state)}

    return runs


def _detector(name: str, cloth: pliant.Mesh, ball: pliant.Mesh, within: float, **options: Any) -> tuple[Any, State]:
    state = State.at(np.concatenate([cloth.vertices, ball.vertices]))
    if name == "continuous":  # moves down by an edge
        state.x_start[: cloth.n_vertices] *= 1.0 + 2.0 * within / RADIUS
    sides = Side(cloth, 0, 0), Side(ball, cloth.n_vertices, 1)
    return METHODS[name](*sides, within=within, **options), state


def beside_tree(name: str, **options: Any) -> Callable[[float], Made]:
    """The same, and the BVH method for comparison."""

    def runs(count: float) -> Made:
        size, own = asked(name, **options)(count)
        return size, {**own, **asked("tree")(count)[1]}

    return runs


def on_bones(spacing: float) -> Made:
    """A skirt on a walking mannequin; 8 poses, a forty-eighth of a second apart, one per query."""
    walker, skirt = shapes.walking_mannequin(1.0), shapes.skirt(0.4, spacing=spacing)
    skin = Skinned(walker, "walk")
    poses = skin.sample(np.arange(8) / 48.0)
    states = []
    for pose in poses:
        state = State.at(np.concatenate([skirt.vertices, skin.shape(pose)]))
        state.bones = {1: pose}
        states.append(state)
    sides = Side(skirt, 0, 0), Side(walker.mesh, skirt.n_vertices, 1, skin)

    def walk(detector: Any) -> None:
        for state in states:
            detector.update(state).find(state)

    made = {name: METHODS[name](*sides, within=0.005) for name in ("bone-boxes", "tree")}
    return skirt.n_vertices, {name: functools.partial(walk, detector) for name, detector in made.items()}


def _two_blocks(n: int) -> tuple[pliant.Mesh, pliant.Mesh]:
    """Two blocks of tets, one a fifth inside the other and rotated a little."""
    one = shapes.bar((0.2, 0.2, 0.2), (n, n, n))
    turn = np.array([[0.96, -0.28, 0.0], [0.28, 0.96, 0.0], [0.0, 0.0, 1.0]])
    return one, one.moved(one.vertices @ turn.T + (0.16, 0.013, 0.011))


def blocks(cells: float) -> Made:
    one, two = _two_blocks(int(cells))
    x, tets = np.concatenate([one.vertices, two.vertices]), np.concatenate([one.tets, two.tets + one.n_vertices])
    state, sides = State.at(x), (Side(one, 0, 0), Side(two, one.n_vertices, 1))
    pairs, depth = TetHash(x, tets), METHODS["spatial-hash"](*sides, within=0.0)
    return len(tets), {
        "hash, all pairs": lambda: pairs.update(x).pairs(),
        "with consistent depth": lambda: depth.update(state).find(state),
    }


def into_a_block(cells: float) -> Made:
    """The surfaces of two overlapping blocks, by rays through points."""
    n = int(cells)
    one = shapes.box((0.2, 0.2, 0.2), n)
    two = one.moved(one.vertices + np.array([0.16, 0.013, 0.011]))
    state = State.at(np.concatenate([one.vertices, two.vertices]))
    detector = METHODS["image-space"](Side(one, 0, 0), Side(two, one.n_vertices, 1))
    return 2.0 * one.n_faces, {"image-space": lambda: detector.update(state).find(state)}


def folded(count: float) -> pliant.Mesh:
    cloth = shapes.cloth(1.0, 1.0, int(count))
    x = cloth.vertices * (0.5, 1.0, 1.0)
    x[:, 1] += 0.05 * np.sin(120.0 * x[:, 0])
    return cloth.moved(x)


def trees(count: float) -> Made:
    mesh = folded(count)
    tree, within = tree_of(mesh.vertices, mesh.faces), 0.2 / count
    return mesh.n_faces, {
        "build": lambda: tree_of(mesh.vertices, mesh.faces),
        "refit": lambda: refit(tree, mesh.vertices, mesh.faces),
        "self-traversal": lambda: find_pairs(tree, within=within),
    }


def blended(count: float) -> Made:
    """Two sheets of two bends each: separated, and intersecting."""
    mesh = shapes.cloth(1.0, 1.0, int(count))
    x = mesh.vertices
    bends = np.zeros((2, *x.shape))
    bends[0, :, 1], bends[1, :, 1] = 0.3 * np.cos(2 * np.pi * x[:, 0]), 0.15 * np.sin(6 * np.pi * x[:, 2])
    one, two = (BlendTree.bounded(x + np.array([0.0, up, 0.0]), bends, mesh.faces) for up in (0.0, 0.12))
    far = BlendTree.bounded(x + np.array([0.0, 2.0, 0.0]), bends, mesh.faces)
    fitted, at = tree_of(x, mesh.faces), one.set([0.4, 0.2]).positions()
    return 2.0 * mesh.n_faces, {
        "weights set, sheets intersect": lambda: one.set([0.4, 0.2]).pairs(two.set([0.1, 0.9])),
        "weights set, sheets separated": lambda: one.set([0.4, 0.2]).pairs(far.set([0.1, 0.9])),
        "for comparison: one refit": lambda: refit(fitted, at, mesh.faces),
    }


def culled(count: float) -> Made:
    mesh, runs = shapes.cloth(1.0, 1.0, int(count)), {}
    x = mesh.vertices.copy()
    x[:, 1] = 0.05 * np.sin(6.0 * x[:, 0]) * np.cos(5.0 * x[:, 2])
    mesh = mesh.moved(x)
    state = State.at(x)
    for name, cull in (("wavy cloth, self-contact", True), ("without cones and contours", False)):
        found = METHODS["tree"](Side(mesh, 0, 0), within=0.4 / count, cull=cull)
        runs[name] = functools.partial(lambda d: d.update(state).find(state), found)
    return mesh.n_faces, runs


@functools.cache
def bust() -> pliant.Mesh:
    return shapes.bust()


def fill(cells: float) -> Made:
    band = pliant.DistanceField.bake(bust(), int(cells))
    return cells, {
        "fill": lambda: filled(band),
        "narrow band only": lambda: pliant.DistanceField.bake(bust(), int(cells)),
    }


def adaptive(share: float) -> Made:
    return share, {"octree": lambda: AdaptiveField.bake(bust(), bust().size / share)}


def planar(share: float) -> Made:
    return share, {"planes": lambda: PlanarField.bake(bust(), bust().size / share)}


def surfaces(cells: float) -> Made:
    field = pliant.DistanceField.bake(bust(), int(cells))
    return cells, {"reconstruct": lambda: reconstruct(field)}


def cached(cells: float) -> Made:
    key = _cache.key_of(bust(), int(cells))
    field, path = pliant.DistanceField.bake(bust(), int(cells)), _cache.path_of(key)
    _cache.write(path, key, field)
    return cells, {
        "bake": lambda: pliant.DistanceField.bake(bust(), int(cells)),
        "key and read": lambda: _cache.read(path, _cache.key_of(bust(), int(cells)), bust()),
        "write": lambda: _cache.write(path, key, field),
    }


def sampled(cells: float) -> Made:
    """A million points near the surface, in face order."""
    field = pliant.DistanceField.bake(bust(), int(cells))
    rng = np.random.default_rng(0)
    face = np.sort(rng.integers(0, bust().n_faces, 1_000_000))
    points = np.ascontiguousarray(
        bust().vertices[bust().faces[face]].mean(1) + rng.normal(0, 0.2, (1_000_000, 3)) * field.spacing
    )
    return cells, {"distance and normal": lambda: field.sample(points)}


def nearest(level: float) -> Made:
    ball = shapes.ball(0.5, int(level))
    x = ball.vertices * (1.0 + 0.04 * np.sin(30.0 * ball.vertices[:, :1]))
    found, rng = ClosestPoints(ball.moved(x)), np.random.default_rng(0)
    way = rng.normal(size=(50_000, 3))
    near = 0.5 * way / np.linalg.norm(way, axis=1)[:, None] * (1.0 + rng.normal(0.0, 0.03, (50_000, 1)))
    box = rng.uniform(-0.6, 0.6, (50_000, 3))
    return ball.n_faces, {
        "near the surface": lambda: found.query(near),
        "anywhere in the bounding box": lambda: found.query(box),
    }


def batches(count: float) -> Made:
    rng, n = np.random.default_rng(0), int(count)
    p_0 = rng.normal(size=(n, 4, 3))
    p_1 = p_0 + 0.5 * rng.normal(size=(n, 4, 3))
    return count, {
        "point-triangle distance": lambda: geometry.point_triangle_distance(p_0),
        "edge-edge distance": lambda: geometry.edge_edge_distance(p_0),
        "vertex-face impact": lambda: geometry.vertex_face_impact(p_0, p_1),
        "edge-edge impact": lambda: geometry.edge_edge_impact(p_0, p_1),
    }


def crossing(level: float) -> Made:
    ball = shapes.ball(0.5, int(level))
    other = ball.moved(ball.vertices + np.array([0.4, 0.05, 0.02]))
    return 2.0 * ball.n_faces, {"two balls, trees built": lambda: pliant.intersections(ball, other)}


def shared(pixels: float) -> Made:
    ball = shapes.ball(0.5, 5)
    other = ball.moved(ball.vertices + np.array([0.4, 0.05, 0.02]))
    return pixels, {"two balls of 20 480 faces": lambda: pliant.overlap(ball, other, resolution=int(pixels)).volume}


def responses(count: float) -> Made:
    """One substep on the contacts of a cloth on a ball."""
    cloth, ball, within = over_ball(int(count))
    scene = pliant.Scene([pliant.Body(cloth), pliant.Body(ball, obstacle=True)], eps=within)
    start = State.at(np.concatenate([cloth.vertices, ball.vertices]))
    found = pliant.detector("distance-field", cloth, ball, within=within, midpoints=False).find()
    runs: dict[str, Run] = {}
    for name in ("projection", "surface-tag", "penalty", "geometric"):
        response = RESPONSES[name](scene, reads_obstacle_vertices=True)

        runs[name] = Prepared(start.copy, functools.partial(_answered, response, found))
    return len(found), runs


def _answered(response: Any, found: Any, state: State) -> None:
    response.begin(found, state)
    response.apply(found, state, 1e-3)
    response.finish(found, state, 1e-3)


def led_out(cells: float) -> Made:
    """One substep on the contacts of the two blocks."""
    one, two = _two_blocks(int(cells))
    foam = pliant.Solid()
    scene = pliant.Scene([pliant.Body(one, material=foam), pliant.Body(two, material=foam)], self_contact="push")
    start = State.at(np.concatenate([one.vertices, two.vertices]))
    found = pliant.detector("spatial-hash", one, two).find()
    response = RESPONSES["separate"](scene)

    return len(found), {"separate": Prepared(start.copy, functools.partial(_answered, response, found))}


def pressed(level: float) -> Made:
    """One substep of the response `volume` on two soft balls that overlap; their vertices are those of the surfaces."""
    balls = shapes.ball(0.1, int(level)), shapes.ball(0.08, int(level), centre=(0.11, 0.05, 0.03))
    scene = pliant.Scene([pliant.Body(ball, obstacle=k > 0) for k, ball in enumerate(balls)], self_contact="off")
    start = scene.start()
    one, two = (Side(ball, int(scene.first[k]), k) for k, ball in enumerate(balls))
    response = Volume(scene, intersect=[VolumeGradient(one, two).at])
    size = sum(ball.n_faces for ball in balls)
    return size, {"volume": Prepared(start.copy, functools.partial(_answered, response, _contacts.empty()))}


def cloth_steps(count: float) -> Made:
    cloth = shapes.cloth(1.0, 1.0, int(count))
    sim = pliant.Simulation(pliant.Scene([pliant.Body(cloth, pins=[0])]), dt=0.001, substeps=1)
    return cloth.n_vertices, {"one substep": sim.step}


def solid_steps(cells: float) -> Made:
    n = int(cells)
    block = shapes.bar((0.2, 0.2, 0.2), (n, n, n))
    scene = pliant.Scene([pliant.Body(block, material=pliant.Solid(), pins=[0])])
    return len(block.tets), {"one substep": pliant.Simulation(scene, dt=0.001, substeps=1).step}


COUNTS, TRIANGLES = (16, 32, 64, 128, 256), "triangles of a cloth and the ball it lies on"
NS, PER = "nanoseconds each", lambda seconds, size: 1e9 * seconds / size
CELLS = "cells along the longest side"
ASK = "Milliseconds to update and find against triangles"
CASES = {
    "brute-force": Case(TRIANGLES, ASK, COUNTS, beside_tree("brute-force")),
    "tree": Case(TRIANGLES, ASK, COUNTS, asked("tree")),
    "continuous": Case(TRIANGLES, ASK, COUNTS, beside_tree("continuous")),
    "distance-field": Case(TRIANGLES, ASK, COUNTS, beside_tree("distance-field")),
    "height-grid": Case(TRIANGLES, ASK, COUNTS, beside_tree("height-grid")),
    "sphere-surface": Case(TRIANGLES, ASK, COUNTS, beside_tree("sphere-surface")),
    "stochastic-tree": Case(TRIANGLES, ASK, COUNTS, beside_tree("stochastic-tree", quality=0.9)),
    "active-pairs": Case(TRIANGLES, ASK, COUNTS, beside_tree("active-pairs")),
    "bone-boxes": Case(
        "vertices of the skirt; the mannequin has 32 216 triangles", "Milliseconds per pose against vertices",
        (0.04, 0.025, 0.015, 0.008), on_bones, scale=lambda seconds, size: 1e3 * seconds / 8,
    ),
    "spatial-hash": Case("tets", "Milliseconds against tets", (4, 8, 12, 18, 26), blocks),
    "image-space": Case("triangles", "Milliseconds against triangles", (8, 16, 32, 64, 128), into_a_block),
    "trees": Case("triangles", "Milliseconds against triangles", (16, 32, 64, 128, 256), trees),
    "blended": Case("triangles", "Milliseconds against triangles", (16, 32, 64, 128, 256), blended),
    "cones": Case("triangles", "Milliseconds against triangles", (32, 64, 128, 256), culled),
    "fill": Case(CELLS, "Milliseconds against resolution", (16, 32, 64, 128), fill),
    "octree": Case("diagonal over tolerance", "Milliseconds against accuracy", (50, 100, 200, 400, 800), adaptive),
    "bsp": Case("diagonal over tolerance", "Milliseconds against accuracy", (50, 100, 200, 400), planar),
    "reconstruction": Case(CELLS, "Milliseconds against resolution", (32, 64, 128, 256), surfaces),
    "cache": Case(CELLS, "Milliseconds against resolution", (64, 128, 256, 512), cached),
    "sample": Case(
        CELLS, "Nanoseconds per point against resolution", (32, 64, 128, 256, 512), sampled,
        "nanoseconds per point", lambda seconds, size: 1e3 * seconds,
    ),
    "nearest": Case(
        "triangles", "Microseconds per point against triangles", (2, 3, 4, 5, 6), nearest,
        "microseconds per point", lambda seconds, size: 1e6 * seconds / 50_000,
    ),
    "geometry": Case("pairs in a batch", "Nanoseconds per pair", (100, 1_000, 10_000, 100_000), batches, NS, PER),
    "crossings": Case("triangles", "Milliseconds against triangles", (2, 3, 4, 5, 6), crossing),
    "overlap": Case("pixels along the longer side", "Milliseconds against pixels", (16, 32, 64, 128, 256, 512), shared),
    "responses": Case(
        "contacts", "Nanoseconds per contact and substep", (16, 32, 64, 128), responses, "nanoseconds per contact", PER
    ),
    "volume": Case("triangles", "Milliseconds against triangles", (2, 3, 4, 5, 6), pressed),
    "separate": Case(
        "contacts", "Nanoseconds per contact and substep", (6, 12, 18, 26), led_out, "nanoseconds per contact", PER
    ),
    "xpbd": Case("vertices", "Milliseconds per substep against vertices", (12, 25, 50, 100, 200), cloth_steps),
    "tets": Case("tets", "Milliseconds per substep against tets", (3, 6, 10, 16, 24), solid_steps),
}  # fmt: skip
