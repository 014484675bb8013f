"""The leaf mesh of BVH detectors: triangles in leaf order of a BVH, with their current positions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh import fit as _fit
from ...kernels.bvh import leaf_mesh as _kernels
from ...kernels.bvh.leaf_mesh import LeafArrays, LeafGeometry
from ...mesh.topology import Topology
from .tree import tree_of

if TYPE_CHECKING:
    from ...kernels.queries.drift import Drift

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
CHUNK, FEWEST = 32, 4  # triangles per part of a traversal at least, and fewest parts


class LeafMesh:
    """Faces and isolated vertices of a mesh in an AABB tree with one element per leaf.

    Vertices with the same index in `weld` (n,) are welded; elements that share one are adjacent. Two leaf meshes need
    disjoint indices; `set_weld` replaces them. `isolated`: include vertices that belong to no face.
    """

    def __init__(self, x: Floats, top: Topology, weld: NDArray[Any], *, isolated: bool = True, **options: Any) -> None:
        self.top = top
        weld, faces = weld.astype(np.int32), top.faces
        elements = with_isolated_vertices(faces, len(x) if isolated else 0)
        self.tree = tree_of(x, elements, leaf=1, **options)
        order = self.tree.order
        corners = np.ascontiguousarray(elements[order])
        leaf_of = np.empty(len(order), np.int32)  # leaf index of each face
        leaf_of[order] = np.arange(len(order), dtype=np.int32)
        self.leaf_of = leaf_of[: len(faces)]
        used, at = np.unique(corners.ravel(), return_index=True)
        vertices, vertex_start = _grouped_by_leaf(np.asarray(at // 3), len(order))
        vertices = used[vertices]
        owner = np.empty(len(top.edges), np.int32)
        real = order < len(faces)
        _kernels.share_edges(np.ascontiguousarray(top.face_edges[order[real]]), owner)
        edges, edge_start = _grouped_by_leaf(np.flatnonzero(real)[owner], len(order))
        self.leaves = LeafArrays(
            corners,
            np.ascontiguousarray(weld[corners]),
            np.where(real, order, -1).astype(np.int32),
            vertex_start,
            np.stack([vertices, weld[vertices]], 1).astype(np.int32),
            edge_start,
            np.concatenate([edges[:, None], top.edges[edges], weld[top.edges[edges]]], 1).astype(np.int32),
        )
        shapes = (len(order), 9), (len(edges), 6), (len(vertices), 3)
        self.at = LeafGeometry(self.tree.nodes, self.tree.items, *(np.empty(shape) for shape in shapes))
        self.x = x
        self._drift: Drift | None = None
        self._predicted = False

    def with_weld(self, weld: NDArray[Any]) -> LeafArrays:
        """Return the arrays of the leaves with other weld indices (n,)."""
        leaves, weld = self.leaves, weld.astype(np.int32)
        rows, ends = leaves.vertex[:, 0], leaves.edge[:, 1:3]
        return leaves._replace(
            welded=np.ascontiguousarray(weld[leaves.corners]),
            vertex=np.stack([rows, weld[rows]], 1),
            edge=np.concatenate([leaves.edge[:, :3], weld[ends]], 1),
        )

    def set_weld(self, weld: NDArray[Any]) -> None:
        """Replace the weld indices by `weld` (n,)."""
        self.leaves = self.with_weld(weld)

    def move(self, x: Floats) -> None:
        """Update corners, edge ends and AABBs to positions (n,3) and refit the BVH."""
        self.x = x
        _kernels.update_geometry(self.leaves, x, self.at)
        _fit.refit_boxes(self.tree)

    def predict(self, displacement: Floats) -> None:
        """Set the predicted `displacement` (n,3) of the vertices."""
        from ...kernels.queries import drift as _drift

        self._predicted = True
        if self._drift is None:
            m, k = len(self.leaves.corners), len(self.tree.nodes)
            self._drift = _drift.Drift(displacement, np.empty((m, 6)), np.empty((k, 6)), np.empty((k, 6)))
        self._drift = self._drift._replace(x=displacement)
        _drift.update_drift(self.tree, self.leaves.corners, self.at.faces, self._drift, np.zeros(0, np.int32))

    def predict_anew(self, triangles: NDArray[np.bool_]) -> None:
        """Update what follows from the predicted displacements, after those of corners of the marked `triangles` (m,),
        in the order of the leaves, have changed in the array that `predict` was given."""
        from ...kernels.queries import drift as _drift

        before = np.zeros(len(triangles) + 1, np.int32)
        np.cumsum(triangles, out=before[1:])
        _drift.update_drift(self.tree, self.leaves.corners, self.at.faces, self.drift, before)

    @property
    def is_static(self) -> bool:
        """Whether no displacement was set: the leaf mesh is static."""
        return not self._predicted

    @property
    def drift(self) -> "Drift":
        """The predicted displacements; zero unless `predict` was called."""
        if self._drift is None:
            self.predict(np.zeros_like(self.x))
            self._predicted = False
        assert self._drift is not None
        return self._drift

    @property
    def self_traversal_start(self) -> Ints:
        """(m,) the node after the leaf of each element: in self-contact, its traversal of the BVH starts there."""
        skip, first = self.tree.nodes["skip"], self.tree.nodes["first"]
        leaf = np.flatnonzero(skip == np.arange(len(skip)) + 1)
        start = np.empty(len(leaf), np.int32)
        start[first[leaf]] = leaf + 1
        return start


def parts_of(triangles: int, chunk: int = CHUNK, fewest: int = FEWEST) -> int:
    """Return the number of parts, a power of two from `fewest` to PARTS, in which threads share the triangles of a
    traversal: at least `chunk` triangles each, because a part takes a microsecond to begin."""
    parts = _kernels.PARTS
    while parts > fewest and triangles < chunk * parts:
        parts //= 2
    return parts


def with_isolated_vertices(faces: Ints, n_vertices: int) -> Ints:
    """Return the faces (m,3), then a row for each of the first `n_vertices` vertices that belongs to no face: its index
    three times."""
    isolated = np.setdiff1d(np.arange(n_vertices, dtype=np.int32), faces)
    return np.concatenate([faces, np.repeat(isolated[:, None], 3, 1)]).astype(np.int32)


def _grouped_by_leaf(at: NDArray[Any], count: int) -> tuple[NDArray[np.int64], Ints]:
    """Group features by leaf `at` (f,) (CSR): their order, and the start of each leaf's features (count+1,)."""
    order = np.argsort(at, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(at, minlength=count))]).astype(np.int32)
