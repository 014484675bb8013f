"""Rest scale: the rest lengths of cloth shrink or grow, along warp and weft, while stitches close."""

import numpy as np

from ..kernels.dynamics.cloth import Membrane
from ..scene import Scene
from .springs import closed_share


class RestScaling:
    """Scales the rest shapes of a membrane by the `rest_scale` of its cloths, from 1 at the start."""

    def __init__(self, scene: Scene, membrane: Membrane) -> None:
        scales = np.ones((len(scene.bodies), 2))
        for b in scene.cloths:
            scales[b] = scene.bodies[b].rest_scale
        rows = membrane.faces[:, 0] + scene.deformable_rows.start
        self._scale = np.repeat(scales[np.searchsorted(scene.first, rows, side="right") - 1], 2, axis=1)
        self._membrane, self._closing = membrane, scene.closing
        self._rest = membrane.rest.copy() if (scales != 1.0).any() else None
        self.scale_at(np.inf)

    def scale_at(self, time: float) -> None:
        """Set the rest shapes to those at `time` seconds."""
        if self._rest is not None:
            scale = 1.0 + (self._scale - 1.0) * closed_share(time, self._closing)
            np.divide(self._rest, scale, out=self._membrane.rest)
