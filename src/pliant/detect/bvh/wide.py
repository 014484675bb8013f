"""BVHs for nearest-point queries, in the two layouts that the kernels traverse: with nodes of four children in double
precision, which rays and graphics cards use too, and of eight in single precision, which is faster and costs more to
fill."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh.tree import Tree
from ...kernels.jit import COMPILED
from ...kernels.queries import closest_point as _nearest
from ...kernels.queries.closest_point import Blocks
from ...kernels.queries.surface import Surface
from . import tree as _tree

if TYPE_CHECKING:
    from ...kernels.bvh.bvh8 import Bvh8, Plan

Floats = NDArray[np.float64]
SHAPE: dict[str, Any] = {"volume": "box", "arity": 4, "leaf": 1}
WORTH = 0.25  # queries per face after which the wide layout saves more than filling it costs
MANY = 1000  # queries from which it does so at all: before, loading its kernels takes longer
RANGE = 1e-100, 1e100  # sizes of surfaces that can be scaled


def blocks_of_surface(surface: Surface) -> Blocks:
    """Build an AABB tree over the triangles of a surface, in the layout of `kernels.queries.closest_point`."""
    return blocks_of(surface, _tree.tree_of(surface.x, surface.faces, **SHAPE))[0]


def blocks_of(surface: Surface, tree: Tree) -> tuple[Blocks, NDArray[np.int32]]:
    """Convert a BVH of `SHAPE` over the faces of a surface to blocks; also return the block index of each node."""
    number = np.empty(len(tree.nodes), np.int32)
    count, room = _nearest.number_blocks(tree.nodes, number)
    blocks = Blocks(
        np.empty((count, 6, 4)), np.empty((count, 4), np.int32), np.empty((len(tree.order), 12)), tree.order, int(room)
    )
    fill_blocks(surface, tree, blocks, number)
    return blocks, number


def fill_blocks(surface: Surface, tree: Tree, blocks: Blocks, number: NDArray[np.int32]) -> None:
    """Update blocks from the refitted BVH that they were made of."""
    _nearest.fill_blocks(tree.nodes, number, blocks.boxes, blocks.child)
    _nearest.fill_rows(surface, tree.order, blocks.rows)


class NearestFaces:
    """The faces of a surface that are nearest to points, exact; call `moved` after refitting `tree`, a BVH of `SHAPE`.

    Layouts are made and updated when they are first used. Which of them answers depends on the number of points, and
    changes no result.
    """

    def __init__(self, surface: Surface, tree: Tree) -> None:
        self.surface, self.tree = surface, tree
        self._blocks: tuple[Blocks, NDArray[np.int32]] | None = None
        self._wide: tuple[Bvh8, Plan] | None = None
        self.moved()

    def moved(self) -> None:
        self._blocks_fit = self._wide_fit = False
        self._asked = 0

    @property
    def blocks(self) -> Blocks:
        """The layout with nodes of four children."""
        if self._blocks is None:
            self._blocks = blocks_of(self.surface, self.tree)
        elif not self._blocks_fit:
            fill_blocks(self.surface, self.tree, *self._blocks)
        self._blocks_fit = True
        return self._blocks[0]

    def find(self, p: Floats, found: NDArray[np.int64], barycentric: Floats, reach: float = np.inf) -> None:
        """Fill found (n,2), nearest face and feature, and barycentrics (n,3) for points (n,3); initial guesses, or -1,
        are in found. With `reach`, the face is -1 where no face is nearer than that."""
        p = np.require(p, requirements="W")  # a copy where it is read-only: one specialisation serves all points
        self._asked += len(p)
        wide = self._wide_fitted() if self._asked >= max(WORTH * len(self.surface.faces), MANY) else None
        if wide is None:
            self._find_exactly(p, found, barycentric, reach)
            return
        from ...kernels.queries import closest_bvh8

        most = min(reach * reach, _nearest.FARTHEST)
        closest_bvh8.find_nearest8(wide, self._read_only(), p, most, found, barycentric)
        rows = np.flatnonzero(found[:, 0] == closest_bvh8.TOO_FAR)
        if len(rows):
            some, where = np.full((len(rows), 2), -1, np.int64), np.zeros((len(rows), 3))
            self._find_exactly(p[rows], some, where, reach)
            found[rows], barycentric[rows] = some, where

    def _find_exactly(self, p: Floats, found: NDArray[np.int64], barycentric: Floats, reach: float) -> None:
        if reach == np.inf:
            _nearest.find_nearest(self.blocks, self.surface, p, found, barycentric)
        else:
            _nearest.find_within(self.blocks, self.surface, p, reach, found, barycentric)

    def _wide_fitted(self) -> "Bvh8 | None":
        """Return the layout with nodes of eight children, or None if the surface cannot be scaled."""
        if not COMPILED:
            return None
        if not self._wide_fit:
            from .bvh8 import fitted, half_size, planned

            if not RANGE[0] < half_size(self.tree) < RANGE[1]:
                return None
            self._wide = fitted(*(self._wide or planned(self.tree)), self.tree, self._read_only())
            self._wide_fit = True
        assert self._wide is not None
        return self._wide[0]

    def _read_only(self) -> Surface:
        """The surface as kernels of the wide layout take it, whether its arrays can be written or not."""
        return self.surface._replace(x=validate.read_only(self.surface.x))
