"""Neighbour lists: which of the pairs of features that may come near are near."""

from .. import vec
from ..jit import kernel, prange
from ..kinds import EDGE_TO_EDGE, VERTEX_TO_FACE
from .meets import store_point
from .proximity import BATCH, edge_distances, face_distances, keep_near, new_batches

CHUNK = 4 * BATCH  # pairs per part


@kernel
def near_faces(x, y, faces, pairs, within, first, last, out):
    """Write those of the pairs first..last-1 of vertices of x and `faces` (m,3) of y that are near to out (k,3), after
    a column that is the same for all; return their number."""
    batch, count = new_batches()[0], 0
    for begin in range(first, last, BATCH):
        n = min(BATCH, last - begin)
        for m in range(n):
            i, q = pairs[begin + m, 0], pairs[begin + m, 1]
            batch.pairs[m, 0], batch.pairs[m, 1], batch.pairs[m, 2] = i, q, VERTEX_TO_FACE
            store_point(batch.p, 0, m, x, i)
            for k in range(3):
                store_point(batch.p, 3 + 3 * k, m, y, faces[q, k])
        face_distances(batch.p, n, within, batch.extra, batch.d_2, batch.decided)
        count = keep_near(batch, n, within, VERTEX_TO_FACE, out, count)
    return count


@kernel
def near_edges(x, edges, y, other, pairs, within, first, last, out):
    """The same of pairs of `edges` (m,2) of x and `other` edges of y."""
    batch, count = new_batches()[1], 0
    for begin in range(first, last, BATCH):
        n = min(BATCH, last - begin)
        for m in range(n):
            e, f = pairs[begin + m, 0], pairs[begin + m, 1]
            batch.pairs[m, 0], batch.pairs[m, 1], batch.pairs[m, 2] = e, f, EDGE_TO_EDGE
            for k in range(2):
                store_point(batch.p, 3 * k, m, x, edges[e, k])
                store_point(batch.p, 6 + 3 * k, m, y, other[f, k])
        edge_distances(batch.p, n, within, batch.extra, batch.d_2, batch.decided)
        count = keep_near(batch, n, within, EDGE_TO_EDGE, out, count)
    return count


@kernel(parallel=True)
def keep_near_faces(x, y, faces, pairs, within, out, counts):
    """Each chunk of `pairs` (k,2) writes those that are near to its own rows of out (parts,CHUNK+1,3), the last of
    which is spare, and their number to counts (parts,)."""
    for part in prange(len(counts)):
        last = min((part + 1) * CHUNK, len(pairs))
        counts[part] = near_faces(x, y, faces, pairs, within, part * CHUNK, last, out[part])


@kernel(parallel=True)
def keep_near_edges(x, edges, y, other, pairs, within, out, counts):
    """As `keep_near_faces`, of pairs of edges."""
    for part in prange(len(counts)):
        last = min((part + 1) * CHUNK, len(pairs))
        counts[part] = near_edges(x, edges, y, other, pairs, within, part * CHUNK, last, out[part])


@kernel
def gather(out, counts, pairs):
    """Write the rows that `keep_near_faces` or `keep_near_edges` has kept to pairs (k,2), in order."""
    n = 0
    for part in range(len(counts)):
        for m in range(counts[part]):
            pairs[n, 0], pairs[n, 1] = out[part, m, 1], out[part, m, 2]
            n += 1


@kernel
def leave(rows, places, x, most):
    """Whether any of `rows` in x (n,3) is farther than `most` from its place."""
    for r in range(len(rows)):
        if not vec.norm2(vec.sub(vec.load(x, rows[r]), vec.load(places, rows[r]))) <= most * most:
            return True
    return False


@kernel
def mark_leaving(rows, places, x, most, which):
    """Mark in `which` (n,) those of `rows` that are farther than `most` from their places; return their number."""
    count = 0
    for r in range(len(rows)):
        i = rows[r]
        which[i] = not vec.norm2(vec.sub(vec.load(x, i), vec.load(places, i))) <= most * most
        count += which[i]
    return count


@kernel
def has_marked(which, table, i):
    """Whether feature i has any of the vertices `which`: table (m,k) are the vertices of features, or empty if the
    features are vertices."""
    marked = len(table) == 0 and which[i]
    for k in range(table.shape[1] if len(table) > 0 else 0):
        marked |= which[table[i, k]]
    return marked


@kernel
def drop_marked(pairs, which, one, two, out):
    """Write the `pairs` (k,2) of features without any of the vertices `which` to `out`; return their number."""
    count = 0
    for m in range(len(pairs)):
        i, j = pairs[m, 0], pairs[m, 1]
        out[count, 0], out[count, 1] = i, j
        count += not (has_marked(which, one, i) or has_marked(which, two, j))
    return count
