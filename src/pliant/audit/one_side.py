"""One side: a garment that goes right through a body leaves it on one side of itself.

The shortest ways out of the vertices of such a garment lead to both sides of it: it would be torn, and its faces in
between would still cross the body. So each connected part of it that is inside, and whose shortest ways out lead apart,
moves along its own normal instead, to the side with the shorter way for all of its vertices together.
"""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..respond.project_out import SeparationQuery

Floats = NDArray[np.float64]
APART = 0.0  # cosine of the angle between two neighbouring ways out from which on they lead apart
EVEN = 0.5  # length of the mean of the normals of a part from which on it moves in one direction
STEPS = 64  # most steps along a normal to where it leaves the body
LAST = 0.05  # of the required distance: a way out ends within this


def one_sided(mesh: Mesh, x: Floats, required: Floats, query: SeparationQuery) -> Floats | None:
    """Displacements (n,3) that take the parts of a garment at x (n,3) that go right through a body to one side of it,
    `required` (n,) metres from it; others stay. None where no part goes right through."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    wanted = required > -np.inf
    away, out = np.zeros(len(x)), np.zeros_like(x)
    away[wanted], out[wanted] = query(x[wanted])
    inside, edges = away < 0.0, mesh.topology.edges
    within = edges[inside[edges].all(1)]
    apart = within[np.einsum("ij,ij->i", *(out[end] for end in within.T)) < APART]
    if not len(apart):
        return None
    links = coo_array((np.ones(len(within)), within.T), shape=(len(x), len(x)))
    part = connected_components(links, directed=False)[1]
    normals, u = vertex_normals(mesh, x), np.zeros_like(x)
    for k in np.unique(part[apart]):
        rows = np.flatnonzero(inside & (part == k))
        u[rows] = _shorter(x[rows], normals[rows], required[rows], query)
    return u


def vertex_normals(mesh: Mesh, x: Floats) -> Floats:
    """(n,3) unit normals of the vertices, of faces by their area; zero where these cancel."""
    a, b, c = (x[mesh.faces[:, k]] for k in range(3))
    area, total = np.cross(b - a, c - a), np.zeros_like(x)
    for k in range(3):
        for axis in range(3):
            total[:, axis] += np.bincount(mesh.faces[:, k], area[:, axis], len(x))
    length = np.linalg.norm(total, axis=1)[:, None]
    return np.asarray(total / np.where(length > 0.0, length, 1.0))


def _shorter(x: Floats, normals: Floats, required: Floats, query: SeparationQuery) -> Floats:
    """Displacements (k,3) of the vertices x (k,3) of a part to that side of it which is nearer for all together."""
    mean = normals.mean(0)
    size = float(np.linalg.norm(mean))
    along = np.broadcast_to(mean / size, x.shape) if size > EVEN else normals
    ways = [side * _way_out(x, side * along, required, query)[:, None] * along for side in (1.0, -1.0)]
    return min(ways, key=lambda way: float(np.linalg.norm(way, axis=1).sum()))


def _way_out(x: Floats, along: Floats, required: Floats, query: SeparationQuery) -> Floats:
    """(k,) distances from x (k,3) in the directions `along` (k,3) to where it is outside of the body as required: each
    step is as long as the distance that is missing, so that none misses the place."""
    way, left = np.zeros(len(x)), np.arange(len(x))
    for _ in range(STEPS):
        missing = required[left] - query(x[left] + way[left, None] * along[left])[0]
        left, missing = left[missing > 0.0], missing[missing > 0.0]
        if not len(left):
            break
        way[left] += np.maximum(missing, LAST * required[left])
    return way
