"""Pictures of contacts, meshes and deforming bodies; drawn by `pictures.py nouns`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from tiles import BLUE, FINE, GREEN, INK, ORANGE, RED, Tile, captioned

import pliant
from pliant.motion.clip import Clip
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.simulation.record import record
from pliant.state import State

Save = Callable[[str, Image.Image], None]
SEEN = np.array([[0.92, -0.22], [0.0, 1.0], [-0.42, -0.44]])  # from above and the side
BODY, CLOTH = (0.78, 0.74, 0.70), (0.62, 0.16, 0.13)


def draw_contacts(save: Save) -> None:
    """One record of each kind: its vertices with their weights, the gap and the normal."""
    triangle = pliant.Mesh([[-0.36, 0.0, 0.42], [0.62, 0.0, 0.25], [-0.1, 0.0, -0.55]], [[0, 1, 2]], name="face")
    tip = pliant.Mesh([[0.05, 0.34, 0.08], [-0.25, 0.75, 0.0], [0.42, 0.8, 0.1]], [[0, 1, 2]], name="tip")
    one = pliant.Mesh([[-0.55, 0.12, 0.1], [0.6, 0.32, 0.0], [0.1, 0.85, -0.3]], [[0, 1, 2]])
    two = pliant.Mesh([[0.1, 0.0, 0.6], [-0.05, 0.0, -0.65], [0.3, -0.5, 0.1]], [[0, 1, 2]])
    ball = pliant.shapes.ball(0.5, 4, centre=(0.0, -0.42, 0.0))
    tiles = [
        _record(*_nearest(tip, triangle, 0)),
        _record(*_nearest(one, two, 1)),
        _record(*_field(tip, ball), ball=ball),
    ]
    save("contacts", captioned(tiles, ["vertex-face", "edge-edge", "vertex-field: weight 1 and an anchor"]))


def _nearest(a: pliant.Mesh, b: pliant.Mesh, kind: int) -> tuple[Any, np.ndarray, list[pliant.Mesh]]:
    hits = pliant.find_contacts(a, b, method="brute-force", within=2.0)
    hits = hits[hits["kind"] == kind]
    return hits[hits["distance"].argmin()], np.concatenate([a.vertices, b.vertices]), [a, b]


def _field(a: pliant.Mesh, ball: pliant.Mesh) -> tuple[Any, np.ndarray, list[pliant.Mesh]]:
    field = pliant.DistanceField.bake(ball, 40, band=20)
    hits = pliant.detector("distance-field", a, ball, within=0.4, field=field, midpoints=False).find()
    return hits[hits["distance"].argmin()], a.vertices, [a]


def _record(hit: Any, x: np.ndarray, meshes: list[pliant.Mesh], ball: pliant.Mesh | None = None) -> Image.Image:
    tile = Tile(292, 250, (-0.88, -0.68), (0.88, 0.8))
    if ball is not None:
        middle, r = tile.at(ball.bounds.mean(0) @ SEEN), 0.5 * tile.zoom
        tile.draw.ellipse((middle[0] - r, middle[1] - r, middle[0] + r, middle[1] + r), (*GREEN, 60), (*GREEN, 200), 5)
    for mesh, color in zip(meshes, (BLUE, GREEN)):
        flat = mesh.vertices @ SEEN
        tile.area(flat[mesh.faces[0]], (*color, 45))
        tile.line([*flat[mesh.faces[0]], flat[mesh.faces[0][0]]], (*color, 190), 1.4)
    anchor, rows = hit["anchor"], hit["vertices"][hit["vertices"] >= 0]
    weights = hit["weights"][: len(rows)]
    up = weights > 0.0
    p = (weights[up, None] * x[rows[up]]).sum(0)
    q = p - (weights @ x[rows] - anchor)
    tile.line([p @ SEEN, q @ SEEN], RED, 2.2)
    tip = p + 0.22 * hit["normal"]
    tile.line([p @ SEEN, tip @ SEEN], ORANGE, 2.0)
    along, across = (tip - p) @ SEEN, np.array([[0.0, -1.0], [1.0, 0.0]]) @ ((tip - p) @ SEEN)
    tile.area([tip @ SEEN + 0.2 * along, tip @ SEEN + 0.16 * across, tip @ SEEN - 0.16 * across], ORANGE)
    for end in (p, q):
        tile.dot(end @ SEEN, RED, 3.2)
    for row, weight in zip(rows, weights):
        at = x[row] @ SEEN
        tile.dot(at, INK, 3.4)
        # next to a vertex that is alone, on the far side of the others
        alone = weight == 1.0
        away = np.array([-1.0, 0.0]) if alone else at - x[rows[up == (weight > 0.0)]].mean(0) @ SEEN
        tile.word(at + 0.13 * away / np.linalg.norm(away) * (1.25, 1.0), f"{weight:+.2f}", INK, 13)
    return tile.small()


def draw_mesh(save: Save) -> None:
    """A mesh with one defect of each kind, found by `issues`, and the same mesh after welding."""
    ball = pliant.shapes.ball(0.5, 2)
    seams = ball.vertices[ball.faces].reshape(-1, 3)
    soup = pliant.Mesh(seams, np.arange(len(seams)).reshape(-1, 3), name="soup")
    faces = ball.faces[ball.face_normals @ (0.55, 0.35, 0.75) < 0.86].copy()
    middle = ball.vertices[faces].mean(1)
    turned = np.linalg.norm(middle - (-0.12, 0.1, 0.47), axis=1) < 0.15
    faces[turned] = faces[turned][:, ::-1]
    fin = np.array([0.1, 0.75, 0.25])
    top = faces[np.linalg.norm(middle - (0.1, 0.45, 0.2), axis=1).argmin()]
    broken = pliant.Mesh(np.vstack([ball.vertices, fin]), np.vstack([faces, [[top[0], top[1], len(ball.vertices)]]]))
    tiles = [_seen(soup, 0.8), _seen(broken, 1.0, marks=True)]
    issues = broken.issues
    words = [
        f"{soup.n_vertices} vertices of an STL file, {soup.welded.n_vertices} after welding",
        f"edges: boundary (orange), flipped (red), non-manifold (blue): {len(issues.boundary)}, {len(issues.flipped)}, "
        f"{len(issues.non_manifold)}",
    ]
    save("mesh", captioned(tiles, words))


def _seen(mesh: pliant.Mesh, share: float, marks: bool = False) -> Image.Image:
    """The mesh from the front, every face scaled to `share` of its size; edges with a defect in its colour."""
    tile = Tile(430, 300, (-0.66, -0.56), (0.66, 0.82))
    turn = np.array([[np.cos(0.35), -np.sin(0.35) * 0.35, np.sin(0.35)], [0, 1, 0.35], [-np.sin(0.35), -0.3, 1.0]])
    weld = mesh.welded
    flat, top = weld.vertices @ turn, weld.topology
    depth = flat[weld.faces].mean(1)[:, 2]
    for f in np.argsort(depth):
        corners = flat[weld.faces[f]][:, :2]
        corners = corners.mean(0) + share * (corners - corners.mean(0))
        u, v = corners[1] - corners[0], corners[2] - corners[0]
        front = u[0] * v[1] - u[1] * v[0] > 0.0
        if share < 1.0 and not front:
            continue
        light = int(np.clip(150 + 95 * (weld.face_normals[f] @ (-0.3, 0.6, 0.7)), 60, 250))
        shade = (light, light - 4, light - 10) if front else (206, 150, 145)
        tile.area(corners, shade)
        tile.line([*corners, corners[0]], (*INK, 70), 0.7)
    if marks:
        use, ends = top.n_faces_at_edge, flat[top.edges][:, :, :2]
        for e in np.flatnonzero(use == 1):
            tile.line(ends[e], ORANGE, 2.4)
        for a, b in _flipped(weld):
            tile.line(flat[[a, b]][:, :2], RED, 2.4)
        for e in np.flatnonzero(use > 2):
            tile.line(ends[e], BLUE, 3.2)
    return tile.small()


def _flipped(mesh: pliant.Mesh) -> list[tuple[int, int]]:
    """Edges along which two faces have the same direction."""
    ways = np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)])
    rows, count = np.unique(ways, axis=0, return_counts=True)
    return [(int(a), int(b)) for a, b in rows[count > 1]]


def draw_deforming(save: Save) -> None:
    """Skinning, recorded frames and attached beads, each at two times."""
    walker = pliant.shapes.walking_mannequin(1.0)
    walk = pliant.Skinned(walker, "walk")
    size, tiles = (220, 320), []
    looks = [walk.shape(walk.sample(np.array([t]))[0]) for t in (0.0, 0.35)]
    clip = Clip(walker.mesh, np.stack(looks), BODY)
    camera = Camera.framing([clip], size[0] / size[1], azimuth=0.8, elevation=0.12)
    tiles += [Image.fromarray(render([clip], k, *size, camera, samples=3)) for k in (0, 1)]
    ball = pliant.shapes.ball(0.2, 4)
    wave = 1.0 + 0.22 * np.sin(18.0 * ball.vertices[:, :1]) * np.cos(14.0 * ball.vertices[:, 1:2])
    breath = pliant.Recorded([0.0, 1.0], np.stack([ball.vertices, 1.15 * wave * ball.vertices]))
    places = np.random.default_rng(2).choice(ball.n_faces, 60, replace=False)
    corners = ball.faces[places]
    beads = pliant.Attached.at(breath, ball.vertices, corners, 1.04 * ball.vertices[corners].mean(1))
    shapes = [breath.shape(breath.sample(np.array([t]))[0]) for t in (0.0, 1.0)]
    clip = Clip(ball, np.stack(shapes), BODY)
    camera = Camera.framing([clip], size[0] / size[1], azimuth=0.4, elevation=0.3, fill=0.8)
    for k, t in enumerate((0.0, 1.0)):
        x = beads.shape(beads.sample(np.array([t]))[0])
        image = Image.fromarray(render([clip], k, *size, camera, samples=3))
        tiles.append(_beaded(image, camera, x, ball.moved(shapes[k]).bounds.mean(0)))
    words = ["skinning", "0.35 s later", "recorded, with attached beads", "1 s later"]
    save("deforming", captioned(tiles, words, flat=False))


def _beaded(image: Image.Image, camera: Camera, x: np.ndarray, middle: np.ndarray) -> Image.Image:
    large = image.resize((FINE * image.width, FINE * image.height), Image.Resampling.BICUBIC)
    at, draw = camera.project(x, *large.size)[0], ImageDraw.Draw(large)
    near = np.einsum("ij,ij->i", x - middle, np.asarray(camera.eye) - x) > 0.0
    for u, v in at[near, :2]:
        draw.ellipse((u - 14, v - 14, u + 14, v + 14), RED)
    return large.resize(image.size, Image.Resampling.LANCZOS)


def draw_scene(save: Save) -> None:
    """The example of the page: a sheet pinned at two corners, a ball and wind."""
    linen = pliant.Cloth(density=0.25, stretch=600.0, bend=5e-4)
    sheet = pliant.shapes.cloth(0.6, 0.6, 13, centre=(0.0, 0.3, 0.0))
    held = pliant.Body(sheet, material=linen, pins=[0, 12], color=CLOTH)
    ball = pliant.Body(pliant.shapes.ball(0.2, 4), obstacle=True, color=BODY)
    scene = pliant.Scene([held, ball], friction=0.4, wind=(2.0, 0.0, 0.0))
    result, looks, size = record(pliant.Simulation(scene), 120), (0, 14, 26, 120), (220, 230)
    camera = Camera.framing(result.clips, size[0] / size[1], azimuth=0.7, elevation=0.35)
    tiles = [Image.fromarray(render(result.clips, t, *size, camera, samples=3)) for t in looks]
    save("scene", captioned(tiles, [f"{0.01 * t:g} s" for t in looks], flat=False))


def draw_simulation(save: Save) -> None:
    """A strip on a ball from the side, after each part of one substep that is far too long."""
    strip = pliant.shapes.cloth(0.5, 0.06, (26, 4), centre=(0.03, 0.24, 0.0))
    ball = pliant.Body(pliant.shapes.ball(0.2, 4), obstacle=True)
    scene = pliant.Scene([pliant.Body(strip, material=pliant.Cloth(bend=2e-3)), ball], eps=0.01, friction=0.3)
    sim = pliant.Simulation(scene, dt=0.004, substeps=1)
    for _ in sim.run(45):
        pass
    sim = pliant.Simulation(scene, dt=0.045, substeps=1, state=sim.state)
    seen = {"start of the substep": sim.state.x.copy()}
    for part, name, word in (
        (sim.dynamics, "predict", "predict: move by the velocity"),
        (sim.response, "apply", "respond: project contacts"),
        (sim.dynamics, "relax_with", "solve: cloth with its contacts"),
    ):
        _watched(part, name, word, sim.state, seen)
    seen["end of the substep"] = sim.step().x
    tiles, row = [], np.argsort(strip.vertices[:26, 0])
    for k, x in enumerate(seen.values()):
        tile = Tile(220, 190, (-0.25, -0.02), (0.3, 0.3))
        middle, r = tile.at((0.0, 0.0)), 0.2 * tile.zoom
        tile.draw.ellipse((middle[0] - r, middle[1] - r, middle[0] + r, middle[1] + r), (*GREEN, 60), (*GREEN, 200), 5)
        if k:
            tile.line(list(seen.values())[k - 1][:26][row], (*INK, 60), 1.2)
        tile.line(x[:26][row], BLUE, 2.0)
        for p in x[:26]:
            tile.dot(p, RED if np.hypot(p[0], p[1]) < 0.199 else BLUE, 2.2)
        tiles.append(tile.small())
    save("simulation", captioned(tiles, list(seen)))


def _watched(part: Any, name: str, word: str, state: State, seen: dict[str, np.ndarray]) -> None:
    """Make `part` record the positions after the first call of `name`."""
    act = getattr(part, name)

    def acted(*args: Any, **named: Any) -> Any:
        out = act(*args, **named)
        seen.setdefault(word, state.x.copy())
        return out

    setattr(part, name, acted)


def draw_nouns(save: Any) -> None:
    draw_contacts(save)
    draw_mesh(save)
    draw_deforming(save)
    draw_scene(save)
    draw_simulation(save)
