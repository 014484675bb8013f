"""Which vertices and edges of one mesh are inside a closed one, on a graphics card."""

from typing import Any

import numpy as np

from ...kernels import device as _device
from ..queries.closest_on_card import ClosestPointsOnCard
from ..queries.closest_point import ClosestPoints
from ..queries.contact_records import WeldedSide
from ..queries.winding import bounds_of


class SolidOnCard:
    """The inside of a closed mesh at rest, by its nearest features; it must be free of self-intersections."""

    def __init__(self, welded: WeldedSide) -> None:
        mesh = welded.side.mesh
        self._name, self._query = mesh.name, ClosestPointsOnCard(ClosestPoints(mesh))
        self._rest = _device.upload(mesh.vertices)
        self._bounds = _device.upload(np.concatenate(bounds_of(mesh.vertices)))

    def check(self, x: Any) -> None:
        """ValueError if vertices (n,3) are not those at rest."""
        from ...kernels.gpu import rows as _rows

        moved = _device.zeros(1, np.int64)
        _device.launch(_rows.count_unequal, len(x), x, self._rest, moved)
        if int(moved.copy_to_host()[0]):
            raise ValueError(
                f"the closed mesh {self._name!r} has moved; its inside is known on a graphics card only at rest; use "
                "threads"
            )

    def with_deep(self, x: Any, pairs: Any) -> tuple[Any, Any]:
        """Return the sorted `pairs` (k,2) of vertices x (n,3) with faces, with those of vertices inside and their
        nearest faces added, and the sign (n,) of each vertex, -1 inside."""
        from ...kernels.gpu import rows as _rows
        from ...kernels.gpu import solids as kernels
        from ...kernels.gpu.sort import sort_by_key

        n = len(x)
        sign, rows, count = _device.empty((n, 1)), _device.empty(n, np.int64), _device.zeros(1, np.int64)
        _device.launch(_rows.fill_rows, n, sign, 1.0)
        sign = sign.reshape(n)
        _device.launch(kernels.list_in_box, n, x, self._bounds, rows, count)
        m = int(count.copy_to_host()[0])
        if not m:
            return pairs, sign
        rows, points = _device.part(rows, 0, m), _device.empty((m, 3))
        _device.launch(_rows.take, m, rows, x, points)
        found = self._query.query(points)
        deep, faces, count = _device.empty(m, np.int64), _device.empty(m, np.int32), _device.zeros(1, np.int64)
        _device.launch(kernels.list_negative, m, rows, found.distance, found.face, sign, deep, faces, count)
        k = int(count.copy_to_host()[0])
        if not k:
            return pairs, sign
        deep, faces = sort_by_key(_device.part(deep, 0, k), _device.part(faces, 0, k), n)
        new = _device.empty(k, np.int32)
        _device.launch(kernels.mark_new, k, pairs, deep, faces, new)
        start = _device.exclusive_sums(new)
        added = int(start[k : k + 1].copy_to_host()[0])
        if not added:
            return pairs, sign
        more, merged = _device.empty((added, 2), np.int32), _device.empty((len(pairs) + added, 2), np.int32)
        _device.launch(kernels.write_new, k, deep, faces, new, start, more)
        for one, other in ((pairs, more), (more, pairs)):
            _device.launch(kernels.merge_pairs, len(one), one, other, merged)
        return merged, sign

    def mark_inside(self, points: Any, inside: Any) -> None:
        """Mark those of the points (n,3) that are inside."""
        from ...kernels.gpu import solids as kernels

        _device.launch(kernels.mark_negative, len(points), self._query.query(points).distance, inside)


def flip_edges(
    records: Any, one: tuple[Any, Any], two: tuple[Any, Any], solids: tuple[Any, ...], margin: float
) -> None:
    """Turn the edge-edge records whose nearest points are inside the other side; one, two: positions and edges of the
    sides, solids: their insides or None."""
    from ...kernels.gpu import solids as kernels

    k = len(records)
    if not k or solids == (None, None):
        return
    inside = _device.zeros(k, np.bool_)
    for side, (x, edges), other in ((0, one, solids[1]), (1, two, solids[0])):
        if other is not None:
            points = _device.empty((k, 3))
            _device.launch(kernels.points_on_edges, k, records, x, edges, side, points)
            other.mark_inside(points, inside)
    _device.launch(kernels.flip_inside, k, inside, margin, records)
