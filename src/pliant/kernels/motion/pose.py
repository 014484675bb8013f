"""Moving distance fields: poses are (3,4) arrays [R | t] from body to world coordinates."""

from .. import vec
from ..jit import kernel

FAR, UNMOVED, MOVED = 0, 1, 2  # results of `reach` for a field


@kernel
def rows(pose):
    """The three rows of R, and t."""
    return (
        (pose[0, 0], pose[0, 1], pose[0, 2]),
        (pose[1, 0], pose[1, 1], pose[1, 2]),
        (pose[2, 0], pose[2, 1], pose[2, 2]),
        (pose[0, 3], pose[1, 3], pose[2, 3]),
    )


@kernel
def turn(a, b, c, p):
    """R p"""
    return (vec.dot(a, p), vec.dot(b, p), vec.dot(c, p))


@kernel
def turn_back(a, b, c, p):
    """R^T p"""
    return vec.madd(vec.madd(vec.scale(a, p[0]), b, p[1]), c, p[2])


@kernel
def bring(points, pose, out):
    """Transform from world to body coordinates."""
    a, b, c, t = rows(pose)
    for i in range(len(points)):
        vec.store(out, i, turn_back(a, b, c, vec.sub(vec.load(points, i), t)))


@kernel
def go_on(to, dt, x, x_start, v):
    """Move x to `to` (n,3) in dt seconds, storing the previous position and the velocity."""
    for i in range(len(to)):
        for k in range(3):
            was = x[i, k]
            x_start[i, k], x[i, k], v[i, k] = was, to[i, k], (to[i, k] - was) / dt


@kernel
def carry(contacts, pose, start, lapse):
    """Transform contacts from body to world coordinates.

    The velocity of an anchor is its displacement, as a point of the body, from the pose `start`, divided by `lapse`.
    """
    a, b, c, t = rows(pose)
    a_0, b_0, c_0, t_0 = rows(start)
    per_second = 1.0 / lapse if lapse > 0.0 else 0.0
    for k in range(len(contacts)):
        contact = contacts[k]
        n = (contact["normal"][0], contact["normal"][1], contact["normal"][2])
        anchor = (contact["anchor"][0], contact["anchor"][1], contact["anchor"][2])
        n = turn(a, b, c, n)
        now = vec.add(turn(a, b, c, anchor), t)
        before = vec.add(turn(a_0, b_0, c_0, anchor), t_0)
        for i in range(3):
            contact["normal"][i] = n[i]
            contact["anchor"][i] = now[i]
            contact["anchor_velocity"][i] = (now[i] - before[i]) * per_second


@kernel
def standing(pose):
    """Whether a pose is exactly the identity."""
    for i in range(3):
        for j in range(4):
            if pose[i, j] != (1.0 if i == j else 0.0):
                return False
    return True


@kernel
def apart(a, b, c, t, middle, half, at, size):
    """Whether a box (`at`, half `size`) under a pose is certainly disjoint from an axis-aligned one (`middle`, `half`).

    Tested along the axes of both; boxes separated only by an edge-edge axis count as overlapping.
    """
    gap = vec.sub(middle, vec.add(turn(a, b, c, at), t))
    own = turn_back(a, b, c, gap)
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
        p = vec.sub(turn_back(a, b, c, vec.sub(vec.load(x, i), t)), at)
        if not (abs(p[0]) > size[0] or abs(p[1]) > size[1] or abs(p[2]) > size[2]):
            return True
    return False


@kernel
def reach(x, margin, low, high, poses, starts, bodies, out):
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
            if not (standing(pose) and standing(starts[bodies[k]])):
                a, b, c, t = rows(pose)
                out[k] = MOVED
        if apart(a, b, c, t, middle, half, at, size) or not any_inside(x, a, b, c, t, at, size):
            out[k] = FAR


@kernel
def keep_nearest(contacts, best, keep):
    """Mark in `keep` (n,) the nearest contact of each element; of equal ones the first.

    `best` (elements,) is -1 everywhere before and after.
    """
    for c in range(len(contacts)):
        e = contacts[c]["elements"][0]
        keep[c] = best[e] < 0 or contacts[c]["distance"] < contacts[best[e]]["distance"]
        if keep[c]:
            if best[e] >= 0:
                keep[best[e]] = False
            best[e] = c
    for c in range(len(contacts)):
        best[contacts[c]["elements"][0]] = -1
