"""Exact nearest points of a surface on a graphics card, for points that live there."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import arrays
from ...kernels import device as _device
from ...kernels.queries.closest_point import Signed, box_of_block
from .solid_boundary import SIDE_OFFSET

if TYPE_CHECKING:
    from .closest_point import ClosestPoints

_ROOM = 256  # the stack of a traversal, `ROOM` in kernels/gpu/nearest.py: enough for 4^60 triangles


class NearestOnCard(NamedTuple):
    """Arrays on the card for n points."""

    distance: Any  # (n,) f8 metres, negative inside
    nearest: Any  # (n,3) f8
    face: Any  # (n,) i8
    normal: Any  # (n,3) f8 unit direction that opens the gap


class ClosestPointsOnCard:
    """`ClosestPoints` whose surface was copied to the card; `ClosestPoints.to("cuda")` makes it.

    The surface has to be plain: closed, oriented outward, free of self-intersections and slivers. There the nearest
    feature gives the side of a point; for others the side is that of a winding number, which threads compute.
    """

    def __init__(self, query: "ClosestPoints") -> None:
        arrays.chosen("cuda")
        self.query_on_host, enclosure = query, query._enclosure
        name = query.mesh.name
        if not enclosure._plain:
            raise ValueError(f"mesh {name!r} is open, intersects itself or has slivers; its sides need threads")
        if enclosure.blocks.room > _ROOM:
            raise ValueError(f"the BVH of mesh {name!r} is too deep for a graphics card; use threads")
        from ...kernels.gpu import nearest as _nearest

        blocks = enclosure.blocks
        self._nodes, self.surface = _device.upload(_nearest.packed(blocks)), _device.upload(enclosure.surface)
        self._rows, self._order = _device.upload(blocks.rows), _device.upload(blocks.order)
        self._root = _device.upload(np.concatenate(box_of_block(blocks.boxes, 0)))
        self.margin = SIDE_OFFSET * float(np.abs(enclosure.surface.x).max(initial=0.0))

    def query(self, points: Any) -> NearestOnCard:
        """As `ClosestPoints.query`, bitwise, for points (n,3) on the card.

        Points within rounding of the surface, whose side no normal gives, are completed by the query on the host.
        """
        from ...kernels.gpu import rows as _rows

        p, found, _, sign, out = self.features(points)
        n = len(p)
        face, rows, count = _device.empty(n, np.int64), _device.empty(n, np.int64), _device.zeros(1, np.int64)
        _device.launch(_rows.list_unsure, n, found, sign, out.distance, self.margin, face, rows, count)
        unsure = int(count.copy_to_host()[0]) if n else 0
        if unsure:
            self._complete(p, rows[:unsure], out, face)
        return NearestOnCard(out.distance, out.nearest, face, out.normal)

    def features(self, points: Any) -> tuple[Any, Any, Any, Any, Signed]:
        """The points (n,3) as an array of kernels, nearest face and feature (n,2), barycentrics (n,3), the side (n,)
        that the normal gives, 0 if it gives none, and the signed distances with these sides."""
        from ...kernels.gpu import nearest as _nearest

        p = arrays.floats("points", points, (None, 3))
        n = len(p)
        found, barycentric = _device.empty((n, 2), np.int64), _device.empty((n, 3))
        sign = _device.empty(n, np.int8)
        out = Signed(_device.empty(n), _device.empty((n, 3)), _device.empty((n, 3)))
        kernels = _device.twin("queries.closest_point")
        nodes, leaves = self._nodes, (self._rows, self._order, self._root)
        _device.launch(_nearest.nearest_each, n, nodes, *leaves, p, found, barycentric)
        _device.launch(kernels.signs_by_pseudonormal, n, self.surface, p, found, barycentric, sign)
        _device.launch(kernels.signed_distances, n, self.surface, p, found, barycentric, sign, out)
        return p, found, barycentric, sign, out

    def _complete(self, p: Any, rows: Any, out: Signed, face: Any) -> None:
        """Overwrite the listed rows with the answers of the host."""
        from ...kernels.gpu import rows as _rows

        m = len(rows)
        at = _device.empty((m, 3))
        _device.launch(_rows.take, m, rows, p, at)
        distance, nearest, faces, normal = self.query_on_host.query(at.copy_to_host())
        columns = (
            (distance[:, None], out.distance),
            (nearest, out.nearest),
            (faces[:, None], face),
            (normal, out.normal),
        )
        for values, there in columns:
            there = there.reshape(len(there), values.shape[1])
            _device.launch(_rows.put, m, rows, _device.upload(values), there)
