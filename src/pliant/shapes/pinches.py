"""Removal of pinched points and edges of a tet mesh, where its surface touches itself."""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..validate import Floats

Index = NDArray[Any]
_SIDES = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])
_EDGES = np.array(list(itertools.combinations(range(4), 2)))


def without_pinches(x: Floats, tets: Index, surface: NDArray[np.bool_] | None = None) -> Index:
    """Return the tets (k,4) that remain after removing some, so that their surface is a manifold.

    Where several fans of tets share only a vertex or an edge, the fan with the largest volume remains. Where the
    surface of one fan passes through a vertex more than once (two cavities that touch), the tets along the smaller
    surface fan are removed. The vertices in `surface` (n,) (default: all) and those of removed tets are tested.
    """
    tested = np.ones(len(x), np.bool_) if surface is None else surface.copy()
    while len(tets):
        near = np.flatnonzero(tested[tets].any(1))
        gone = _in_smaller_tet_fan(x, tets[near], tested)
        if not gone.any():
            gone = _in_smaller_face_fan(x, tets[near], tested)
        if not gone.any():
            break
        tested[tets[near[gone]]] = True
        tets = np.delete(tets, near[gone], 0)
    return tets


def _in_smaller_tet_fan(x: Floats, tets: Index, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(k,) tets that are not in the largest fan at one of their vertices or edges."""
    volume = np.abs(np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]]))
    one, two = _equal_rows(np.sort(tets[:, _SIDES].reshape(-1, 3), 1))
    gone = np.zeros(len(tets), np.bool_)
    n = len(x)
    for parts in (np.arange(4)[:, None], _EDGES):
        # item m of a tet is its vertex or edge parts[m]; tets that share a face share the items on it
        key = np.sort(tets[:, parts], 2).reshape(len(tets), len(parts), -1)
        flat = (key[..., 0] * n + key[..., -1]).ravel()
        rows, columns = [], []
        for side in range(4):
            on = [m for m in range(len(parts)) if side not in parts[m]]
            of = one % 4 == side
            for m in on:
                a = len(parts) * (one[of] // 4) + m
                b = len(parts) * (two[of] // 4)[:, None] + np.arange(len(parts))
                rows.append(a)
                columns.append(b[np.arange(len(a)), np.argmax(flat[b] == flat[a][:, None], 1)])
        loses = _not_in_heaviest(flat, np.concatenate(rows), np.concatenate(columns), np.repeat(volume, len(parts)))
        # fans are incomplete at vertices that are not tested
        gone |= (loses.reshape(len(tets), -1) & tested[key].all(2)).any(1)
    return gone


def _in_smaller_face_fan(x: Floats, tets: Index, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(k,) tets with a face that is not in the largest fan of surface faces at a vertex."""
    sides = np.sort(tets[:, _SIDES].reshape(-1, 3), 1)
    alone = np.ones(len(sides), np.bool_)
    alone[np.concatenate(_equal_rows(sides))] = False
    own = np.flatnonzero(alone & tested[sides].all(1))
    faces = sides[own]
    area = np.linalg.norm(np.cross(x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]), axis=1)
    # item j of a face is its corner j; edge j, between corners j and j + 1, connects equal corners of two faces
    edges = np.stack([faces, np.roll(faces, -1, 1)], 2).reshape(-1, 2)
    one, two = _equal_rows(np.sort(edges, 1))
    rows, columns = [], []
    for end in (0, 1):
        v = edges[one, end]
        corner = 3 * (two // 3)[:, None] + np.arange(3)
        rows.append(3 * (one // 3) + (one % 3 + end) % 3)
        columns.append(corner[np.arange(len(v)), np.argmax(faces[two // 3] == v[:, None], 1)])
    loses = _not_in_heaviest(faces.ravel(), np.concatenate(rows), np.concatenate(columns), np.repeat(area, 3))
    gone = np.zeros(len(tets), np.bool_)
    gone[own[loses.reshape(-1, 3).any(1)] // 4] = True
    return gone


def _equal_rows(keys: Index) -> tuple[Index, Index]:
    """Indices of equal rows of `keys`, as two lists of consecutive pairs in sorted order."""
    order = np.lexsort(keys.T)
    again = np.flatnonzero((keys[order][1:] == keys[order][:-1]).all(1))
    return order[again], order[again + 1]


def _not_in_heaviest(key: Index, rows: Index, columns: Index, weight: Floats) -> NDArray[np.bool_]:
    """(n,) items that are not in the heaviest fan of their key; rows[i] and columns[i] are in the same fan."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(len(key), len(key)))
    count, fan = connected_components(graph, directed=False)
    total = np.bincount(fan, weight, count)
    name = np.empty(count, key.dtype)
    name[fan] = key
    # sorted by key, then heaviest first, then by index
    order = np.lexsort((np.arange(count), -total, name))
    loses = np.zeros(count, np.bool_)
    loses[order[1:]] = name[order[1:]] == name[order[:-1]]
    return loses[fan]
