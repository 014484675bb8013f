"""Split intersected faces only as far as a point needs it: its nearest pieces that no other face crosses, in order.

Splitting all faces of a surface that intersects itself everywhere takes a number of pieces that grows with the square
of the faces that cross each one. A best-first search from a point splits the nearest piece only, and stops early.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.rounding import largest
from ..geometry.triangle import point_triangle_distance, unit_normal
from ..jit import kernel
from .solid_boundary import ROUNDING, put, split_triangle, through_plane


class Segments(NamedTuple):
    """The segments that cut faces, grouped by face: those of face f are start[f]:start[f + 1]."""

    start: np.ndarray  # (faces + 1,) i8
    ends: np.ndarray  # (k,2,3)


class Found(NamedTuple):
    """The nearest pieces of each point, ascending by distance."""

    triangles: np.ndarray  # (n,most,3,3)
    face: np.ndarray  # (n,most) i8
    count: np.ndarray  # (n,) i8, `most` where there may be more
    done: np.ndarray  # (n,) bool: all pieces within the radius were found


@kernel
def cut_faces(x, faces, which, start, others, tolerance):
    """The segments in which others[start[i]:start[i + 1]] meet the face which[i]."""
    first = np.zeros(len(faces) + 1, np.int64)
    ends, one, count = np.empty((3 * len(others), 2, 3)), np.empty((3, 2, 3)), 0
    for i in range(len(which)):
        f, before = which[i], count
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        n = unit_normal(a, b, c)
        if vec.norm2(n) > 0.0:
            for r in range(start[i], start[i + 1]):
                for k in range(through_plane(x, faces, f, others[r], n, tolerance, one)):
                    for e in range(2):
                        vec.store(ends[count], e, vec.load(one[k], e))
                    count += 1
        first[f + 1] = count - before
    for f in range(len(faces)):
        first[f + 1] += first[f]
    return first, ends[:count]


@kernel
def nearest_pieces(x, faces, rows, segments, points, radius, out):
    """Write to `out` the pieces of the faces `rows` nearest to each of `points` (n,3), no farther than `radius`."""
    most = out.triangles.shape[1]
    for j in range(len(points)):
        p = vec.load(points, j)
        room = 2 * len(rows) + 64
        pieces, face, after = np.empty((room, 3, 3)), np.empty(room, np.int64), np.empty(room, np.int64)
        key, heap, size = np.empty(room), np.empty(room, np.int64), 0
        for i in range(len(rows)):
            f = rows[i]
            a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
            put(pieces, i, a, b, c)
            face[i], after[i], key[i] = f, segments.start[f], point_triangle_distance(p, a, b, c)
            if key[i] <= radius:
                size = push(heap, size, key, i)
        count, found = len(rows), 0
        while size > 0 and found < most:
            t = heap[0]
            size = pop(heap, size, key)
            if count + 2 > len(key):
                pieces, face, after, key, heap = longer(pieces, face, after, key, heap, count)
            new = split_once(pieces, t, count, face[t], after, segments)
            if new == count:
                for k in range(3):
                    vec.store(out.triangles[j, found], k, vec.load(pieces[t], k))
                out.face[j, found] = face[t]
                found += 1
                continue
            for k in range(count - 1, new):
                i = t if k < count else k
                face[i], after[i] = face[t], after[t]
                key[i] = point_triangle_distance(
                    p, vec.load(pieces[i], 0), vec.load(pieces[i], 1), vec.load(pieces[i], 2)
                )
                if key[i] <= radius:
                    size = push(heap, size, key, i)
            count = new
        out.count[j], out.done[j] = found, size == 0


@kernel
def split_once(pieces, t, count, f, after, segments):
    """Split piece t of face f by the first segment from after[t] on that crosses it, and append the new pieces to the
    list of `count`; return the new count. after[t] becomes the index of the next segment."""
    a, b, c = vec.load(pieces[t], 0), vec.load(pieces[t], 1), vec.load(pieces[t], 2)
    n = unit_normal(a, b, c)
    near = ROUNDING * max(largest(a), largest(b), largest(c))
    for r in range(after[t], segments.start[f + 1]):
        after[t] = r + 1
        s = vec.load(segments.ends[r], 0)
        d = vec.sub(vec.load(segments.ends[r], 1), s)
        length = vec.norm(d)
        if length > near and vec.norm2(n) > 0.0:
            d = vec.scale(d, 1.0 / length)
            new = split_triangle(pieces, t, count, s, d, vec.cross(n, d), length, near)
            if new > count:
                return new
    return count


@kernel
def longer(pieces, face, after, key, heap, count):
    """Copies of twice the length."""
    more, room = np.empty((2 * len(key), 3, 3)), 2 * len(key)
    of, then, keys, order = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64)
    for t in range(count):
        put(more, t, vec.load(pieces[t], 0), vec.load(pieces[t], 1), vec.load(pieces[t], 2))
        of[t], then[t], keys[t], order[t] = face[t], after[t], key[t], heap[t]
    return more, of, then, keys, order


@kernel
def push(heap, size, key, i):
    """Add i to a binary heap, least key first, then least index; return its size."""
    at = size
    while at > 0:
        above = (at - 1) // 2
        if comes_first(key, heap[above], i):
            break
        heap[at] = heap[above]
        at = above
    heap[at] = i
    return size + 1


@kernel
def pop(heap, size, key):
    """Remove the first entry of a heap; return its size."""
    size -= 1
    last, at = heap[size], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and comes_first(key, heap[child + 1], heap[child]):
            child += 1
        if comes_first(key, last, heap[child]):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return size


@kernel
def comes_first(key, i, j):
    return key[i] < key[j] or (key[i] == key[j] and i < j)
