"""The inputs of a drape with respect to which it is differentiated, and their derivatives, by the same names."""

import dataclasses
from typing import Any

import numpy as np

from ...errors import unknown_option

MATERIAL = ("stretch", "stretch_weft", "shear", "bend", "density", "damping", "air")
POSITIVE = ("stretch", "stretch_weft", "shear", "bend", "density")


@dataclasses.dataclass(frozen=True, eq=False)
class DrapeValues:
    """Inputs of a drape, or derivatives with respect to each of them.

    x, v (n,3): positions and velocities at the start. rest (n,3): rest positions. stretch, stretch_weft, shear (N/m),
    bend (N m), density (kg/m2), damping (m2/s) and air (kg/m3): as those of `Cloth`. friction: coefficient on bodies.
    pins (frames+1, k, 3): positions of the held vertices, pins before grips, at each frame. body (b,3) or
    (frames+1, b, 3): vertices of all obstacles, in the order of the scene.
    """

    x: Any = None
    v: Any = None
    rest: Any = None
    stretch: Any = None
    stretch_weft: Any = None
    shear: Any = None
    bend: Any = None
    density: Any = None
    damping: Any = None
    air: Any = None
    friction: Any = None
    pins: Any = None
    body: Any = None

    def __repr__(self) -> str:
        shapes = {name: np.shape(value) for name, value in vars(self).items() if value is not None}
        return f"<{type(self).__name__}: {', '.join(f'{name} {shape}' for name, shape in shapes.items())}>"


NAMES = tuple(field.name for field in dataclasses.fields(DrapeValues))


def check_names(given: Any) -> None:
    """Raise an error if a name is not one of NAMES."""
    for name in given:
        if name not in NAMES:
            raise unknown_option("a differentiable drape", name, NAMES)
