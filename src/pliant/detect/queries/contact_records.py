"""Contact records from pairs of features: nearest points, signs, normals. This is the last step of the detectors that
report pairs of features (bvh, brute-force, stochastic); others use parts of it."""

import functools
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts, Pool
from ...kernels.geometry import rounding as _rounding
from ...kernels.mesh.features import Segments
from ...kernels.queries import contact_records as _kernels
from ...kernels.queries.contact_records import Owners
from ...kernels.queries.surface import Surface
from ..base import Inside, Side
from .winding import INSIDE, bounds_of

if TYPE_CHECKING:
    from .closest_point import Enclosure

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
NO_PAIRS = np.zeros((0, 2), np.int32)


class SignedDistanceQuery(Protocol):
    """A source of signed distances: distance (n,), nearest point (n,3), face (n,) and normal (n,3) of points (n,3). It
    may have a method `signs` that returns only the side of each point, as `EnclosedSolid.signs` does."""

    def query(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.int64], Floats]: ...


class WeldedSide(NamedTuple):
    """The data of a side that are constant until a seam opens or closes (see `Seams`): its welding, and whether it
    encloses a solid."""

    side: Side
    weld: Rows  # (n,) index of the welded vertex of each vertex
    rows: NDArray[np.int64]  # (w,) one representative vertex of each welded vertex
    solid: bool  # encloses a volume, with faces oriented outward

    @classmethod
    def of(cls, side: Side) -> "WeldedSide":
        mesh = side.mesh
        _, rows = np.unique(mesh.weld_index, return_index=True)
        solid = mesh.n_faces > 0 and mesh.issues.encloses and not mesh.issues.inward
        return cls(side, mesh.weld_index, rows, solid)


class PosedSide:
    """A side at positions x (n,3), with lazily derived quantities."""

    def __init__(self, welded: WeldedSide, x: Floats, query: SignedDistanceQuery | None = None) -> None:
        self.welded, self.x = welded, x
        self._query = query

    @functools.cached_property
    def surface(self) -> Surface:
        """The surface on welded vertices, so that seam edges have pseudonormals like any other edge."""
        from .closest_point import surface_of

        rest = self.welded.side.mesh
        return surface_of(rest.moved(self.x) if rest.welded is rest else rest.welded.moved(self.x[self.welded.rows]))

    @functools.cached_property
    def _enclosure(self) -> "Enclosure":
        from .closest_point import Enclosure

        return Enclosure(self.surface, self.welded.side.mesh.welded.topology)

    @functools.cached_property
    def edge_normals(self) -> Floats:
        return self.welded.side.mesh.moved(self.x).edge_normals

    def signed_distances(self, points: Floats) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """Signed distance (n,) of points (n,3) from this closed side, nearest point, its face, separation direction."""
        if self._query is not None:
            return self._query.query(points)
        signed, _ = self._enclosure.signed_distances(points)
        return signed.distance, signed.nearest, signed.face, signed.normal

    def inside(self, points: Floats) -> Inside:
        """Return those of `points` (n,3) that are inside this closed side. A query with `signs` tests all points, and
        computes distances for those inside only."""
        signs = getattr(self._query, "signs", None)
        rows = np.arange(len(points)) if signs is None else np.flatnonzero(signs(points) == INSIDE)
        if not len(rows):
            return Inside(rows, np.zeros(0), np.zeros((0, 3)), rows, np.zeros((0, 3)))
        distance, nearest, face, normal = self.signed_distances(points[rows])
        deep = distance < 0.0
        return Inside(rows[deep], -distance[deep], nearest[deep], face[deep], normal[deep])

    def contains(self, points: Floats) -> NDArray[np.bool_]:
        """Return which of `points` (n,3) are inside; all False if the side is not solid."""
        found = np.zeros(len(points), np.bool_)
        if self.welded.solid:
            found[self.inside(points).rows] = True
        return found

    def encloses(self, points: Floats) -> NDArray[np.bool_]:
        """Return the same from the winding number alone; for points on the surface either."""
        if not self.welded.solid:
            return np.zeros(len(points), np.bool_)
        signs = getattr(self._query, "signs", None) or self._enclosure.signs
        return np.asarray(signs(points) == INSIDE)


class Deep(NamedTuple):
    """Vertices inside a closed side whose nearest face is beyond the detection distance."""

    rows: NDArray[np.int64]  # (k,) rows of their pairs
    distance: Floats  # (k,) negative
    nearest: Floats  # (k,3) nearest points of the boundary
    normal: Floats  # (k,3) separation directions


_NO_SIGNS = np.zeros(0)
_NOT_DEEP = Deep(np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 3)), np.zeros((0, 3)))


def contacts_of(a: PosedSide, b: PosedSide, vertex_face: Rows, face_vertex: Rows, edges: Rows, pool: Pool) -> Contacts:
    """Return records, in canonical order, of sorted pairs (k,2): vertices of a and faces of b, vertices of b and faces
    of a, edges. For self-contact (a is b) `vertex_face` holds both directions. Vertices deep inside a closed side are
    added."""
    vertex_face, sign, deep = _with_deep(a, b, vertex_face)
    face_vertex, sign_of_second, deep_of_second = _with_deep(b, a, face_vertex)
    out = pool.take(len(vertex_face) + len(face_vertex) + len(edges))
    facing = [(a, b, vertex_face, sign, deep), (b, a, face_vertex, sign_of_second, deep_of_second)]
    if a.welded.side.body > b.welded.side.body:
        facing.reverse()
    done = 0
    for one, two, pairs, signs, far in facing:
        if len(pairs):
            records = out[done : done + len(pairs)]
            _vertex_face(one, two, pairs, signs, records)
            _use_boundary_point(two, pairs, far, records)
            done += len(pairs)
    if len(edges):
        _edge_edge(a, b, edges, out[done:])
    return out


def _with_deep(a: PosedSide, b: PosedSide, pairs: Rows) -> tuple[Rows, Floats, Deep]:
    """Return the pairs extended by vertices of a deep inside a closed b, the sign of each vertex of a (-1 inside;
    empty if b is open or a is b), and the pairs added."""
    if a is b or not b.welded.solid:
        return pairs, _NO_SIGNS, _NOT_DEEP
    low, high = bounds_of(b.x)
    in_box = np.flatnonzero(((a.x >= low) & (a.x <= high)).all(1))
    inside = b.inside(a.x[in_box])
    sign, rows = np.ones(len(a.x)), in_box[inside.rows]
    sign[rows] = -1.0
    if not len(rows):
        return pairs, sign, _NOT_DEEP
    # the nearest face may be beyond the detection distance although buried faces are within it
    more = np.stack([rows, inside.faces], 1).astype(np.int32)
    new = ~np.isin(_keys(more), _keys(pairs))
    deep, more = np.flatnonzero(new), more[new]
    if not len(deep):
        return pairs, sign, _NOT_DEEP
    pairs, given = np.concatenate([pairs, more]), len(pairs)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    rows = np.flatnonzero(order >= given)
    found = deep[order[rows] - given]
    return pairs[order], sign, Deep(rows, -inside.depth[found], inside.nearest[found], inside.normal[found])


def _keys(pairs: Rows) -> NDArray[np.int64]:
    return pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]


def _use_boundary_point(b: PosedSide, pairs: Rows, deep: Deep, out: Contacts) -> None:
    """Set the records of vertices deep inside b to the nearest point of the boundary of its solid: a face that others
    intersect may be buried in part."""
    if not len(deep.rows):
        return
    wrong = np.abs(out["distance"][deep.rows] - deep.distance) > with_rounding_margin(0.0, b.x, b.x)
    rows = deep.rows[wrong]
    if len(rows):
        from .solid_boundary import barycentrics

        corners = b.x[b.welded.side.mesh.faces[pairs[rows, 1]]]
        out["weights"][rows, 1:] = -barycentrics(corners, deep.nearest[wrong])
        out["distance"][rows], out["normal"][rows] = deep.distance[wrong], deep.normal[wrong]


def _vertex_face(a: PosedSide, b: PosedSide, pairs: Rows, sign: Floats, out: Contacts) -> None:
    degenerate = np.empty(len(pairs), np.bool_)
    _kernels.fill_faces(a.x, b.x, b.welded.side.mesh.faces, pairs, sign, owners(a, b), out, degenerate)
    recompute_degenerate_faces(a, b, pairs, sign, degenerate, out)


def recompute_degenerate_faces(
    a: PosedSide, b: PosedSide, pairs: Rows, sign: Floats, degenerate: NDArray[np.bool_], out: Contacts
) -> None:
    """Recompute robustly the normals and distances of vertex-face pairs that the kernel flagged `degenerate` (k,)."""
    rows = np.flatnonzero(degenerate)
    if len(rows):
        from ...kernels.queries import pair_geometry as _geometry

        normal, distance = np.empty((len(rows), 3)), np.empty(len(rows))
        signs = sign if len(sign) else np.ones(len(a.x))
        _geometry.vertex_face_geometry(b.surface, a.x, pairs[rows], signs, normal, distance)
        out["normal"][rows], out["distance"][rows] = normal, distance


def _edge_edge(a: PosedSide, b: PosedSide, pairs: Rows, out: Contacts) -> None:
    e_a, e_b = a.welded.side.mesh.topology.edges, b.welded.side.mesh.topology.edges
    degenerate = np.empty(len(pairs), np.bool_)
    _kernels.fill_edges(a.x, e_a, b.x, e_b, pairs, owners(a, b), out, degenerate)
    recompute_degenerate_edges(a, b, pairs, degenerate, out)
    sign_edge_pairs(a, b, pairs, out)


def recompute_degenerate_edges(
    a: PosedSide, b: PosedSide, pairs: Rows, degenerate: NDArray[np.bool_], out: Contacts
) -> None:
    """Recompute robustly the normals and distances of edge pairs that the kernel flagged `degenerate` (k,)."""
    rows = np.flatnonzero(degenerate)
    if len(rows):
        from ...kernels.queries import pair_geometry as _geometry

        normal, distance = np.empty((len(rows), 3)), np.empty(len(rows))
        one, two = (Segments(each.x, each.welded.side.mesh.topology.edges) for each in (a, b))
        _geometry.edge_edge_geometry(one, two, b.edge_normals, pairs[rows], normal, distance)
        out["normal"][rows], out["distance"][rows] = normal, distance


def sign_edge_pairs(a: PosedSide, b: PosedSide, pairs: Rows, out: Contacts) -> None:
    """Flip the normal and distance of edge pairs of two sides whose nearest points are inside the other side."""
    if a is not b and len(pairs) and (a.welded.solid or b.welded.solid):
        e_a, e_b = a.welded.side.mesh.topology.edges, b.welded.side.mesh.topology.edges
        ends_a, ends_b = a.x[e_a[pairs[:, 0]]], b.x[e_b[pairs[:, 1]]]
        inside = b.encloses(np.einsum("ij,ijk->ik", out["weights"][:, :2], ends_a))
        inside |= a.encloses(-np.einsum("ij,ijk->ik", out["weights"][:, 2:], ends_b))
        # where the edges intersect there is no gap to flip, and the normal is already correct
        flip = np.where(inside & (out["distance"] > with_rounding_margin(0.0, a.x, b.x)), -1.0, 1.0)
        out["normal"] *= flip[:, None]
        out["distance"] *= flip


def owners(a: PosedSide, b: PosedSide) -> Owners:
    """Return the first vertex rows and the body indices of both sides, as kernels expect them."""
    one, two = a.welded.side, b.welded.side
    return Owners(np.array([one.first, two.first], np.int32), np.array([one.body, two.body], np.int32))


def with_rounding_margin(distance: float, *x: Floats) -> float:
    """Return `distance` enlarged by the rounding error of distances between points with the coordinates x."""
    different = {id(each): each for each in x}.values()
    return with_rounding_margin_at(distance, max(_rounding.largest_coordinate(each) for each in different))


def with_rounding_margin_at(distance: float, largest: float) -> float:
    """Return `distance` enlarged by the rounding error of distances between points with coordinates up to `largest`."""
    return distance * (1.0 + 1e-12) + 1e-14 * largest
