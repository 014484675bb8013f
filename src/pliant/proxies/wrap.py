"""Wrap deformer: every vertex of a garment follows a coarser proxy, and the garment keeps its details.

A vertex p of the garment is bound to the vertices j of the proxy around its nearest point, with smooth weights w_j of
compact support that sum to 1. Every vertex of the proxy has a local frame, the linear map F_j that fits the motion of
its neighbours and of its unit normal best, so the offset of the garment from the proxy is neither stretched nor
squeezed. The new position is the mean of what the frames predict, by the trapezoid rule,

    p' = sum_j w_j (x'_j + 1/2 (F_j + F_p) (p - x_j)),  F_p = sum_j w_j F_j,

which is exact for rigid motions, and to second order where the proxy bends: its facets do not show. Small shells, such
as buttons, move rigidly with the frame at their centre.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..detect.queries.closest_point import ClosestPoints
from ..mesh import Mesh

Floats = NDArray[np.float64]
REACH = 1.7  # of the mean edge at a vertex of the proxy: radius of its influence
LINEAR = 1e-3  # share of the barycentric weights, which bind points beyond the reach of every vertex
RIGID = 2.0  # median edges of the proxy: shells of this diameter and smaller are rigid


@check_arguments
class Wrap:
    """Carries `garment` with `proxy`, both given in the same pose, which is reproduced exactly.

    Connected shells of the garment of at most `rigid` metres in diameter, such as buttons, move rigidly; default: two
    median edges of the proxy. shells: their number. No shell is rigid if all of them are so small.

    >>> wrap = pliant.Wrap(garment, proxy)
    >>> wrap.place(x)  # positions of the garment where the vertices of the proxy are at x
    """

    def __init__(self, garment: Mesh, proxy: Mesh, *, rigid: float | None = None) -> None:
        if not proxy.n_faces:
            raise ValueError(f"proxy {proxy.name!r} has no faces; expected a surface")
        self.garment, self.proxy = garment, proxy
        self._sheet, self._points = proxy.welded, garment.welded
        size = RIGID * self._sheet.median_edge if rigid is None else validate.number("rigid", rigid, low=0.0)
        self._middle = self._sheet.bounds.mean(0)
        self._frames = _Frames(self._sheet)
        x, p = self._sheet.vertices - self._middle, self._points.vertices - self._middle
        self._shell, self.shells = _small_shells(self._points, size)
        self._rows = np.flatnonzero(self._shell >= 0)
        self._centres = _means(p[self._rows], self._shell[self._rows], self.shells)
        self._bound = np.concatenate([p, self._centres])
        self._weights = _weights(self._sheet, self._bound + self._middle)
        self._mean = self._bound - self._weights @ x
        self._x, self._first = x, np.unique(proxy.weld_index, return_index=True)[1]

    def place(self, x: Any) -> Floats:
        """Return the vertices (n,3) of the garment for the vertices x (m,3) of the proxy."""
        at = validate.floats("x", x, self.proxy.vertices.shape)
        return np.asarray(self.place_welded(at[self._first])[self.garment.weld_index])

    def place_welded(self, x: Floats) -> Floats:
        """Return the vertices of `garment.welded` for the vertices x (m,3) of `proxy.welded`."""
        u, change = x - self._sheet.vertices, self._frames.changes(x)
        n, rest = len(self._points.vertices), self._x
        turned = np.einsum("vij,vj->vi", change, rest)
        every = self._weights @ np.concatenate([u - 0.5 * turned, change.reshape(-1, 9)], 1)
        blend = every[:, 3:].reshape(-1, 3, 3)
        move = every[:, :3] + 0.5 * np.einsum("pij,pj->pi", blend, self._bound + self._mean)
        out = self._points.vertices + move[:n]
        if self.shells:
            spin = _rotations(np.eye(3) + blend[n:]) - np.eye(3)
            rows, shell = self._rows, self._shell[self._rows]
            arm = self._bound[rows] - self._centres[shell]
            out[rows] = self._points.vertices[rows] + move[n:][shell] + np.einsum("pij,pj->pi", spin[shell], arm)
        return np.asarray(out)


class _Frames:
    """The linear map at each vertex of a mesh that fits the motion of its neighbours and of its normal best."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh, self.normals = mesh, mesh.vertex_normals
        edges = mesh.topology.edges
        self.a, self.b = np.concatenate([edges, edges[:, ::-1]]).T
        self.rest = mesh.vertices[self.b] - mesh.vertices[self.a]
        n = mesh.n_vertices
        squares = np.bincount(self.a, (self.rest**2).sum(1), n)
        self.stiffness = np.maximum(0.5 * squares, 1e-300)  # of the normal: that of the neighbours along one tangent
        spread = _scattered(self.a, self.rest, self.rest, n) + _outer(self.normals, self.normals, self.stiffness)
        self.inverse = np.linalg.pinv(spread, rcond=1e-9, hermitian=True)

    def changes(self, x: Floats) -> Floats:
        """(n,3,3) the maps from rest to positions x, minus the identity: exactly zero at rest."""
        moved = x[self.b] - x[self.a] - self.rest
        tilt = self.mesh.moved(x).vertex_normals - self.normals
        total = _scattered(self.a, moved, self.rest, len(x)) + _outer(tilt, self.normals, self.stiffness)
        return np.asarray(total @ self.inverse)


def _scattered(rows: NDArray[Any], u: Floats, v: Floats, n: int) -> Floats:
    """(n,3,3) sums of the outer products of u and v by row."""
    columns = [np.bincount(rows, u[:, i] * v[:, j], n) for i in range(3) for j in range(3)]
    return np.asarray(np.stack(columns, 1).reshape(n, 3, 3), np.float64)


def _outer(u: Floats, v: Floats, scale: Floats) -> Floats:
    return np.asarray(scale[:, None, None] * u[:, :, None] * v[:, None, :])


def _rotations(maps: Floats) -> Floats:
    """(k,3,3) the rotations nearest to linear maps."""
    u, _, v = np.linalg.svd(maps)
    u[:, :, 2] *= np.sign(np.linalg.det(u @ v))[:, None]
    return np.asarray(u @ v)


def _small_shells(mesh: Mesh, size: float) -> tuple[NDArray[np.int64], int]:
    """(n,) the index of the small shell that each vertex belongs to, -1 for none; and their number."""
    piece = mesh.topology.components
    count = int(piece.max()) + 1
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, piece, mesh.vertices)
    np.maximum.at(high, piece, mesh.vertices)
    small = np.linalg.norm(high - low, axis=1) <= size
    small &= np.bincount(piece, minlength=count) > 1  # a vertex alone has nothing to turn
    if small[piece[mesh.faces].ravel()].all():
        small[:] = False
    return np.where(small, np.cumsum(small) - 1, -1)[piece], int(small.sum())


def _means(x: Floats, group: NDArray[Any], count: int) -> Floats:
    share = np.maximum(np.bincount(group, minlength=count), 1)
    return np.stack([np.bincount(group, x[:, k], count) / share for k in range(3)], 1)


def _weights(proxy: Mesh, points: Floats) -> Any:
    """(p,v) sparse weights of the vertices of the proxy at each point."""
    from scipy.sparse import csr_array

    _, nearest, face, _ = ClosestPoints(proxy).query_by_nearest_face(points)
    top, n = proxy.topology, proxy.n_vertices
    lengths = np.linalg.norm(proxy.vertices[top.edges[:, 0]] - proxy.vertices[top.edges[:, 1]], axis=1)
    ends = np.bincount(top.edges.ravel(), minlength=n)
    reach = REACH * np.bincount(top.edges.ravel(), np.repeat(lengths, 2), n) / np.maximum(ends, 1)
    one = np.ones(2 * len(top.edges) + n)
    a, b = np.concatenate([top.edges, top.edges[:, ::-1], np.arange(n)[:, None].repeat(2, 1)]).T
    near = csr_array((one, (a, b)), shape=(n, n))
    corners = np.arange(proxy.n_faces + 1) * 3
    around = csr_array((np.ones(3 * proxy.n_faces), proxy.faces.ravel(), corners), shape=(proxy.n_faces, n))
    around = (around @ near @ near)[face]  # of each point: vertices within two edges of its triangle
    row = np.repeat(np.arange(len(points)), np.diff(around.indptr))
    column = around.indices
    ratio = np.linalg.norm(nearest[row] - proxy.vertices[column], axis=1) / np.maximum(reach[column], 1e-300)
    weight = np.maximum(1.0 - ratio**2, 0.0) ** 3
    keep = weight > 0.0
    linear = LINEAR * _barycentric(proxy.vertices[proxy.faces[face]], nearest)
    row = np.concatenate([row[keep], np.arange(len(points)).repeat(3)])
    column = np.concatenate([column[keep], proxy.faces[face].ravel()])
    weight = np.concatenate([weight[keep], linear.ravel()])
    weight = weight / np.bincount(row, weight, len(points))[row]
    return csr_array((weight, (row, column)), shape=(len(points), n))


def _barycentric(corners: Floats, points: Floats) -> Floats:
    """(p,3) barycentric coordinates of points (p,3) in triangles (p,3,3); in flat triangles, of the first corner."""
    u, v, w = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    uu, uv, vv = (u * u).sum(1), (u * v).sum(1), (v * v).sum(1)
    wu, wv = (w * u).sum(1), (w * v).sum(1)
    area = uu * vv - uv * uv
    flat = area <= 1e-24 * np.maximum(uu * vv, 1e-300)
    area = np.where(flat, 1.0, area)
    b, c = np.where(flat, 0.0, (vv * wu - uv * wv) / area), np.where(flat, 0.0, (uu * wv - uv * wu) / area)
    found = np.clip(np.stack([1.0 - b - c, b, c], 1), 0.0, 1.0)
    return np.asarray(found / found.sum(1, keepdims=True))
