"""The mannequin's skeleton, and skinning weights that diffuse along the surface and not between limbs."""

import dataclasses
import functools

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..mesh.topology import Topology
from ..validate import Floats, Ints
from .mannequin import mannequin

REACH = 0.035  # width of the transition between the weights of two bones, metres
FAINT = 1e-3  # weights below this are set to 0

# name, parent, head, tail; `left` is +x, and the right side mirrors it
_SPINE = (
    ("hips", "", (0.0, 0.940, -0.015), (0.0, 1.040, -0.015)),
    ("spine", "hips", (0.0, 1.040, -0.015), (0.0, 1.210, -0.025)),
    ("chest", "spine", (0.0, 1.210, -0.025), (0.0, 1.430, -0.030)),
    ("neck", "chest", (0.0, 1.430, -0.030), (0.0, 1.540, -0.020)),
    ("head", "neck", (0.0, 1.540, -0.020), (0.0, 1.740, -0.010)),
)
_SIDE = (
    ("shoulder", "chest", (0.030, 1.420, -0.025), (0.165, 1.398, -0.034)),
    ("upper_arm", "shoulder", (0.165, 1.398, -0.034), (0.352, 1.176, -0.036)),
    ("forearm", "upper_arm", (0.352, 1.176, -0.036), (0.525, 0.998, -0.016)),
    ("hand", "forearm", (0.525, 0.998, -0.016), (0.640, 0.868, 0.000)),
    ("thigh", "hips", (0.090, 0.900, -0.018), (0.131, 0.490, -0.004)),
    ("shin", "thigh", (0.131, 0.490, -0.004), (0.160, 0.085, -0.034)),
    ("foot", "shin", (0.160, 0.085, -0.034), (0.176, 0.020, 0.120)),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Rig:
    """A skeleton in rest pose and its skinning weights for a mesh. The arrays are read-only."""

    names: tuple[str, ...]
    parents: Ints  # (j,) index of the parent, -1 for the root; parents precede children
    heads: Floats  # (j,3) the joint about which each bone rotates, metres
    tails: Floats  # (j,3) the other end of each bone, metres
    weights: Floats  # (n,j) skinning weights of each vertex; rows sum to 1


@check_arguments
def mannequin_rig(detail: float = 1.0) -> Rig:
    """The rig of `mannequin(detail)`: 19 bones; the names of paired bones end in `.left` and `.right`."""
    return _rig(validate.number("detail", detail, low=0.7, high=2.0))


@functools.lru_cache(4)
def _rig(detail: float) -> Rig:
    names, parents, heads, tails = _skeleton()
    weights = _weights(mannequin(detail), names, heads, tails)
    for array in (parents, heads, tails, weights):
        array.flags.writeable = False
    return Rig(names, parents, heads, tails, weights)


def _skeleton() -> tuple[tuple[str, ...], Ints, Floats, Floats]:
    rows = list(_SPINE)
    for side, sign in (("left", 1.0), ("right", -1.0)):
        for name, parent, head, tail in _SIDE:
            above = f"{parent}.{side}" if parent in {row[0] for row in _SIDE} else parent
            ends = tuple((sign * p[0], p[1], p[2]) for p in (head, tail))
            rows.append((f"{name}.{side}", above, ends[0], ends[1]))
    names = tuple(row[0] for row in rows)
    parents = np.array([names.index(row[1]) if row[1] else -1 for row in rows], np.int32)
    return names, parents, np.array([row[2] for row in rows]), np.array([row[3] for row in rows])


def _weights(mesh: Mesh, names: tuple[str, ...], heads: Floats, tails: Floats) -> Floats:
    """Assign every vertex to its nearest bone, then diffuse the weights along the surface over about REACH."""
    from scipy.sparse import coo_array, identity
    from scipy.sparse.linalg import splu

    x, n = mesh.vertices, mesh.n_vertices
    share = np.zeros((n, len(names)))
    share[np.arange(n), _nearest(x, names, heads, tails)] = 1.0
    # (1 + L) w = share, twice: backward Euler steps of the heat equation. Off-diagonals of L are negative and its rows
    # sum to zero, so weights stay within 0..1 and rows keep summing to 1.
    edges = Topology.of(mesh.faces, n).edges
    length = np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T
    area = np.bincount(mesh.faces.ravel(), np.repeat(mesh.face_areas / 3.0, 3), n)
    # sqrt(3)/3 is the cotangent weight of an equilateral triangle pair
    pull = 0.5 * REACH**2 * np.tile(np.full(len(length), 0.577), 2) / area[rows]
    degree = np.bincount(rows, pull, n)
    matrix = identity(n, format="csc") + coo_array((degree, (np.arange(n),) * 2), shape=(n, n)).tocsc()
    solver = splu((matrix - coo_array((pull, (rows, columns)), shape=(n, n)).tocsc()).tocsc())
    for _ in range(2):
        share = solver.solve(share)
    share[share < FAINT] = 0.0
    return share / share.sum(1)[:, None]


def _nearest(x: Floats, names: tuple[str, ...], heads: Floats, tails: Floats) -> NDArray[np.intp]:
    """(n,) bone nearest to each vertex, by the distance to the bone's axis minus the body's thickness there."""
    thick = {"hips": 0.12, "spine": 0.12, "chest": 0.125, "neck": 0.055, "head": 0.07, "shoulder": 0.05, "thigh": 0.07}
    best = np.empty((len(x), len(names)))
    for j, name in enumerate(names):
        u = tails[j] - heads[j]
        t = np.clip((x - heads[j]) @ u / (u @ u), 0.0, 1.0)
        best[:, j] = np.linalg.norm(x - heads[j] - t[:, None] * u, axis=1) - thick.get(name.split(".")[0], 0.04)
        if "." in name:
            # a limb has no influence on the other side of the body
            best[x[:, 0] * (1 if name.endswith("left") else -1) < 0.0, j] = np.inf
    return np.argmin(best, 1)
