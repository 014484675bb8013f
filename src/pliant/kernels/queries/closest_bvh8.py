"""The exact nearest triangle to a point by a BVH of eight children per node (`kernels/bvh/bvh8.py`).

Boxes and triangles are culled eight at a time in single precision, with bounds for its error; the few triangles that
are left, 1.0 to 3 per point, are compared exactly. Results are bitwise those of `closest_point.nearest_range`.
"""

import math

import numpy as np

from .. import vec
from ..box_lanes import boxes_within, lowest
from ..geometry.triangle import nearest2
from ..jit import kernel, prange
from ..triangle_lanes import LANES, at_most, triangle_distances
from .closest_point import CHUNK, along_curve, coprime_stride

# Times the coordinates from the centre of a leaf. They, the frames and the operations are rounded to 2^-24; first-order
# bounds of all errors of a distance add up to 40 of these.
ERROR = 64.0 * 2.0**-24
BOX_ERROR = 2.0**-23  # times the coordinates from the centre of the surface
MORE = 1.0 + 1e-6  # on squares of distances that limit a search
FAR = 64.0  # times the size of the surface: points farther away are left to double precision
TOO_FAR = -2  # the face of such points
TASKS = 64  # of threads, at least, if there are enough points: a longer one has fewer points without initial guess
ROOM = 64  # triangles that wait for the exact test
WHOLE = 4.0 * FAR  # a distance that is reached by every triangle


@kernel
def nearest_range8(tree, surface, points, which, most, found, barycentric):
    """As `closest_point.nearest_range`, but the face of a point that is too far away is `TOO_FAR`."""
    boxes, child, triangles, heads = tree.boxes, tree.child, tree.triangles, tree.heads
    face, home, c, s, x, faces = tree.face, tree.home, tree.centre, tree.scale, surface.x, surface.faces
    waiting, gaps = np.empty(tree.room, np.int32), np.empty(tree.room, np.float32)
    eight, open_faces, least = np.empty((2, LANES), np.float32), np.empty(ROOM, np.int32), np.empty(ROOM)
    last = np.int64(-1)
    for t in range(len(which)):
        i = which[t]
        exact = vec.load(points, i)
        p = ((exact[0] - c[0]) * s, (exact[1] - c[1]) * s, (exact[2] - c[2]) * s)
        size = max(abs(p[0]), abs(p[1]), abs(p[2]))
        if not size <= FAR:
            found[i, 0] = TOO_FAR
            continue
        single = (np.float32(p[0]), np.float32(p[1]), np.float32(p[2]))
        margin = np.float32(size * BOX_ERROR)
        best, b_face, b_feature, b_u, b_v, b_w = most, np.int64(-1), np.int64(0), 0.0, 0.0, 0.0
        reach = min(math.sqrt(most) * s * MORE, WHOLE)  # the nearest triangle is no farther, scaled
        limit = np.float32(reach * reach * MORE)
        # the leaf of the initial guess first; it bounds the distance
        own = np.int64(home[found[i, 0]]) if found[i, 0] >= 0 else last
        leaf, n, top, waiting[0], gaps[0] = own, 0, 1, 0, np.float32(0.0)
        while True:
            if leaf >= 0:
                q = (np.float32(p[0] - heads[leaf, 0]), np.float32(p[1] - heads[leaf, 1]))
                r = np.float32(p[2] - heads[leaf, 2])
                error = ERROR * (max(abs(q[0]), abs(q[1]), abs(r)) + np.float64(heads[leaf, 3]))
                square = np.float64(triangle_distances(triangles, leaf, (q[0], q[1], r), eight, 1))
                if square <= (reach + error) * (reach + error) * MORE:
                    reach = min(reach, math.sqrt(square) + error)
                    limit = np.float32(reach * reach * MORE)
                    mask = at_most(eight, 1, np.float32((reach + error) * (reach + error) * MORE))
                    while mask:
                        k = lowest(mask)
                        mask &= mask - 1
                        open_faces[n], least[n] = face[leaf, k], math.sqrt(np.float64(eight[1, k])) - error
                        n += 1
                leaf = np.int64(-1)
            if top == 0 or n > ROOM - LANES:
                for k in range(n):
                    if least[k] > reach:
                        continue
                    f = np.int64(open_faces[k])
                    d2, feature, u, v, w = nearest2(
                        exact, vec.load(x, faces[f, 0]), vec.load(x, faces[f, 1]), vec.load(x, faces[f, 2])
                    )
                    if d2 < best or (d2 == best and f < b_face):
                        best, b_face, b_feature, b_u, b_v, b_w = d2, f, np.int64(feature), u, v, w
                n = 0
                if top == 0:
                    break
            top -= 1
            if gaps[top] > limit:
                continue
            at = np.int64(waiting[top])
            if at < 0:
                leaf = -1 - at if -1 - at != own else np.int64(-1)
                continue
            mask, first = boxes_within(boxes, at, single, margin, limit, eight, 0), top
            while mask:
                k = lowest(mask)
                mask &= mask - 1
                gap, place = eight[0, k], top
                while place > first and gaps[place - 1] < gap:
                    gaps[place], waiting[place] = gaps[place - 1], waiting[place - 1]
                    place -= 1
                gaps[place], waiting[place] = gap, child[at, k]
                top += 1
        if b_face >= 0:
            last = np.int64(home[b_face])
        found[i, 0], found[i, 1] = b_face, b_feature
        barycentric[i, 0], barycentric[i, 1], barycentric[i, 2] = b_u, b_v, b_w


@kernel(parallel=True)
def find_nearest8(tree, surface, points, most, found, barycentric):
    """Apply `nearest_range8` to all `points`; `most` is the square of the farthest distance."""
    order = along_curve(points)
    each = min(max(len(points) // TASKS, CHUNK), 8 * CHUNK)
    n = -(-len(points) // each)
    stride = coprime_stride(n)
    for c in prange(n):
        k = (c * stride) % n  # as in `closest_point.find_nearest`
        which = order[k * each : min(len(points), (k + 1) * each)]
        nearest_range8(tree, surface, points, which, most, found, barycentric)
