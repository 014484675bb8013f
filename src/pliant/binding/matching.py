"""Matching: which vertices of a garment lie so close and parallel to a body that its weights there can be trusted."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import Enclosure, surface_of
from ..mesh import Mesh

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
LINED = 0.25  # share of opposite normals from which a piece counts as one with an inner layer
TURNED = 2.0  # ratio of opposite to equal normals from which a piece counts as inside out
RIVAL = 3.0  # in such a piece a match is doubtful if on its other side the body is at most so many times as far away


@dataclasses.dataclass(frozen=True, eq=False)
class NearestPoints:
    """Nearest points on a surface: face (n,), barycentric coordinates (n,3), distance (n,), unit normal (n,3)."""

    face: NDArray[np.int64]
    barycentric: Floats
    distance: Floats
    normal: Floats


class SurfacePoints:
    """Nearest points on all faces of a mesh, with normals interpolated between its vertices."""

    def __init__(self, mesh: Mesh) -> None:
        welded = mesh.welded
        self.x, self.faces, self.normals = welded.vertices, welded.faces, welded.vertex_normals
        self._enclosure = Enclosure(surface_of(welded), welded.topology)

    def nearest(self, points: Floats, seen_from: Floats | None = None) -> NearestPoints:
        """Return the surface points nearest to `points`, and their distances from `seen_from`. Default: `points`."""
        found, barycentric = self._enclosure.found(np.ascontiguousarray(points))
        corners = self.faces[found[:, 0]]
        at = np.einsum("nc,ncj->nj", barycentric, self.x[corners])
        normal = np.einsum("nc,ncj->nj", barycentric, self.normals[corners])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        distance = np.linalg.norm(at - (points if seen_from is None else seen_from), axis=1)
        return NearestPoints(found[:, 0], barycentric, distance, normal / np.where(length > 0.0, length, 1.0))


def trusted(body: SurfacePoints, garment: Mesh, piece: NDArray[Any], limits: tuple[float, float]) -> tuple[Any, Mask]:
    """Return the nearest points of the vertices of a welded garment, and the mask (n,) of those that are trusted.

    `piece` (n,): connected piece of each vertex. `limits`: largest distance in metres, least cosine between normals.
    Opposite normals are trusted only in pieces that have many of them, those with an inner layer: the underside of a
    sleeve faces the trunk but belongs to the arm. In such pieces a match is doubtful, whatever its normal, where
    another surface of the body is nearly as close on the other side.
    """
    distance, cosine = limits
    found = body.nearest(garment.vertices)
    normal = garment.vertex_normals
    close = found.distance <= distance
    along = np.einsum("ij,ij->i", normal, found.normal)
    count = int(piece.max()) + 1
    equal = np.bincount(piece[close & (along >= cosine)], minlength=count)
    opposite = np.bincount(piece[close & (along <= -cosine)], minlength=count)
    turned = opposite > TURNED * equal
    sign = np.where(turned, -1.0, 1.0)[piece]
    normal, along = sign[:, None] * normal, sign * along
    equal, opposite = np.where(turned, opposite, equal), np.where(turned, equal, opposite)
    lined = (opposite > 0) & (opposite >= LINED * (equal + opposite))
    accepted = close & (np.where(lined[piece], np.abs(along), along) >= cosine)
    doubtful = np.flatnonzero(accepted & lined[piece])
    if len(doubtful):
        away = np.sign(along[doubtful])[:, None] * normal[doubtful]
        accepted[doubtful] = ~_enclosed(body, garment.vertices[doubtful], away, found.distance[doubtful], cosine)
    return found, accepted


def _enclosed(body: SurfacePoints, x: Floats, away: Floats, distance: Floats, cosine: float) -> Mask:
    """(n,) whether another surface of the body faces a point in the direction `away` (n,3) from its nearest one, at
    most RIVAL times as far away as that."""
    rival = np.zeros(len(x), np.bool_)
    for step in np.linspace(0.5, RIVAL, 6):
        found = body.nearest(x + step * distance[:, None] * away, x)
        facing = np.einsum("ij,ij->i", away, found.normal) <= -cosine
        rival |= facing & (found.distance <= RIVAL * distance)
    return rival
