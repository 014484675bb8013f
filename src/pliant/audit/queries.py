"""The queries put to every method, pairs of bodies in given states, and their exact answers."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import geometry
from ..detect.base import Side
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh
from ..state import State
from . import reference_contacts as _reference
from .reference_contacts import Near

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
EXACT = 1e-9  # tolerance of distances in double precision, relative to the size
_OFFSET = 1e-9  # offset of vertices from their own faces before inside tests, relative to the size
_MOST_TESTED = 3000  # most vertices tested by solid angles


@dataclasses.dataclass(frozen=True, eq=False)
class Query:
    """Two sides, or one with itself. whole: the same with their tets. deforming: the second side deforms;
    moves_without_pose: its vertices move and it has no pose."""

    role: str  # "obstacle", "pair" or "self"
    one: Side
    other: Side | None
    whole: tuple[Side, Side | None]
    deforming: bool = False
    moves_without_pose: bool = False

    @property
    def label(self) -> str:
        names = [self.one.mesh.name, *(() if self.other is None else (self.other.mesh.name,))]
        return f"{names[0]} on {names[1]}" if len(names) > 1 else names[0]

    @property
    def two(self) -> Side:
        return self.one if self.other is None else self.other

    @functools.cached_property
    def solid(self) -> tuple[bool, bool]:
        """For each side, whether it has an inside."""
        return _solid(self.one.mesh), _solid(self.two.mesh)

    @functools.cached_property
    def tets(self) -> bool:
        """True if all sides consist of tets."""
        return all(len(side.mesh.tets) for side in self.whole if side is not None)


def _solid(mesh: Mesh) -> bool:
    return bool(mesh.n_faces and mesh.issues.encloses and not mesh.issues.inward)


class Exact(NamedTuple):
    """Signed distances (n,) of points from a surface, and unit separation directions (n,3)."""

    distance: Floats
    normal: Floats


def exact_from(side: Side, x: Floats, points: Floats) -> Exact:
    """Signed distances of points (n,3) from a side with vertices at x; negative behind an open mesh."""
    distance, _, _, normal = ClosestPoints(side.mesh.moved(x), behind=True).query(points)
    return Exact(distance, normal)


class GroundTruth:
    """The exact answers to a query in one state, each computed on first use."""

    def __init__(self, query: Query, state: State, within: float, seed: int = 0) -> None:
        self.query, self.state, self.within, self.seed = query, state, within, seed
        self.x, self.y = state.x[query.one.rows], state.x[query.two.rows]
        both = np.concatenate([self.x, self.y])
        self.slack = EXACT * max(float(np.ptp(both, axis=0).max()), float(np.abs(both).max()) * 1e-3, within)

    @functools.cached_property
    def middles(self) -> Floats:
        return np.asarray(self.x[self.query.one.mesh.topology.edges].mean(1))

    @functools.cached_property
    def points(self) -> Exact:
        """Distances of the first side's vertices, then of its edge midpoints, from the second."""
        return exact_from(self.query.two, self.y, np.concatenate([self.x, self.middles]))

    @functools.cached_property
    def vertices(self) -> tuple[Exact, Exact]:
        """Distances of the vertices of each side from the other."""
        n = len(self.x)
        one = Exact(self.points.distance[:n], self.points.normal[:n])
        return one, exact_from(self.query.one, self.x, self.y)

    @functools.cached_property
    def near(self) -> tuple[Near, Near, Near]:
        """Pairs of vertices of the first side and faces of the second, the reverse, and edge pairs, within `within`
        plus a tolerance. For self-contact the second is empty."""
        one, two, own = self.query.one.mesh, self.query.two.mesh, self.query.other is None
        reach = self.within + self.slack
        there = _reference.near_faces(self.x, self.y, two.faces, reach, own)
        back = Near(there.pairs[:0], there.gap[:0]) if own else _reference.near_faces(self.y, self.x, one.faces, reach)
        return there, back, _reference.near_edges(self.x, one.topology.edges, self.y, two.topology.edges, reach, own)

    @functools.cached_property
    def collisions(self) -> tuple[tuple[Rows, Rows], ...]:
        """As `near`, pairs that collide during the step: those that must be found, by the cubic CCD equation, and
        those that may be found, by the conservative test; both include pairs that pass within their tolerances."""
        one, two, own = self.query.one, self.query.two, self.query.other is None
        x_0, y_0 = self.state.x_start[one.rows], self.state.x_start[two.rows]
        none = np.zeros((0, 2), np.int64)
        if np.array_equal(x_0, self.x) and np.array_equal(y_0, self.y):
            return ((none, none),) * 3
        a, b = np.stack([x_0, self.x]), np.stack([y_0, self.y])
        there = _face_collisions(a, b, two.mesh, own)
        back = (none, none) if own else _face_collisions(b, a, one.mesh, False)
        return there, back, _edge_collisions(a, one.mesh, b, two.mesh, own)

    @functools.cached_property
    def inside_itself(self) -> tuple[Rows, Rows, Rows]:
        """Tested vertices of a closed side, and those certainly and possibly inside another part of it; of a large mesh
        a sample is tested."""
        mesh = self.query.one.mesh.moved(self.x)
        rows = np.arange(mesh.n_vertices)
        if len(rows) > _MOST_TESTED:
            rows = np.sort(np.random.default_rng(self.seed).choice(rows, _MOST_TESTED, replace=False))
        normal = mesh.vertex_normals[rows]
        moved_out = self.x[rows] + _OFFSET * mesh.size * normal
        around = _reference.winding(moved_out, self.x, mesh.faces)
        # undecided: a vertex on another face, or whose faces have no normal
        clear = np.abs(around - np.rint(around)) < 0.25
        return rows, rows[clear & (np.rint(around) > 0)], rows[~clear | (np.rint(around) > 0)]

    def deep_inside_itself(self, bound: float) -> Rows:
        """Those certainly inside another part of a side with a ball of radius `bound` in both parts, centred below the
        vertex at most a pixel whose half diagonal is `bound` away: what a layered depth image cannot miss."""
        _, sure, _ = self.inside_itself
        if not (bound > 0.0 and len(sure)):
            return sure
        mesh = self.query.one.mesh.moved(self.x)
        centres = self.x[sure] - np.sqrt(2.0) * bound * mesh.vertex_normals[sure]
        free = np.ones(len(sure), np.bool_)
        free[_reference.near_faces(centres, self.x, mesh.faces, bound).pairs[:, 0]] = False
        free[free] = np.rint(_reference.winding(centres[free], self.x, mesh.faces)) > 1
        return sure[free]

    @functools.cached_property
    def in_tets(self) -> list[tuple[Floats, Rows, Rows]]:
        """(positions of a side's vertices, rows certainly inside tets of the other, rows possibly inside), both ways;
        one entry for self-contact."""
        one, two = self.query.whole
        x = self.state.x[one.rows]
        if two is None:
            return [(x, *_reference.in_tets(x, x, one.mesh.tets, own=True))]
        y = self.state.x[two.rows]
        out = []
        for p, q, side, at in ((x, y, two, self.y), (y, x, one, self.x)):
            sure, perhaps = _reference.in_tets(p, q, side.mesh.tets)
            # a point on a face shared by two tets is inside their union
            away = exact_from(self._surface(side), at, p[perhaps]).distance
            out.append((p, np.union1d(sure, perhaps[away < -self.slack]), perhaps))
        return out

    def _surface(self, side: Side) -> Side:
        """The surface of the side, without its tets."""
        return self.query.one if side is self.query.whole[0] else self.query.two


def _face_collisions(p: Floats, x: Floats, mesh: Mesh, own: bool) -> tuple[Rows, Rows]:
    """Required and allowed collisions of points p (2,n,3) with faces of a mesh at x (2,m,3), given at start and end."""
    low, high = x[:, mesh.faces].min((0, 2)), x[:, mesh.faces].max((0, 2))
    sure, perhaps = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for pairs in _reference.box_pairs(p.min(0), p.max(0), low, high, 0.0):
        if own:
            pairs = pairs[(mesh.faces[pairs[:, 1]] != pairs[:, :1]).all(1)]
        positions = [np.concatenate([p[t, pairs[:, 0], None], x[t][mesh.faces[pairs[:, 1]]]], 1) for t in (0, 1)]
        sure.append(pairs[geometry.vertex_face_impact(*positions, method="cubic")[0]])
        perhaps.append(pairs[geometry.vertex_face_impact(*positions, tolerance=1e-5)[0]])
    return np.concatenate(sure), np.concatenate(perhaps)


def _edge_collisions(x: Floats, one: Mesh, y: Floats, two: Mesh, own: bool) -> tuple[Rows, Rows]:
    a, b = one.topology.edges, two.topology.edges
    boxes = [f(z[:, e], (0, 2)) for z, e in ((x, a), (y, b)) for f in (np.min, np.max)]
    sure, perhaps = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for pairs in _reference.box_pairs(boxes[0], boxes[1], boxes[2], boxes[3], 0.0):
        if own:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]]
            pairs = pairs[(a[pairs[:, 0]][:, :, None] != a[pairs[:, 1]][:, None]).all((1, 2))]
        positions = [np.concatenate([x[t][a[pairs[:, 0]]], y[t][b[pairs[:, 1]]]], 1) for t in (0, 1)]
        sure.append(pairs[geometry.edge_edge_impact(*positions, method="cubic")[0]])
        perhaps.append(pairs[geometry.edge_edge_impact(*positions, tolerance=1e-5)[0]])
    return np.concatenate(sure), np.concatenate(perhaps)
