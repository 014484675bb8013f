"""Edges of k-DOPs for display: each pair of planes intersects in a line, and the other slabs clip it."""

from .. import vec
from ..jit import kernel
from .volumes import AXES, axis_row

MOST = 160  # edges of one k-DOP; a 26-DOP has at most 72, and degenerate ones list some of them repeatedly
THIN = 1e-7  # of the size of a k-DOP: a shorter piece of a line is a corner
LOOSE = 1e-9  # of its size: how far a line may leave a slab that it touches


@kernel
def outline(bounds, q, out):
    """Store the edges of k-DOP q of bounds (n,k) in out (MOST,2,3); return their number."""
    h = bounds.shape[1] // 2
    middle = (0.5 * (bounds[q, 0] + bounds[q, h]), 0.5 * (bounds[q, 1] + bounds[q, h + 1]), 0.0)
    middle = (middle[0], middle[1], 0.5 * (bounds[q, 2] + bounds[q, h + 2]))
    sides = (bounds[q, h] - bounds[q, 0], bounds[q, h + 1] - bounds[q, 1], bounds[q, h + 2] - bounds[q, 2])
    size, count = max(sides[0], max(sides[1], sides[2])), 0
    for i in range(h):
        a = vec.load(AXES, axis_row(i, h))
        for j in range(i + 1, h):
            b = vec.load(AXES, axis_row(j, h))
            along = vec.cross(a, b)
            whole = vec.dot(along, along)
            for corner in range(4):
                # on both planes, relative to the middle
                r = bounds[q, i + h * (corner & 1)] - vec.dot(a, middle)
                s = bounds[q, j + h * (corner >> 1)] - vec.dot(b, middle)
                p = vec.scale(vec.cross(b, along), r / whole)
                p = vec.madd(p, vec.cross(along, a), s / whole)
                low, high = -4.0 * size, 4.0 * size
                for c in range(h):
                    if c != i and c != j:
                        n = vec.load(AXES, axis_row(c, h))
                        at, slope, off = vec.dot(n, p), vec.dot(n, along), vec.dot(n, middle)
                        least, most = bounds[q, c] - off - LOOSE * size, bounds[q, c + h] - off + LOOSE * size
                        if abs(slope) < 1e-12:
                            if at < least or at > most:
                                high = low
                        else:
                            u, v = (least - at) / slope, (most - at) / slope
                            low, high = max(low, min(u, v)), min(high, max(u, v))
                if high - low > THIN * size and count < len(out):
                    for k in range(3):
                        out[count, 0, k] = middle[k] + p[k] + low * along[k]
                        out[count, 1, k] = middle[k] + p[k] + high * along[k]
                    count += 1
    return count


@kernel
def outlines(bounds, out, counts):
    """Store the edges of the k-DOPs bounds (n,k) in out (n,MOST,2,3), and their numbers in counts (n,)."""
    for q in range(len(bounds)):
        counts[q] = outline(bounds, q, out[q])
