"""Isotropic remeshing of a surface with boundary: edges are split, collapsed and flipped, and vertices relaxed, until
all edges are about equally long (M. Botsch and L. Kobbelt, A remeshing approach to multiresolution modeling, 2004)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..mesh.topology import Topology
from ..shapes.tidy import flipped_to_delaunay, neighbour_mean

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]
# positions (n,3) and the loop of each vertex (n,), -1 inside the surface -> positions on the surface, and unit normals
Project = Callable[[Floats, Ints], tuple[Floats, Floats]]
LONG, SHORT = 4.0 / 3.0, 4.0 / 5.0  # of the wanted length: longer edges are split, shorter ones collapsed
FLAT = 1e-3  # twice the area of a face over its longest edge squared, below which it is degenerate
CORNER = 1 << 20  # added to the loop of a vertex that stays where it is: a corner of the boundary


def remeshed(
    x: Floats, faces: Ints, loop: Ints, length: float, project: Project, rounds: int = 10
) -> tuple[Floats, Ints, Ints]:
    """Vertices, faces and loops of the same surface with edges of about `length`.

    loop (n,): the boundary loop, or part of one, that a vertex lies on, -1 inside; vertices never leave their loop,
    and those with `CORNER` added to it do not move.
    """
    for k in range(rounds):
        x, faces, loop = _split(x, faces, loop, LONG * length)
        x, faces, loop = _collapsed(x, faces, loop, SHORT * length)
        faces = flipped_to_delaunay(x, faces)
        x, normal = project(x, loop)
        for _ in range(3 if k < rounds - 1 else 6):
            x, normal = _relaxed(x, normal, faces, loop, project)
        faces = flipped_to_delaunay(x, faces)
    return x, faces, loop


def _relaxed(x: Floats, normal: Floats, faces: Ints, loop: Ints, project: Project) -> tuple[Floats, Floats]:
    """A step of every vertex along the surface towards the mean of its neighbours, along its loop at the boundary."""
    step = neighbour_mean(x, faces) - x
    step -= (step * normal).sum(1)[:, None] * normal
    top = Topology.of(faces, len(x))
    rim = top.edges[top.n_faces_at_edge == 1]
    total, count = np.zeros_like(x), np.zeros(len(x))
    for a, b in (rim.T, rim[:, ::-1].T):
        for k in range(3):
            total[:, k] += np.bincount(a, x[b, k], len(x))
        count += np.bincount(a, minlength=len(x))
    at = np.flatnonzero(loop >= 0)
    mean = total[at] / np.maximum(count[at], 1.0)[:, None] - x[at]
    step[at] = np.where(((count[at] == 2) & (loop[at] < CORNER))[:, None], mean, 0.0)
    return project(x + 0.6 * step, loop)


def _split(x: Floats, faces: Ints, loop: Ints, most: float) -> tuple[Floats, Ints, Ints]:
    """Edges longer than `most` are halved, the longest first, at most one per face at a time."""
    for _ in range(24):
        top = Topology.of(faces, len(x))
        length = np.linalg.norm(x[top.edges[:, 0]] - x[top.edges[:, 1]], axis=1)
        mine = length[top.face_edges]
        worst = top.face_edges[np.arange(len(faces)), mine.argmax(1)]
        votes = np.bincount(worst, minlength=len(top.edges))
        cut = (length > most) & (votes == top.n_faces_at_edge)
        if not cut.any():
            return x, faces, loop
        fresh = np.cumsum(cut) - 1 + len(x)
        a, b = top.edges[cut].T
        alike = (loop[a] % CORNER == loop[b] % CORNER) & (top.n_faces_at_edge[cut] == 1)
        new = np.where(alike, loop[a] % CORNER, -1).astype(np.int32)
        split = cut[worst]
        rows = np.arange(len(faces))[split]
        turn = mine.argmax(1)[split]
        p, q, r = (faces[rows, (turn + k) % 3] for k in range(3))
        m = fresh[worst[split]]
        halves = [np.stack([p, m, r], 1), np.stack([m, q, r], 1)]
        x, loop = np.concatenate([x, 0.5 * (x[a] + x[b])]), np.concatenate([loop, new])
        faces = np.concatenate([faces[~split], *halves]).astype(np.int32)
    return x, faces, loop


def _collapsed(x: Floats, faces: Ints, loop: Ints, least: float) -> tuple[Floats, Ints, Ints]:
    """Edges shorter than `least` are collapsed, the shortest first, no two of them near each other at a time."""
    for _ in range(12):
        top = Topology.of(faces, len(x))
        gone, kept, place = _choose(x, faces, loop, top, least)
        if not len(gone):
            break
        x, to = x.copy(), np.arange(len(x), dtype=np.int32)
        x[kept], to[gone] = place, kept
        faces = to[faces]
        faces = faces[(faces != np.roll(faces, 1, 1)).all(1)]
        used, flat = np.unique(faces, return_inverse=True)
        x, loop, faces = x[used], loop[used], flat.reshape(-1, 3).astype(np.int32)
    return x, faces, loop


def _choose(x: Floats, faces: Ints, loop: Ints, top: Topology, least: float) -> tuple[Ints, Ints, Floats]:
    """Vertices that vanish, the vertices they merge into, and the new positions of the merged vertices."""
    n = len(x)
    length = np.linalg.norm(x[top.edges[:, 0]] - x[top.edges[:, 1]], axis=1)
    e = np.flatnonzero(length < least)
    e = e[np.argsort(length[e], kind="stable")]
    a, b = top.edges[e].T
    rim = top.n_faces_at_edge[e] == 1
    # two vertices of the boundary merge only along it, and corners between two sides stay
    free = np.where(rim, loop[a] % CORNER == loop[b] % CORNER, (loop[a] < 0) | (loop[b] < 0))
    free &= (loop[a] < CORNER) | (loop[b] < CORNER)
    e, a, b = e[free], a[free], b[free]
    fixed_a, fixed_b = (np.where(loop[c] >= CORNER, 2, loop[c] >= 0) for c in (a, b))
    keep_a, keep_b = fixed_a > fixed_b, fixed_b > fixed_a
    gone, kept = np.where(keep_a, b, a), np.where(keep_a, a, b)
    place = np.where((keep_a | keep_b)[:, None], x[kept], 0.5 * (x[a] + x[b]))
    near = _neighbours(n, top.edges)
    shared = np.asarray(near[gone].multiply(near[kept]).sum(1)).ravel()
    fine = shared == top.n_faces_at_edge[e]  # the link condition: no other loop of three edges closes
    gone, kept, place = gone[fine], kept[fine], place[fine]
    # claim the neighbourhood in order: an edge is collapsed if it comes first everywhere around it
    rank = np.full(n, len(gone))
    order = np.arange(len(gone))
    around = [_claims(near, gone), _claims(near, kept)]
    for rows, who in around:
        np.minimum.at(rank, who, order[rows])
    first = np.ones(len(gone), np.bool_)
    for rows, who in around:
        first[rows[rank[who] != order[rows]]] = False
    gone, kept, place = gone[first], kept[first], place[first]
    fits = _keeps_shape(x, faces, gone, kept, place, LONG / SHORT * least)
    return gone[fits].astype(np.int32), kept[fits].astype(np.int32), place[fits]


def _neighbours(n: int, edges: Ints):  # type: ignore[no-untyped-def]
    from scipy.sparse import csr_array

    one = np.ones(2 * len(edges), np.int32)
    return csr_array((one, (np.concatenate(edges.T), np.concatenate(edges.T[::-1]))), shape=(n, n))


def _claims(near, vertices: Ints) -> tuple[NDArray[np.int64], NDArray[np.int64]]:  # type: ignore[no-untyped-def]
    """For each row of `vertices`, the vertex and its neighbours: rows and vertices."""
    part = near[vertices].tocoo()
    rows, who = part.coords
    return np.concatenate([rows, np.arange(len(vertices))]), np.concatenate([who, vertices])


def _keeps_shape(x: Floats, faces: Ints, gone: Ints, kept: Ints, place: Floats, most: float) -> Bools:
    """(k,) mask of the collapses that turn no face over and make no edge longer than `most`."""
    n = len(x)
    of = np.full(n, -1)
    of[gone] = of[kept] = np.arange(len(gone))
    moved = x.copy()
    moved[gone] = moved[kept] = place
    row = of[faces]
    touched = (row >= 0).any(1)
    row, some = row[touched].max(1), faces[touched]
    merged = ((of[some] == row[:, None]) & (row >= 0)[:, None]).sum(1) == 2
    row, some = row[~merged], some[~merged]
    before = np.cross(x[some[:, 1]] - x[some[:, 0]], x[some[:, 2]] - x[some[:, 0]])
    after = np.cross(moved[some[:, 1]] - moved[some[:, 0]], moved[some[:, 2]] - moved[some[:, 0]])
    twice = np.linalg.norm(before, axis=1)
    upright = (before * after).sum(1) > 0.3 * twice * np.linalg.norm(after, axis=1)
    upright |= twice <= FLAT * ((x[some] - x[np.roll(some, 1, 1)]) ** 2).sum(2).max(1)  # no side to keep
    longest = np.linalg.norm(moved[some] - moved[np.roll(some, 1, 1)], axis=2).max(1)
    fits = np.ones(len(gone), np.bool_)
    fits[row[~upright | (longest > most)]] = False
    return fits
