"""Cloth that bodies squeeze from both sides."""

from .. import vec
from ..jit import kernel

OPPOSITE = -0.5  # largest cosine between the directions in which two bodies push cloth that they squeeze


@kernel
def mark_squeezed(vertices, push, point, near, squeezed):
    """Mark the contacts (k,) of cloth with bodies that squeeze the cloth between them.

    vertices (k,) is the vertex of the cloth that each contact belongs to, ascending; push (k,3) the unit direction in
    which the body pushes it, and point (k,3) the nearest point of the body. Two contacts of a vertex squeeze it if they
    push in opposite directions and each body is ahead of the other, by less than `near` metres. The two sides of an
    edge of a body over which cloth is folded push apart, too, but there neither is ahead of the other.
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
                if vec.norm2(d) < near * near and vec.dot(d, n) > 0.0 and vec.dot(d, m) < 0.0:
                    squeezed[a] = squeezed[b] = True
        begin = end
