"""What is asked of every method alike: who meets whom, in which states; and the exact answers."""

import dataclasses
import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import geometry
from ..detect.base import Side
from ..detect.surface import ClosestPoints
from ..mesh import Mesh
from ..state import State
from . import truth
from .truth import Near

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
EXACT = 1e-9  # of the size of things: as far as double precision decides who is near, and who is inside
_LIFT = 1e-9  # of the size: how far vertices are lifted off their own faces before it is asked what they are inside of
_MOST = 3000  # vertices that are asked by solid angles


@dataclasses.dataclass(frozen=True, eq=False)
class Question:
    """Two sides, or one with itself. `whole`: the same with their tets. bends: the second changes its shape; glides: it
    moves, and no pose says how."""

    role: str  # "obstacle", "pair" or "self"
    one: Side
    other: Side | None
    whole: tuple[Side, Side | None]
    bends: bool = False
    glides: bool = False

    @property
    def label(self) -> str:
        names = [self.one.mesh.name, *(() if self.other is None else (self.other.mesh.name,))]
        return f"{names[0]} on {names[1]}" if len(names) > 1 else names[0]

    @property
    def two(self) -> Side:
        return self.one if self.other is None else self.other

    @functools.cached_property
    def solid(self) -> tuple[bool, bool]:
        """Which of the sides have an inside."""
        return _solid(self.one.mesh), _solid(self.two.mesh)

    @functools.cached_property
    def tets(self) -> bool:
        """Whether all of it is made of tets."""
        return all(len(side.mesh.tets) for side in self.whole if side is not None)


def _solid(mesh: Mesh) -> bool:
    return bool(mesh.n_faces and mesh.issues.encloses and not mesh.issues.inward)


class Exact(NamedTuple):
    """Of points (n,3) from a surface: signed distance (n,), unit direction that opens the gap (n,3)."""

    distance: Floats
    normal: Floats


def exact_from(side: Side, x: Floats, points: Floats) -> Exact:
    """Of points (n,3) from a side whose vertices are at x; negative behind an open one where the side is unknown."""
    distance, _, _, normal = ClosestPoints(side.mesh.moved(x), behind=True).query(points)
    return Exact(distance, normal)


class Facts:
    """The exact answers to a question in one state, each worked out when somebody asks."""

    def __init__(self, question: Question, state: State, within: float, seed: int = 0) -> None:
        self.question, self.state, self.within, self.seed = question, state, within, seed
        self.x, self.y = state.x[question.one.rows], state.x[question.two.rows]
        both = np.concatenate([self.x, self.y])
        self.slack = EXACT * max(float(np.ptp(both, axis=0).max()), float(np.abs(both).max()) * 1e-3, within)

    @functools.cached_property
    def middles(self) -> Floats:
        return np.asarray(self.x[self.question.one.mesh.topology.edges].mean(1))

    @functools.cached_property
    def points(self) -> Exact:
        """Of the first side's vertices, then of the middles of its edges, from the second."""
        return exact_from(self.question.two, self.y, np.concatenate([self.x, self.middles]))

    @functools.cached_property
    def vertices(self) -> tuple[Exact, Exact]:
        """Of the vertices of each side from the other."""
        n = len(self.x)
        one = Exact(self.points.distance[:n], self.points.normal[:n])
        return one, exact_from(self.question.one, self.x, self.y)

    @functools.cached_property
    def near(self) -> tuple[Near, Near, Near]:
        """Vertices of the first side and faces of the second, the other way round, and edges: closer than `within` and
        a hair. Of one side with itself the second is empty."""
        one, two, own = self.question.one.mesh, self.question.two.mesh, self.question.other is None
        reach = self.within + self.slack
        there = truth.near_faces(self.x, self.y, two.faces, reach, own)
        back = Near(there.pairs[:0], there.gap[:0]) if own else truth.near_faces(self.y, self.x, one.faces, reach)
        return there, back, truth.near_edges(self.x, one.topology.edges, self.y, two.topology.edges, reach, own)

    @functools.cached_property
    def met(self) -> tuple[tuple[Rows, Rows], ...]:
        """As `near`, pairs that touch on the way from where the step began: by the cubic, which are surely met; and by
        the conservative test, which may also name what passes within its tolerance."""
        one, two, own = self.question.one, self.question.two, self.question.other is None
        x_0, y_0 = self.state.x_start[one.rows], self.state.x_start[two.rows]
        none = np.zeros((0, 2), np.int64)
        if np.array_equal(x_0, self.x) and np.array_equal(y_0, self.y):
            return ((none, none),) * 3
        a, b = np.stack([x_0, self.x]), np.stack([y_0, self.y])
        there = _met_faces(a, b, two.mesh, own)
        back = (none, none) if own else _met_faces(b, a, one.mesh, False)
        return there, back, _met_edges(a, one.mesh, b, two.mesh, own)

    @functools.cached_property
    def inside_itself(self) -> tuple[Rows, Rows, Rows]:
        """Vertices of a closed side that were asked, and of these those that are surely, and perhaps, inside another
        part of it: all of them, or a sample of a large mesh."""
        mesh = self.question.one.mesh.moved(self.x)
        rows = np.arange(mesh.n_vertices)
        if len(rows) > _MOST:
            rows = np.sort(np.random.default_rng(self.seed).choice(rows, _MOST, replace=False))
        normal = mesh.vertex_normals[rows]
        lifted = self.x[rows] + _LIFT * mesh.size * normal
        around = truth.winding(lifted, self.x, mesh.faces)
        # a vertex that lies in another face, or whose faces have no direction, is neither here nor there
        clear = np.abs(around - np.rint(around)) < 0.25
        return rows, rows[clear & (np.rint(around) > 0)], rows[~clear | (np.rint(around) > 0)]

    @functools.cached_property
    def in_tets(self) -> list[tuple[Floats, Rows, Rows]]:
        """(positions of a side's vertices, which are surely inside tets of the other, which perhaps) both ways; one of
        a side with itself."""
        one, two = self.question.whole
        x = self.state.x[one.rows]
        if two is None:
            return [(x, *truth.in_tets(x, x, one.mesh.tets, own=True))]
        y = self.state.x[two.rows]
        out = []
        for p, q, side, at in ((x, y, two, self.y), (y, x, one, self.x)):
            sure, perhaps = truth.in_tets(p, q, side.mesh.tets)
            # on the side that two tets share is inside of both together
            away = exact_from(self._surface(side), at, p[perhaps]).distance
            out.append((p, np.union1d(sure, perhaps[away < -self.slack]), perhaps))
        return out

    def _surface(self, side: Side) -> Side:
        """The side without its tets."""
        return self.question.one if side is self.question.whole[0] else self.question.two


def _met_faces(p: Floats, x: Floats, mesh: Mesh, own: bool) -> tuple[Rows, Rows]:
    """Points p (2,n,3) and faces of a mesh at x (2,m,3), at the start and at the end."""
    low, high = x[:, mesh.faces].min((0, 2)), x[:, mesh.faces].max((0, 2))
    sure, perhaps = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for pairs in truth.box_pairs(p.min(0), p.max(0), low, high, 0.0):
        if own:
            pairs = pairs[(mesh.faces[pairs[:, 1]] != pairs[:, :1]).all(1)]
        ways = [np.concatenate([p[t, pairs[:, 0], None], x[t][mesh.faces[pairs[:, 1]]]], 1) for t in (0, 1)]
        sure.append(pairs[geometry.vertex_face_impact(*ways, method="cubic")[0]])
        perhaps.append(pairs[geometry.vertex_face_impact(*ways, tolerance=1e-5)[0]])
    return np.concatenate(sure), np.concatenate(perhaps)


def _met_edges(x: Floats, one: Mesh, y: Floats, two: Mesh, own: bool) -> tuple[Rows, Rows]:
    a, b = one.topology.edges, two.topology.edges
    boxes = [f(z[:, e], (0, 2)) for z, e in ((x, a), (y, b)) for f in (np.min, np.max)]
    sure, perhaps = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)]
    for pairs in truth.box_pairs(boxes[0], boxes[1], boxes[2], boxes[3], 0.0):
        if own:
            pairs = pairs[pairs[:, 0] < pairs[:, 1]]
            pairs = pairs[(a[pairs[:, 0]][:, :, None] != a[pairs[:, 1]][:, None]).all((1, 2))]
        ways = [np.concatenate([x[t][a[pairs[:, 0]]], y[t][b[pairs[:, 1]]]], 1) for t in (0, 1)]
        sure.append(pairs[geometry.edge_edge_impact(*ways, method="cubic")[0]])
        perhaps.append(pairs[geometry.edge_edge_impact(*ways, tolerance=1e-5)[0]])
    return np.concatenate(sure), np.concatenate(perhaps)
