"""Defects of a mesh: found, counted and named, but never repaired implicitly."""

import dataclasses
import functools
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import renamed

if TYPE_CHECKING:
    from .mesh import Mesh
    from .topology import Topology


WORDS = {
    "degenerate": "{} faces without area",
    "duplicate": "{} duplicate faces",
    "non-manifold": "{} edges with more than two faces",
    "flipped": "{} edges whose faces are oriented inconsistently",
    "bow-tie": "{} non-manifold (bow-tie) vertices",
    "unreferenced": "{} unreferenced vertices",
    "inverted": "{} inverted tets",
    "flat": "{} tets without volume",
    "inward": "inside out (faces point inward)",
    "boundary": "{} boundary edges (open)",
    "seams": "{} vertices split at seams",
}


@dataclasses.dataclass(frozen=True)
class Issues:
    """Indices into the welded mesh's faces, edges, vertices or tets; empty arrays where there is no defect.

    `seams` counts the vertices merged by welding; they are normal in GLB and STL files.
    """

    degenerate: NDArray[np.int64]  # faces without area
    duplicate: NDArray[np.int64]  # faces with the same corners as an earlier face
    non_manifold: NDArray[np.int64]  # edges with three faces or more
    flipped: NDArray[np.int64]  # edges whose two faces are oriented inconsistently
    boundary: NDArray[np.int64]  # boundary edges, with one face
    unreferenced: NDArray[np.int64]  # vertices of no face and no tet
    bow_tie: NDArray[np.int64]  # vertices with more than one fan of faces
    inverted: NDArray[np.int64]  # tets of negative volume
    flat: NDArray[np.int64]  # tets without volume
    inward: bool  # closed and oriented, but the volume is negative
    components: int  # connected components with faces
    seams: int
    encloses: bool  # every point off the surface has a side: the faces at each edge cancel in orientation

    border = renamed.attribute("border", "boundary")

    def __repr__(self) -> str:
        return f"<Issues: {self.words() or 'no defects'}>"

    @property
    def closed(self) -> bool:
        """Whether every edge has two faces, consistently oriented; so there are no boundary edges."""
        return not (len(self.boundary) or len(self.non_manifold) or len(self.flipped))

    def __bool__(self) -> bool:
        """True if there is a defect (a boundary alone is a property, not a defect)."""
        return bool(self.summary(defects_only=True))

    def summary(self, *, defects_only: bool = False) -> dict[str, int]:
        """Counts by name, without zero counts."""
        counts = {
            "degenerate": len(self.degenerate),
            "duplicate": len(self.duplicate),
            "non-manifold": len(self.non_manifold),
            "flipped": len(self.flipped),
            "bow-tie": len(self.bow_tie),
            "unreferenced": len(self.unreferenced),
            "inverted": len(self.inverted),
            "flat": len(self.flat),
            "inward": int(self.inward),
        }
        if not defects_only:
            counts |= {"boundary": len(self.boundary), "seams": self.seams}
        return {name: count for name, count in counts.items() if count}

    def words(self, *, defects_only: bool = False) -> str:
        """The summary as readable text, with the first indices of bad tets; empty without defects."""
        rows = {"inverted": self.inverted, "flat": self.flat}
        said = []
        for name, count in self.summary(defects_only=defects_only).items():
            first = ", ".join(map(str, rows.get(name, ())[:3]))
            more = ", ..." if first and count > 3 else ""
            said.append(WORDS[name].format(count) + (f" (tets {first}{more})" if first else ""))
        return ", ".join(said)

    def __str__(self) -> str:
        return self.words() or "no issues"


def find_issues(mesh: "Mesh", seams: int) -> Issues:
    """All issues of a welded mesh; `seams`: number of merged vertices."""
    top = mesh.topology
    # degenerate: the height over the longest side is below the rounding of the coordinates
    if len(mesh.lines):
        return _issues_of_lines(mesh, seams)
    x = mesh.vertices[mesh.faces]
    sides = functools.reduce(np.maximum, (np.linalg.norm(x[:, k] - x[:, k - 1], axis=1) for k in range(3)))
    magnitude = functools.reduce(np.maximum, (np.abs(x[:, k, j]) for k in range(3) for j in range(3)))
    flat = 2.0 * mesh.face_areas <= 8.0 * np.finfo(float).eps * magnitude * sides
    used = np.zeros(mesh.n_vertices, np.bool_)
    used[mesh.faces.ravel()] = True
    lone = ~used
    lone[mesh.tets.ravel()] = False
    non_manifold = np.flatnonzero(top.n_faces_at_edge > 2)
    flipped = np.flatnonzero((top.n_faces_at_edge == 2) & (top.orientation_sum != 0))
    boundary = np.flatnonzero(top.n_faces_at_edge == 1)
    turn = tet_turns(mesh.vertices, mesh.tets)
    whole = mesh.n_faces > 0 and not (len(non_manifold) or len(flipped) or len(boundary))
    return Issues(
        degenerate=np.flatnonzero(flat),
        duplicate=_duplicates(top),
        non_manifold=non_manifold,
        flipped=flipped,
        boundary=boundary,
        unreferenced=np.flatnonzero(lone),
        bow_tie=_bow_ties(mesh),
        inverted=np.flatnonzero(turn < 0),
        flat=np.flatnonzero(turn == 0),
        inward=bool(whole and mesh.volume < 0.0),
        components=len(np.unique(top.components[used])),
        seams=seams,
        encloses=bool(mesh.n_faces > 0 and not top.loose.any()),
    )


def _issues_of_lines(mesh: "Mesh", seams: int) -> Issues:
    """Return the issues of polylines: they enclose nothing, and all of their edges are boundary."""
    none, top = np.zeros(0, np.int64), mesh.topology
    used = np.zeros(mesh.n_vertices, np.bool_)
    used[mesh.lines] = True
    return Issues(
        degenerate=none,
        duplicate=_duplicates(top),
        non_manifold=none,
        flipped=none,
        boundary=np.arange(len(top.edges)),
        unreferenced=np.flatnonzero(~used),
        bow_tie=none,
        inverted=none,
        flat=none,
        inward=False,
        components=len(np.unique(top.components[used])),
        seams=seams,
        encloses=False,
    )


def tet_turns(x: NDArray[np.float64], tets: NDArray[Any]) -> NDArray[np.int8]:
    """(k,) 1 for tets of positive volume, -1 for inverted ones, 0 for flat ones, whose height is below the rounding of
    the coordinates."""
    a, b, c, d = (x[tets[:, k]] for k in range(4))
    six = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a)
    sides = np.stack([np.linalg.norm(p - q, axis=1) for p, q in itertools.combinations((a, b, c, d), 2)])
    magnitude = np.abs([a, b, c, d]).max((0, 2), initial=0.0)
    least = 16.0 * np.finfo(float).eps * magnitude * sides.max(0, initial=0.0) ** 2
    return np.where(np.abs(six) <= least, 0, np.sign(six)).astype(np.int8)


def _duplicates(top: "Topology") -> NDArray[np.int64]:
    """Faces with the same corners as an earlier face; the lowest and highest edge index identify a face."""
    a, b, c = (top.face_edges[:, k].astype(np.int64) for k in range(3))
    key = np.minimum(np.minimum(a, b), c) * len(top.edges) + np.maximum(np.maximum(a, b), c)
    ranked = np.sort(key)
    if not (ranked[1:] == ranked[:-1]).any():  # fast path for most meshes: a third of the time
        return np.zeros(0, np.int64)
    again = np.ones(len(key), np.bool_)
    again[np.unique(key, return_index=True)[1]] = False
    return np.flatnonzero(again)


def _bow_ties(mesh: "Mesh") -> NDArray[np.int64]:
    """Vertices with more than one fan of faces: corners of faces that share an edge are joined and counted."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    top = mesh.topology
    tested = _not_single_fan(top)
    if not tested.any():
        return np.zeros(0, np.int64)
    _, beside = top.edge_faces
    edge = np.repeat(np.arange(len(top.edges)), top.n_faces_at_edge)
    ahead = np.flatnonzero((edge[1:] == edge[:-1]) & np.asarray(tested[top.edges].any(1))[edge[1:]])
    f_a, f_b, e = beside[ahead], beside[ahead + 1], edge[ahead]  # consecutive faces of one edge
    rows, columns = [], []
    for end in (0, 1):
        v = top.edges[e, end]
        rows.append(3 * f_a + np.argmax(mesh.faces[f_a] == v[:, None], 1))
        columns.append(3 * f_b + np.argmax(mesh.faces[f_b] == v[:, None], 1))
    r, c = np.concatenate(rows), np.concatenate(columns)
    count = 3 * mesh.n_faces
    graph = coo_array((np.ones(len(r), np.int8), (r, c)), shape=(count, count))
    fan = connected_components(graph, directed=False)[1]
    corners = mesh.faces.ravel()
    of = tested[corners]
    pairs = np.unique(np.stack([corners[of].astype(np.int64), fan[of]], 1), axis=0)
    fans = np.bincount(pairs[:, 0], minlength=mesh.n_vertices)
    return np.flatnonzero(fans > 1)


def _not_single_fan(top: "Topology") -> NDArray[np.bool_]:
    """(n,) mask of vertices whose faces are not all reached by walking from face to face around them.

    Vertices on an edge of three faces are excluded (reported as non-manifold edges); those of a face that repeats a
    corner are always included.
    """
    faces, n = top.faces, top.n_vertices
    around = np.bincount(faces.ravel(), minlength=n)
    start, beside = top.edge_faces
    two = np.full((len(top.edges), 2), -1, np.int32)
    two[:, 0], inner = beside[start[:-1]], top.n_faces_at_edge == 2
    two[inner, 1] = beside[start[:-1][inner] + 1]
    rough, odd = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    rough[top.edges[top.n_faces_at_edge > 2]] = True
    odd[faces[(faces == np.roll(faces, 1, 1)).any(1)]] = True
    first = np.full(n, -1, np.int32)
    for edges in (np.arange(len(top.edges), dtype=np.int32), np.flatnonzero(top.boundary).astype(np.int32)):
        for end in (0, 1):
            first[top.edges[edges, end]] = edges  # walks start at a boundary edge if there is one
    v = np.flatnonzero((around > 0) & ~rough & ~odd).astype(np.int32)
    e, shared = first[v], np.zeros(n, np.int64)
    f = begin = two[e, 0]
    while len(v):
        shared[v] += 1
        k = np.where(faces[f, 1] == v, 1, np.where(faces[f, 2] == v, 2, 0))
        e = top.face_edges[f, k] + top.face_edges[f, (k + 2) % 3] - e  # the other edge of the face at the vertex
        f = two[e, 0] + two[e, 1] - f  # the other face at that edge; -1 where there is none
        on = np.flatnonzero((f >= 0) & (f != begin))
        v, e, f, begin = v[on], e[on], f[on], begin[on]
    return (around > 0) & ~rough & (shared < around)
