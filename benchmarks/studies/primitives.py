"""Pictures of brute-force, nearest points, geometry and contacts; drawn by `pictures.py primitives`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from tiles import BLUE, GREEN, INK, LINE, ORANGE, RED, TILE, Tile, captioned

import pliant
from pliant import geometry
from pliant.report.slices import Scale, coloured

Save = Callable[[str, Image.Image], None]
WITHIN = 0.05


def two_strips() -> tuple[pliant.Mesh, pliant.Mesh]:
    """Two strips of cloth one edge wide, bent across, one over the other."""
    made = []
    for count, lift, phase in ((13, 0.0, 0.0), (11, 0.062, 0.5)):
        strip = pliant.shapes.cloth(1.0, 0.1, (count, 2))
        x = strip.vertices.copy()
        x[:, 1] = lift + 0.05 * np.sin(7.0 * x[:, 0] + phase) + 0.02 * np.sin(15.0 * x[:, 0])
        made.append(strip.moved(x))
    return made[0], made[1]


def ends(hit: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two points of a contact, by its positive and its negative weights."""
    parts = hit["weights"][:, None] * x[hit["vertices"]]
    up = hit["weights"] > 0.0
    return parts[up].sum(0), -parts[~up].sum(0)


def draw_brute_force(save: Save) -> None:
    """Two strips and their contacts from the side; and every tested vertex-face pair."""
    one, two = two_strips()
    x = np.concatenate([one.vertices, two.vertices])
    hits = pliant.find_contacts(one, two, method="brute-force", within=WITHIN)
    side = Tile(560, 240, (-0.57, -0.13), (0.57, 0.2))
    seen = np.array([[1.0, 0.0], [0.0, 1.0], [-0.45, -0.6]])  # from slightly above and the side
    for mesh, color in ((one, BLUE), (two, GREEN)):
        for a, b in mesh.topology.edges:
            side.line(mesh.vertices[[a, b]] @ seen, (*color, 170), 1.2)
        for p in mesh.vertices:
            side.dot(p @ seen, color, 2.4)
    for hit in hits[::-1]:  # vertex-face contacts on top
        side.line(
            np.array(ends(hit, x)) @ seen,
            (*(RED if hit["kind"] == 0 else ORANGE), 220),
            1.2 if hit["kind"] == 0 else 2.4,
        )
    blocks = [_to_faces(one.vertices, two), _to_faces(two.vertices, one)]
    wide, tall = sum(b.shape[1] for b in blocks) + 2, max(len(b) for b in blocks)
    table, left, near = Tile(360, 240, (0, 0), (wide, tall), 0.93), 0, 0
    for block in blocks:
        for (row, column), d in np.ndenumerate(block):
            shade = int(238 - 130 * np.exp(-((d / 0.25) ** 2)))
            table.area(_square(left + column, tall - 1 - row), RED if d <= WITHIN else (shade, shade + 3, shade + 9))
        left, near = left + block.shape[1] + 2, near + int((block <= WITHIN).sum())
    vertex_face, edge_edge = (int((hits["kind"] == k).sum()) for k in (0, 1))
    assert vertex_face == near, "the red squares must be the records"
    words = f"{vertex_face} vertex-face pairs in red, {edge_edge} edge-edge in orange, within {100 * WITHIN:.0f} cm"
    asked = sum(block.size for block in blocks)
    save("brute-force", captioned([side.small(), table.small()], [words, f"every vertex with every face: {asked}"]))


def _square(u: float, v: float) -> list[tuple[float, float]]:
    s = 0.06
    return [(u + s, v + s), (u + 1 - s, v + s), (u + 1 - s, v + 1 - s), (u + s, v + 1 - s)]


def _to_faces(points: np.ndarray, mesh: pliant.Mesh) -> np.ndarray:
    """(points, faces) distances."""
    corners = mesh.vertices[mesh.faces]
    quads = np.empty((len(points), len(corners), 4, 3))
    quads[:, :, 0], quads[:, :, 1:] = points[:, None], corners[None]
    return geometry.point_triangle_distance(quads.reshape(-1, 4, 3)).reshape(quads.shape[:2])


def draw_nearest(save: Save) -> None:
    """The bust in its plane of symmetry, with points around it and the segments to their nearest points; then bent."""
    from pliant.detect.queries.penetration import DeformingClosestPoints

    body = pliant.shapes.bust()
    low, high = body.bounds
    x = body.vertices.copy()
    # nodding: everything above the shoulders rotates forwards
    lift = np.clip((x[:, 1] - 0.15) / 0.2, 0.0, 1.0)
    angle, pivot = 0.5 * lift, np.array([0.0, 0.2, 0.0])
    y, z = x[:, 1] - pivot[1], x[:, 2] - pivot[2]
    x[:, 1], x[:, 2] = (
        pivot[1] + np.cos(angle) * y - np.sin(angle) * z,
        pivot[2] + np.sin(angle) * y + np.cos(angle) * z,
    )
    tiles = []
    for mesh in (body, body.moved(x)):
        tile = Tile(412, 330, (low[2] - 0.12, low[1] - 0.04), (high[2] + 0.16, high[1] + 0.05))
        grid = tile.points()
        flat = np.stack([np.full(grid.shape[:2], 1e-5), grid[..., 1], grid[..., 0]], -1).reshape(-1, 3)
        d, _ = pliant.closest_point(mesh, flat)
        tile.paint(coloured(d.reshape(grid.shape[:2]), Scale(0.02, 0.12)))
        points = np.random.default_rng(4).uniform(
            (low[2] - 0.1, low[1] - 0.02), (high[2] + 0.14, high[1] + 0.03), (70, 2)
        )
        asked = np.stack([np.zeros(70), points[:, 1], points[:, 0]], 1)
        d, q = pliant.closest_point(mesh, asked)
        known = DeformingClosestPoints(body).update(mesh.vertices).inside(asked).rows
        assert sorted(known) == sorted(np.flatnonzero(d < 0.0))
        for p, near in zip(asked[:, [2, 1]], q[:, [2, 1]]):
            tile.line([p, near], (*INK, 220), 1.1)
            tile.dot(p, INK, 2.6)
        tiles.append(tile.small())
    save("nearest", captioned(tiles, ["points and their nearest points", "the same points, the body bent"]))


def draw_geometry(save: Save) -> None:
    """Distances from a triangle in its plane and above, distances of two edges, and times of impact on a triangle."""
    corners = np.array([[0.24, 0.22], [0.80, 0.34], [0.38, 0.78]])
    tile = Tile(292, 292)
    grid = tile.points()
    n = grid[..., 0].size
    p = np.zeros((n, 4, 3))
    p[:, 0, :2], p[:, 1:, :2] = grid.reshape(-1, 2), corners
    d = geometry.point_triangle_distance(p).reshape(grid.shape[:2])
    tile.paint(coloured(d + 0.02, Scale(0.04, 0.9)))
    tile.area(corners, (*BLUE, 70))
    tile.line([*corners, corners[0]], INK, 1.6)

    # one end of an edge moves over the picture, everything else is fixed
    edges = Tile(292, 292)
    fixed, other = np.array([0.16, 0.84, 0.0]), np.array([[0.30, 0.20, 0.12], [0.86, 0.62, 0.12]])
    p[:, 0, :2], p[:, 1] = grid.reshape(-1, 2), fixed
    p[:, 2], p[:, 3] = other
    d = geometry.edge_edge_distance(p).reshape(grid.shape[:2])
    edges.paint(coloured(d - 0.1, Scale(0.03, 0.9)))
    edges.line(other, INK, 2.0)
    edges.dot(fixed, BLUE, 4.5)
    for tip in ((0.66, 0.88), (0.25, 0.45), (0.78, 0.28)):
        edges.line([fixed, tip], (*BLUE, 200), 1.6)
        edges.dot(tip, BLUE, 3.0)

    impact = Tile(292, 292)
    p_0 = np.zeros((n, 4, 3))
    p_0[:, 0, :2], p_0[:, 0, 2] = grid.reshape(-1, 2), 1.0
    p_0[:, 1:, :2] = corners
    p_1 = p_0.copy()
    p_1[:, 0, 2] = 0.0
    turned = corners.mean(0) + 1.25 * (corners - corners.mean(0)) @ np.array([[0.5, 0.87], [-0.87, 0.5]])
    p_1[:, 1:, :2], p_1[:, 1:, 2] = turned, (0.95, 0.5, 0.1)
    hit, time = geometry.vertex_face_impact(p_0, p_1)
    shade = (time - 0.45) / 0.55
    ramp = np.stack([255 - 150 * (1 - shade), 235 - 145 * (1 - shade), 215 - 40 * (1 - shade)], -1)
    ramp *= np.where((time * 20).astype(int) % 2, 1.0, 0.95)[:, None]
    impact.paint(np.where(hit[:, None], ramp, TILE).reshape(*grid.shape[:2], 3))
    for shape, color in ((corners, (*LINE, 200)), (turned, INK)):
        impact.line([*shape, shape[0]], color, 1.5)
    words = [
        "distance of points from a triangle",
        "distance of edges that start at the blue point",
        "time of impact on a rotating triangle: dark is early",
    ]
    save("geometry", captioned([tile.small(), edges.small(), impact.small()], words))


def draw_primitives(save: Any) -> None:
    draw_brute_force(save)
    draw_nearest(save)
    draw_geometry(save)
