"""A standing mannequin for garments: 1.75 m tall, arms lowered to the sides, legs apart."""

import functools

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..validate import Floats
from .body_parts import ARMS, FLOOR, HEAD, LEGS, NECK, PALMS, STANDING, THUMBS, TORSO
from .implicit import Part, grown, moved
from .polygonise import Zoom, polygonised

BODY: tuple[Part, ...] = (*moved(HEAD + NECK, (0, STANDING, 0)), *TORSO, *LEGS, *ARMS)
PARTS: tuple[Part, ...] = (*BODY, *PALMS, *THUMBS, *FLOOR)
ZOOM = Zoom(1.44, 1.52, 2.1)


@check_arguments
def mannequin(detail: float = 1.0) -> Mesh:
    """A closed mannequin, 1.75 m tall, standing on y = 0 and facing +z, its left hand at +x.

    About 32 000 faces, finer on face, hands and feet; `detail` (0.7 to 2) divides the length of all edges; below 1
    the hands are mittens without thumbs.
    """
    return _mannequin(validate.number("detail", detail, low=0.7, high=2.0))


@functools.lru_cache(4)
def _mannequin(detail: float) -> Mesh:
    low, high = np.array([-0.68, 0.0, -0.25]), np.array([0.68, 1.76, 0.26])
    parts = PARTS
    if detail < 1.0:
        # at this spacing the sampled hands would have holes, so they are thickened
        parts = (*BODY, *grown(PALMS, 0.016 * (1.0 / detail - 1.0)), *FLOOR)
    x, faces = polygonised(parts, low, high, 0.0162 / detail, zoom=ZOOM, fine=(_small,))
    x[np.abs(x[:, 1]) < 1e-6, 1] = 0.0
    return Mesh(x, faces, name="mannequin")


def _small(p: Floats) -> NDArray[np.bool_]:
    """True on the front of the face, on hands and on feet."""
    x, y = np.abs(p[:, 0]), p[:, 1] - STANDING
    face = (y > -0.090) & (y < 0.026) & (p[:, 2] > 0.05)
    return face | (x > 0.52) | (p[:, 1] < 0.08)
