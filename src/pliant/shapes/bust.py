"""A head-like bust, life size, cut flat below the shoulders."""

import functools

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..mesh import Mesh
from ..validate import Floats
from .figure import CHEST, HEAD, NECK
from .implicit import Part, moved, slab
from .polygonise import polygonised

HEAD_HEIGHT = 0.336  # of the head's origin above the base, so that the crown is at 0.45
PARTS: tuple[Part, ...] = (*moved(HEAD + NECK + CHEST, (0, HEAD_HEIGHT, 0)), slab(-1.0, 0.0, blend=0.02))


def bust(detail: float = 1.0) -> Mesh:
    """Head, neck, shoulders and chest, closed, 0.45 m tall on y = 0, looking along +z.

    About 16 000 faces, finer on the face; `detail` (0.5 to 3) divides the length of all edges.
    """
    return _bust(validate.number("detail", detail, low=0.5, high=3.0))


@functools.lru_cache(4)
def _bust(detail: float) -> Mesh:
    low, high = np.array([-0.23, 0.0, -0.16]), np.array([0.23, 0.46, 0.13])
    x, faces = polygonised(PARTS, low, high, 0.0105 / detail, fine=(_face, _features))
    x[np.abs(x[:, 1]) < 1e-6, 1] = 0.0  # the base is flat to the last bit
    return Mesh(x, faces, name="bust")


def _face(p: Floats) -> NDArray[np.bool_]:
    """The front of the head, and the ears."""
    x, y, z = np.abs(p[:, 0]), p[:, 1] - HEAD_HEIGHT, p[:, 2]
    front = (y > -0.112) & (y < 0.045) & (z > 0.035)
    ear = (np.abs(y + 0.006) < 0.042) & (np.abs(z + 0.012) < 0.028) & (x > 0.05)
    return front | ear


def _features(p: Floats) -> NDArray[np.bool_]:
    """Eyes, nose and mouth."""
    x, y, z = np.abs(p[:, 0]), p[:, 1] - HEAD_HEIGHT, p[:, 2]
    return (y > -0.084) & (y < 0.022) & (z > 0.05) & (x < 0.018 + 0.35 * np.maximum(0.0, y + 0.06))
