"""Manifold sheets of any triangle mesh: what remains when duplicate faces are dropped and the mesh is cut where more
than two faces meet.

At an edge of several faces the two that continue each other most smoothly stay connected, so a garment stays whole
where a trim is attached to it, and the trim becomes a sheet of its own. Faces of one sheet are oriented alike.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..mesh.topology import Topology
from ..validate import Floats, Ints


@dataclasses.dataclass(frozen=True, eq=False)
class Sheet:
    """A connected, manifold and oriented surface: x (n,3), faces (m,3), and origin (n,), the vertex of the welded mesh
    that each vertex comes from."""

    x: Floats
    faces: Ints
    origin: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def area(self) -> float:
        return float(np.linalg.norm(self.face_vectors, axis=1).sum())

    @property
    def face_vectors(self) -> Floats:
        """(m,3) area times normal of each face."""
        a, b, c = (self.x[self.faces[:, k]] for k in range(3))
        return np.asarray(0.5 * np.cross(b - a, c - a))

    @property
    def diameter(self) -> float:
        """The diagonal of the bounding box, metres."""
        return float(np.linalg.norm(self.x.max(0) - self.x.min(0)))

    def part(self, rows: NDArray[Any]) -> "Sheet":
        """The faces `rows` and their vertices."""
        used, flat = np.unique(self.faces[rows], return_inverse=True)
        origin = self.origin[used] if len(self.origin) else self.origin
        return Sheet(self.x[used], flat.reshape(-1, 3).astype(np.int32), origin)

    def filled(self, length: float) -> "Sheet":
        """This sheet with holes of at most this circumference closed; the longest boundary loop stays open."""
        top = Topology.of(self.faces, len(self.x))
        rim = top.edges[top.boundary]
        loop = connected(len(self.x), *rim.T)[rim[:, 0]] if len(rim) else np.zeros(0, np.int32)
        around = np.bincount(loop, np.linalg.norm(self.x[rim[:, 0]] - self.x[rim[:, 1]], axis=1))
        small = (around <= length) & (np.arange(len(around)) != np.argmax(around)) if len(rim) else around > 0.0
        names, hole = np.unique(loop[small[loop]], return_inverse=True)
        if not len(names):
            return self
        rim = rim[small[loop]]
        rim = np.where(_directed(self.faces, rim, len(self.x))[:, None], rim[:, ::-1], rim)
        share = np.bincount(hole)[:, None]
        centre = np.stack([np.bincount(hole, self.x[rim[:, 0], k]) for k in range(3)], 1) / share
        fans = np.column_stack([rim, len(self.x) + hole]).astype(np.int32)
        return Sheet(np.concatenate([self.x, centre]), np.concatenate([self.faces, fans]))


def _directed(faces: Ints, edges: Ints, n: int) -> NDArray[np.bool_]:
    """(k,) whether the directed edges (k,2) are edges of faces."""
    ends = np.stack([faces, np.roll(faces, -1, 1)], 2).reshape(-1, 2).astype(np.int64)
    return np.isin(edges[:, 0].astype(np.int64) * n + edges[:, 1], ends[:, 0] * n + ends[:, 1])


def manifold_sheets(mesh: Mesh) -> list[Sheet]:
    """Return the sheets of a mesh, the one with the largest area first."""
    welded = mesh.welded
    x, faces = welded.vertices, _distinct(welded.faces)
    if not len(faces):
        raise ValueError(f"mesh {mesh.name!r} has no triangle with three different corners; expected a surface")
    one, two, edge = _neighbours(x, faces)
    faces, uncut = _oriented(faces, one, two, edge)
    one, two, edge = one[uncut], two[uncut], edge[uncut]
    corner = _corners(faces, one, two, edge)
    _, first, flat = np.unique(corner, return_index=True, return_inverse=True)
    origin = faces.ravel()[first].astype(np.int64)
    whole = Sheet(x[origin], flat.reshape(-1, 3).astype(np.int32), origin)
    piece = connected(len(faces), one, two)
    order = np.argsort(piece, kind="stable")
    begin = np.searchsorted(piece[order], np.arange(int(piece.max()) + 2))
    sheets = [whole.part(order[a:b]) for a, b in itertools.pairwise(begin)]
    return sorted(sheets, key=lambda sheet: -sheet.area)


def _distinct(faces: Ints) -> Ints:
    """Faces with three different corners, each once, whichever way it is turned."""
    faces = faces[(faces != np.roll(faces, 1, 1)).all(1)]
    _, first = np.unique(np.sort(faces, 1), axis=0, return_index=True)
    return faces[np.sort(first)]


def _neighbours(x: Floats, faces: Ints) -> tuple[NDArray[Any], NDArray[Any], Ints]:
    """Pairs of faces that stay connected, (k,) each, and the two ends (k,2) of their edge."""
    top = Topology.of(faces, len(x))
    start, beside = top.edge_faces
    e = np.flatnonzero(top.n_faces_at_edge == 2)
    pairs = [np.stack([beside[start[e]], beside[start[e] + 1], e], 1)]
    for count in np.unique(top.n_faces_at_edge[top.n_faces_at_edge > 2]):
        e = np.flatnonzero(top.n_faces_at_edge == count)
        around = beside[start[e][:, None] + np.arange(count)]
        i, j = np.triu_indices(count, 1)
        best = np.argmin(_bends(x, faces, top.edges[e], around, i, j), 1)
        rows = np.arange(len(e))
        pairs.append(np.stack([around[rows, i[best]], around[rows, j[best]], e], 1))
    one, two, edge = np.concatenate(pairs).T
    return one, two, top.edges[edge]


def _bends(x: Floats, faces: Ints, ends: Ints, around: Ints, i: NDArray[Any], j: NDArray[Any]) -> Floats:
    """(k,pairs) of the faces around each edge: -1 where two of them continue straight, 2 more where their orientations
    differ."""
    along = x[ends[:, 1]] - x[ends[:, 0]]
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-300)
    apex = faces[around].sum(2) - ends.sum(1)[:, None]
    arm = x[apex] - x[ends[:, 0]][:, None]
    arm -= (arm * along[:, None]).sum(2, keepdims=True) * along[:, None]
    arm /= np.maximum(np.linalg.norm(arm, axis=2, keepdims=True), 1e-300)
    ahead = _runs_along(faces[around], ends[:, None])
    return np.asarray((arm[:, i] * arm[:, j]).sum(2) + 2.0 * (ahead[:, i] == ahead[:, j]))


def _runs_along(faces: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Whether the faces (...,3) contain the directed edge ends[..., 0] -> ends[..., 1]."""
    return np.asarray(((faces == ends[..., :1]) & (np.roll(faces, -1, -1) == ends[..., 1:])).any(-1))


def _oriented(faces: Ints, one: NDArray[Any], two: NDArray[Any], edge: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """Faces flipped so that neighbours agree, as few as possible of each sheet, and a mask of the pairs that then
    agree: a one-sided surface keeps its orientation and is cut."""
    m = len(faces)
    differ = _runs_along(faces[one], edge) == _runs_along(faces[two], edge)
    # every face is there twice, as given and turned; neighbours that agree are connected
    front, back = two + m * differ, two + m * ~differ
    side = connected(2 * m, np.concatenate([one, one + m]), np.concatenate([front, back]))
    given, turned = side[:m], side[m:]
    votes = np.bincount(side[:m], minlength=int(side.max()) + 1)
    two_sided = given != turned
    lower = np.minimum(given, turned)
    flip = two_sided & ((votes[given] < votes[turned]) | ((votes[given] == votes[turned]) & (given != lower)))
    faces = np.where(flip[:, None], faces[:, ::-1], faces)
    return faces, (differ ^ flip[one] ^ flip[two]) == 0


def _corners(faces: Ints, one: NDArray[Any], two: NDArray[Any], edge: Ints) -> NDArray[Any]:
    """(3m,) the vertex of each corner of the faces after cutting: corners are joined across the edges of neighbours."""
    a, b = [], []
    for k in range(2):
        a.append(3 * one + np.argmax(faces[one] == edge[:, k : k + 1], 1))
        b.append(3 * two + np.argmax(faces[two] == edge[:, k : k + 1], 1))
    return connected(3 * len(faces), np.concatenate(a), np.concatenate(b))


def connected(n: int, a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.int32]:
    """(n,) the connected component of each of n things that are connected in pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int32)
