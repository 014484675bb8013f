"""Gradient of an intersection volume by layered depth images (Faure, Allard, Falipou, Barbier 2008).

Along a ray, the common part of two bodies begins at a face of one of them and ends at a face of one of them. The volume
over a pixel is its area times the difference of the two depths, and a depth is the weighted mean of those of the three
corners. Images along three axes give the three components of the gradient.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel


class Layers(NamedTuple):
    """A layered depth image of a body, see `LayeredDepthImage`, and its faces as rows of the positions."""

    start: np.ndarray  # (pixels+2,)
    depth: np.ndarray  # (k,) metres, ascending in each pixel
    face: np.ndarray  # (k,) the face; ~face where the ray exits
    faces: np.ndarray  # (m,3) rows of x


class Found(NamedTuple):
    """Intervals of rays inside two bodies, see `common_intervals`."""

    pixel: np.ndarray  # (m,)
    code: np.ndarray  # (m,2)
    depth: np.ndarray  # (m,2) metres


class Ends(NamedTuple):
    """Both ends of the intervals of rays that are in both bodies, one after the other: the entry, then the exit."""

    rows: np.ndarray  # (k,3) corners of the face, as rows of x
    weights: np.ndarray  # (k,3) barycentric coordinates of the ray in the face
    depth: np.ndarray  # (k,) metres along the axis
    area: np.ndarray  # (k,) of the pixel, square metres: negative for an entry
    axis: np.ndarray  # (k,)
    side: np.ndarray  # (k,) 0 for a face of the first body, 1 for one of the second
    region: np.ndarray  # (k,) connected part of the intersection; -1 where nothing can move


@kernel
def common_intervals(one, two, least, pixel, code, depth):
    """Find the intervals longer than `least` inside two bodies along the rays of all pixels; return their number.

    Written while there is space: pixel (m,), depth (m,2) metres, and in code (m,2) the faces at both ends, those of the
    second body as ~face.
    """
    n = 0
    for k in range(len(one.start) - 2):
        i, last_i, j, last_j = one.start[k], one.start[k + 1], two.start[k], two.start[k + 1]
        if i == last_i or j == last_j:
            continue
        w_a, w_b, since, began = 0, 0, 0.0, 0
        while i < last_i or j < last_j:
            was = w_a > 0 and w_b > 0
            if j >= last_j or (i < last_i and one.depth[i] <= two.depth[j]):
                z, f = one.depth[i], one.face[i]
                w_a += 1 if f >= 0 else -1
                end = f if f >= 0 else ~f
                i += 1
            else:
                z, f = two.depth[j], two.face[j]
                w_b += 1 if f >= 0 else -1
                end = ~f if f >= 0 else f
                j += 1
            now = w_a > 0 and w_b > 0
            if now and not was:
                since, began = z, end
            if was and not now and z - since > least:
                if n < len(pixel):
                    pixel[n], depth[n, 0], depth[n, 1], code[n, 0], code[n, 1] = k, since, z, began, end
                n += 1
    return n


@kernel
def _barycentric(x, face, u, v, p, q):
    """Barycentric coordinates of the point (p, q) in the projection of a face along u and v; corners are snapped to
    the grid of the image, so that a ray may pass a face by that much: the coordinates are clamped to it."""
    a, b, c = face[0], face[1], face[2]
    ux, uy, vx, vy = x[b, u] - x[a, u], x[b, v] - x[a, v], x[c, u] - x[a, u], x[c, v] - x[a, v]
    px, py, twice = p - x[a, u], q - x[a, v], ux * vy - uy * vx
    if abs(twice) <= 1e-12 * (abs(ux) + abs(uy)) * (abs(vx) + abs(vy)):
        return 1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0
    s, t = max((px * vy - py * vx) / twice, 0.0), max((ux * py - uy * px) / twice, 0.0)
    r = max(1.0 - s - t, 0.0)
    total = r + s + t
    return r / total, s / total, t / total


@kernel
def fill_ends(found, one, two, screen, x, first, ends):
    """Write both ends of the intervals `found` on a screen from row `first` on."""
    pixel, code, depth = found.pixel, found.code, found.depth
    u, v = (screen.axis + 1) % 3, (screen.axis + 2) % 3
    area = 1.0 / (screen.across * screen.down)
    for m in range(len(pixel)):
        p = screen.left + (pixel[m] % screen.width + 0.5) / screen.across
        q = screen.top + (pixel[m] // screen.width + 0.5) / screen.down
        for end in range(2):
            k, f = first + 2 * m + end, code[m, end]
            second = f < 0
            face = two.faces[~f] if second else one.faces[f]
            for c in range(3):
                ends.rows[k, c] = face[c]
            ends.weights[k, 0], ends.weights[k, 1], ends.weights[k, 2] = _barycentric(x, face, u, v, p, q)
            ends.depth[k], ends.area[k], ends.axis[k] = depth[m, end], area if end else -area, screen.axis
            ends.side[k] = 1 if second else 0


@kernel
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@kernel
def number_regions(ends, w, parent, number):
    """Join the vertices that can move (w > 0) of both ends of each interval, and number the sets in the order of their
    first intervals, into ends.region; return how many there are. parent, number (n,) are workspace.

    Regions thus have no movable vertex in common. Vertices that cannot move do not join regions: several parts of a
    body that rest on one large face of an obstacle are several regions.
    """
    for i in range(len(parent)):
        parent[i], number[i] = i, -1
    for m in range(0, len(ends.depth), 2):
        first = -1
        for k in range(m, m + 2):
            for c in range(3):
                i = ends.rows[k, c]
                if w[i] > 0.0:
                    root = _root(parent, i)
                    if first < 0:
                        first = root
                    low, high = min(first, root), max(first, root)
                    parent[high] = low
                    first = low
    count = 0
    for m in range(0, len(ends.depth), 2):
        region = -1
        for k in range(m, m + 2):
            for c in range(3):
                i = ends.rows[k, c]
                if region < 0 and w[i] > 0.0:
                    root = _root(parent, i)
                    if number[root] < 0:
                        number[root] = count
                        count += 1
                    region = number[root]
        ends.region[m] = ends.region[m + 1] = region
    return count
