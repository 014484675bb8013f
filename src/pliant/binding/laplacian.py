"""Laplacian and areas of any triangle mesh: degenerate triangles, duplicate faces and non-manifold edges included."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
MOLLIFIED = 1e-5  # of the mean edge length: by so much the triangle inequality holds after mollification
SMALLEST, LARGEST = 1e-3, 1e3  # bounds of edge weights; 0.58 between two equilateral triangles
SMALLEST_AREA = 1e-3  # of the mean area per vertex


@dataclasses.dataclass(frozen=True, eq=False)
class Laplacian:
    """stiffness (n,n) sparse, symmetric and positive semidefinite, in which constants per connected piece have energy
    0; area (n,) of each vertex, positive."""

    stiffness: Any
    area: Floats

    def energy(self) -> Any:
        """Return the sparse matrix Q of the energy w'Qw: biharmonic, and harmonic beyond the size of the mesh.

        The energy does not depend on the scale of the mesh.
        """
        from scipy.sparse import diags_array

        bending = self.stiffness @ diags_array(self.area.sum() / self.area) @ self.stiffness
        return (self.stiffness + bending).tocsc()


def laplacian(x: Floats, faces: NDArray[Any]) -> Laplacian:
    """Return the cotangent Laplacian of a mesh with vertices (n,3) and faces (m,3), computed from edge lengths.

    All lengths are increased by one small amount, such that every triangle has a positive area (intrinsic
    mollification: N. Sharp, K. Crane, A Laplacian for Nonmanifold Triangle Meshes, 2020). Weights of edges are bounded
    from below by a positive number, so that solutions of the harmonic equation have no new extrema.
    """
    from scipy.sparse import coo_array

    n = len(x)
    start, end = faces.ravel().astype(np.int64), np.roll(faces, -1, 1).ravel().astype(np.int64)
    side = _mollified(np.linalg.norm(x[start] - x[end], axis=1).reshape(-1, 3))  # (m,3): from corner k to k+1
    twice = 2.0 * _areas(side)
    square = side**2
    # the cotangent opposite side k, from lengths alone
    cot = (square.sum(1, keepdims=True) - 2.0 * square) / (2.0 * twice[:, None])
    proper = start != end
    low, high = np.minimum(start, end)[proper], np.maximum(start, end)[proper]
    key, edge = np.unique(low * n + high, return_inverse=True)
    weight = np.clip(np.bincount(edge.ravel(), 0.5 * cot.ravel()[proper], len(key)), SMALLEST, LARGEST)
    i, j = key // n, key % n
    rows, columns = np.concatenate([i, j, i, j]), np.concatenate([j, i, i, j])
    values = np.concatenate([-weight, -weight, weight, weight])
    area = np.bincount(faces.ravel(), np.repeat(twice / 6.0, 3), n)
    mean = area.sum() / max(1, np.count_nonzero(area))
    return Laplacian(
        coo_array((values, (rows, columns)), shape=(n, n)).tocsr(),
        np.maximum(area, SMALLEST_AREA * mean if mean > 0.0 else 1.0),
    )


def _mollified(side: Floats) -> Floats:
    """Return lengths (m,3) with which every triangle has a positive area."""
    mean = float(side.mean()) if side.size else 0.0
    least = MOLLIFIED * mean if mean > 0.0 else 1.0
    slack = side.sum(1, keepdims=True) - 2.0 * side  # negative where rounding violates the triangle inequality
    return side + max(0.0, least - float(slack.min(initial=least)))


def _areas(side: Floats) -> Floats:
    """(m,) areas by Heron's formula, in the order of terms that is stable for needles (W. Kahan)."""
    c, b, a = np.sort(side, 1).T
    square = (a + (b + c)) * (c - (a - b)) * (c + (a - b)) * (a + (b - c))
    smallest = np.finfo(np.float64).tiny
    return 0.25 * np.sqrt(np.maximum(square, smallest))
