"""Cloth that bodies squeeze from both sides."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..geometry.triangle import unit_normal
from ..jit import kernel

OPPOSITE = -0.5  # largest cosine between the directions in which two bodies push cloth that they squeeze
BEHIND = 0.05  # largest sine of the angle by which a body may rise above the plane of a contact, for rounding
AHEAD = 0.1  # least sine of that angle for a body that is ahead of another
SUPPORT = 1e-9  # weight of a vertex on which the nearest point depends


class FacesAround(NamedTuple):
    """Faces of bodies around each vertex: numbers[first[i]:first[i + 1]] contain vertex i."""

    first: np.ndarray  # (n + 1,)
    numbers: np.ndarray  # (3 m,)
    faces: np.ndarray  # (m,3) i4
    closed: np.ndarray  # (m,) whether a face belongs to a closed shell, which has an inside


@kernel
def mark_facing(vertices, weights, push, point, around, x, facing):
    """Mark the contacts (k,) at which a body lies behind its nearest point, and so can stop cloth.

    weights (k,4) are those of the body's vertices, 0 for the cloth; push (k,3) is the unit direction in which the body
    pushes the cloth, and point (k,3) the nearest point. No face around that point may rise into the direction of the
    push, as it would at an edge of a face beside which the cloth touches, and closed shells push outward only, not
    through their other side.
    """
    first, numbers, faces, closed = around
    for c in range(len(facing)):
        start = -1
        for k in range(4):
            if weights[c, k] > SUPPORT:
                start = vertices[c, k]
        n, p = vec.load(push, c), vec.load(point, c)
        outward, solid, behind = (0.0, 0.0, 0.0), False, start >= 0
        for at in range(first[start], first[start + 1]) if behind else range(0):
            f = numbers[at]
            i, j, h = faces[f, 0], faces[f, 1], faces[f, 2]
            whole = True
            for k in range(4):
                v = vertices[c, k]
                whole &= not weights[c, k] > SUPPORT or v in (i, j, h)
            if not whole:
                continue
            a, b, d = vec.load(x, i), vec.load(x, j), vec.load(x, h)
            solid |= closed[f]
            outward = vec.add(outward, unit_normal(a, b, d))
            for corner in (a, b, d):
                rise = vec.sub(corner, p)
                behind &= vec.dot(n, rise) <= BEHIND * vec.norm(rise)
        facing[c] = behind and (not solid or vec.dot(n, outward) > 0.0)


@kernel
def mark_squeezed(vertices, push, point, near, squeezed):
    """Mark the contacts (k,) of cloth with bodies that squeeze the cloth between them.

    vertices (k,) is the vertex of the cloth that each contact belongs to, ascending; push (k,3) the unit direction in
    which the body pushes it, and point (k,3) the nearest point of the body. Two contacts of a vertex squeeze it if they
    push in opposite directions and each body is ahead of the other, by less than `near` metres. The two sides of an
    edge of a body over which cloth is folded push apart, too, but there neither is ahead of the other: a convex body
    never squeezes.
    """
    begin = 0
    while begin < len(vertices):
        end = begin
        while end < len(vertices) and vertices[end] == vertices[begin]:
            end += 1
        for a in range(begin, end):
            n, p = vec.load(push, a), vec.load(point, a)
            for b in range(a + 1, end):
                m = vec.load(push, b)
                if vec.dot(n, m) > OPPOSITE:
                    continue
                d = vec.sub(vec.load(point, b), p)
                far = vec.norm(d)
                if far < near and vec.dot(d, n) > AHEAD * far and vec.dot(d, m) < -AHEAD * far:
                    squeezed[a] = squeezed[b] = True
        begin = end
