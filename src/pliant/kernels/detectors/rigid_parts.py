"""Distance fields of rigid parts: which of them are near any point, and the nearest contact of each element."""

from .. import vec
from ..jit import kernel
from ..kinds import FIRST
from ..motion.rigid import is_identity, rotate, rotate_back, rows

FAR, UNMOVED, MOVED = 0, 1, 2  # results of `classify_fields` for a field


@kernel
def boxes_apart(a, b, c, t, middle, half, at, size):
    """Whether a box (`at`, half `size`) under a pose is certainly disjoint from an axis-aligned one (`middle`, `half`).

    Tested along the axes of both; boxes separated only by an edge-edge axis count as overlapping.
    """
    gap = vec.sub(middle, vec.add(rotate(a, b, c, at), t))
    own = rotate_back(a, b, c, gap)
    for i, row in enumerate((a, b, c)):
        if abs(gap[i]) > half[i] + abs(row[0]) * size[0] + abs(row[1]) * size[1] + abs(row[2]) * size[2]:
            return True
    for i in range(3):
        if abs(own[i]) > size[i] + abs(a[i]) * half[0] + abs(b[i]) * half[1] + abs(c[i]) * half[2]:
            return True
    return False


@kernel
def any_inside(x, a, b, c, t, at, size):
    """Whether any of the points is in a box (`at`, half `size`) under a pose."""
    for i in range(len(x)):
        p = vec.sub(rotate_back(a, b, c, vec.sub(vec.load(x, i), t)), at)
        if not (abs(p[0]) > size[0] or abs(p[1]) > size[1] or abs(p[2]) > size[2]):
            return True
    return False


@kernel
def classify_fields(x, margin, low, high, poses, starts, bodies, out):
    """Classify each field against the points `x`: out[k] is FAR if none of them is within `margin` of its box (low[k],
    high[k], in coordinates of body bodies[k]), UNMOVED if it has not moved from where it was baked, otherwise MOVED.

    The bounding box of all points is tested first, so that distant fields cost almost nothing.
    """
    first, last = vec.load(x, 0), vec.load(x, 0)
    for i in range(1, len(x)):
        p = vec.load(x, i)
        first = (min(first[0], p[0]), min(first[1], p[1]), min(first[2], p[2]))
        last = (max(last[0], p[0]), max(last[1], p[1]), max(last[2], p[2]))
    middle, half = vec.mix(first, last, 0.5), vec.scale(vec.sub(last, first), 0.5)
    for k in range(len(bodies)):
        at = vec.mix(vec.load(low, k), vec.load(high, k), 0.5)
        size = vec.scale(vec.sub(vec.load(high, k), vec.load(low, k)), 0.5)
        size = (size[0] + margin, size[1] + margin, size[2] + margin)
        a, b, c, t = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
        out[k] = UNMOVED
        if bodies[k] < len(poses):
            pose = poses[bodies[k]]
            if not (is_identity(pose) and is_identity(starts[bodies[k]])):
                a, b, c, t = rows(pose)
                out[k] = MOVED
        if boxes_apart(a, b, c, t, middle, half, at, size) or not any_inside(x, a, b, c, t, at, size):
            out[k] = FAR


@kernel
def keep_nearest(contacts, best, keep):
    """Mark in `keep` (n,) the nearest contact of each element; of equal ones the first.

    `best` (elements,) is -1 everywhere before and after.
    """
    for c in range(len(contacts)):
        e = contacts[c]["elements"][FIRST]
        keep[c] = best[e] < 0 or contacts[c]["distance"] < contacts[best[e]]["distance"]
        if keep[c]:
            if best[e] >= 0:
                keep[best[e]] = False
            best[e] = c
    for c in range(len(contacts)):
        best[contacts[c]["elements"][FIRST]] = -1
