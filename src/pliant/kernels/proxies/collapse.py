"""Collapse of short edges of a surface with boundary, one after another: the first, coarse step of remeshing.

The corners of a vertex are a linked list. When a vertex merges into another, its list is appended to that of the other;
faces that vanish stay in the lists with a first corner of -1.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel

UPRIGHT = 0.3  # least cosine between the normals of a face before and after
FLAT = 1e-3  # twice the area of a face divided by its longest edge squared, below which it has no orientation to keep
PASSES = 12  # over all faces, for each length


class Work(NamedTuple):
    """A surface that becomes coarser."""

    x: np.ndarray  # (n,3)
    faces: np.ndarray  # (m,3); first corner -1: vanished
    loop: np.ndarray  # (n,) boundary loop, -1 inside
    corner: int  # vertices whose `loop` is at least this are never merged into others
    head: np.ndarray  # (n,) first corner of each vertex, 3 face + k
    tail: np.ndarray  # (n,) last one
    after: np.ndarray  # (3m,) next corner of the same vertex, -1 at the end
    mark: np.ndarray  # (n,2) scratch


@kernel
def _link(work):
    """Fill the lists of corners."""
    for v in range(len(work.head)):
        work.head[v] = work.tail[v] = -1
    for f in range(len(work.faces)):
        for k in range(3):
            c, v = 3 * f + k, work.faces[f, k]
            work.after[c] = -1
            if work.head[v] < 0:
                work.head[v] = c
            else:
                work.after[work.tail[v]] = c
            work.tail[v] = c


@kernel
def _point(x, v):
    return x[v, 0], x[v, 1], x[v, 2]


@kernel
def _shared_faces(work, kept, gone, stamp):
    """Number of faces at the edge, or -1 if collapsing it would close another loop of three edges (link condition)."""
    faces, shared = work.faces, 0
    c = work.head[gone]
    while c >= 0:
        f = c // 3
        if faces[f, 0] >= 0:
            for k in range(3):
                work.mark[faces[f, k], 0] = stamp
                if faces[f, k] == kept:
                    shared += 1
        c = work.after[c]
    common = 0
    c = work.head[kept]
    while c >= 0:
        f = c // 3
        if faces[f, 0] >= 0:
            for k in range(3):
                v = faces[f, k]
                if v not in (kept, gone) and work.mark[v, 0] == stamp and work.mark[v, 1] != stamp:
                    work.mark[v, 1] = stamp
                    common += 1
        c = work.after[c]
    return shared if common == shared else -1


@kernel
def _keeps_shape(work, kept, gone, most):
    """Whether no face turns over and no edge becomes longer than `most`."""
    x, faces = work.x, work.faces
    to = _point(x, kept)
    c = work.head[gone]
    while c >= 0:
        f, k = c // 3, c % 3
        u, v = faces[f, (k + 1) % 3], faces[f, (k + 2) % 3]
        if faces[f, 0] >= 0 and kept not in (u, v):
            a, b, p = _point(x, u), _point(x, v), _point(x, gone)
            if max(vec.norm2(vec.sub(a, to)), vec.norm2(vec.sub(b, to))) > most * most:
                return False
            before = vec.cross(vec.sub(a, p), vec.sub(b, p))
            after = vec.cross(vec.sub(a, to), vec.sub(b, to))
            longest = max(vec.norm2(vec.sub(a, p)), vec.norm2(vec.sub(b, p)), vec.norm2(vec.sub(a, b)))
            if vec.norm2(before) > (FLAT * longest) ** 2:
                if vec.dot(before, after) <= UPRIGHT * np.sqrt(vec.norm2(before) * vec.norm2(after)):
                    return False
        c = work.after[c]
    return True


@kernel
def _may_merge(work, kept, gone, shared):
    """Whether the boundary allows the merge: vertices of a loop merge only along it, and corners stay."""
    loop = work.loop[gone]
    if loop < 0:
        return True
    return loop < work.corner and shared == 1 and work.loop[kept] % work.corner == loop


@kernel
def _merge(work, kept, gone):
    faces = work.faces
    c = work.head[gone]
    while c >= 0:
        f, k = c // 3, c % 3
        if faces[f, 0] >= 0:
            if kept in (faces[f, (k + 1) % 3], faces[f, (k + 2) % 3]):
                faces[f, 0] = -1
            else:
                faces[f, k] = kept
        c = work.after[c]
    work.after[work.tail[kept]] = work.head[gone]
    work.tail[kept] = work.tail[gone]
    work.head[gone] = work.tail[gone] = -1


@kernel
def collapse_short(work, least, most):
    """Collapse edges shorter than `least` metres, the shorter ones first; return their number."""
    _link(work)
    work.mark[:] = 0
    stamp, done = 0, 0
    for level in range(1, 5):
        limit = least * least * (0.25 * level) ** 2
        for _ in range(PASSES):
            before = done
            for f in range(len(work.faces)):
                for k in range(6):
                    if work.faces[f, 0] < 0:
                        break
                    a, b = work.faces[f, k % 3], work.faces[f, (k + 1) % 3]
                    kept, gone = (a, b) if k < 3 else (b, a)
                    if vec.norm2(vec.sub(_point(work.x, a), _point(work.x, b))) >= limit:
                        continue
                    if work.loop[gone] >= 0 and work.loop[kept] < 0:
                        continue
                    stamp += 1
                    shared = _shared_faces(work, kept, gone, stamp)
                    if shared < 1 or not _may_merge(work, kept, gone, shared):
                        continue
                    if _keeps_shape(work, kept, gone, most):
                        _merge(work, kept, gone)
                        done += 1
            if done == before:
                break
    return done
