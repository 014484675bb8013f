"""Simplification by edge collapse that keeps a subset of the vertices, so that their attributes remain valid."""

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from pliant.mesh import Mesh


def coarsened(mesh: Mesh, count: int) -> tuple[Mesh, NDArray[np.int64]]:
    """A connected closed mesh reduced to `count` of its vertices, and their indices; shortest edges collapse first.

    An edge goes only where the surface stays one, and no triangle turns over.
    """
    x: list[list[float]] = mesh.vertices.tolist()
    faces: dict[int, tuple[int, int, int]] = {f: (a, b, c) for f, (a, b, c) in enumerate(mesh.faces.tolist())}
    around: list[set[int]] = [set() for _ in range(mesh.n_vertices)]
    for f, face in faces.items():
        for i in face:
            around[i].add(f)
    waiting = [(math.dist(x[i], x[j]), i, j) for i, j in mesh.topology.edges.tolist()]
    heapq.heapify(waiting)
    left, gone = mesh.n_vertices, np.zeros(mesh.n_vertices, np.bool_)
    while left > count and waiting:
        _, i, j = heapq.heappop(waiting)
        if gone[i] or gone[j] or not around[i] & around[j]:
            continue
        beside = [_beside(faces, around[k]) - {k} for k in (i, j)]
        shared = beside[0] & beside[1]
        moved = around[j] - around[i]
        # exactly two common neighbours, both of which keep at least three triangles
        if len(shared) != 2 or min(len(around[k]) for k in shared) < 4 or _turns(x, faces, moved, j, i):
            continue
        for f in around[i] & around[j]:
            for k in faces.pop(f):
                around[k].discard(f)
        for f in moved:
            a, b, c = (i if k == j else k for k in faces[f])
            faces[f] = (a, b, c)
            around[i].add(f)
        gone[j], around[j] = True, set()
        left -= 1
        for k in beside[1] - beside[0] - {i}:
            heapq.heappush(waiting, (math.dist(x[i], x[k]), min(i, k), max(i, k)))
    rows = np.flatnonzero(~gone)
    number = np.cumsum(~gone) - 1
    return Mesh(mesh.vertices[rows], number[np.array([faces[f] for f in sorted(faces)])], name=mesh.name), rows


def _beside(faces: dict[int, tuple[int, int, int]], some: set[int]) -> set[int]:
    return {k for f in some for k in faces[f]}


def _turns(x: list[list[float]], faces: dict[int, tuple[int, int, int]], some: set[int], old: int, new: int) -> bool:
    """Whether replacing `old` by `new` flips a triangle or makes it a needle."""
    for f in some:
        a, b, c = faces[f]
        n, _ = _normal(x[a], x[b], x[c])
        m, longest = _normal(*(x[new if k == old else k] for k in (a, b, c)))
        n_2, m_2 = _dot(n, n), _dot(m, m)
        if _dot(n, m) <= 0.3 * math.sqrt(n_2 * m_2) or m_2 <= 1e-2 * longest * longest:
            return True
    return False


def _normal(a: list[float], b: list[float], c: list[float]) -> tuple[list[float], float]:
    """Normal with the length of twice the area, and the squared longest edge; on scalars, which is faster here."""
    e, f, g = ([q - p for p, q in zip(*ends)] for ends in ((a, b), (a, c), (b, c)))
    n = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]]
    return n, max(_dot(e, e), _dot(f, f), _dot(g, g))


def _dot(a: list[float], b: list[float]) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
