"""A distance field on a graphics card: distances, gradients and normals at points that live there."""

from typing import Any

import numpy as np

from ... import arrays
from ...kernels import device as _device
from ...kernels.fields.dense import VANISHED
from .sampled import Sampled

# kinds of fields that can be sampled there: the module of kernels and the kernel, by the class that holds the values
_KERNELS = {"Bricks": ("fields.bricks_at", "sample_each"), "Dense": ("fields.dense", "sample_points")}


class FieldOnCard:
    """A `DistanceField` whose values were copied to the card; `field.to("cuda")` makes it.

    field: the one on the host. nbytes: memory of the card that it takes.
    """

    def __init__(self, field: Sampled) -> None:
        grid: Any = getattr(field, "grid", None)
        if type(grid).__name__ not in _KERNELS:
            kind = type(field).__name__
            raise ValueError(
                f"a field of class {kind} does not run on a graphics card; use a DistanceField, or threads"
            )
        arrays.chosen("cuda")
        self.field, self._view = field, _device.upload(grid)
        self.nbytes: int = sum(int(part.nbytes) for part in grid if isinstance(part, np.ndarray))
        module, name = _KERNELS[type(grid).__name__]
        self._kernel = getattr(_device.twin(module), name)

    def __repr__(self) -> str:
        return f"<FieldOnCard of {self.field.mesh.name!r}, {self.nbytes:,} bytes>"

    def probe(self, points: Any, distance: Any = None, gradient: Any = None) -> tuple[Any, Any]:
        """Return signed distance (n,) and gradient (n,3) at points (n,3) on the card, in arrays that are passed, or in
        new ones; bitwise those of threads, nan beyond the band, and for points that are not finite."""
        p = arrays.floats("points", points, (None, 3), finite=False)
        d = arrays.result("distance", distance, np.float64, (len(p),))
        g = arrays.result("gradient", gradient, np.float64, (len(p), 3))
        _device.launch(self._kernel, len(p), self._view, p, d, g)
        return d, g

    def sample(self, points: Any, distance: Any = None, normal: Any = None) -> tuple[Any, Any]:
        """Return signed distance (n,) and unit normal (n,3), as `DistanceField.sample`, at points on the card.

        Where the gradient vanishes, on the medial axis, the normal is that of the nearest triangle, which the exact
        query on the host finds for these points.
        """
        from ...kernels.gpu import normals
        from ...kernels.gpu import rows as _rows

        d, n = self.probe(points, distance, normal)
        count, rows = _device.zeros(1, np.int64), _device.empty(len(d), np.int64)
        _device.launch(normals.normalise, len(d), n, VANISHED, rows, count)
        vanished = int(count.copy_to_host()[0])
        if vanished:
            rows = rows[:vanished]
            at = _device.empty((vanished, 3))
            _device.launch(_rows.take, vanished, rows, _device.view(points), at)
            exact = self.field.exact.query(at.copy_to_host())[3]
            _device.launch(_rows.put, vanished, rows, _device.upload(exact), n)
        return d, n
