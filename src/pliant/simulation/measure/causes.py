"""Find the cause of a penetration, so that warnings can name a fitting remedy."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.closest_point import ClosestPoints
from ...detect.queries.intersections import intersections
from ...mesh import Mesh
from ...motion.rigid import placed
from ..result import Result
from .referee import PINCH, near_faces

Floats = NDArray[np.float64]
_NO_FACES = np.zeros(0, np.int32)
FAST = 0.5  # motion per substep in units of eps above which contacts may be detected too late


class Deepest(NamedTuple):
    """The deepest penetration of all frames, at a vertex or an edge midpoint, without those that the referee counts as
    pinched."""

    frame: int
    body: int
    depth: float  # m
    pinched: bool  # the body intersects itself there, where the referee does not look, and leaves no room
    pairs: int  # self-intersecting triangle pairs of the body in that frame
    step: float  # m, motion relative to the body per substep


def deepest_of(result: Result) -> Deepest | None:
    """The deepest penetration of a run; None where nothing was measured or nothing is inside."""
    if np.isnan(result.least_distance).all() or not np.nanmin(result.least_distance) < 0.0:
        return None
    t = int(np.nanargmin(result.least_distance))
    found: tuple[float, int, Floats, Floats, Mesh] | None = None
    for b, x in result.x.items():
        points, before = (_points(result, b, x[k]) for k in (t, max(t - 1, 0)))
        for f in result.scene.obstacles:
            skin = _placed(result, f, t)
            distance = ClosestPoints(skin).query(points)[0]
            if f in result.deforming_x:
                distance[_in_pinch(result, skin, points, distance)] = np.inf
            k = int(np.argmin(distance))
            if found is None or distance[k] < found[0]:
                found = float(distance[k]), f, points[k], before[k], skin
    if found is None or not found[0] < 0.0:
        return None
    away, f, p, was, skin = found
    face = skin.faces[ClosestPoints(skin).query(p[None])[2][0]]
    moved = skin.vertices[face].mean(0) - _placed(result, f, max(t - 1, 0)).vertices[face].mean(0)
    substeps = result.substeps if result.frame_substeps is None else int(result.frame_substeps[t])
    # common motion cancels in the relative step, so a fast body is counted by its own motion too
    step = max(float(np.linalg.norm(p - was - moved)), float(np.linalg.norm(moved))) / max(substeps, 1)
    own = np.unique(pairs := intersections(skin))
    return Deepest(t, f, -away, _is_pinched(result, skin, own, p, -away), len(pairs), step)


def _in_pinch(result: Result, skin: Mesh, points: Floats, distance: Floats) -> NDArray[np.intp]:
    """Return which points (n,3) the referee counts separately: inside, and near self-intersections of the body."""
    inside = np.flatnonzero(distance < 0.0)
    faces = np.unique(intersections(skin)) if len(inside) else _NO_FACES
    return inside[near_faces(skin, faces, points[inside], PINCH * result.scene.eps)]


def _is_pinched(result: Result, skin: Mesh, own: NDArray[np.int32], p: Floats, depth: float) -> bool:
    if not len(own):
        return False
    if _winding(skin, p) > 1.5:
        return True
    overlap = ClosestPoints(Mesh(skin.vertices, skin.faces[own], name="overlap"))
    return bool(abs(overlap.query(p[None])[0][0]) <= max(PINCH * result.scene.eps, depth))


def _winding(mesh: Mesh, p: Floats) -> float:
    """Winding number of the surface at a point (van Oosterom and Strackee): 2 where two parts overlap."""
    a, b, c = (mesh.vertices[mesh.faces[:, k]] - p for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=1) for v in (a, b, c))
    det = np.einsum("ij,ij->i", a, np.cross(b, c))
    rest = la * lb * lc + (a * b).sum(1) * lc + (b * c).sum(1) * la + (c * a).sum(1) * lb
    return float(np.arctan2(det, rest).sum() / (2.0 * np.pi))


def _placed(result: Result, f: int, t: int) -> Mesh:
    """The welded mesh of an obstacle in a frame."""
    mesh = result.scene.bodies[f].mesh.welded
    if f in result.deforming_x:
        return mesh.moved(result.deforming_x[f][t].astype(np.float64))
    pose = result.poses[t, f]
    return mesh if np.array_equal(pose, np.eye(3, 4)) else mesh.moved(placed(mesh.vertices, pose))


def _points(result: Result, b: int, x: Floats) -> Floats:
    mesh = result.scene.bodies[b].mesh.welded
    return np.concatenate([x[np.unique(mesh.faces)], x[mesh.topology.edges].mean(1)])
