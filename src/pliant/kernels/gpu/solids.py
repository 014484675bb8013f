"""Vertices and edges inside a closed mesh on the card: what `contact_records.contacts_of` does with NumPy."""

from ..kinds import FIRST
from .card import cuda
from .jit import kernel, prange
from .sources import twin

load = twin("vec").load


@kernel(parallel=True)
def list_in_box(x, bounds, rows, count):
    """List the rows of x (n,3) in the box `bounds` (6,), low and high, in any order."""
    for i in prange(len(x)):
        inside = True
        for k in range(3):
            inside = inside and bounds[k] <= x[i, k] and x[i, k] <= bounds[3 + k]
        if inside:
            to = cuda.atomic.add(count, 0, 1)
            rows[to] = i


@kernel(parallel=True)
def list_negative(rows, distance, face, sign, listed, faces, count):
    """List those of `rows` whose distance is negative, with their faces, and set their `sign` (n,)."""
    for m in prange(len(rows)):
        if distance[m] < 0.0:
            to = cuda.atomic.add(count, 0, 1)
            listed[to], faces[to] = rows[m], face[m]
            sign[rows[m]] = -1.0


@kernel
def rank(pairs, i, j):
    """How many of the sorted pairs (k,2) are less than (i,j)."""
    low, high = 0, len(pairs)
    while low < high:
        middle = (low + high) // 2
        if pairs[middle, 0] < i or (pairs[middle, 0] == i and pairs[middle, 1] < j):
            low = middle + 1
        else:
            high = middle
    return low


@kernel(parallel=True)
def mark_new(pairs, rows, faces, new):
    """Mark with 1 those of the pairs (rows, faces) that are not among the sorted `pairs` (k,2)."""
    for m in prange(len(rows)):
        at = rank(pairs, rows[m], faces[m])
        new[m] = 0 if at < len(pairs) and pairs[at, 0] == rows[m] and pairs[at, 1] == faces[m] else 1


@kernel(parallel=True)
def write_new(rows, faces, new, start, more):
    """Write the marked pairs to `more` (k,2); start (m+1,) is how many precede each."""
    for m in prange(len(rows)):
        if new[m]:
            more[start[m], 0], more[start[m], 1] = rows[m], faces[m]


@kernel(parallel=True)
def merge_pairs(pairs, more, out):
    """Merge two sorted lists without common pairs; run it once for each, with the lists exchanged."""
    for m in prange(len(pairs)):
        to = m + rank(more, pairs[m, 0], pairs[m, 1])
        out[to, 0], out[to, 1] = pairs[m, 0], pairs[m, 1]


@kernel(parallel=True)
def points_on_edges(records, x, edges, side, points):
    """The nearest points (k,3) on the edges of one side of edge-edge records."""
    for m in prange(len(records)):
        weights = records[m]["weights"]
        e = records[m]["elements"][side]
        u, v = (weights[0], weights[1]) if side == FIRST else (-weights[2], -weights[3])
        a, b = load(x, edges[e, 0]), load(x, edges[e, 1])
        for k in range(3):
            points[m, k] = u * a[k] + v * b[k]


@kernel(parallel=True)
def mark_negative(distance, inside):
    for m in prange(len(inside)):
        if distance[m] < 0.0:
            inside[m] = True


@kernel(parallel=True)
def flip_inside(inside, margin, records):
    """Turn normal and distance of the records whose points are `inside`, beyond rounding."""
    for m in prange(len(records)):
        if inside[m] and records[m]["distance"] > margin:
            normal = records[m]["normal"]
            normal[0], normal[1], normal[2] = -normal[0], -normal[1], -normal[2]
            records[m]["distance"] = -records[m]["distance"]
