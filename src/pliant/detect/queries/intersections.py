"""Exact triangle-triangle intersections between two deforming meshes, or within one."""

import functools
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import arrays, renamed, validate
from ...arguments import check_arguments
from ...kernels.bvh.tree import Tree
from ...kernels.queries import intersections as _kernels
from ...kernels.queries.intersections import BvhSide
from ...mesh import Mesh
from ..base import Side
from ..bvh.build import VOLUMES
from ..bvh.tree import refit, tree_of
from .welding import Seams

if TYPE_CHECKING:
    from .intersections_on_card import IntersectionsOnCard

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
_ROOM = 1024  # buffered pairs per subtree; more require a second pass


@check_arguments
class Intersections:
    """Pairs of intersecting triangles: faces of `a` with faces of `b`, or self-intersections of `a` without `b`.

    Triangles are closed sets, so touching counts. Faces of one mesh that share a vertex or an edge count only if they
    intersect beyond it; vertices at equal initial positions are welded as long as they stay together. `options` are
    those of an AABB tree. `update` sets positions, `pairs` returns the intersections there.
    """

    def __init__(self, a: Mesh, b: Mesh | None = None, *, max_bytes: float | None = None, **options: Any) -> None:
        if validate.choice("volume", options.get("volume", "box"), list(VOLUMES)) != "box":
            raise ValueError(f"volume = {options['volume']!r}; intersections are found by AABB trees: expected 'box'")
        self.max_bytes = max_bytes
        self._one = _DeformingMesh(a, options)
        self._other = self._one if b is None else _DeformingMesh(b, options)

    def update(self, x_a: Any = None, x_b: Any = None) -> Self:
        """Set the vertices (n,3) of either mesh; None keeps the current ones."""
        if x_b is not None and self._other is self._one:
            raise ValueError("x_b was given, but there is no second mesh; expected x_a only")
        for name, x, mesh in (("x_a", x_a, self._one), ("x_b", x_b, self._other)):
            if x is not None:
                mesh.move(validate.floats(name, x, mesh.x.shape))
        self.__dict__.pop("_found", None)
        return self

    def to(self, device: str) -> "Intersections | IntersectionsOnCard":
        """Return these queries on a graphics card ("cuda") for vertices that live there (docs/gpu.md); with "cpu", and
        with "auto" where there is no card, these ones."""
        if arrays.chosen(device) == "cpu":
            return self
        from .intersections_on_card import IntersectionsOnCard

        return IntersectionsOnCard(self)

    def pairs(self) -> Pairs:
        """(k,2) intersecting faces, sorted; self-intersections once, with the lower face index first."""
        return self._found.copy()

    @property
    def count(self) -> int:
        """The number of intersecting pairs."""
        return len(self._found)

    @functools.cached_property
    def _found(self) -> Pairs:
        one, other = self._one, self._other
        capacity = one.capacity + other.capacity
        return intersecting_pairs(one.side, other.side, one is other, capacity=capacity, max_bytes=self.max_bytes)


class _DeformingMesh:
    """A deforming mesh with a BVH that is refitted to it."""

    def __init__(self, mesh: Mesh, options: dict[str, Any]) -> None:
        self.mesh = mesh
        self.x = mesh.vertices.copy()  # writable, as later positions, so that one compiled kernel serves all
        self.faces = mesh.faces
        self.corners = mesh.weld_index[mesh.faces]
        self._seams = Seams(Side(mesh))
        self.tree = tree_of(self.x, self.faces, **options)
        self.capacity = int(_kernels.stack_capacity(self.tree.nodes))

    def move(self, x: Floats) -> None:
        self.x = x
        if self._seams.update(x):
            self.corners = self._seams.sides[0].mesh.weld_index[self.faces]
        refit(self.tree, x, self.faces)

    @property
    def side(self) -> BvhSide:
        return bvh_side(self.x, self.faces, self.tree, self.corners)


def bvh_side(x: Floats, faces: Pairs, tree: Tree, corners: Pairs | None = None) -> BvhSide:
    """Return the arrays of a mesh that kernels use; `corners` (m,3) are its faces in weld indices."""
    x = np.require(x, np.float64, ["C", "W"])
    faces, corners = (_read_only(a) for a in (faces, faces if corners is None else corners))
    return BvhSide(x, faces, corners, tree.nodes, tree.order, tree.items, tree.parts)


def _read_only(a: Pairs) -> Pairs:
    """Return a read-only view, as the faces of every mesh are: kernels are compiled for that."""
    view = np.require(a, np.int32, ["C"]).view()
    view.flags.writeable = False
    return view


def self_intersections_of(x: Floats, faces: Pairs, tree: Tree, corners: Pairs | None = None) -> Pairs:
    """Return the self-intersections of one mesh; `tree` is an AABB tree fitted to `x`. See `Intersections`."""
    side = bvh_side(x, faces, tree, corners)
    return intersecting_pairs(side, side, True)


def intersecting_pairs(
    a: BvhSide, b: BvhSide, same: bool = False, *, capacity: int | None = None, max_bytes: float | None = None
) -> Pairs:
    """Return `Intersections.pairs` for sides with fitted BVHs; `same`: both are one mesh."""
    n = len(a.parts)
    if not len(a.nodes) or not len(b.nodes):
        return np.empty((0, 2), np.int32)
    if capacity is None:
        capacity = int(_kernels.stack_capacity(a.nodes)) + int(_kernels.stack_capacity(b.nodes))
    start, out = np.arange(n + 1) * _ROOM, np.empty((n * _ROOM, 2), np.int32)
    found = np.empty(n, np.int64)
    _kernels.find_intersections(a, b, same, capacity + n, start, out, found)
    if (found > _ROOM).any():
        total = int(found.sum())
        advice = "cut the meshes into pieces or raise max_bytes"
        # memory for the pairs found, their keys, and the sorted list
        validate.budget(f"{total} pairs", 24.0 * total, advice, max_bytes)
        start, out = np.concatenate([[0], np.cumsum(found)]), np.empty((total, 2), np.int32)
        _kernels.find_intersections(a, b, same, capacity + n, start, out, found)
    else:
        out = np.concatenate([out[s : s + k] for s, k in zip(start, found)])
    width = len(b.faces)
    keys = np.sort(out[:, 0].astype(np.int64) * width + out[:, 1])
    return np.stack([keys // width, keys % width], 1).astype(np.int32)


@check_arguments
def intersections(a: Mesh, b: Mesh | None = None) -> Pairs:
    """Return all intersecting triangle pairs (k,2), exactly: faces of `a` with faces of `b`, or of `a` with itself.

    Touching counts. Within one mesh, faces that share a vertex or an edge count only if they intersect beyond it. For
    moving meshes use `Intersections`, which refits its BVHs.
    """
    return Intersections(a, b).pairs()


__getattr__ = renamed.module(__name__, {"crossings_of": f"{__name__}:self_intersections_of"})
