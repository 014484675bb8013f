"""Intersection volumes of bodies of a scene, frame by frame."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.overlap import Overlaps
from ..mesh import Mesh
from ..scene import Scene
from .overlay import Overlay

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class SharedVolume:
    """Intersection of two bodies: volume and error bound (T,), cubic metres, and its mesh per frame (None: empty)."""

    bodies: tuple[int, int]
    volume: Floats
    bound: Floats
    meshes: list[Mesh | None]

    @property
    def overlay(self) -> Overlay:
        return Overlay(self.meshes)

    @property
    def readings(self) -> list[str]:
        """The volume in each frame as readable text."""
        return [litres(v, b) for v, b in zip(self.volume, self.bound, strict=True)]

    @property
    def summary(self) -> dict[str, Any]:
        most = int(np.argmax(self.volume))
        return {
            "bodies": list(self.bodies),
            "most_m3": float(self.volume[most]),
            "most_bound_m3": float(self.bound[most]),
            "most_frame": most,
            "frames_shared": int((self.volume > 0.0).sum()),
            "volume_m3": self.volume.tolist(),
            "bound_m3": self.bound.tolist(),
        }


def litres(volume: float, bound: float) -> str:
    """A volume and its error bound as text, in litres."""
    return f"{1e3 * volume:.3f} ± {1e3 * bound:.3f} l" if volume > 0.0 or bound > 0.0 else "none"


class SharedCounter:
    """Measures the intersection volumes listed in `scene.overlaps`."""

    def __init__(self, scene: Scene, frames: int) -> None:
        self.scene = scene
        self._found = [
            SharedVolume((a, b), np.zeros(frames), np.zeros(frames), [None] * frames) for a, b in scene.overlaps
        ]
        self._ask = [
            Overlaps(scene.bodies[a].mesh, scene.bodies[b].mesh, resolution=scene.overlap_resolution)
            for a, b in scene.overlaps
        ]

    def at(self, frame: int, x: Floats) -> None:
        """Measure all pairs at positions x (n,3) and store them under `frame`."""
        for found, ask in zip(self._found, self._ask, strict=True):
            rows = (self.scene.rows(b).start for b in found.bodies)
            places = [x[first : first + s.n_vertices] for first, s in zip(rows, ask.surfaces, strict=True)]
            shared = ask.at(*places)
            found.volume[frame], found.bound[frame] = shared.volume, shared.bound
            found.meshes[frame] = shared.mesh()

    @property
    def found(self) -> tuple[SharedVolume, ...]:
        return tuple(self._found)
