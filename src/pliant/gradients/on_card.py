"""The nearest features of points that live on a graphics card, for bodies whose sides normals give (docs/gpu.md)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.closest_point import ClosestPoints
from ..kernels import device as _device
from ..kernels.gradients.stencils import Limits, Nearest, Stencils
from ..mesh import Mesh
from .bodies import DOUBLE, find_stencils

Floats = NDArray[np.float64]


class BodyOnCard:
    """A body whose surface was copied to the card. ValueError if its sides need winding numbers."""

    def __init__(self, vertices: Floats, faces: NDArray[np.int32]) -> None:
        self.vertices, self.faces = vertices, faces
        self._query = ClosestPoints(Mesh(vertices, faces, name="body")).to("cuda")
        self._rows = _device.upload(np.ascontiguousarray(faces, np.int32))

    def stencils(self, points: Any, limits: Limits = DOUBLE) -> Stencils:
        """The `find_stencils` of points (n,3) on the card, bitwise, as arrays there.

        Points within rounding of the surface are completed by threads.
        """
        from ..kernels.gpu import stencils as _completed

        p, found, barycentric, sign, signed = self._query.features(points)
        n, kernels = len(p), _device.twin("gradients.stencils")
        three = (n, 3)
        out = Stencils(
            _device.empty(n, np.uint8),
            _device.empty(three, np.int64),
            _device.empty(n),
            _device.empty(three),
            signed.normal,
            _device.upload(np.full(three, -1, np.int64)),
            signed.distance,
        )
        nearest = Nearest(p, found, barycentric)
        _device.launch(kernels.fill_stencils, n, self._query.surface, self._rows, nearest, limits, out)
        rows, count = _device.empty(n, np.int64), _device.zeros(1, np.int64)
        _device.launch(_completed.list_open, n, out.kind, sign, out.distance, self._query.margin, rows, count)
        left = int(count.copy_to_host()[0]) if n else 0
        if left:
            self._complete(p, rows[:left], limits, out)
        return out

    def _complete(self, p: Any, rows: Any, limits: Limits, out: Stencils) -> None:
        """Overwrite the listed rows with what threads find."""
        from ..kernels.gpu import rows as _rows

        m = len(rows)
        at = _device.empty((m, 3))
        _device.launch(_rows.take, m, rows, p, at)
        for there, values in zip(out, find_stencils(at.copy_to_host(), self.vertices, self.faces, limits), strict=True):
            width = values.shape[1] if values.ndim == 2 else 1
            put = _device.upload(np.ascontiguousarray(values.reshape(m, width)))
            _device.launch(_rows.put, m, rows, put, there.reshape(len(there), width))
