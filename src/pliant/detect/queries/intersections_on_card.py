"""Exact triangle-triangle intersections on a graphics card, for meshes whose vertices live there."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ... import arrays
from ...kernels import device as _device
from ..bvh.boxes_on_card import BoxesOnCard
from .overlaps_on_card import Overlaps

if TYPE_CHECKING:
    from ...mesh import Mesh
    from .intersections import Intersections

_NONE = np.zeros((0, 2), np.int32)


class IntersectionsOnCard:
    """`Intersections` on the card, with BVHs that are built there; `Intersections.to("cuda")` makes it."""

    def __init__(self, query: "Intersections") -> None:
        arrays.chosen("cuda")
        one, other = query._one, query._other
        self._same = one is other
        self._one = _Faces(one.mesh, one.x)
        self._other = self._one if self._same else _Faces(other.mesh, other.x)
        self._overlaps = Overlaps(len(self._one.faces), same=self._same, max_bytes=query.max_bytes)

    def update(self, x_a: Any = None, x_b: Any = None) -> Self:
        """Set the vertices (n,3) of either mesh, arrays on the card that are not copied: they must not change until
        `pairs` has returned; None keeps the current ones."""
        if x_b is not None and self._same:
            raise ValueError("x_b was given, but there is no second mesh; expected x_a only")
        for name, x, mesh in (("x_a", x_a, self._one), ("x_b", x_b, self._other)):
            if x is not None:
                mesh.move(arrays.floats(name, x, (mesh.mesh.n_vertices, 3)))
        return self

    def pairs(self) -> Any:
        """(k,2) i4 on the card: intersecting faces, sorted; self-intersections once, with the lower face first."""
        from ...kernels.gpu import face_pairs as kernels
        from ...kernels.gpu import near_pairs

        one, two = self._one, self._other
        if not len(one.faces) or not len(two.faces):
            return _device.upload(_NONE)
        overlaps = self._overlaps
        count = overlaps.listed(one.side, two.side, 0.0)
        hit, sizes = _device.empty(count, np.bool_), _device.zeros(len(one.faces), np.int32)
        a, b = one.at, two.at
        _device.launch(kernels.test_faces, count, a, b, self._same, overlaps.pairs, count, hit, sizes)
        start = _device.exclusive_sums(sizes)
        total = int(start[len(sizes) : len(sizes) + 1].copy_to_host()[0])
        overlaps.budget(total, f"{total} pairs")
        out, filled = _device.empty((total, 2), np.int32), _device.zeros(len(one.faces), np.int32)
        if total:
            _device.launch(kernels.write_faces, count, a, b, self._same, overlaps.pairs, hit, start, filled, out)
            _device.launch(near_pairs.sort_buckets, len(sizes), start, out)
        return out

    @property
    def count(self) -> int:
        """The number of intersecting pairs."""
        return len(self.pairs())


class _Faces:
    """A mesh on the card."""

    def __init__(self, mesh: "Mesh", x: Any) -> None:
        from .welded_on_card import Copies

        self.mesh, self._copies = mesh, Copies(mesh)
        self.faces = _device.upload(mesh.faces)
        self._corners = _device.upload(np.ascontiguousarray(mesh.weld_index[mesh.faces], np.int32))
        self.x = _device.upload(x)
        self._boxes: BoxesOnCard | None = None

    def move(self, x: Any) -> None:
        self._copies.check(x)
        self.x, self._boxes = x, None

    @property
    def boxes(self) -> BoxesOnCard:
        """The BVH of the present positions."""
        if self._boxes is None:
            self._boxes = BoxesOnCard.built(self.faces, self.x)
        return self._boxes

    @property
    def at(self) -> Any:
        from ...kernels.gpu.face_pairs import FaceSide

        return FaceSide(self.x, self.faces, self._corners, self.boxes.order)

    @property
    def side(self) -> Any:
        from ...kernels.gpu.near_pairs import CardSide

        return CardSide(self.x, self.faces, *self.boxes.at)
