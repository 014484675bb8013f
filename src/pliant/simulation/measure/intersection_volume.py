"""Measure the intersection volumes of bodies of a scene, frame by frame."""

import numpy as np
from numpy.typing import NDArray

from ...detect.queries.overlap import Overlaps
from ...report.intersection_volume import IntersectionVolume
from ...scene import Scene

Floats = NDArray[np.float64]


class IntersectionVolumeMeasurement:
    """Measures the intersection volumes listed in `scene.overlaps`."""

    def __init__(self, scene: Scene, frames: int) -> None:
        self.scene = scene
        self._found = [
            IntersectionVolume((a, b), np.zeros(frames), np.zeros(frames), [None] * frames) for a, b in scene.overlaps
        ]
        self._queries = [
            Overlaps(scene.bodies[a].mesh, scene.bodies[b].mesh, resolution=scene.overlap_resolution)
            for a, b in scene.overlaps
        ]

    def at(self, frame: int, x: Floats) -> None:
        """Measure all pairs at positions x (n,3) and store them under `frame`."""
        for found, query in zip(self._found, self._queries, strict=True):
            rows = (self.scene.rows(b).start for b in found.bodies)
            places = [x[first : first + s.n_vertices] for first, s in zip(rows, query.surfaces, strict=True)]
            shared = query.at(*places)
            found.volume[frame], found.bound[frame] = shared.volume, shared.bound
            found.meshes[frame] = shared.mesh()

    @property
    def found(self) -> tuple[IntersectionVolume, ...]:
        return tuple(self._found)
