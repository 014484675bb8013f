"""The detector `distance-field` on a graphics card: the same records in the same order, for positions that live
there."""

from typing import Any, Self

import numpy as np

from ... import arrays
from ...contacts import CONTACT
from ...kernels import device as _device
from ..contacts_on_card import ContactsOnCard
from ..fields.field import DistanceField
from .distance_field import DistanceFieldDetector, reach_of


class FieldOnCard:
    """`DistanceFieldDetector` on the card. The obstacle stays where its field was baked."""

    def __init__(self, detector: DistanceFieldDetector) -> None:
        from ...kernels.gpu import field_records as kernels

        arrays.chosen("cuda")
        field = detector.field
        if not isinstance(field, DistanceField):
            raise ValueError(
                f"a field of class {type(field).__name__} does not run on a graphics card; use field='bricks' or "
                "'dense', or threads"
            )
        self._kernels, self._field, self._obstacle = kernels, field, detector.obstacle.mesh.name
        self._marks, self._midpoints, self._write = kernels.DETECTION[type(field.grid).__name__]
        known, slack, _ = reach_of(field, detector.obstacle.mesh, detector.within)
        self._reach = kernels.Reach(float(detector.within), float(slack), float(known))
        self._grid, self._edges = _device.upload(field.grid), _device.upload(detector.edges)
        bodies = detector.deformable.body, detector.obstacle.body
        self._bodies = _device.upload(np.array(bodies, np.int32))
        self._rest = _device.upload(getattr(detector, "_shape", detector.obstacle.mesh.vertices))
        self._x: Any = None

    def update(self, x_a: Any, x_b: Any = None) -> Self:
        """Set the positions (n,3) of the cloth, an array on the card that must not change until contacts are found."""
        if x_b is not None:
            from ...kernels.gpu import rows as _rows

            moved = _device.zeros(1, np.int64)
            _device.launch(_rows.count_unequal, len(x_b), x_b, self._rest, moved)
            if int(moved.copy_to_host()[0]):
                raise ValueError(
                    f"the mesh {self._obstacle!r} has moved; on a graphics card its field is not baked again; use "
                    "'bvh', or threads"
                )
        self._x = x_a
        return self

    def find(self) -> ContactsOnCard:
        """Return the contacts at the last positions."""
        n, m = len(self._x), len(self._edges)
        cloth = self._kernels.Cloth(self._x, self._edges, self._bodies)
        distance, near = _device.empty(n), _device.empty(n + m, np.int32)
        for mark, count in ((self._marks, n), (self._midpoints, m)):
            _device.launch(mark, count, self._grid, self._reach, cloth, distance, near)
        start = _device.exclusive_sums(near)
        total = int(start[n + m : n + m + 1].copy_to_host()[0])
        records = _device.empty(total, CONTACT)
        if total:
            from ...kernels.gpu.records import Unsure

            unsure: Any = Unsure(_device.empty(total, np.int64), _device.zeros(1, np.int64))
            marked = self._kernels.Marked(near, start)
            _device.launch(self._write, n + m, self._grid, cloth, marked, _device.words(records), unsure)
            left = int(unsure.count.copy_to_host()[0])
            if left:
                self._complete(records, unsure.rows[:left])
        return ContactsOnCard(records)

    def _complete(self, records: Any, rows: Any) -> None:
        """Give the listed records, on the medial axis, the normals of the nearest triangles, as threads do."""
        from ...kernels.gpu import rows as _rows

        some = _device.empty(len(rows), CONTACT)
        _device.launch(_rows.take, len(rows), rows, _device.words(records), _device.words(some))
        found = some.copy_to_host()
        at = found["anchor"]  # without a normal, the anchor is the point itself
        found["normal"] = self._field.exact.query(at)[3]
        found["anchor"] = at - found["distance"][:, None] * found["normal"]
        _device.launch(_rows.put, len(rows), rows, _device.words(_device.upload(found)), _device.words(records))
