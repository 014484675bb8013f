"""CCD with the conventional cubic over batches of candidate pairs, with filters for speed.

The results are those of impact_cubic.py, with a thickness: a root counts if the features are then at most `within`
apart. Pairs whose swept bounding boxes are farther apart are culled by comparisons. For the others the four Bernstein
coefficients are computed in one vectorised loop over columns; if all have one sign, there is no root in 0..1 (Tang,
Manocha, Tong 2010, Fast continuous collision detection using deforming non-penetration filters). Only the remaining
pairs are solved for roots, by Newton's method instead of bisection.
"""

from typing import NamedTuple

import numpy as np

from pliant.kernels.geometry.impact import EDGES as LINES
from pliant.kernels.geometry.impact import FACE
from pliant.kernels.geometry.impact_cubic import turns, value
from pliant.kernels.geometry.impact_motion import nearest_gap
from pliant.kernels.jit import kernel, prange
from pliant.kernels.kinds import EDGE_TO_EDGE
from pliant.kernels.vec import norm

BATCH = 256


class Motions(NamedTuple):
    """Moving vertices, triangles and edges of one surface, or of two concatenated surfaces."""

    boxes: np.ndarray  # (n+m+k,6) bounding the motions of all vertices, then all faces, then all edges: low, high
    points: np.ndarray  # (n,6) at the start, at the end
    faces: np.ndarray  # (m,18)
    edges: np.ndarray  # (k,12)
    shift: np.ndarray  # (3,2) by kind: the rows of boxes where the first and second features of a candidate begin
    starts: np.ndarray  # (3,) first rows of vertices, faces and edges in boxes


@kernel
def near_boxes(boxes, shift, within, rows, count):
    """Keep in rows those of the first `count` candidates (kind, index, index) whose boxes are at most `within` apart,
    as rows of boxes; return their number.
    """
    kept, kind, one, two = 0, -1, shift[0, 0], shift[0, 1]
    for c in range(count):
        if rows[c, 0] != kind:  # candidates are grouped by kind
            kind = rows[c, 0]
            one, two = shift[kind, 0], shift[kind, 1]
        # unsigned, to avoid the check for negative indices
        i, j = np.uint64(rows[c, 1] + one), np.uint64(rows[c, 2] + two)
        x = (boxes[i, 0] - boxes[j, 3] <= within) & (boxes[j, 0] - boxes[i, 3] <= within)
        y = (boxes[i, 1] - boxes[j, 4] <= within) & (boxes[j, 1] - boxes[i, 4] <= within)
        z = (boxes[i, 2] - boxes[j, 5] <= within) & (boxes[j, 2] - boxes[i, 5] <= within)
        # always written, kept by incrementing: a branch would be mispredicted too often
        rows[kept, 0], rows[kept, 1], rows[kept, 2] = kind, i, j
        kept += x & y & z
    return kept


@kernel
def sign_lot(p, n, b, same_sign):
    """Determine whether a.(b x c) keeps its sign; p (18,LOT): a, b, c at the start and at the end. b (4,LOT): its
    Bernstein coefficients, the two middle ones times three.
    """
    for m in range(n):
        a_0, a_1, a_2 = p[0, m], p[1, m], p[2, m]
        b_0, b_1, b_2 = p[3, m], p[4, m], p[5, m]
        c_0, c_1, c_2 = p[6, m], p[7, m], p[8, m]
        d_0, d_1, d_2 = p[9, m], p[10, m], p[11, m]
        e_0, e_1, e_2 = p[12, m], p[13, m], p[14, m]
        f_0, f_1, f_2 = p[15, m], p[16, m], p[17, m]
        # b x c, b x f + e x c, e x f
        n_0, n_1, n_2 = b_1 * c_2 - b_2 * c_1, b_2 * c_0 - b_0 * c_2, b_0 * c_1 - b_1 * c_0
        o_0 = b_1 * f_2 - b_2 * f_1 + e_1 * c_2 - e_2 * c_1
        o_1 = b_2 * f_0 - b_0 * f_2 + e_2 * c_0 - e_0 * c_2
        o_2 = b_0 * f_1 - b_1 * f_0 + e_0 * c_1 - e_1 * c_0
        q_0, q_1, q_2 = e_1 * f_2 - e_2 * f_1, e_2 * f_0 - e_0 * f_2, e_0 * f_1 - e_1 * f_0
        k_0 = a_0 * n_0 + a_1 * n_1 + a_2 * n_2
        k_1 = a_0 * o_0 + a_1 * o_1 + a_2 * o_2 + d_0 * n_0 + d_1 * n_1 + d_2 * n_2
        k_2 = a_0 * q_0 + a_1 * q_1 + a_2 * q_2 + d_0 * o_0 + d_1 * o_1 + d_2 * o_2
        k_3 = d_0 * q_0 + d_1 * q_1 + d_2 * q_2
        low, high = min(min(k_0, k_1), min(k_2, k_3)), max(max(k_0, k_1), max(k_2, k_3))
        b[0, m], b[1, m], b[2, m], b[3, m] = k_0, k_1, k_2, k_3
        same_sign[m] = (low > 0.0) | (high < 0.0)


@kernel
def root(k, start, stop):
    """Root in a monotonic interval, or -1: Newton, with bisection where it would leave the interval."""
    f, g = value(k, start), value(k, stop)
    if f == 0.0:
        return start
    if not f * g <= 0.0:
        return -1.0
    t = 0.5 * (start + stop)
    for _ in range(60):
        h = value(k, t)
        if f * h > 0.0:
            start = t
        else:
            stop = t
        slope = k[1] + t * (2.0 * k[2] + 3.0 * t * k[3])
        new = t - h / slope if slope != 0.0 else start
        if not start < new < stop:
            new = 0.5 * (start + stop)
        done = abs(new - t) <= 1e-15
        t = new
        if done:
            break
    return t


@kernel
def touches(motion, b, face, within):
    """Time of contact, or 2; b: Bernstein coefficients of a.(b x c), the two middle ones times three."""
    k = (b[0], b[1] - 3.0 * b[0], 3.0 * b[0] - 2.0 * b[1] + b[2], b[1] - b[0] - b[2] + b[3])
    r, s = turns(k)
    for start, stop in ((0.0, r), (r, s), (s, 1.0)):
        t = root(k, start, stop)
        if t >= 0.0 and norm(nearest_gap(motion, face, t)) <= within:
            return t
    return 2.0


@kernel
def gather_faces(points, faces, lot, start, n, p):
    """Relative motions of n pairs (kind, vertex, face), in columns."""
    for m in range(n):
        i, j = lot[m, 1], lot[m, 2] - start
        for k in range(3):
            for end in range(2):
                o = faces[j, 9 * end + k]
                p[9 * end + k, m] = points[i, 3 * end + k] - o
                p[9 * end + 3 + k, m] = faces[j, 9 * end + 3 + k] - o
                p[9 * end + 6 + k, m] = faces[j, 9 * end + 6 + k] - o


@kernel
def gather_edges(edges, lot, start, n, p):
    """Relative motions of n pairs of edges, in columns."""
    for m in range(n):
        i, j = lot[m, 1] - start, lot[m, 2] - start
        for k in range(3):
            for end in range(2):
                a, c = edges[i, 6 * end + k], edges[j, 6 * end + k]
                p[9 * end + k, m] = a - c
                p[9 * end + 3 + k, m] = a - edges[i, 6 * end + 3 + k]
                p[9 * end + 6 + k, m] = edges[j, 6 * end + 3 + k] - c


@kernel
def column(p, k, m):
    return (p[k, m], p[k + 1, m], p[k + 2, m])


@kernel
def ask_lot(p, n, face, within, lot, rows, times, kept):
    """Append those of n pairs that touch to rows, with their times."""
    b, same_sign = np.empty((4, BATCH)), np.empty(BATCH, np.bool_)
    sign_lot(p, n, b, same_sign)
    for m in range(n):
        if same_sign[m]:
            continue
        start = column(p, 0, m), column(p, 3, m), column(p, 6, m)
        motion = (start[0], start[1], start[2], column(p, 9, m), column(p, 12, m), column(p, 15, m))
        t = touches(motion, (b[0, m], b[1, m], b[2, m], b[3, m]), face, within)
        if t <= 1.0:
            rows[kept, 0], rows[kept, 1], rows[kept, 2], times[kept] = lot[m, 0], lot[m, 1], lot[m, 2], t
            kept += 1
    return kept


@kernel
def touch_range(motions, within, rows, times, count):
    """Keep those of the first `count` candidates (kind, index, index) in rows (cap,3) that touch, as rows of boxes,
    with their times; return their number.
    """
    kept, n_f, n_e, points, lines = 0, 0, 0, motions.points, motions.edges
    one, two = motions.starts[1], motions.starts[2]
    count = near_boxes(motions.boxes, motions.shift, within, rows, count)
    if count == 0:
        return 0
    faces, edges, p = np.empty((BATCH, 3), np.int32), np.empty((BATCH, 3), np.int32), np.empty((18, BATCH))
    for c in range(count):
        kind, i, j = rows[c, 0], rows[c, 1], rows[c, 2]
        faces[n_f, 0], faces[n_f, 1], faces[n_f, 2] = kind, i, j
        edges[n_e, 0], edges[n_e, 1], edges[n_e, 2] = kind, i, j
        n_f += kind != EDGE_TO_EDGE
        n_e += kind == EDGE_TO_EDGE
        last = c == count - 1
        if n_f == BATCH or last:
            gather_faces(points, motions.faces, faces, one, n_f, p)
            kept, n_f = ask_lot(p, n_f, FACE, within, faces, rows, times, kept), 0
        if n_e == BATCH or last:
            gather_edges(lines, edges, two, n_e, p)
            kept, n_e = ask_lot(p, n_e, LINES, within, edges, rows, times, kept), 0
    return kept


@kernel(parallel=True)
def touch(motions, within, found, times, counts):
    """Apply `touch_range` to each part of found (parts,cap,3); counts (parts,) becomes the number kept."""
    for part in prange(len(counts)):
        counts[part] = touch_range(motions, within, found[part], times[part], counts[part])
