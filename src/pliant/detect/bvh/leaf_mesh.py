"""The leaf mesh of BVH detectors: triangles in leaf order of a BVH, with their current positions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh import fit as _fit
from ...kernels.bvh import leaf_mesh as _kernels
from ...kernels.bvh.leaf_mesh import LeafArrays, LeafGeometry
from ...kernels.jit import worth
from ...mesh.topology import Topology
from .tree import tree_of

if TYPE_CHECKING:
    from ...kernels.bvh.motion import MotionBvh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
CHUNK, FEWEST = 32, 4  # triangles per part of a traversal at least, and fewest parts
_WORTH_THREADS = 4096  # triangles
_ALL = np.zeros(0, np.int32)


class LeafMesh:
    """Faces and isolated vertices of a mesh in an AABB tree with one element per leaf.

    Vertices with the same index in `weld` (n,) are welded; elements that share one are adjacent. Two leaf meshes need
    disjoint indices; `set_weld` replaces them. `isolated`: include vertices that belong to no face. `patches`: whether
    `Cones` may need the displacements below each node of a predicted motion, instead of those of the whole mesh.
    """

    def __init__(
        self,
        x: Floats,
        top: Topology,
        weld: NDArray[Any],
        *,
        isolated: bool = True,
        patches: bool = True,
        **options: Any,
    ) -> None:
        self.top, self._patches = top, patches
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
        self._at = LeafGeometry(self.tree.nodes, self.tree.items, *(np.empty(shape) for shape in shapes))
        self.x = x
        self._is_fitted = False  # whether the BVH and `_at` are those of x
        self._records: Ints | None = None
        self._motion: MotionBvh | None = None
        self._motion_is_fitted = self._predicted = False
        self.fits, self._changed = (
            0,
            _ALL,
        )  # fits of the BVH of the motion, and the triangles that the last one concerned

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
        self.leaves, self._records = self.with_weld(weld), None

    @property
    def records(self) -> Ints:
        """(m,RECORD) all indices that belong to each triangle, side by side: `pack_records`."""
        if self._records is None:
            self._records = np.zeros((len(self.leaves.face), _kernels.RECORD), np.int32)
            _kernels.pack_records(self.leaves, self._records)
        return self._records

    def move(self, x: Floats) -> None:
        """Update corners, edge ends and AABBs to positions (n,3) and refit the BVH."""
        # positions of a mesh are read-only, those of a state are not; one compiled specialisation serves both
        self.x, self._motion_is_fitted = x if x.flags.writeable else x.copy(), False
        self._fit()

    def _fit(self) -> None:
        _kernels.update_geometry(self.leaves, self.x, self._at)
        _fit.refit_boxes(self.tree)
        self._is_fitted = True

    @property
    def at(self) -> LeafGeometry:
        """Corners, edge ends and AABBs at x, and the BVH."""
        if not self._is_fitted:
            self._fit()
        return self._at

    @property
    def box(self) -> Floats:
        """(6,) AABB of all triangles."""
        return np.asarray(self.tree.nodes[0]["bounds"] if self._is_fitted else self.motion.bounds[0, :6])

    def box_at(self, x: Floats) -> Floats:
        """(6,) AABB of all triangles at positions x (n,3), to which the mesh need not have moved."""
        out = np.empty(6)
        _kernels.box_of(self.leaves.vertex, x, out)
        return out

    def move_along(self, x: Floats, displacement: Floats) -> None:
        """Set positions (n,3) and their predicted displacements, and fit the BVH of this motion; all that belongs to
        the positions alone follows when it is needed."""
        self.x, self._is_fitted = x, False
        self.predict(displacement)

    def predict(self, displacement: Floats) -> None:
        """Set the predicted `displacement` (n,3) of the vertices."""
        self._predicted = True
        self._fit_motion(displacement, _ALL)

    def predict_anew(self, before: Ints) -> None:
        """Fit the BVH of the motion again, after rows of the arrays that `move_along` was given have changed; before
        (m+1,) counts the triangles with such corners, see `count_marked`."""
        self._fit_motion(self.motion.drift, before)

    def was_fitted_anew(self, fit: int, before: Ints) -> bool:
        """Whether nothing has changed since the fit of this number except, by `predict_anew`, the triangles that
        `before` counts."""
        return self._motion_is_fitted and self.fits == fit + 1 and self._changed is before

    def count_marked(self, which: NDArray[np.bool_]) -> Ints:
        """(m+1,) how many of the triangles before each, in the order of the leaves, have any of the vertices `which`
        (n,) as a corner."""
        from ...kernels.bvh import motion as _motion

        before = np.empty(len(self.leaves.corners) + 1, np.int32)
        _motion.count_marked(which, self.leaves.corners, before)
        return before

    @property
    def is_static(self) -> bool:
        """Whether no displacement was set: the leaf mesh is static."""
        return not self._predicted

    @property
    def motion(self) -> "MotionBvh":
        """The BVH of the predicted motion, which is none unless `predict` was called."""
        if self._motion is None or not self._motion_is_fitted:
            self._fit_motion(np.zeros_like(self.x) if self._motion is None else self._motion.drift, _ALL)
        assert self._motion is not None
        return self._motion

    def _fit_motion(self, displacement: Floats, before: Ints) -> None:
        from ...kernels.bvh import motion as _motion

        self.fits, self._changed = self.fits + 1, before
        if self._motion is None:
            self._motion = self._new_motion(displacement)
        if self._motion.x is not self.x or self._motion.drift is not displacement:
            self._motion = self._motion._replace(x=self.x, drift=displacement)
        before = before if self._patches else _ALL  # the displacements of the whole mesh need all of its leaves
        count = int(before[-1]) if len(before) else len(self.leaves.corners)
        worth(_motion.fit_motion, count, _WORTH_THREADS)(self._motion, before)
        self._motion_is_fitted = True

    def _new_motion(self, displacement: Floats) -> "MotionBvh":
        from ...kernels.bvh import motion as _motion

        block = _motion.BLOCK
        nodes = np.empty((_motion.select_nodes(self.tree.nodes, block, np.zeros((0, 5), np.int32)), 5), np.int32)
        _motion.select_nodes(self.tree.nodes, block, nodes)
        is_leaf = nodes[:, _motion.SKIP] == np.arange(len(nodes)) + 1
        leaves, inner = np.flatnonzero(is_leaf), np.flatnonzero(~is_leaf)[::-1]
        corners = self.leaves.corners
        start, vertices = np.empty(len(nodes) + 1, np.int32), np.empty(corners.size, np.int32)
        places = np.empty(corners.shape, np.uint8)
        vertices = vertices[: _motion.list_vertices(nodes, corners, start, vertices, places)].copy()
        bounds, drifts = np.empty((len(nodes), 12)), np.empty((len(self.tree.nodes) if self._patches else 1, 6))
        chunks = np.empty((-(-len(leaves) // _motion.TASKS), 6))
        rows = leaves.astype(np.int32), np.ascontiguousarray(inner, np.int32)
        arrays = nodes, bounds, start, vertices, places
        return _motion.MotionBvh(self.x, displacement, corners, *arrays, *rows, drifts, chunks)

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
