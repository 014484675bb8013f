"""Subdivision of displayed cloth: smooth folds between the simulated vertices.

C. Loop 1987 (Smooth subdivision surfaces based on triangles), with the weights of J. Warren 1995 and the boundary
curves and corners of H. Hoppe and others 1994. Loop's scheme flattens folds; therefore it is applied to positions from
which the flattening has been subtracted, 2 x - L x with the limit positions L x: waves much longer than an edge keep
their height, and zigzags from edge to edge, noise of the simulation, halve. All of this is linear, a product of sparse
matrices that are made once.
"""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from .mesh import Mesh

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
MOST_FACES = 100_000  # after the steps that are taken by default: what a laptop draws smoothly
MOST_STEPS = 3
CORNER = np.cos(np.pi / 4)  # boundaries that turn by more than 45 degrees at rest have a corner


@dataclasses.dataclass(frozen=True, eq=False)
class Subdivision:
    """How a mesh is displayed: after `count` steps, nowhere farther than `deviation` metres from the mesh itself."""

    base: Mesh
    count: int
    deviation: float = np.inf

    def __post_init__(self) -> None:
        count = validate.whole("subdivide", self.count, low=1, high=MOST_STEPS)
        faces = 4.0**count * self.base.n_faces
        validate.budget(f"{faces:.0f} displayed triangles", 1000.0 * faces, "subdivide less")
        object.__setattr__(self, "count", count)
        if self.deviation != np.inf:
            object.__setattr__(self, "deviation", validate.number("deviation", self.deviation, low=0.0))

    @functools.cached_property
    def steps(self) -> tuple["csr_array", ...]:
        """Matrices that are applied to positions one after the other: first the sharpening, then every step."""
        return self._built[1]

    @functools.cached_property
    def flat(self) -> tuple[Ints, ...]:
        """(k,2) per step: the ends of the edge that each new vertex splits."""
        return self._built[2]

    @property
    def mesh(self) -> Mesh:
        """The mesh after all steps, at rest."""
        return self._built[0]

    @functools.cached_property
    def _built(self) -> tuple[Mesh, tuple["csr_array", ...], tuple[Ints, ...]]:
        mesh, steps, flat = self.base, [_sharpened(self.base)], []
        for _ in range(self.count):
            steps.append(_step(mesh))
            flat.append(mesh.topology.edges)
            mesh = _split(mesh)
        return mesh, tuple(steps), tuple(flat)

    def place(self, x: NDArray[np.floating]) -> Floats:
        """Positions of the vertices of `mesh` where those of `base` are at x (n,3)."""
        return _placed(np.asarray(x, np.float64), self.mesh, self.steps, self.flat, self.deviation)


def default_steps(mesh: Mesh) -> int:
    """The number of subdivision steps of cloth that is displayed: at most two, with no more than MOST_FACES faces."""
    return sum(4**k * mesh.n_faces <= MOST_FACES for k in (1, 2))


def smooth_normals(x: Floats, faces: Ints, weld_index: Ints) -> Floats:
    """(n,3) area-weighted unit normals, summed at welded vertices to hide seams; zero without a face."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    area = np.repeat(np.cross(b - a, c - a), 3, axis=0)
    corner = weld_index[faces].ravel()
    total = np.stack([np.bincount(corner, area[:, k], len(x)) for k in range(3)], 1)
    return (total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-300))[weld_index]


def _placed(x: Floats, mesh: Mesh, steps: Any, flat: Any, deviation: float) -> Floats:
    """Positions after all steps. Inside they leave the flat faces along the normal only, so that textures do not swim;
    those farther than `deviation` from the same point of the flat faces are moved to that distance."""
    smooth = plain = x
    for step in steps:
        smooth = step @ smooth
    for ends in flat:
        plain = np.concatenate([plain, 0.5 * (plain[ends[:, 0]] + plain[ends[:, 1]])])
    away = smooth - plain
    n = smooth_normals(smooth, mesh.faces, mesh.weld_index)
    rim = mesh.welded.topology.boundary_vertices[mesh.weld_index][:, None]
    away = np.where(rim, away, (away * n).sum(1, keepdims=True) * n)
    far = np.linalg.norm(away, axis=1, keepdims=True)
    return plain + away * np.minimum(1.0, deviation / np.maximum(far, 1e-300))


def _sharpened(mesh: Mesh) -> "csr_array":
    """2 - L for the matrix L of Loop's limit positions."""
    from scipy.sparse import eye_array

    valence = np.maximum(np.diff(mesh.welded.topology.neighbours[0]), 1)
    limit = _vertex_rows(mesh, 1.0 / (valence + 3.0 / (8.0 * _beta(valence))), 1.0 / 6.0)
    return (2.0 * eye_array(mesh.n_vertices) - limit).tocsr()


def _beta(valence: NDArray[Any]) -> Floats:
    """Warren's weight of each neighbour in a step."""
    return np.where(valence == 3, 3.0 / 16.0, 3.0 / (8.0 * valence))


def _step(mesh: Mesh) -> "csr_array":
    """Loop's rules as a matrix: the rows of the n vertices, and of one vertex per edge."""
    from scipy.sparse import vstack

    valence = np.maximum(np.diff(mesh.welded.topology.neighbours[0]), 1)
    return vstack([_vertex_rows(mesh, _beta(valence), 1.0 / 8.0), _edge_rows(mesh)]).tocsr()


def _vertex_rows(mesh: Mesh, weight: Floats, along: float) -> "csr_array":
    """Rows of the vertices: `weight` of each neighbour inside, and `along` of both neighbours on the boundary."""
    welded, topology = mesh.welded, mesh.welded.topology
    edges, boundary = topology.edges, topology.boundary
    both = np.concatenate([edges, edges[:, ::-1]])
    rim, odd = np.tile(boundary, 2), np.tile((topology.n_faces_at_edge > 2), 2)
    at_rim = topology.boundary_vertices
    fixed = _corners(welded)
    fixed[both[odd, 0]] = True
    used = ~fixed[both[:, 0]] & (rim | ~at_rim[both[:, 0]])
    i, j = both[used].T
    return _rows(mesh, i, j, np.where(at_rim[i], along, weight[i]))


def _corners(mesh: Mesh) -> NDArray[np.bool_]:
    """(n,) boundary vertices where the boundary turns sharply at rest, or where it branches."""
    rim = mesh.topology.edges[mesh.topology.boundary]
    both = np.concatenate([rim, rim[:, ::-1]])
    step = mesh.vertices[both[:, 1]] - mesh.vertices[both[:, 0]]
    step /= np.maximum(np.linalg.norm(step, axis=1, keepdims=True), 1e-300)
    degree = np.bincount(both[:, 0], minlength=mesh.n_vertices)
    # the sum of two unit vectors that enclose the angle a has the squared length 2 + 2 cos a; a straight boundary: 0
    total = np.stack([np.bincount(both[:, 0], step[:, k], mesh.n_vertices) for k in range(3)], 1)
    return (degree > 0) & ((degree != 2) | ((total**2).sum(1) > 2.0 - 2.0 * CORNER))


def _rows(mesh: Mesh, i: NDArray[Any], j: NDArray[Any], weight: Floats) -> "csr_array":
    """Weights of welded vertices j at welded vertices i, the rest at i itself, as a matrix of unwelded vertices."""
    from scipy.sparse import coo_array

    index, count = mesh.weld_index, mesh.welded.n_vertices
    rest = 1.0 - np.bincount(i, weight, count)
    own = np.arange(count)
    shape = (count, count)
    rows = coo_array((np.concatenate([weight, rest]), (np.concatenate([i, own]), np.concatenate([j, own]))), shape)
    return _unwelded(mesh, rows.tocsr()[index])


def _unwelded(mesh: Mesh, rows: "csr_array") -> "csr_array":
    """Columns of welded vertices as columns of the first vertex at each."""
    from scipy.sparse import csr_array

    first = np.full(mesh.welded.n_vertices, mesh.n_vertices, np.int64)
    np.minimum.at(first, mesh.weld_index, np.arange(mesh.n_vertices))
    found = csr_array((rows.data, first[rows.indices], rows.indptr), (rows.shape[0], mesh.n_vertices))
    found.sort_indices()
    return found


def _edge_rows(mesh: Mesh) -> "csr_array":
    """Rows of the new vertices: 3/8 of both ends and 1/8 of both opposite corners; midpoints on the boundary."""
    from scipy.sparse import coo_array

    welded, topology = mesh.welded, mesh.welded.topology
    count = len(topology.edges)
    inner = topology.n_faces_at_edge == 2
    ends = np.where(inner, 3.0 / 8.0, 0.5)
    opposite = np.roll(welded.faces, 1, axis=1)  # edge j joins corners j and j+1
    across = inner[topology.face_edges]
    e = np.arange(count)
    rows = np.concatenate([e, e, topology.face_edges[across]])
    columns = np.concatenate([topology.edges[:, 0], topology.edges[:, 1], opposite[across]])
    weights = np.concatenate([ends, ends, np.full(int(across.sum()), 0.125)])
    found = coo_array((weights, (rows, columns)), (count, welded.n_vertices)).tocsr()
    return _unwelded(mesh, found[_welded_edges(mesh)])


def _welded_edges(mesh: Mesh) -> NDArray[np.int64]:
    """(k,) the edge of the welded mesh for each edge of the mesh."""
    own = np.empty(len(mesh.topology.edges), np.int64)
    own[mesh.topology.face_edges] = mesh.welded.topology.face_edges
    return own


def _split(mesh: Mesh) -> Mesh:
    """The mesh with every face split into four at the midpoints of its edges."""
    (a, b, c), (ab, bc, ca) = mesh.faces.T, (mesh.n_vertices + mesh.topology.face_edges).T
    uv = None
    if mesh.uv is not None:
        p, q = mesh.uv.swapaxes(0, 1), 0.5 * (mesh.uv + np.roll(mesh.uv, -1, 1)).swapaxes(0, 1)
        uv = _four((p[0], q[0], q[2]), (q[0], p[1], q[1]), (q[2], q[1], p[2]), (q[0], q[1], q[2]))
    ends = mesh.topology.edges
    return Mesh(
        np.concatenate([mesh.vertices, 0.5 * (mesh.vertices[ends[:, 0]] + mesh.vertices[ends[:, 1]])]),
        _four((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)),
        name=mesh.name,
        uv=uv,
        material=None if mesh.material is None else np.repeat(mesh.material, 4),
        materials=mesh.materials,
        # only vertices on one edge of the welded mesh are welded
        groups=np.concatenate([mesh.weld_index, mesh.n_vertices + _welded_edges(mesh)]).astype(np.int32),
    )


def _four(*faces: tuple[NDArray[Any], NDArray[Any], NDArray[Any]]) -> NDArray[Any]:
    """(4m,3,...): the four faces that replace each of m faces, from the three columns of each."""
    parts = np.stack([np.stack(three, 1) for three in faces], 1)
    return parts.reshape(-1, *parts.shape[2:])
