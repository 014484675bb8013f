"""How much a shape differs from another: edge strain, its bound, and angles of hinges."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..motion.clip import Clip
from ..respond.edge_lengths import lengths

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
SCALE = 2.0  # largest ratio of the edges of a clip to those of its mesh, for these to be its rest lengths


def changes(mesh: Mesh, first: NDArray[Any], given: Clip, frames: Floats) -> tuple[Singles, Singles, Singles]:
    """The arrays `moved`, `strain` and `bend` of `FixResult`: those of `frames` (T,n,3) against the given ones, whose
    welded `mesh` has the vertices `first`."""
    found = []
    for t, y in enumerate(frames):
        x = np.asarray(given.at(t), np.float64)
        a, b = x[first], y[first]
        moved = np.linalg.norm(y - x, axis=1)
        found.append((moved, strain(a, b, mesh.topology.edges), bend(a, b, mesh.topology.hinges)))
    moved, strained, bent = (np.stack(part).astype(np.float32) for part in zip(*found, strict=True))
    return moved, strained, bent


def rest_lengths(mesh: Mesh, x: Floats) -> tuple[Floats, bool]:
    """(k,) rest lengths of the edges of a mesh with the frames x (T,n,3): those of the mesh, or the median over all
    frames where the frames have another scale; and whether they are those of the mesh."""
    edges = mesh.topology.edges
    rest, first = lengths(mesh.vertices, edges), lengths(x[0], edges)
    ratio = np.median(first[rest > 0.0] / rest[rest > 0.0]) if (rest > 0.0).any() else 0.0
    if 1.0 / SCALE <= ratio <= SCALE:
        return rest, True
    return np.asarray(np.median([lengths(frame, edges) for frame in x], axis=0)), False


def strain(x: Floats, y: Floats, edges: NDArray[np.int32]) -> Floats:
    """(k,) relative change of edge lengths from x to y."""
    one, two = (np.linalg.norm(p[edges[:, 1]] - p[edges[:, 0]], axis=1) for p in (x, y))
    # strain of an edge of zero length is defined as 0
    return np.asarray(np.where(one > 0.0, np.abs(two / np.where(one > 0.0, one, 1.0) - 1.0), 0.0))


def bend(x: Floats, y: Floats, hinges: NDArray[np.int32]) -> Floats:
    """(h,) change of the dihedral angles from x to y, radians."""
    a, b = (_angles(p, hinges) for p in (x, y))
    return np.asarray(np.abs((b - a + np.pi) % (2.0 * np.pi) - np.pi))


def _angles(x: Floats, hinges: NDArray[np.int32]) -> Floats:
    a, b, c, d = (x[hinges[:, k]] for k in range(4))
    n, m, e = np.cross(b - a, c - a), np.cross(d - a, b - a), b - a
    length = np.maximum(np.linalg.norm(e, axis=1), 1e-300)
    return np.arctan2(np.einsum("ij,ij->i", np.cross(n, m), e) / length, np.einsum("ij,ij->i", n, m))


def within_strain(mesh: Mesh, degree: Floats, x: Floats, u: Floats, most: float) -> Floats:
    """Displacements u (n,3) of x (n,3), reduced so that no edge of the mesh changes its length by more than the share
    `most`; `degree` (n,) is the number of neighbours of each vertex."""
    edges, y = mesh.topology.edges, x + u
    length = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
    for _ in range(20):
        edge = y[edges[:, 1]] - y[edges[:, 0]]
        now = np.linalg.norm(edge, axis=1)
        wanted = np.clip(now, (1.0 - most) * length, (1.0 + most) * length)
        pull = (0.5 * (now - wanted) / np.maximum(now, 1e-300))[:, None] * edge
        total = np.zeros_like(y)
        np.add.at(total, edges[:, 0], pull)
        np.add.at(total, edges[:, 1], -pull)
        y += 1.5 * total / np.maximum(degree, 1.0)[:, None]
    # if the sweeps leave edges beyond the bound, all displacements are scaled down
    u = y - x
    if strain(x, x + u, edges).max(initial=0.0) <= most:
        return np.asarray(u)
    low, high = 0.0, 1.0
    for _ in range(10):
        half = 0.5 * (low + high)
        within = strain(x, x + half * u, edges).max(initial=0.0) <= most
        low, high = (half, high) if within else (low, half)
    return np.asarray(low * u)
