"""A life-size bust, cut flat below the shoulders."""

import functools

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats
from .body_parts import CHEST, HEAD, NECK
from .implicit import Part, moved, slab
from .polygonise import Zoom, polygonised

HEAD_HEIGHT = 0.336  # metres from the base to the head's origin; the crown is at 0.45
PARTS: tuple[Part, ...] = (*moved(HEAD + NECK + CHEST, (0, HEAD_HEIGHT, 0)), slab(-1.0, 0.0, blend=0.035))
ZOOM = Zoom(0.14, 0.22, 1.9)


@check_arguments
def bust(detail: float = 1.0) -> Mesh:
    """A closed bust of head, neck, shoulders and chest, 0.45 m tall, standing on y = 0 and facing +z.

    About 19 000 faces, finer on the face; `detail` (0.5 to 2) divides the length of all edges.
    """
    return _bust(validate.number("detail", detail, low=0.5, high=2.0))


@functools.lru_cache(4)
def _bust(detail: float) -> Mesh:
    low, high = np.array([-0.23, 0.0, -0.22]), np.array([0.23, 0.46, 0.23])
    x, faces = polygonised(PARTS, low, high, 0.0125 / detail, zoom=ZOOM, fine=(_face, _mouth))
    x[np.abs(x[:, 1]) < 1e-6, 1] = 0.0  # the base is exactly flat
    return Mesh(x, faces, name="bust")


def _face(p: Floats) -> NDArray[np.bool_]:
    """True on the front of the face and on the ears."""
    x, y, z = np.abs(p[:, 0]), p[:, 1] - HEAD_HEIGHT, p[:, 2]
    front = (y > -0.090) & (y < 0.026) & (z > 0.05) & (x < 0.024 + 0.35 * np.maximum(0.0, y + 0.06))
    ear = (np.abs(y + 0.006) < 0.036) & (np.abs(z + 0.012) < 0.024) & (x > 0.062)
    return front | ear


def _mouth(p: Floats) -> NDArray[np.bool_]:
    y = p[:, 1] - HEAD_HEIGHT
    return (np.abs(p[:, 0]) < 0.027) & (y > -0.082) & (y < -0.056) & (p[:, 2] > 0.06)
