"""The weave of cloth: the direction of its warp at every triangle, and rest shapes in its frame."""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_PROJECTED = 0.3  # length of the projection of an axis below which another axis gives the direction
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def warp_directions(mesh: Mesh, warp: str = "auto") -> Floats:
    """Return the unit direction (m,3) of the warp in the plane of every triangle at rest.

    warp: "v" or "u", along which texture coordinate it runs; "x", "y" or "z", the axis that is projected on the
    triangles; or "auto": "v" where the mesh has texture coordinates (the grain line of a pattern is vertical),
    otherwise y, or x for cloth that lies flat. Triangles whose texture has no area take a projected axis, and triangles
    to which the axis is nearly perpendicular take the next one. Triangles without area have an arbitrary direction.
    """
    x = mesh.vertices[mesh.faces]
    e_1, e_2 = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    found = _projected(mesh.face_normals, warp if warp in _AXES else _axis_of(mesh))
    if warp not in _AXES and mesh.uv is not None:
        along = _along_texture(mesh.uv, e_1, e_2, "v" if warp == "auto" else warp)
        length = np.linalg.norm(along, axis=1)
        good = np.isfinite(length) & (length > 0.0)
        found[good] = along[good] / length[good, None]
    return found


def _axis_of(mesh: Mesh) -> str:
    """Return y, unless most of the cloth lies flat: then x."""
    flat = mesh.face_areas @ mesh.face_normals[:, 1] ** 2 > 0.5 * mesh.face_areas.sum()
    return "x" if flat else "y"


def _projected(normal: Floats, axis: str) -> Floats:
    """Return an axis projected on planes (m,3), normalised; where it is nearly perpendicular, the next axis."""
    found = np.zeros_like(normal)
    left = np.ones(len(normal), np.bool_)
    for name in (axis, *(other for other in "yxz" if other != axis)):
        d = np.asarray(_AXES[name])
        along = d - (normal @ d)[:, None] * normal
        length = np.linalg.norm(along, axis=1)
        take = left & (length > _PROJECTED)
        found[take] = along[take] / length[take, None]
        left &= ~take
    return found


def _along_texture(uv: Floats, e_1: Floats, e_2: Floats, name: str) -> Floats:
    """Return the direction (m,3) on every triangle in which one texture coordinate grows and the other does not."""
    (u_1, v_1), (u_2, v_2) = (uv[:, 1] - uv[:, 0]).T, (uv[:, 2] - uv[:, 0]).T
    turn = np.sign(u_1 * v_2 - u_2 * v_1)[:, None]
    if name == "v":
        return turn * (u_1[:, None] * e_2 - u_2[:, None] * e_1)
    return turn * (v_2[:, None] * e_1 - v_1[:, None] * e_2)


def rest_shapes(mesh: Mesh, good: Ints, warp: Floats) -> Floats:
    """Return (k,4) the inverse of the rest edges e_1, e_2 of the faces `good` in the frame of warp (m,3) and weft, 1/m.

    The images of the unit vectors along warp and weft are then r_0 e_1 + r_1 e_2 and r_2 e_1 + r_3 e_2.
    """
    x = mesh.vertices[mesh.faces[good]]
    e_1, e_2 = x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]
    weft = np.cross(mesh.face_normals[good], warp[good])
    p_1, p_2, q_1, q_2 = ((e * d).sum(1) for d in (warp[good], weft) for e in (e_1, e_2))
    return np.stack([q_2, -q_1, -p_2, p_1], 1) / (p_1 * q_2 - p_2 * q_1)[:, None]
