"""The picture and the figures of docs/detectors/consistent-depth.md.

`python benchmarks/studies/consistent_depth.py` pushes bodies into each other and prints the quality of depth and
direction; `... speeds` does so at four speeds, also rotated and right through each other, without and with memory; `...
apart` separates deeply overlapping bodies by some responses; `... FILE` draws the picture, as pictures.py does.
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from sphere_surface import CHOSEN, POINT, SPHERE, Tile
from tiles import captioned

import pliant
from pliant.detect.base import Side
from pliant.detect.queries.consistent_depth import ConsistentDepth
from pliant.detect.queries.tet_hash import TetHash
from pliant.mesh import Mesh
from pliant.shapes import bar, creature, cylinder, tet_ball, tet_box

OTHER = (62, 142, 110)


class Pair:
    """Two bodies of tets, the second of which can be translated."""

    def __init__(self, one: Mesh, other: Mesh) -> None:
        meshes = one.welded, other.welded
        self.sides = [Side(meshes[0], 0, 0), Side(meshes[1], meshes[0].n_vertices, 1)]
        self.x = np.concatenate([mesh.vertices for mesh in meshes])
        self.depth = ConsistentDepth(self.sides)
        self.table = TetHash(self.x, self.depth.tet_bodies.tets)
        links = meshes[0].links
        self.size = float(np.linalg.norm(self.x[links[:, 0]] - self.x[links[:, 1]], axis=1).mean())

    def at(self, way: Any, *, nearest: bool = False, memory: bool = False) -> tuple[np.ndarray, Any, float]:
        """Positions with the second body translated by `way`, contacts, and the seconds from the pairs to them.

        `memory`: the results of the previous position are used.
        """
        x = self.x.copy()
        x[self.sides[1].rows] += np.asarray(way)
        pairs = self.table.update(x).pairs()
        pairs = pairs[(pairs[:, 0] < self.sides[1].first) != (pairs[:, 1] < len(self.sides[0].mesh.tets))]
        if memory:
            self.depth.accept_as_reference()
        began = time.process_time()
        found = self.depth.contacts(x, pairs, nearest=nearest)
        return x, found, time.process_time() - began

    def truth(self, x: np.ndarray, found: Any) -> np.ndarray:
        """Depths of the vertices by the nearest point of the surface."""
        deep = np.zeros(len(found))
        for b, side in enumerate(self.sides):
            rows = found["bodies"][:, 1] == b
            if rows.any():
                points = x[found["vertices"][rows, 0]]
                deep[rows] = -pliant.closest_point(Mesh(x[side.rows], side.mesh.faces), points)[0]
        return deep


def across(mesh: Mesh, centre: tuple[float, float, float]) -> Mesh:
    return mesh.moved(mesh.vertices[:, [1, 0, 2]] * (-1.0, 1.0, 1.0) + np.array(centre))


PUSHES: dict[str, tuple[Callable[[], Pair], tuple[float, float, float]]] = {
    "balls, to the middle": (lambda: Pair(tet_ball(), tet_ball(centre=(0.198, 0.011, 0.007))), (-0.098, 0, 0)),
    "balls, elements half as large": (
        lambda: Pair(tet_ball(0.1, 0.0125), tet_ball(0.1, 0.0125, centre=(0.198, 0.011, 0.007))),
        (-0.098, 0, 0),
    ),
    "corners of boxes": (lambda: Pair(bar(0.2, 10), bar(0.2, 9, centre=(0.1401, 0.1532, 0.2005))), (0, 0, -0.08)),
    "corners, elements half as large": (
        lambda: Pair(bar(0.2, 18), bar(0.2, 17, centre=(0.1401, 0.1332, 0.2005))),
        (0, 0, -0.06),
    ),
    "a box on a side of one": (lambda: Pair(bar(0.2, 8), bar(0.1, 5, centre=(0.01, 0.005, 0.155))), (0, 0, -0.05)),
    "cylinders, crosswise": (lambda: Pair(cylinder(), across(cylinder(), (0.003, 0.004, 0.102))), (0, 0, -0.05)),
    "creatures": (lambda: Pair(creature(), across(creature(), (0.012, 0.055, 0.07))), (0, 0, -0.04)),
}


def push(pair: Pair, way: Any, frames: int, *, memory: bool = True) -> tuple[float, ...]:
    """Lengths in elements: final depth, step, worst error, least dot product of the directions of a vertex in two
    consecutive frames, largest change of depth beyond the motion; microseconds per vertex at the end."""
    known: dict[Any, Any] = {}
    step, worst, least, jump, deepest = float(np.linalg.norm(way)) / frames, 0.0, 1.0, 0.0, 0.0
    pair.depth.forget()
    for t in range(frames + 1):
        x, found, _ = pair.at(np.asarray(way, float) * t / frames, memory=memory)
        deep = pair.truth(x, found)
        worst = max(worst, float(np.abs(found["distance"] + deep).max(initial=0.0)))
        deepest = max(deepest, float(deep.max(initial=0.0)))
        now = {(c["vertices"][0], c["bodies"][1]): (c["normal"], c["distance"]) for c in found.copy()}
        for node in now.keys() & known.keys():
            least = min(least, float(now[node][0] @ known[node][0]))
            jump = max(jump, abs(now[node][1] - known[node][1]) - step)
        known = now
    took = min(pair.at(way, memory=memory)[2] for _ in range(9)) / len(found) * 1e6
    return len(found), deepest / pair.size, step / pair.size, worst / pair.size, least, jump / pair.size, took


def table() -> None:
    print("push, frames: vertices inside, deepest, step, worst error, least dot, jump (elements), us per vertex")
    for name, (make, way) in PUSHES.items():
        for frames in (30, 120):
            told = push(make(), way, frames)
            print(f"{name}, {frames}:", told[0], *(f"{value:.3g}" for value in told[1:]), flush=True)


def turned(mesh: Mesh, seed: int, at: Any) -> Mesh:
    """The mesh with a random rotation, centred at a point."""
    w, x, y, z = (lambda q: q / np.linalg.norm(q))(np.random.default_rng(seed).normal(size=4))
    turn = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return mesh.moved((mesh.vertices - mesh.vertices.mean(0)) @ np.transpose(turn) + np.asarray(at))


def tossed(kind: str, seed: int) -> tuple[Pair, np.ndarray]:
    """Two bodies, the second randomly rotated and pushed into or through the first; and its path, in elements."""
    way = np.random.default_rng((100 if kind == "creatures" else 200) + seed).normal(size=3)
    way /= np.linalg.norm(way)
    if kind == "creatures":
        one = creature()
        return Pair(one, turned(creature(), seed, one.vertices.mean(0) - 0.055 * way)), 4.0 * way
    return Pair(bar(0.2, 9), turned(bar(0.12, 6), seed, -0.14 * way)), 3.0 * way


def along(far: float, *way: float) -> np.ndarray:
    return far * np.asarray(way) / np.linalg.norm(way)


SPEEDS: dict[str, Callable[[], tuple[Pair, np.ndarray]]] = {
    "balls": lambda: (Pair(tet_ball(), turned(tet_ball(), 3, (0.198, 0.011, 0.007))), along(3.5, -1, 0, 0)),
    "corners of boxes": lambda: (
        Pair(bar(0.2, 18), bar(0.2, 17, centre=(0.1401, 0.1332, 0.2005))),
        along(4.0, 0, 0, -1),
    ),
    "boxes, turned 1": lambda: tossed("boxes", 1),
    "boxes, turned 2": lambda: tossed("boxes", 2),
    "cylinders, crosswise": lambda: (
        Pair(cylinder(), across(cylinder(), (0.003, 0.004, 0.102))),
        along(2.5, 0, 0, -1),
    ),
    "rod through a cylinder": lambda: (
        Pair(cylinder(0.05, 0.3, 4), turned(cylinder(0.02, 0.3, 2), 5, (0.045, 0.0, 0.03))),
        along(6.0, -1, 0.1, -0.2),
    ),
    "beam through a box": lambda: (
        Pair(bar(0.2, 10), turned(bar((0.045, 0.3, 0.045), (2, 14, 2)), 7, (0.06, 0.01, 0.02))),
        along(4.0, -0.9, 0.3, -0.2),
    ),
    "beam through a beam": lambda: (
        Pair(
            bar((0.06, 0.3, 0.06), (3, 15, 3)),
            turned(bar((0.045, 0.3, 0.045), (2, 14, 2)), 8, (0.05, 0.01, 0.0)),
        ),
        along(5.0, -1, 0.2, -0.2),
    ),
    "creatures": lambda: (Pair(creature(), across(creature(), (0.012, 0.055, 0.07))), along(4.0, 0, 0, -1)),
    "creatures, turned 1": lambda: tossed("creatures", 1),
    "creatures, turned 2": lambda: tossed("creatures", 2),
    "creatures, turned 3": lambda: tossed("creatures", 3),
    "creatures, turned 4": lambda: tossed("creatures", 4),
}


def speeds() -> None:
    print("push: least dot and worst error at steps of 0.03, 0.06, 0.13, 0.25 elements; without and with memory")
    for name, make in SPEEDS.items():
        pair, way = make()
        told = []
        for memory in (False, True):
            for step in (0.03, 0.06, 0.13, 0.25):
                frames = round(float(np.linalg.norm(way)) / step)
                far = way / np.linalg.norm(way) * frames * step * pair.size
                _, _, _, worst, least, *_ = push(pair, far, frames, memory=memory)
                told.append(f"{least:.2f} {worst:.2f}")
        print(f"{name}:", " | ".join(told), flush=True)


def deep_in_each_other(what: str, response: str, seconds: float = 0.6) -> str:
    """Two foam bodies: the greatest speed of any vertex, the time until nothing is inside, and the separation speed."""
    foam = pliant.Solid(young=1e4, poisson=0.4, density=300.0, damping=0.03)
    if what == "balls":
        meshes = tet_ball(), tet_ball(centre=(0.101, 0.011, 0.007))
    else:
        meshes = tet_box(), tet_box(0.1, centre=(0.01, 0.02, 0.07))
    bodies = [pliant.Body(mesh, material=foam) for mesh in meshes]
    scene = pliant.Scene(bodies, gravity=(0, 0, 0), eps=1e-4, self_contact="push")
    # one substep per frame, so that every substep is recorded
    own = {"self_method": "spatial-hash", "self_response": response}
    sim = pliant.Simulation(scene, dt=0.01 / 16, substeps=1, **own)
    fastest, least, inside, out = 0.0, 1.0, len(sim.self_contact.detect(sim.state)), np.inf
    for frame in sim.run(round(seconds * 1600)):
        fastest = max(fastest, float(np.sqrt((sim.state.v**2).sum(1).max())))
        if frame.index % 16 == 0:
            shapes = [body.mesh.welded.moved(frame.x[scene.rows(b)]) for b, body in enumerate(bodies)]
            least = min(
                least, *(m.tet_volumes.sum() / body.mesh.volume for m, body in zip(shapes, bodies, strict=True))
            )
        if not len(sim.self_contact.detect(sim.state)):
            out = frame.time
            break
    row = scene.rows(1)
    drift = np.linalg.norm(scene.masses[row] @ sim.state.v[row] / scene.masses[row].sum())
    told = f"fastest {fastest:.3g} m/s, separated after {out:.3f} s at {drift:.2f} m/s, volume at least {least:.3f}"
    return f"{what}, {response}: {inside} inside at the start, {told}"


def apart() -> None:
    for what in ("balls", "boxes"):
        for response in ("projection", "penalty", "separate"):
            print(deep_in_each_other(what, response), flush=True)


def sliced(tile: Tile, at: Callable[[Any], Any], mesh: Mesh, x: np.ndarray, color: Any) -> None:
    """The curve in which a surface intersects the plane z = 0."""
    for face in x[mesh.faces]:
        side = face[:, 2] >= 0.0
        if side.all() or not side.any():
            continue
        ends = []
        for k in range(3):
            p, q = face[k], face[(k + 1) % 3]
            if (p[2] >= 0.0) != (q[2] >= 0.0):
                ends.append(at(p + (q - p) * p[2] / (p[2] - q[2])))
        tile.line(ends, color, 2.0)


def drawn(pair: Pair, way: Any, middle: Any, width: float, body: int, *, nearest: bool) -> Image.Image:
    """A slice with the separation directions of the vertices of one body near it."""
    tile = Tile()
    x, found, _ = pair.at(way, nearest=nearest)
    at = lambda p: (np.asarray(p)[:2] - middle) / width + 0.5  # noqa: E731
    for side, color in zip(pair.sides, (SPHERE, OTHER), strict=True):
        sliced(tile, at, side.mesh, x[side.rows], color)
    for hit in found[found["bodies"][:, 0] == body]:
        p = x[hit["vertices"][0]]
        if abs(p[2]) < 0.6 * pair.size:
            tile.line([at(p), at(p - hit["distance"] * hit["normal"])], CHOSEN, 1.4)
            tile.disc(at(p), 0.009, POINT)
    return tile.small()


def picture() -> Image.Image:
    balls = Pair(tet_ball(0.1, 0.02), tet_ball(0.1, 0.02, centre=(0.105, 0.0, 0.0)))
    plate = Pair(bar((0.3, 0.05, 0.1), (24, 4, 6)), bar((0.07, 0.2, 0.07), (6, 16, 6), centre=(0.0, 0.093, 0.0)))
    tiles = [
        drawn(balls, (0, 0, 0), (0.052, 0.0), 0.23, 0, nearest=False),
        drawn(balls, (0, 0, 0), (0.052, 0.0), 0.23, 0, nearest=True),
        drawn(plate, (0, 0, 0), (0.0, 0.02), 0.17, 1, nearest=False),
    ]
    words = [
        "consistent directions out of the other ball",
        "directions to the nearest point of the surface",
        "beyond the middle of a plate: backwards",
    ]
    return captioned(tiles, words, flat=False)


def draw_consistent_depth(save: Callable[[str, Any], None]) -> None:
    save("consistent-depth", picture())


if __name__ == "__main__":
    if sys.argv[1:] == ["apart"]:
        apart()
    elif sys.argv[1:] == ["speeds"]:
        speeds()
    elif len(sys.argv) > 1:
        picture().save(sys.argv[1])
    else:
        table()
