"""A face as a height field, and as a closed plate with the face in relief (the obstacle of Neal 2003)."""

import functools

import numpy as np

from .. import validate
from ..arguments import check_arguments
from ..kernels.geometry import raster
from ..mesh import Mesh
from ..validate import Floats
from .bust import HEAD_HEIGHT, bust
from .sheets import lattice_faces

WIDTH, LENGTH, THICKNESS = 0.36, 0.44, 0.03  # metres: the plate along x and z, and its thickness below y = 0
_LEVEL = 0.018  # metres from the head's centre to the plate's surface, which cuts the head in front of the ears
_MIDDLE = HEAD_HEIGHT - 0.02  # height in the bust that is mapped to the centre of the plate
_BLEND = 0.012  # width of the blend between face and plate, metres
_NECK = (0.13, 0.24)  # metres below the centre between which the bust sinks into the plate


@check_arguments
def face_heights(resolution: int = 111) -> Floats:
    """(ni,nj) heights above the plate in metres: rows along z (the chin last), columns along x.

    `resolution` is the number of nodes along the length of 44 cm; the nodes span the plate from edge to edge.
    """
    return _heights(validate.whole("resolution", resolution, low=16, high=4096)).copy()


@check_arguments
def face(resolution: int = 111) -> Mesh:
    """The closed plate with the face pointing up; its bottom is at y = -3 cm, its surface at y = 0."""
    return _face(validate.whole("resolution", resolution, low=16, high=2048))


@functools.lru_cache(4)
def _heights(count: int) -> Floats:
    z, x = _nodes(count)
    body = bust()
    # the bust from the front: its x is x here, its y is -z, and its z is the height
    screen = np.empty_like(body.vertices)
    screen[:, 0] = (body.vertices[:, 0] - x[0]) / (x[1] - x[0]) + 0.5
    screen[:, 1] = (_MIDDLE - body.vertices[:, 1] - z[0]) / (z[1] - z[0]) + 0.5
    screen[:, 2] = -body.vertices[:, 2]
    depth, _, _ = raster.depth(screen, body.faces, len(x), len(z))
    h = np.where(np.isfinite(depth), -depth, -1.0) - _LEVEL
    # the neck sinks into the plate; the surface is the smooth maximum of both
    s = np.clip((z - _NECK[0]) / (_NECK[1] - _NECK[0]), 0.0, 1.0)[:, None]
    h = h - 0.2 * s * s * (3.0 - 2.0 * s)
    t = np.clip(0.5 + 0.5 * h / _BLEND, 0.0, 1.0)
    return t * h + _BLEND * t * (1.0 - t)


@functools.lru_cache(4)
def _face(count: int) -> Mesh:
    h = _heights(count)
    z, x = _nodes(count)
    ni, nj = h.shape
    top = np.stack(np.broadcast_arrays(x[None, :], h, z[:, None]), 2).reshape(-1, 3)
    bottom = top * (1.0, 0.0, 1.0) - (0.0, THICKNESS, 0.0)
    upper = lattice_faces(nj, ni)[:, ::-1]  # with x before z the normals point down, so the faces are reversed
    rim = np.concatenate([np.arange(nj), nj * np.arange(1, ni) + nj - 1])
    rim = np.concatenate([rim, nj * ni - 2 - np.arange(nj - 1), nj * np.arange(ni - 2, 0, -1)])
    a, b = rim, np.roll(rim, -1)
    low = len(top)
    walls = np.concatenate([np.stack([a, b, b + low], 1), np.stack([a, b + low, a + low], 1)])
    faces = np.concatenate([upper, walls, upper[:, ::-1] + low]).astype(np.int32)
    return Mesh(np.concatenate([top, bottom]), faces, name="face")


def _nodes(count: int) -> tuple[Floats, Floats]:
    """Coordinates of the nodes along z and x."""
    across = 1 + round((count - 1) * WIDTH / LENGTH)
    return np.linspace(-0.5, 0.5, count) * LENGTH, np.linspace(-0.5, 0.5, across) * WIDTH
