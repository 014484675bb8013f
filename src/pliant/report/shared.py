"""The volumes that bodies of a scene share, frame by frame."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.image_space import Overlaps
from ..mesh import Mesh
from ..scene import Scene
from .overlay import Overlay

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class SharedVolume:
    """Of two bodies: volume and bound (T,), cubic metres, and a mesh of it for each frame, None where there is none."""

    bodies: tuple[int, int]
    volume: Floats
    bound: Floats
    meshes: list[Mesh | None]

    @property
    def overlay(self) -> Overlay:
        return Overlay(self.meshes)

    @property
    def readings(self) -> list[str]:
        """What is shared in each frame, as a person reads it."""
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
    """A volume and how far it can be off, in litres."""
    return f"{1e3 * volume:.3f} ± {1e3 * bound:.3f} l" if volume > 0.0 or bound > 0.0 else "none"


class SharedCounter:
    """Measures the shared volumes that a scene asks for."""

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
        """Of all bodies at positions x (n,3)."""
        for found, ask in zip(self._found, self._ask, strict=True):
            rows = (self.scene.rows(b).start for b in found.bodies)
            places = [x[first : first + s.n_vertices] for first, s in zip(rows, ask.surfaces, strict=True)]
            shared = ask.at(*places)
            found.volume[frame], found.bound[frame] = shared.volume, shared.bound
            found.meshes[frame] = shared.mesh()

    @property
    def found(self) -> tuple[SharedVolume, ...]:
        return tuple(self._found)
