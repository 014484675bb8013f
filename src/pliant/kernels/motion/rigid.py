"""Rigid motion: poses are (3,4) arrays [R | t] from body to world coordinates."""

from .. import vec
from ..accessors import anchor_of, normal_of
from ..jit import kernel


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
def rotate(a, b, c, p):
    """R p"""
    return (vec.dot(a, p), vec.dot(b, p), vec.dot(c, p))


@kernel
def rotate_back(a, b, c, p):
    """R^T p"""
    return vec.madd(vec.madd(vec.scale(a, p[0]), b, p[1]), c, p[2])


@kernel
def to_body(points, pose, out):
    """Transform from world to body coordinates."""
    a, b, c, t = rows(pose)
    for i in range(len(points)):
        vec.store(out, i, rotate_back(a, b, c, vec.sub(vec.load(points, i), t)))


@kernel
def move_to(to, dt, x, x_start, v):
    """Move x to `to` (n,3) in dt seconds, storing the previous position and the velocity."""
    for i in range(len(to)):
        for k in range(3):
            was = x[i, k]
            x_start[i, k], x[i, k], v[i, k] = was, to[i, k], (to[i, k] - was) / dt


@kernel
def to_world(contacts, pose, start, lapse):
    """Transform contacts from body to world coordinates.

    The velocity of an anchor is its displacement, as a point of the body, from the pose `start`, divided by `lapse`.
    """
    a, b, c, t = rows(pose)
    a_0, b_0, c_0, t_0 = rows(start)
    per_second = 1.0 / lapse if lapse > 0.0 else 0.0
    for k in range(len(contacts)):
        contact = contacts[k]
        anchor = anchor_of(contact)
        n = rotate(a, b, c, normal_of(contact))
        now = vec.add(rotate(a, b, c, anchor), t)
        before = vec.add(rotate(a_0, b_0, c_0, anchor), t_0)
        for i in range(3):
            contact["normal"][i] = n[i]
            contact["anchor"][i] = now[i]
            contact["anchor_velocity"][i] = (now[i] - before[i]) * per_second


@kernel
def is_identity(pose):
    """Whether a pose is exactly the identity."""
    for i in range(3):
        for j in range(4):
            if pose[i, j] != (1.0 if i == j else 0.0):
                return False
    return True
