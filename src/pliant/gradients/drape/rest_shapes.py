"""Rest shapes of triangles and hinges as functions of rest positions, and their adjoints.

The derivative with respect to a quantity is named after it, with `of_` in front.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...dynamics.weave import warp_directions
from ...mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_AXES = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


class Weave(NamedTuple):
    """What the warp of each triangle follows: the projection of an axis, or coordinates within the triangle."""

    axis: Floats  # (m,3) or zero
    along: Floats  # (m,2) of the edges from the first corner


def weave_of(mesh: Mesh, warp: str) -> Weave:
    """Return what the warp directions of a mesh follow while its vertices move."""
    along, found = np.zeros((mesh.n_faces, 2)), warp_directions(mesh, warp)
    if mesh.uv is None or warp in "xyz":
        projected = (
            _AXES[None] - np.einsum("ai,mi->ma", _AXES, mesh.face_normals)[..., None] * mesh.face_normals[:, None]
        )
        return Weave(_AXES[np.argmax(np.einsum("mai,mi->ma", _unit(projected), found), 1)], along)
    x = mesh.vertices[mesh.faces]
    edges = np.stack([x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]], 2)  # (m,3,2)
    gram = np.einsum("mik,mil->mkl", edges, edges)
    along[:] = np.linalg.solve(gram, np.einsum("mik,mi->mk", edges, found)[..., None])[..., 0]
    return Weave(np.zeros((mesh.n_faces, 3)), along)


class Triangles(NamedTuple):
    """Rest shapes of triangles, with what their adjoint needs."""

    rest: Floats  # (m,4) as Membrane.rest
    area: Floats  # (m,)
    edges: tuple[Floats, Floats]  # (m,3) from the first corner
    normal: Floats  # (m,3)
    followed: Floats  # (m,3) what the warp follows
    warp: Floats  # (m,3)
    stretch: Floats  # (m,) length of the projection of `followed`


def triangles_of(x: Floats, faces: Ints, weave: Weave) -> Triangles:
    """Return the rest shapes of faces (m,3) with rest positions x (n,3)."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    e, f = b - a, c - a
    cross = np.cross(e, f)
    size = np.linalg.norm(cross, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # the caller rejects triangles without area
        normal = cross / size[:, None]
        followed = weave.axis + weave.along[:, :1] * e + weave.along[:, 1:] * f
        projected = followed - _dot(followed, normal)[:, None] * normal
        stretch = np.linalg.norm(projected, axis=1)
        warp = projected / stretch[:, None]
        weft = np.cross(normal, warp)
        p_1, p_2, q_1, q_2 = _dot(e, warp), _dot(f, warp), _dot(e, weft), _dot(f, weft)
        rest = np.stack([q_2, -q_1, -p_2, p_1], 1) / (p_1 * q_2 - p_2 * q_1)[:, None]
    return Triangles(rest, 0.5 * size, (e, f), normal, followed, warp, stretch)


def triangles_adjoint(t: Triangles, faces: Ints, weave: Weave, of_rest: Floats, of_area: Floats, out: Floats) -> None:
    """Add to `out` (n,3) the derivatives with respect to the rest positions, given those of `rest` and `area`."""
    (e, f), warp, normal = t.edges, t.warp, t.normal
    weft, size = np.cross(normal, warp), 2.0 * t.area
    per = 1.0 / size  # the determinant of the rest edges is twice the area
    p_1, p_2, q_1, q_2 = _dot(e, warp), _dot(f, warp), _dot(e, weft), _dot(f, weft)
    of_det = -(of_rest * t.rest).sum(1) * per
    of_q_2, of_q_1 = of_rest[:, 0] * per + of_det * p_1, -of_rest[:, 1] * per - of_det * p_2
    of_p_2, of_p_1 = -of_rest[:, 2] * per - of_det * q_1, of_rest[:, 3] * per + of_det * q_2
    of_e, of_f = _sum(of_p_1, warp, of_q_1, weft), _sum(of_p_2, warp, of_q_2, weft)
    of_warp, of_weft = _sum(of_p_1, e, of_p_2, f), _sum(of_q_1, e, of_q_2, f)
    of_normal, of_warp = np.cross(warp, of_weft), of_warp + np.cross(of_weft, normal)
    of_projected = (of_warp - _dot(of_warp, warp)[:, None] * warp) / t.stretch[:, None]
    across = _dot(of_projected, normal)
    of_followed = of_projected - across[:, None] * normal
    of_normal -= _sum(_dot(t.followed, normal), of_projected, across, t.followed)
    of_e, of_f = of_e + weave.along[:, :1] * of_followed, of_f + weave.along[:, 1:] * of_followed
    of_cross = (of_normal - _dot(of_normal, normal)[:, None] * normal) * per[:, None]
    of_cross += 0.5 * of_area[:, None] * normal
    of_e, of_f = of_e + np.cross(f, of_cross), of_f + np.cross(of_cross, e)
    scatter(out, faces, np.stack([-of_e - of_f, of_e, of_f], 1))


class Hinges(NamedTuple):
    """Rest shapes of hinges a-b with the opposite corners c, d."""

    weights: Floats  # (h,4) of the Laplacian
    area: Floats  # (h,) of both triangles, m2
    bent: Floats  # (h,3) Laplacian at rest, m


def hinges_of(x: Floats, vertices: Ints) -> Hinges:
    """Return the rest shapes of hinges (h,4) with rest positions x (n,3)."""
    a, b, c, d = (x[vertices[:, k]] for k in range(4))
    ca, cb, da, db = (_cotangent(*three) for three in ((a, b, c), (b, a, c), (a, b, d), (b, a, d)))
    area = 0.5 * (np.linalg.norm(np.cross(b - a, c - a), axis=1) + np.linalg.norm(np.cross(b - a, d - a), axis=1))
    weights = np.stack([cb + db, ca + da, -ca - cb, -da - db], 1)
    return Hinges(weights, area, np.einsum("hk,hki->hi", weights, x[vertices]))


def hinges_adjoint(h: Hinges, x: Floats, vertices: Ints, given: tuple[Floats, Floats, Floats], out: Floats) -> None:
    """Add to `out` (n,3) the derivatives with respect to the rest positions, given those of the weights (h,4), the
    areas (h,) and the lengths (h,) of the Laplacian at rest."""
    of_weights, of_area, of_length = given
    length = np.linalg.norm(h.bent, axis=1)
    of_bent = h.bent * (of_length / np.maximum(length, 1e-300))[:, None]
    of_weights = of_weights + np.einsum("hi,hki->hk", of_bent, x[vertices])
    of_x = h.weights[..., None] * of_bent[:, None]
    g_a, g_b, g_c, g_d = of_weights.T
    for at, by, top, given_cotangent in (
        (0, 1, 2, g_b - g_c),
        (1, 0, 2, g_a - g_c),
        (0, 1, 3, g_b - g_d),
        (1, 0, 3, g_a - g_d),
    ):
        u, v = x[vertices[:, by]] - x[vertices[:, at]], x[vertices[:, top]] - x[vertices[:, at]]
        cross = np.cross(u, v)
        size = np.linalg.norm(cross, axis=1)
        # of the cotangent (u . v) / size, and once per triangle of half of the size
        of_size = -given_cotangent * _dot(u, v) / size**2 + (0.5 * of_area if at == 0 else 0.0)
        of_cross, share = cross * (of_size / size)[:, None], (given_cotangent / size)[:, None]
        of_u, of_v = share * v + np.cross(v, of_cross), share * u + np.cross(of_cross, u)
        of_x[:, by] += of_u
        of_x[:, top] += of_v
        of_x[:, at] -= of_u + of_v
    scatter(out, vertices, of_x)


def scatter(out: Floats, rows: NDArray[np.integer], values: Floats) -> None:
    """Add values (k,c,3) to the rows (k,c) of `out` (n,3), in a fixed order."""
    for axis in range(3):
        out[:, axis] += np.bincount(rows.ravel(), values[..., axis].ravel(), len(out))


def _cotangent(at: Floats, p: Floats, q: Floats) -> Floats:
    u, v = p - at, q - at
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(_dot(u, v) / np.linalg.norm(np.cross(u, v), axis=1))


def _dot(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.einsum("mi,mi->m", a, b))


def _sum(p: Floats, a: Floats, q: Floats, b: Floats) -> Floats:
    return p[:, None] * a + q[:, None] * b


def _unit(a: Floats) -> Floats:
    return np.asarray(a / np.maximum(np.linalg.norm(a, axis=-1, keepdims=True), 1e-300))
