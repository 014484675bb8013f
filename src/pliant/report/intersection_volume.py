"""Measured intersection volumes of two bodies, frame by frame, as reports show them;
`simulation/measure/intersection_volume.py` measures them."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .overlay import Overlay

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class IntersectionVolume:
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
