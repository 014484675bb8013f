"""Split intersected faces into triangles that no other face crosses.

A face g meets the plane of a face f in a segment (or in its three edges, if both are coplanar). Each triangle of f that
a segment crosses is split along the whole line: more pieces than necessary, but none is partly inside, partly outside.
"""

import numpy as np

from .. import vec
from ..geometry.predicates import orient3d
from ..geometry.rounding import largest
from ..geometry.triangle import unit_normal
from ..jit import kernel

ROUNDING = 2.0**-49  # of the coordinates: a point nearer to a line than this is on it


@kernel
def through_plane(x, faces, f, g, n, tolerance, ends):
    """Write to `ends` the segments (k,2,3), at most three, in which face g meets the plane of face f with unit normal
    n; return k. Faces nowhere farther than `tolerance` from the plane count as coplanar.
    """
    a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
    if lies_in(x, faces, g, a, n, tolerance):
        for k in range(3):
            vec.store(ends[k], 0, vec.load(x, faces[g, k]))
            vec.store(ends[k], 1, vec.load(x, faces[g, (k + 1) % 3]))
        return 3
    side = (
        orient3d(a, b, c, vec.load(x, faces[g, 0])),
        orient3d(a, b, c, vec.load(x, faces[g, 1])),
        orient3d(a, b, c, vec.load(x, faces[g, 2])),
    )
    count = 0
    for k in range(3):
        if side[k] == 0 and count < 2:
            vec.store(ends[0], count, vec.load(x, faces[g, k]))
            count += 1
    for k in range(3):
        m = (k + 1) % 3
        if side[k] * side[m] < 0 and count < 2:
            p, q = vec.load(x, faces[g, k]), vec.load(x, faces[g, m])
            h, j = vec.dot(n, vec.sub(p, a)), vec.dot(n, vec.sub(q, a))
            t = min(max(h / (h - j), 0.0), 1.0) if h != j else 0.5
            vec.store(ends[0], count, vec.mix(p, q, t))
            count += 1
    return 1 if count == 2 else 0


@kernel
def lies_in(x, faces, g, a, n, tolerance):
    """Whether face g is nowhere farther than `tolerance` from the plane through a with unit normal n."""
    far = 0.0
    for k in range(3):
        far = max(far, abs(vec.dot(n, vec.sub(vec.load(x, faces[g, k]), a))))
    return far <= tolerance


@kernel
def mark_coplanar(x, faces, pairs, tolerance, found):
    """Mark the pairs (k,2) of faces of which one lies in the plane of the other, within `tolerance`."""
    for c in range(len(pairs)):
        found[c] = False
        for k in range(2):
            f, g = pairs[c, k], pairs[c, 1 - k]
            a = vec.load(x, faces[f, 0])
            n = unit_normal(a, vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2]))
            if vec.norm2(n) > 0.0 and lies_in(x, faces, g, a, n, tolerance):
                found[c] = True


@kernel
def split_triangle(triangles, t, count, s, d, m, length, near):
    """Split triangle t along the line through s in direction d (unit), with in-plane normal m, if the segment of this
    length crosses it; new pieces are appended to the list of `count`. Return the new count.
    """
    a, b, c = vec.load(triangles[t], 0), vec.load(triangles[t], 1), vec.load(triangles[t], 2)
    h = (vec.dot(m, vec.sub(a, s)), vec.dot(m, vec.sub(b, s)), vec.dot(m, vec.sub(c, s)))
    if max(h[0], h[1], h[2]) <= near or min(h[0], h[1], h[2]) >= -near:
        return count
    # rotated so that the first corner is alone on its side, or on the line if one is
    first = 0
    for k in range(3):
        if abs(h[k]) <= near:
            first = k
            break
        i, j = (k + 1) % 3, (k + 2) % 3
        if (h[k] > 0.0) != (h[i] > near) and (h[k] > 0.0) != (h[j] > near):
            first = k
    if first == 1:
        a, b, c, h = b, c, a, (h[1], h[2], h[0])
    elif first == 2:
        a, b, c, h = c, a, b, (h[2], h[0], h[1])
    if abs(h[0]) <= near:
        p, q = a, vec.mix(b, c, h[1] / (h[1] - h[2]))
    else:
        p, q = vec.mix(a, b, h[0] / (h[0] - h[1])), vec.mix(a, c, h[0] / (h[0] - h[2]))
    along, beyond = vec.dot(d, vec.sub(p, s)), vec.dot(d, vec.sub(q, s))
    if max(along, beyond) <= near or min(along, beyond) >= length - near:
        return count
    if abs(h[0]) <= near:
        put(triangles, t, a, b, q)
        put(triangles, count, a, q, c)
        return count + 1
    put(triangles, t, a, p, q)
    put(triangles, count, p, b, c)
    put(triangles, count + 1, p, c, q)
    return count + 2


@kernel
def put(triangles, t, a, b, c):
    vec.store(triangles[t], 0, a)
    vec.store(triangles[t], 1, b)
    vec.store(triangles[t], 2, c)


@kernel
def split_faces(x, faces, which, start, others, tolerance, most):
    """Split each of the faces `which` by others[start[i]:start[i + 1]]; return (triangles (k,3,3), their faces (k,),
    k).

    Degenerate faces are skipped. If there are more than `most` pieces, the work is abandoned and only the number
    returned is meaningful.
    """
    triangles, origin, count = np.empty((8 * len(which) + 64, 3, 3)), np.empty(8 * len(which) + 64, np.int64), 0
    ends = np.empty((3, 2, 3))
    for i in range(len(which)):
        f = which[i]
        a, b, c = vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
        n = unit_normal(a, b, c)
        if vec.norm2(n) == 0.0:
            continue
        near = ROUNDING * max(largest(a), largest(b), largest(c))
        begin = count
        triangles, origin = with_capacity(triangles, origin, count)
        put(triangles, count, a, b, c)
        count += 1
        for r in range(start[i], start[i + 1]):
            for k in range(through_plane(x, faces, f, others[r], n, tolerance, ends)):
                s = vec.load(ends[k], 0)
                d = vec.sub(vec.load(ends[k], 1), s)
                length = vec.norm(d)
                if length <= near:
                    continue
                d = vec.scale(d, 1.0 / length)
                m = vec.cross(n, d)
                triangles, origin = with_capacity(triangles, origin, count)
                for t in range(begin, count):
                    count = split_triangle(triangles, t, count, s, d, m, length, near)
            if count > most:
                return triangles[:1], origin[:1], count
        origin[begin:count] = f
    return triangles[:count], origin[:count], count


@kernel
def with_capacity(triangles, origin, count):
    """The lists, or longer copies: each of `count` triangles may become three."""
    if len(triangles) >= 3 * count + 8:
        return triangles, origin
    more, of = np.empty((6 * count + 64, 3, 3)), np.empty(6 * count + 64, np.int64)
    for t in range(count):  # an assignment of slices takes 3 s longer to compile, because of its error message
        put(more, t, vec.load(triangles[t], 0), vec.load(triangles[t], 1), vec.load(triangles[t], 2))
        of[t] = origin[t]
    return more, of


@kernel
def mark_touching(low, high, rows, points, radius, out):
    """Mark in out (k,) those of the boxes `rows` that touch the cube of half width `radius` around any of `points`."""
    for r in range(len(rows)):
        i = rows[r]
        for j in range(len(points)):
            touches = True
            for c in range(3):
                touches &= low[i, c] <= points[j, c] + radius and high[i, c] >= points[j, c] - radius
            if touches:
                out[i] = True
                break
