"""Rest scale: the rest lengths of cloth shrink or grow, along warp and weft or by vertex, while stitches close."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics.cloth import Membrane
from ..scene import Body, Scene
from .springs import closed_share

Floats = NDArray[np.float64]


def scales_of(body: Body, rows: NDArray[Any]) -> Floats:
    """Return the scales (k,2) along warp and weft of elements with the vertices `rows` (k,c) of a body's welded mesh:
    the mean of those of their vertices, where these have their own."""
    if isinstance(body.rest_scale, tuple):
        return np.tile(np.array(body.rest_scale), (len(rows), 1))
    mesh = body.mesh
    welded = np.ones(mesh.welded.n_vertices)
    welded[mesh.weld_index] = body.rest_scale
    return np.repeat(welded[rows].mean(1), 2).reshape(-1, 2)


class RestScaling:
    """Scales the rest shapes of a membrane by the `rest_scale` of its cloths, from 1 at the start."""

    def __init__(self, scene: Scene, membrane: Membrane) -> None:
        rows = membrane.faces + scene.deformable_rows.start
        body_of, scales = np.searchsorted(scene.first, rows[:, 0], side="right") - 1, np.ones((len(rows), 2))
        for b in scene.cloths:
            own = body_of == b
            scales[own] = scales_of(scene.bodies[b], rows[own] - int(scene.first[b]))
        self._scale = np.repeat(scales, 2, axis=1)
        self._membrane, self._closing = membrane, scene.closing
        self._rest = membrane.rest.copy() if (scales != 1.0).any() else None
        self.scale_at(np.inf)

    @property
    def scales(self) -> bool:
        """Whether any scale differs from 1."""
        return self._rest is not None

    def scale_at(self, time: float) -> None:
        """Set the rest shapes to those at `time` seconds."""
        if self._rest is not None:
            scale = 1.0 + (self._scale - 1.0) * closed_share(time, self._closing)
            np.divide(self._rest, scale, out=self._membrane.rest)
