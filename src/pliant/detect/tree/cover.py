"""A mesh as the tree detectors hold it: its triangles in the order of a tree, and where they are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import skin as _kernels
from ...kernels import tree as _tree
from ...kernels.skin import Place, Skin
from ...mesh import Mesh
from .tree import tree_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class Cover:
    """Faces of a mesh, and its vertices that no face holds, in a tree of boxes with one of them in a leaf.

    `apart` keeps the welded numbers of two covers from meeting: they are no neighbours.
    """

    def __init__(self, mesh: Mesh, apart: int = 0, **options: Any) -> None:
        self.mesh = mesh
        top, weld = mesh.topology, mesh.weld_index.astype(np.int32) + np.int32(apart)
        lone = np.setdiff1d(np.arange(mesh.n_vertices, dtype=np.int32), mesh.faces)
        elements = np.concatenate([mesh.faces, np.repeat(lone[:, None], 3, 1)]).astype(np.int32)
        self.tree = tree_of(mesh.vertices, elements, leaf=1, **options)
        order = self.tree.order
        corners = np.ascontiguousarray(elements[order])
        place = np.empty(len(order), np.int32)  # of each face in the order
        place[order] = np.arange(len(order), dtype=np.int32)
        self.place = place[: mesh.n_faces]
        _, at = np.unique(corners.ravel(), return_index=True)
        vertices, vertex_start = _counted(np.asarray(at // 3), len(order))
        owner = np.empty(len(top.edges), np.int32)
        real = order < mesh.n_faces
        _kernels.share_edges(np.ascontiguousarray(top.face_edges[order[real]]), owner)
        edges, edge_start = _counted(np.flatnonzero(real)[owner], len(order))
        self.skin = Skin(
            corners,
            np.ascontiguousarray(weld[corners]),
            np.where(real, order, -1).astype(np.int32),
            vertex_start,
            np.stack([vertices, weld[vertices]], 1).astype(np.int32),
            edge_start,
            np.concatenate([edges[:, None], top.edges[edges], weld[top.edges[edges]]], 1).astype(np.int32),
        )
        shapes = (len(order), 9), (len(edges), 6), (len(vertices), 3)
        self.at = Place(self.tree.nodes, self.tree.items, *(np.empty(shape) for shape in shapes))
        self.x = mesh.vertices

    def move(self, x: Floats) -> None:
        """Follow positions (n,3): corners, ends, boxes and the tree."""
        self.x = x
        _kernels.settle(self.skin, x, self.at)
        _tree.refit_boxes(self.tree)

    @property
    def behind(self) -> Ints:
        """(m,) for each place in the order the node after its leaf: where its walk through the own tree starts."""
        skip, first = self.tree.nodes["skip"], self.tree.nodes["first"]
        leaf = np.flatnonzero(skip == np.arange(len(skip)) + 1)
        start = np.empty(len(leaf), np.int32)
        start[first[leaf]] = leaf + 1
        return start


def _counted(at: NDArray[Any], count: int) -> tuple[NDArray[np.int64], Ints]:
    """Features in the order of the places (f,) they are counted at, and where each place's begin (count+1,)."""
    order = np.argsort(at, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(at, minlength=count))]).astype(np.int32)
