"""Bending rigidity of hinges, calibrated so that cloth bends as its material says along warp and along weft.

A hinge bends across its edge. A fold along one direction bends edges of all directions, those across it most; and the
vertices of a mesh that bends settle into a fine pattern that costs less than a smooth cylinder, by a tenth to a fifth
on common meshes however fine (E. Grinspun and others 2006 on the convergence of hinge energies). Both are computed
for the mesh at rest, in the linear theory of plates.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_LEAST = 0.05  # bounds of the rigidity of a hinge: this times the lower rigidity of the cloth, the higher one over this
_ITERATIONS = 15  # of conjugate gradients: the pattern is local, so few suffice at every resolution
_SIDE = 0.95  # cosine between a boundary edge and a direction above which the boundary runs along it


class Hinged(NamedTuple):
    """Pairs of triangles before they are ordered by colour."""

    vertices: Ints  # (h,4) edge a-b, opposite corners c, d
    face: Ints  # (h,) the triangle a, b, c
    weights: Floats  # (h,4) of the discrete Laplacian across the edge
    area: Floats  # (h,) of both triangles, m2


def hinge_rigidities(mesh: Mesh, hinges: Hinged, warp: Floats, rigidity: tuple[float, float]) -> Floats:
    """Return the bending rigidity (h,) of each hinge, N m, such that bending along warp and along weft costs what
    `rigidity` says, over the whole mesh.

    The rigidities of edges across the warp and across the weft are solved for, and those between are interpolated by
    the square of the cosine. warp: (m,3) of every triangle.
    """
    if not len(hinges.vertices):
        return np.zeros(0)
    low, high = min(rigidity), max(rigidity)
    at, across = _unfolded(mesh, hinges, warp)
    share = across**2  # of warp and weft in the direction in which the hinge bends
    bent = np.einsum("hi,hid->hd", hinges.weights, 0.5 * at**2)  # by a unit curvature along warp, along weft
    smooth = (bent**2 / hinges.area[:, None]).sum(0)
    own = np.linalg.lstsq((bent**2 / hinges.area[:, None]).T @ share, smooth * np.asarray(rigidity))[0]
    found = np.clip(share @ own, _LEAST * low, high / _LEAST)
    rim = _boundary(mesh, warp)
    held = [_held(mesh, rim, k) for k in (0, 1)]
    # a triangle at the boundary has no hinge there, which would bear its share of bending across the boundary
    missing = mesh.face_areas[rim.face] @ (1.0 - rim.along**2)
    wanted = np.maximum(mesh.face_areas.sum() - missing, 1e-3 * smooth) * np.asarray(rigidity)
    for _ in range(1 if low == high else 3):  # the energy is proportional to a rigidity that is isotropic
        settled = np.array([_settled(mesh, hinges, found, bent[:, k], held[k]) for k in (0, 1)])
        factor = np.clip(wanted / np.maximum(settled, 1e-3 * wanted), 0.8, 1.5)
        found = np.clip(found * (share @ factor), _LEAST * low, high / _LEAST)
    return found


def _settled(mesh: Mesh, hinges: Hinged, rigidity: Floats, bent: Floats, held: NDArray[np.bool_]) -> float:
    """Return twice the energy of hinges bent by a unit curvature after all vertices but those `held` have settled."""
    from scipy.sparse import csr_array

    h = len(hinges.vertices)
    place = np.repeat(np.arange(h), 4), hinges.vertices.ravel()
    free = np.where(held, 0.0, 1.0)
    k: Any = csr_array((hinges.weights.ravel() * free[hinges.vertices.ravel()], place), shape=(h, mesh.n_vertices))
    stiff, across = rigidity / hinges.area, k.T.tocsr()
    diagonal = (across.multiply(across) @ stiff) + 1e-300
    x, r = np.zeros(mesh.n_vertices), -(across @ (stiff * bent))
    z = r / diagonal
    p, rz = z, float(r @ z)
    for _ in range(_ITERATIONS):
        q = across @ (stiff * (k @ p))
        if rz <= 0.0 or (pq := float(p @ q)) <= 0.0:
            break
        x, r = x + rz / pq * p, r - rz / pq * q
        z = r / diagonal
        before, rz = rz, float(r @ z)
        p = z + rz / before * p
    return float(stiff @ (bent + k @ x) ** 2)


class Boundary(NamedTuple):
    """The boundary edges of a mesh."""

    face: NDArray[np.int64]  # (b,) the triangle of each
    ends: Ints  # (b,2) its vertices
    along: Floats  # (b,2) cosine between it and the warp, and the weft


def _boundary(mesh: Mesh, warp: Floats) -> Boundary:
    top = mesh.topology
    face, corner = np.nonzero(top.boundary[top.face_edges])
    ends = np.stack([mesh.faces[face, corner], mesh.faces[face, (corner + 1) % 3]], 1)
    edge = mesh.vertices[ends[:, 1]] - mesh.vertices[ends[:, 0]]
    along = np.abs((edge * warp[face]).sum(1)) / np.maximum(np.linalg.norm(edge, axis=1), 1e-300)
    return Boundary(face, ends, np.stack([along, np.sqrt(np.maximum(1.0 - along**2, 0.0))], 1))


def _held(mesh: Mesh, rim: Boundary, k: int) -> NDArray[np.bool_]:
    """Return (n,) the vertices at and beside boundaries that do not run along the warp (k = 0) or the weft: there a
    sheet of uniform curvature needs a moment, without which it would flatten."""
    held = np.zeros(mesh.n_vertices, np.bool_)
    held[rim.ends[rim.along[:, k] < _SIDE]] = True
    near = held.copy()
    near[mesh.faces[held[mesh.faces].any(1)]] = True
    return near


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
