"""Corrections over time: displacements of neighbouring frames are compared in the frames of the vertices they move, so
that a correction turns with the limb it belongs to, sets in before it is needed, and fades afterwards."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh

Floats = NDArray[np.float64]
REACH = 3  # frames on either side over which a correction is held, and over which it is smoothed


class TemporalFilter:
    """Smooths displacements of the frames x (T,n,3) of a welded mesh."""

    def __init__(self, mesh: Mesh, x: Floats) -> None:
        n, edges = mesh.n_vertices, mesh.topology.edges
        beside = np.arange(n)  # a neighbour of each vertex; itself for one without edges
        for one, two in (edges.T, edges.T[::-1]):
            beside[one[::-1]] = two[::-1]
        self._axes = np.stack([_axes(mesh.faces, beside, frame) for frame in x])

    def carried(self, u: Floats, before: int, after: int) -> Floats:
        """Displacements u (n,3) of frame `before`, turned with their vertices to frame `after`."""
        return np.einsum("nij,nik,nk->nj", self._axes[after], self._axes[before], u)

    def held_and_smoothed(self, u: Floats) -> Floats:
        """Displacements (T,n,3) that are nowhere much smaller than u and change slowly: each is the largest of its
        neighbours in time, then their binomial mean, both in the local frames of the vertices."""
        if len(u) < 3 or not u.any():
            return u.copy()
        rows = np.flatnonzero(u.any((0, 2)))
        axes = self._axes[:, rows]
        local = np.einsum("tnij,tnj->tni", axes, u[:, rows])
        held, size = local.copy(), np.linalg.norm(local, axis=2)
        most = size.copy()
        for k in range(1, REACH + 1):
            for to, at in ((slice(k, None), slice(None, -k)), (slice(None, -k), slice(k, None))):
                larger = size[at] > most[to]
                held[to][larger], most[to][larger] = local[at][larger], size[at][larger]
        padded = np.concatenate([held[:1].repeat(REACH, 0), held, held[-1:].repeat(REACH, 0)])
        even = sum(w * padded[k : k + len(u)] for k, w in enumerate(binomial(REACH)))
        out = np.zeros_like(u)
        out[:, rows] = np.einsum("tnij,tni->tnj", axes, even)
        return out


class RigidFilter:
    """Smooths the frames of a welded mesh relative to other frames x (T,n,3), from which they differ moderately: their
    differences turn with the rigid motion of each connected part of x."""

    def __init__(self, mesh: Mesh, x: Floats) -> None:
        self.part = part = mesh.topology.components  # (n,)
        self.turns = np.stack([_rigid_turns(mesh.vertices, frame, part) for frame in x])  # (T,parts,3,3)
        self._x = x

    def smoothed(self, y: Floats, reach: int = REACH) -> Floats:
        """Frames (T,n,3): x and the binomial means of y - x over `reach` frames on either side, as seen by the parts;
        beyond the first and last frame differences continue evenly."""
        turns = self.turns[:, self.part]
        local = np.einsum("tnji,tnj->tni", turns, y - self._x)
        reach = min(reach, len(y) - 1)
        before, after = 2.0 * local[:1] - local[reach:0:-1], 2.0 * local[-1:] - local[-2 : -reach - 2 : -1]
        padded = np.concatenate([before, local, after])
        even = sum(w * padded[k : k + len(y)] for k, w in enumerate(binomial(reach)))
        return np.asarray(self._x + np.einsum("tnij,tnj->tni", turns, even))


def binomial(reach: int) -> Floats:
    """The 2 reach + 1 weights of the binomial mean."""
    weights = np.array([1.0])
    for _ in range(2 * reach):
        weights = np.convolve(weights, [0.5, 0.5])
    return weights


def _rigid_turns(rest: Floats, x: Floats, part: NDArray[Any]) -> Floats:
    """(parts,3,3) rotations from `rest` to x (n,3) that fit each part best (W. Kabsch 1976)."""
    count = np.maximum(np.bincount(part), 1)

    def centred(p: Floats) -> Floats:
        mean = np.stack([np.bincount(part, p[:, k]) for k in range(3)], 1) / count[:, None]
        return np.asarray(p - mean[part])

    outer = (centred(x)[:, :, None] * centred(rest)[:, None, :]).reshape(-1, 9)
    total = np.stack([np.bincount(part, outer[:, k]) for k in range(9)], 1).reshape(-1, 3, 3)
    u, _, v = np.linalg.svd(total)
    u[:, :, 2] *= np.where(np.linalg.det(u @ v) < 0.0, -1.0, 1.0)[:, None]
    return np.asarray(u @ v)


def _axes(faces: NDArray[np.int32], beside: NDArray[np.int64], x: Floats) -> NDArray[np.float32]:
    """(n,3,3) orthonormal rows per vertex: along the edge to a neighbour, across it, and along the normal."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    normal, area = np.zeros_like(x), np.cross(b - a, c - a)
    for k in range(3):
        for axis in range(3):
            normal[:, axis] += np.bincount(faces[:, k], area[:, axis], len(x))
    normal = _unit(normal, (0.0, 1.0, 0.0))
    along = x[beside] - x
    along -= np.einsum("ij,ij->i", along, normal)[:, None] * normal
    other = np.cross(normal, np.where(np.abs(normal[:, :1]) < 0.9, (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)))
    flat = np.linalg.norm(along, axis=1) <= 1e-12 * (1.0 + np.abs(x).max(initial=0.0))
    along = _unit(np.where(flat[:, None], other, along), (1.0, 0.0, 0.0))
    return np.stack([along, np.cross(normal, along), normal], 1).astype(np.float32)


def _unit(v: Floats, instead: tuple[float, float, float]) -> Floats:
    length = np.linalg.norm(v, axis=1)[:, None]
    return np.asarray(np.where(length > 0.0, v / np.where(length > 0.0, length, 1.0), instead))
