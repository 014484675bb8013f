"""The solid enclosed by a surface, and penetration depth inside it. All methods share this definition: docs/inside.md.

A point is inside where the winding number exceeds 1/2. Its depth is the distance to the *boundary of the solid*: faces
with the inside on both sides (of a part within another, between overlapping parts) are buried and ignored.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import TooBigError
from ...kernels.bvh.tree import Tree
from ...kernels.jit import worth
from ...kernels.queries import closest_point as _nearest
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.surface import Surface
from ...mesh.topology import Topology
from ..bvh.tree import find_pairs, tree_of
from ..bvh.wide import SHAPE, NearestFaces
from .winding import INSIDE, OUTSIDE, UNKNOWN, Cast, Floats, Winding

Signs = NDArray[np.int8]
Rows = NDArray[np.int64]
SIDE_OFFSET = 2.0**-46  # times the largest coordinate: distance from a face at which sides are tested
FLAT = 4.0  # times SIDE_OFFSET: faces closer than this to each other's plane count as coplanar
FIRST = 2.0**-6  # of the size of a surface: radius around points in which its boundary is searched first
_FEW = 1000  # points up to which the loop runs on one thread
_PIECES = 30_000_000  # largest number of pieces that intersecting faces are split into
# pieces of all faces that cost as much as those nearest to some points: of few points, per point, and at most
FEW_PIECES, PER_POINT, MANY_PIECES = 1 << 14, 256, 1 << 20


class SolidBoundary(NamedTuple):
    """The boundary of a solid as triangles: whole faces, and pieces of faces that others intersect."""

    surface: Surface
    nearest_faces: NearestFaces
    face: Rows  # (k,) the source face of each triangle


class Parts(NamedTuple):
    """Faces, split where others intersect or overlap them, so that each piece has one side in front and one behind."""

    triangles: Floats  # (k,3,3)
    normal: Floats  # (k,3) unit
    face: Rows  # (k,) the source face of each piece, ascending; pieces without area are omitted
    above: Signs  # (k,) sign in front
    below: Signs  # (k,) sign behind

    @property
    def buried(self) -> NDArray[np.bool_]:
        """(k,) whether each piece has the inside on both sides."""
        return (self.above == INSIDE) & (self.below == INSIDE)

    def rows(self, which: Rows) -> "Parts":
        """Some of the pieces."""
        return Parts(*(np.asarray(values[which]) for values in self))  # type: ignore[arg-type]

    def joined(self, more: "Parts") -> "Parts":
        """These pieces and more."""
        return Parts(*(np.concatenate(both) for both in zip(self, more, strict=True)))  # type: ignore[arg-type]


NO_PARTS = Parts(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros(0, np.int64), *np.zeros((2, 0), np.int8))


class Cuts(NamedTuple):
    """Which faces cut which: those of face which[i] are others[start[i]:start[i + 1]]."""

    faces: NDArray[np.int32]  # (m,3) all faces
    which: NDArray[np.int32]  # (k,) faces that others intersect or overlap, ascending
    start: Rows  # (k+1,)
    others: NDArray[np.int32]
    tolerance: float  # faces nowhere farther than this from the plane of a face (m) count as coplanar with it


class SignedDistances(NamedTuple):
    """Signed distances of points (n,3), with the fields of `ClosestPoints.query` in its order, and their signs."""

    distance: Floats  # (n,) negative inside, positive outside and where the side is unknown
    nearest: Floats  # (n,3)
    face: Rows  # (n,)
    normal: Floats  # (n,3) unit direction that increases the distance
    sign: Signs  # (n,) INSIDE, OUTSIDE or UNKNOWN; points on the surface are outside


class EnclosedSolid:
    """The solid enclosed by the faces of a topology, at any vertex positions; stores nothing that depends on them."""

    def __init__(self, topology: Topology) -> None:
        self.topology, self.faces, self.winding = topology, topology.faces, Winding(topology)

    @property
    def closed(self) -> bool:
        """Whether every point off the surface is inside or outside."""
        return self.winding.closed

    def signs(self, x: Floats, points: Floats, blocks: Blocks | Cast | None = None, *, behind: bool = False) -> Signs:
        """Signs (n,) of points (n,3) for vertices at x: INSIDE, OUTSIDE or UNKNOWN.

        `blocks`: optional fitted BVH, or a function that casts rays; `behind`: as in `Winding`.
        """
        return self.winding.signs(self.winding.numbers(x, points, blocks), behind=behind)

    def signed_distances(
        self,
        surface: Surface,
        points: Floats,
        found: Rows,
        barycentric: Floats,
        outer: Callable[[Floats], SolidBoundary],
        blocks: Blocks | Cast | None = None,
        *,
        behind: bool = False,
        plain: bool = False,
    ) -> SignedDistances:
        """Return signed distances of points with known nearest face and feature `found` (n,2) and `barycentric`
        coordinates (n,3). For points whose nearest face is buried, both are overwritten with those on the boundary of
        the solid. `outer` returns that boundary for given points; it may be incomplete where it is not nearest to one
        of them. An open surface has no provably buried faces; all are used.

        `behind`: where the side is unknown, the distance is negative behind the nearest face, as for obstacles that
        keep objects in front of them. `plain`: the surface is plain (plain.py); same results, faster.
        """
        n, x = len(points), surface.x
        sign = fronts(surface, points, found, barycentric) if plain else self.signs(x, points, blocks, behind=behind)
        result = _nearest.Signed(np.empty(n), np.empty((n, 3)), np.empty((n, 3)))
        distance, nearest, normal = result
        _nearest.signed_distances(surface, points, found, barycentric, sign, result)
        unsure = np.ones(n, np.bool_)
        if plain:
            # within rounding of the surface a normal gives no side
            unsure = (sign == UNKNOWN) | (np.abs(distance) <= SIDE_OFFSET * np.abs(x).max(initial=0.0))
            if unsure.any():
                sign[unsure] = self.signs(x, points[unsure], blocks)
                _nearest.signed_distances(surface, points, found, barycentric, sign, result)
        rows = np.flatnonzero((sign == INSIDE) & unsure) if self.closed else np.zeros(0, np.int64)
        if len(rows):
            # a point just beyond the true boundary is outside; where it is inside, the nearest face is buried
            beyond = nearest[rows] + SIDE_OFFSET * np.abs(x).max() * normal[rows]
            rows = rows[self.signs(x, beyond, blocks) == INSIDE]
        if len(rows):
            self._query_boundary(surface, points, rows, outer(points[rows]), found, barycentric, result)
        sign[(sign == INSIDE) & (distance >= 0.0)] = OUTSIDE  # on the surface
        rows = np.flatnonzero(sign == UNKNOWN) if behind else rows[:0]
        if len(rows):
            rows = rows[fronts(surface, points[rows], found[rows], barycentric[rows]) < 0]
            distance[rows], normal[rows] = -distance[rows], -normal[rows]
        return SignedDistances(distance, nearest, found[:, 0], normal, sign)

    def _query_boundary(
        self,
        surface: Surface,
        points: Floats,
        rows: Rows,
        outer: SolidBoundary,
        found: Rows,
        barycentric: Floats,
        result: _nearest.Signed,
    ) -> None:
        """Overwrite the results of the inside points `rows` with those for the boundary of the solid."""
        if not len(outer.face):
            return
        p, n = points[rows], len(rows)
        at, where = np.full((n, 2), -1, np.int64), np.empty((n, 3))
        outer.nearest_faces.find(p, at, where)
        out = _nearest.Signed(np.empty(n), np.empty((n, 3)), np.empty((n, 3)))
        at[:, 1] = 0
        within = np.full(n, INSIDE, np.int8)
        _nearest.signed_distances(outer.surface, p, at, where, within, out)
        face = outer.face[at[:, 0]]
        result.distance[rows], result.nearest[rows], result.normal[rows] = out
        found[rows, 0], found[rows, 1] = face, 0
        barycentric[rows] = barycentrics(surface.x[surface.faces[face]], out.nearest)

    def outer(self, x: Floats, tree: Tree, blocks: Blocks | Cast | None, most: int) -> SolidBoundary | None:
        """Return the boundary of a closed solid at x, or None if faces intersect so many others that it would be made
        of more than `most` pieces; `tree` is a fitted AABB tree over the faces."""
        pieces = _pieces(x, self.cuts(x, tree), most)
        return None if pieces is None else _boundary(self.classified(x, *pieces, blocks))

    def outer_near(self, x: Floats, points: Floats, blocks: Blocks | Cast | None = None) -> SolidBoundary:
        """Return a part of the boundary of a closed solid at x that contains the boundary point nearest to each of
        `points` (n,3).

        The faces within a radius of the points are split by the faces that meet them; the radius grows until every
        point is no farther than it from the boundary found.
        """
        from .nearest_pieces import nearest_parts

        low, high = boxes_of(x, self.faces)
        size = float((high.max(0) - low.min(0)).max(initial=0.0))
        radius, found = FIRST * size, NO_PARTS
        while True:
            near = _touch(low, high, points, radius)
            wide = float((high[near] - low[near]).max(initial=0.0))
            beside = np.flatnonzero(_touch(low, high, points, radius + wide))  # all that meet a near face, and more
            faces = np.ascontiguousarray(self.faces[beside])
            faces.flags.writeable = False  # as in a mesh
            last = radius > 2.0 * size
            if len(faces):
                cuts = self.cuts(x, tree_of(x, faces), faces)
                pieces = _pieces(x, cuts, most_pieces(len(points)))
                if pieces is None:
                    parts, left = nearest_parts(self, x, cuts, near[beside], points, radius, blocks)
                    found, points = found.joined(parts._replace(face=beside[parts.face])), points[left]
                else:
                    of_near = near[beside][pieces[1]]
                    parts = self.classified(x, pieces[0][of_near], pieces[1][of_near], blocks)
                    boundary = _boundary(found.joined(parts._replace(face=beside[parts.face])))
                    if last or (len(boundary.face) and (_distances(boundary, points) <= radius).all()):
                        return boundary
            if last or not len(points):
                return _boundary(found)
            radius *= 2.0

    def parts(self, x: Floats, tree: Tree, blocks: Blocks | Cast | None = None) -> Parts:
        """Split the faces at x where they intersect or overlap, and classify both sides of every piece; `tree` is a
        fitted AABB tree over the faces."""
        pieces = _pieces(x, self.cuts(x, tree), _PIECES)
        if pieces is None:
            what = f"faces intersect so many others that they have more than {_PIECES} pieces"
            raise TooBigError(f"{what}; separate the overlapping parts, or use fewer faces")
        return self.classified(x, *pieces, blocks)

    def cuts(self, x: Floats, tree: Tree, faces: NDArray[np.int32] | None = None) -> Cuts:
        """Return which faces, of all or of `faces` (k,3), cut which at x; `tree` is a fitted AABB tree over them."""
        from ...kernels.queries import solid_boundary as _kernels
        from .intersections import self_intersections_of

        faces = self.faces if faces is None else faces
        tolerance = FLAT * side_offset(x)
        pairs, beside = self_intersections_of(x, faces, tree), find_pairs(tree, within=tolerance).pairs
        flat = np.empty(len(beside), np.bool_)
        _kernels.mark_coplanar(x, faces, beside, tolerance, flat)
        pairs = np.concatenate([pairs, beside[flat]])
        both = np.concatenate([pairs, pairs[:, ::-1]])
        keys = np.unique(both[:, 0].astype(np.int64) << 32 | both[:, 1])
        both = np.stack([keys >> 32, keys & 0xFFFFFFFF], 1).astype(np.int32)
        which, first = np.unique(both[:, 0], return_index=True)
        start = np.append(first, len(both)).astype(np.int64)
        return Cuts(faces, which, start, np.ascontiguousarray(both[:, 1]), tolerance)

    def classified(self, x: Floats, triangles: Floats, face: Rows, blocks: Blocks | Cast | None) -> Parts:
        """Return pieces (k,3,3) of faces (k,), which no other face crosses, with the signs of both sides."""
        normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        length = np.linalg.norm(normal, axis=1, keepdims=True)
        normal /= np.where(length > 0.0, length, 1.0)
        centre, away = triangles.mean(1), side_offset(x) * normal
        above, below = np.split(self.signs(x, np.concatenate([centre + away, centre - away]), blocks), 2)
        return Parts(triangles, normal, face, above, below)


def side_offset(x: Floats) -> float:
    """Return the distance from a face at which its sides are tested, for vertices at x."""
    return SIDE_OFFSET * float(np.abs(x).max(initial=0.0))


def fronts(surface: Surface, points: Floats, found: Rows, barycentric: Floats) -> Signs:
    """(n,) 1 in front of the nearest feature, -1 behind it, 0 where its pseudonormal does not decide."""
    sign = np.empty(len(points), np.int8)
    worth(_nearest.signs_by_pseudonormal, len(points), _FEW)(surface, points, found, barycentric, sign)
    return sign


def barycentrics(t: Floats, q: Floats) -> Floats:
    """Barycentric coordinates (k,3) of points q (k,3) in triangles t (k,3,3)."""
    n = np.cross(t[:, 1] - t[:, 0], t[:, 2] - t[:, 0])
    n /= np.maximum(np.abs(n).max(1, keepdims=True), 1e-300)
    shares = np.stack([np.einsum("ij,ij->i", n, np.cross(t[:, k - 2] - q, t[:, k - 1] - q)) for k in range(3)], 1)
    shares = np.maximum(shares, 0.0)
    total = shares.sum(1, keepdims=True)
    return np.where(total > 0.0, shares / np.where(total > 0.0, total, 1.0), 1.0 / 3.0)


def _boundary(parts: Parts) -> SolidBoundary:
    """Return the pieces with different sides."""
    kept = parts.above != parts.below
    triangles, normal, face = parts.triangles[kept], parts.normal[kept], parts.face[kept]
    turn = parts.above[kept] == INSIDE  # orient outward: of coincident faces some may be reversed
    triangles[turn] = triangles[turn][:, ::-1]
    normal[turn] *= -1.0
    count = len(face)
    corners, none = np.arange(3 * count, dtype=np.int32).reshape(-1, 3), np.zeros((0, 3))
    x = triangles.reshape(-1, 3)
    x.flags.writeable = corners.flags.writeable = False  # as in a mesh, so that one compiled kernel serves both
    surface = Surface(x, corners, corners.copy(), normal, none, none)  # writable, as the edges of a topology are
    return SolidBoundary(surface, NearestFaces(surface, tree_of(x, corners, **SHAPE)), face)


def most_pieces(n_points: int) -> int:
    """Return the number of pieces up to which making all costs less than making those nearest to each point."""
    return min(max(FEW_PIECES, PER_POINT * n_points), MANY_PIECES)


def _pieces(x: Floats, cuts: Cuts, most: int) -> tuple[Floats, Rows] | None:
    """Return intersection-free triangles (k,3,3), faces or pieces of faces, and their faces (k,), ascending; None if
    faces are split into more than `most`."""
    from ...kernels.queries import solid_boundary as _kernels

    parts, of, count = _kernels.split_faces(x, *cuts, most)
    if count > most:
        return None
    faces = cuts.faces
    crossed = np.zeros(len(faces), np.bool_)
    crossed[cuts.which] = True
    whole = np.flatnonzero(~crossed)
    triangles, face = np.concatenate([x[faces[whole]], parts]), np.concatenate([whole, of])
    area = np.asarray(np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]).any(1))
    order = np.argsort(face, kind="stable")
    order = order[area[order]]
    return triangles[order], face[order]


def boxes_of(x: Floats, faces: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the lowest and highest corners (k,3) of the boxes of faces (k,3)."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    return np.minimum(np.minimum(a, b), c), np.maximum(np.maximum(a, b), c)


def _touch(low: Floats, high: Floats, points: Floats, radius: float) -> NDArray[np.bool_]:
    """Return which boxes (k,3) touch the cube of half width `radius` around any of `points` (n,3)."""
    from ...kernels.queries import solid_boundary as _kernels

    out = np.zeros(len(low), np.bool_)
    rows = np.flatnonzero(((low <= points.max(0) + radius) & (high >= points.min(0) - radius)).all(1))
    _kernels.mark_touching(low, high, rows, points, radius, out)
    return out


def _distances(outer: SolidBoundary, points: Floats) -> Floats:
    """Return the distances (n,) of points from a boundary."""
    at, where = np.full((len(points), 2), -1, np.int64), np.empty((len(points), 3))
    outer.nearest_faces.find(points, at, where)
    nearest = (where[:, :, None] * outer.surface.x[outer.surface.faces[at[:, 0]]]).sum(1)
    return np.asarray(np.linalg.norm(points - nearest, axis=1))
