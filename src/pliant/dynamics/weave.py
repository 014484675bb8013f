"""The weave of cloth: the direction of its warp at every triangle, and bending that differs between warp and weft."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_PROJECTED = 0.3  # length of the projection of an axis below which another axis gives the direction
_LEAST = 0.05  # rigidity of a hinge over the lower of the two of the cloth, at least
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


class Hinged(NamedTuple):
    """Pairs of triangles before they are ordered by colour."""

    vertices: Ints  # (h,4) edge a-b, opposite corners c, d
    face: Ints  # (h,) the triangle a, b, c
    weights: Floats  # (h,4) of the discrete Laplacian across the edge
    area: Floats  # (h,) of both triangles, m2


def warp_directions(mesh: Mesh, warp: str = "auto") -> Floats:
    """Return the unit direction (m,3) of the warp in the plane of every triangle at rest.

    warp: "v" or "u", along which texture coordinate it runs; "x", "y" or "z", the axis that is projected on the
    triangles; or "auto": "v" where the mesh has texture coordinates (the grain line of a pattern is vertical),
    otherwise y, or x for cloth that lies flat. Triangles whose texture has no area, or on which the projected axis
    is nearly perpendicular, take the axis that is next best. Triangles without area have an arbitrary direction.
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


def hinge_rigidities(mesh: Mesh, hinges: Hinged, warp: Floats, rigidity: tuple[float, float]) -> Floats:
    """Return the bending rigidity (h,) of each hinge, N m, such that bending along warp and along weft costs what
    `rigidity` says, summed over all hinges.

    A hinge bends across its edge. A fold along one direction bends edges of all directions, those across it most:
    the rigidities of edges across the warp and across the weft are solved for, and those between are interpolated by
    the square of the cosine. warp: (m,3) of every triangle.
    """
    low, high = min(rigidity), max(rigidity)
    if low == high:
        return np.full(len(hinges.vertices), low)
    at, across = _unfolded(mesh, hinges, warp)
    share = across**2  # of warp and weft in the direction in which the hinge bends
    bent = np.einsum("hi,hid->hd", hinges.weights, 0.5 * at**2) ** 2 / hinges.area[:, None]  # by a unit curvature
    own = np.linalg.lstsq(bent.T @ share, bent.sum(0) * np.asarray(rigidity))[0]
    return np.clip(share @ own, _LEAST * low, high / _LEAST)


def _unfolded(mesh: Mesh, hinges: Hinged, warp: Floats) -> tuple[Floats, Floats]:
    """Return the corners (h,4,2) of hinges unfolded to a plane, along warp and weft; and the direction (h,2) across
    their edge, a unit vector."""
    a, b, c, d = (mesh.vertices[hinges.vertices[:, k]] for k in range(4))
    length = np.linalg.norm(b - a, axis=1)
    edge = (b - a) / length[:, None]
    plane = [np.stack([0.0 * length, 0.0 * length], 1), np.stack([length, 0.0 * length], 1)]
    for opposite, side in ((c, 1.0), (d, -1.0)):
        along = ((opposite - a) * edge).sum(1)
        plane.append(np.stack([along, side * np.linalg.norm(opposite - a - along[:, None] * edge, axis=1)], 1))
    beside = np.cross(mesh.face_normals[hinges.face], edge)
    beside *= np.sign(((c - a) * beside).sum(1))[:, None]
    cos, sin = ((warp[hinges.face] * direction).sum(1) for direction in (edge, beside))
    turn = np.stack([np.stack([cos, sin], 1), np.stack([-sin, cos], 1)], 1)  # warp and weft in (edge, beside)
    return np.einsum("hkj,hij->hik", turn, np.stack(plane, 1)), turn[:, :, 1]
