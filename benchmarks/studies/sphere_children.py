"""Errors and times of both ways to choose the child of a triangle, for docs/detectors/sphere-surface.md."""

import time

import numpy as np

import pliant
from pliant.contacts import empty
from pliant.kernels import jit
from pliant.kernels.detectors import sphere_pairs as kernels
from pliant.kernels.mesh.features import Segments, Triangles
from pliant.kernels.queries.contact_records import Owners

COUNT, REPEATS = 400_000, 5
OWNERS = Owners(np.zeros(2, np.int32), np.zeros(2, np.int32))


def measured(points: np.ndarray, level: int, nearest: bool, edges: bool) -> tuple[np.ndarray, float]:
    """Distances (n,) of the rows (n,4,3), a point and a triangle or two edges, and nanoseconds of CPU time a pair."""
    n = len(points)
    out, flags, levels = empty(n), np.empty(n, np.bool_), np.full(n, level, np.int32)
    here = np.arange(n, dtype=np.int32)[:, None].repeat(2, 1)
    if edges:
        one, two = (np.ascontiguousarray(points[:, s]).reshape(-1, 3) for s in (slice(0, 2), slice(2, 4)))
        ends = np.arange(2 * n, dtype=np.int32).reshape(-1, 2)
        fine = kernels.EdgeLevels(levels, levels, level, nearest)
        work = lambda: kernels.fill_edges(Segments(one, ends), Segments(two, ends), here, fine, OWNERS, out, flags)  # noqa: E731
    else:
        tips, corners = np.ascontiguousarray(points[:, 0]), np.ascontiguousarray(points[:, 1:]).reshape(-1, 3)
        faces = np.arange(3 * n, dtype=np.int32).reshape(-1, 3)
        faces.flags.writeable = False
        fine, none = kernels.FaceLevels(levels, level, nearest), np.zeros(0)
        work = lambda: kernels.fill_faces(tips, Triangles(corners, faces), here, fine, none, OWNERS, out, flags)  # noqa: E731
    work()
    best = np.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return out["distance"], 1e9 * best / n


if __name__ == "__main__":
    jit.set_threads(1)
    rng = np.random.default_rng(0)
    points = rng.normal(size=(COUNT, 4, 3))
    points[:, 1:, 2] *= 10.0 ** rng.uniform(-3.0, 0.0, (COUNT, 1))  # some of them slender
    corners = points[:, 1:]
    size = np.linalg.norm(corners - corners.mean(1, keepdims=True), axis=2).max(1)
    both = np.linalg.norm(points[:, 1] - points[:, 0], axis=1) + np.linalg.norm(points[:, 3] - points[:, 2], axis=1)
    print("| pairs | child | level | error: mean | largest | ns a pair |\n|---|---|---|---|---|---|")
    for edges, unit in ((False, size), (True, both)):
        exact = (pliant.geometry.edge_edge_distance if edges else pliant.geometry.point_triangle_distance)(points)
        for nearest in (False, True):
            for level in (0, 1, 2, 3, 6):
                distance, took = measured(points, level, nearest, edges)
                share = (distance - exact) / unit
                child, kind = ("nearest" if nearest else "containing"), ("edge-edge" if edges else "vertex-face")
                print(f"| {kind} | {child} | {level} | {share.mean():.4f} | {share.max():.3f} | {took:.0f} |")
