"""Proxies of dense garments: `python benchmarks/studies/dense_garments.py` compares ways to make them;
`pictures.py proxy` draws thick trousers with buttons on the walking mannequin."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pliant
from pliant import Mesh
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.intersections import Intersections
from pliant.mesh.boundaries import boundary_loops
from pliant.motion.clip import Clip
from pliant.proxies import proxy as proxies
from pliant.proxies.outline import Outline
from pliant.proxies.remesh import remeshed
from pliant.proxies.sheets import Sheet, manifold_sheets
from pliant.report.camera import Camera
from pliant.report.picture import render
from pliant.scenes.dressing import dress_scene
from pliant.simulation.carrying import record_carried, with_offsets_for

COUNT, FRAMES = 2000, 45
RED, BLUE = (0.62, 0.16, 0.13), (0.16, 0.25, 0.42)


def folded(around: int = 200, rings: int = 100, folds: int = 24) -> Mesh:
    """A flared tube whose folds are as narrow as three edges of its proxy."""
    angle, y = np.meshgrid(np.arange(around) / around * 2.0 * np.pi, np.linspace(0.0, 0.6, rings), indexing="ij")
    r = 0.15 * (1.0 + 0.1 * np.cos(folds * angle)) + 0.15 * (0.6 - y)
    x = np.stack([r * np.sin(angle), y, r * np.cos(angle)], -1).reshape(-1, 3)
    i = np.arange(around * rings).reshape(around, rings)
    j = np.roll(i, -1, 0)
    a, b, c, d = (k.ravel() for k in (i[:, :-1], j[:, :-1], j[:, 1:], i[:, 1:]))
    return Mesh(x, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]), name="folds")


def thick_trousers(thickness: float = 0.003) -> Mesh:
    """Trousers of two layers and a rim, with three buttons: 105 060 triangles."""
    mesh = pliant.shapes.trousers(spacing=0.006)
    n, normal = mesh.n_vertices, mesh.vertex_normals
    edges = np.concatenate([mesh.faces[:, [k, (k + 1) % 3]] for k in range(3)]).astype(np.int64)
    alone = ~np.isin(edges[:, 0] * n + edges[:, 1], edges[:, 1] * n + edges[:, 0])
    a, b = edges[alone].T
    x = [mesh.vertices + 0.5 * thickness * normal, mesh.vertices - 0.5 * thickness * normal]
    rim = [np.stack([b, a, a + n], 1), np.stack([b, a + n, b + n], 1)]
    faces, ball = [mesh.faces, mesh.faces[:, ::-1] + n, *rim], pliant.shapes.ball(0.009, 2)
    for k, y in enumerate((1.0, 0.96, 0.92)):
        at = np.argmin(np.abs(mesh.vertices[:, 0]) + np.abs(mesh.vertices[:, 1] - y) - 0.3 * mesh.vertices[:, 2])
        x.append(ball.vertices * (1.0, 1.0, 0.4) + mesh.vertices[at] + 0.004 * normal[at])
        faces.append(ball.faces + 2 * n + k * ball.n_vertices)
    return Mesh(np.concatenate(x), np.concatenate(faces), name="trousers")


def resampled(sheet: Sheet, count: int) -> tuple[Any, Any]:
    """Evenly spread vertices, their geodesic Voronoi cells, and the triangulation that is dual to these."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import cKDTree

    n, edges = len(sheet.x), Mesh(sheet.x, sheet.faces).topology.edges
    lengths = np.linalg.norm(sheet.x[edges[:, 0]] - sheet.x[edges[:, 1]], axis=1)
    graph = csr_array((lengths, edges.T), shape=(n, n))
    near, tree = 0.82 * float(np.sqrt(2.0 / np.sqrt(3.0) * sheet.area / count)), cKDTree(sheet.x)
    free, chosen = np.ones(n, np.bool_), []
    for i in np.random.default_rng(0).permutation(n):
        if free[i]:
            chosen.append(i)
            free[tree.query_ball_point(sheet.x[i], near)] = False
    source = dijkstra(graph, directed=False, indices=chosen, min_only=True, return_predecessors=True)[2]
    label = np.full(n, -1)
    label[chosen] = np.arange(len(chosen))
    faces = label[source][sheet.faces]
    faces = faces[(faces != np.roll(faces, 1, 1)).all(1)]
    faces = faces[np.unique(np.sort(faces, 1), axis=0, return_index=True)[1]]
    return sheet.x[chosen], faces.astype(np.int32)


def report(way: str, x: Any, faces: Any, sheet: Sheet, seconds: float) -> None:
    mesh = Mesh(x, faces)
    corners = mesh.vertices[mesh.faces]
    quality = 4.0 * np.sqrt(3.0) * mesh.face_areas / ((corners - np.roll(corners, 1, 1)) ** 2).sum((1, 2))
    away = 1e3 * np.abs(ClosestPoints(mesh).query_by_nearest_face(sheet.x)[0])
    loops = len(boundary_loops(mesh)), len(boundary_loops(Mesh(sheet.x, sheet.faces)))
    rough = int((mesh.topology.n_faces_at_edge > 2).sum())
    print(
        f"  {way:26s} {seconds:5.1f} s {len(np.unique(faces)):5d} vertices, {rough} edges of more than two faces, "
        f"{loops[0]} loops of {loops[1]}, {Intersections(mesh).count} intersecting pairs, quality {quality.min():.2f} "
        f"least {quality.mean():.3f} mean, distance {away.mean():.2f} mm mean {away.max():.2f} mm most",
        flush=True,
    )


def compare_ways() -> None:
    """Processor time and quality of three ways to make a proxy."""
    for mesh in (folded(), pliant.shapes.trousers(spacing=0.006), pliant.shapes.cloth(1.0, 1.0, 200)):
        sheet = manifold_sheets(mesh)[0]
        length = float(np.sqrt(2.0 / np.sqrt(3.0) * sheet.area / COUNT))
        print(f"{mesh.name}, {mesh.n_faces:,} triangles")
        for way, make in WAYS.items():
            begin = time.process_time()
            x, faces = make(sheet, length)
            report(way, x, faces, sheet, time.process_time() - begin)


def only_remeshed(sheet: Sheet, length: float) -> tuple[Any, Any]:
    outline = Outline(sheet, length)
    return remeshed(sheet.x, sheet.faces, outline.side, length, outline.project, 8)[:2]


WAYS: dict[str, Callable[[Sheet, float], tuple[Any, Any]]] = {
    "resampling": lambda sheet, _: resampled(sheet, COUNT),
    "remeshing": only_remeshed,
    "collapsing, then remeshing": lambda sheet, length: proxies._remeshed(sheet, COUNT, length),
}


def draw_proxy(save: Callable[[str, Any], None]) -> None:
    """The garment, its proxy with the triangles apart, and the garment carried through two frames."""
    garment, walker = thick_trousers(), pliant.shapes.walking_mannequin()
    skin = walker.mesh.moved(walker.shape(None, 0.0))
    made = pliant.proxy(garment, 3000, body=skin)
    scene = with_offsets_for(dress_scene([made.mesh], walker, lead_in=0.3), [made])
    result = record_carried(pliant.Simulation(scene, method="bone-boxes"), [made], FRAMES, measure=False)
    clips = result.clips
    corners = made.mesh.vertices[made.mesh.faces]
    apart = (corners + 0.12 * (corners.mean(1, keepdims=True) - corners)).reshape(-1, 3)
    shown = Mesh(apart, np.arange(len(apart)).reshape(-1, 3))
    camera = Camera.framing([clips[0]], 250 / 420, fill=0.92, azimuth=0.5, elevation=0.1)
    tiles = [
        render([clips[0]], 0, 250, 420, camera, samples=3),
        render([Clip(shown, shown.vertices[None].astype(np.float32), BLUE)], 0, 250, 420, camera, samples=3),
        *(render(clips, t, 250, 420, camera, samples=3) for t in (30, FRAMES)),
    ]
    gap = np.full((420, 6, 3), 255, np.uint8)
    save("proxy", np.concatenate([part for tile in tiles for part in (gap, tile)][1:], 1))


if __name__ == "__main__":
    compare_ways()
