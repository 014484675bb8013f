"""The triangles of one side or two in one array whose indices refer to `state.x`, and multilevel vertex graphs."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .... import validate
from ....kernels.detectors.stochastic import descent as _descent
from ....kernels.detectors.stochastic.descent import Graphs
from ....kernels.detectors.stochastic.features import ISOLATED, Facets
from ...bvh.build import neighbours
from ...bvh.leaf_mesh import with_isolated_vertices
from ...queries.contact_records import WeldedSide

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
COARSE = 256  # approximate number of vertices of a side on the coarsest level
_BYTES = 24  # peak memory per pair of coarse vertices while distances along the surface are computed


class Joined(NamedTuple):
    """The `facets` of one side or two, and where the vertices, faces and edges of the last side begin in them."""

    facets: Facets
    vertices: Ints  # (2,) first row of each side in `state.x`; twice the same for one side
    faces: int
    edges: int


def joined(parts: Sequence[WeldedSide], *, isolated: bool = False) -> Joined:
    """Join the triangles of one side, or of two; welded vertices are identified in the adjacency.

    isolated: include isolated vertices, as `with_isolated_vertices` does.
    """
    corners, welded, edges, owned, pairs, seams = [], [], [], [], [], []
    m, k, w = 0, 0, 0
    counts = [0, 0]
    for part in parts:
        mesh, first = part.side.mesh, part.side.first
        top = mesh.topology
        elements = with_isolated_vertices(mesh.faces, mesh.n_vertices) if isolated else mesh.faces
        more = len(elements) - mesh.n_faces
        counts = [m, k]
        corners.append(elements.astype(np.int64) + first)
        welded.append(part.weld[elements].astype(np.int64) + w)
        edges += [top.face_edges.astype(np.int64) + k, np.zeros((more, 3), np.int64)]
        owned += [_owned(mesh.faces) | _owned(top.face_edges) << 3, np.full(more, ISOLATED | 1, np.uint8)]
        pairs.append(neighbours(part.weld[mesh.faces]) + m)
        # the faces around a vertex include those around all vertices welded to it
        seams.append(part.rows[part.weld[elements]] + first)
        m, k, w = m + len(elements), k + len(top.edges), w + int(part.weld.max(initial=-1)) + 1
    start, beside = _csr(np.concatenate([*pairs, *(pair[:, ::-1] for pair in pairs)]), m)
    at = np.concatenate(seams).ravel()
    stop = max(part.side.rows.stop for part in parts)
    vertex_start, around = _csr(np.stack([at, np.arange(len(at)) // 3], 1), stop)
    three = [np.concatenate(part).astype(np.int32) for part in (corners, welded, edges)]
    facets = Facets(three[0], three[1], three[2], np.concatenate(owned), start, beside, vertex_start, around)
    ends = [part.side.first for part in parts]
    return Joined(facets, np.array([ends[0], ends[-1]], np.int32), *counts)


class Levels(NamedTuple):
    graphs: Graphs
    rows: tuple[Rows, ...]  # all vertices of each side
    coarse: tuple[Rows, ...]  # the coarsest level of each side
    home: Rows  # (n,) the coarse vertex that represents each row
    between: Floats  # (c,c) distances along the surface in metres between coarse vertices; empty for two sides
    edges: Floats  # (levels,) median edge lengths, metres
    up: Rows  # (levels-1,n) the vertex of the next coarser level that represents each of a level


def levels_of(parts: Sequence[WeldedSide], x: Floats, *, max_bytes: float | None = None) -> Levels:
    """Build the vertex graph of the meshes and coarser levels of it, down to about COARSE vertices per side."""
    stop = max(part.side.rows.stop for part in parts)
    links, rows = [], []
    for part in parts:
        edges = (part.rows[part.weld[part.side.mesh.topology.edges]] + part.side.first).astype(np.int64)
        links.append(edges[edges[:, 0] != edges[:, 1]])
        rows.append(np.unique(links[-1]))
    level = np.concatenate(links)
    lengths, up = [_median_length(x, level)], [np.zeros((0, stop), np.int64)]
    kept, home = list(rows), np.arange(stop)
    starts: list[Ints] = []
    rings: list[Ints] = []
    while True:
        start, ring = _csr(np.concatenate([level, level[:, ::-1]]), stop)
        starts.append(start + sum(len(ring) for ring in rings))
        rings.append(ring)
        if max(map(len, kept)) <= COARSE or len(starts) == 8:
            break
        taken = np.full(stop, -1, np.int64)
        _descent.choose(start[None], ring, np.concatenate(kept), 0, taken)
        home[np.concatenate(rows)] = taken[home[np.concatenate(rows)]]
        kept = [np.unique(taken[few]) for few in kept]
        level = np.sort(taken[level], 1)
        level = np.unique(level[level[:, 0] != level[:, 1]], axis=0)
        lengths.append(_median_length(x, level))
        up.append(taken[None])
    number = np.zeros(stop, np.int64)
    for few in kept:
        number[few] = np.arange(len(few))
    graphs = Graphs(np.stack(starts).astype(np.int32), np.concatenate(rings).astype(np.int32))
    between = _along(x, level, kept[0], number, max_bytes) if len(parts) == 1 else np.zeros((0, 0))
    return Levels(graphs, tuple(rows), tuple(kept), number[home], between, np.array(lengths), np.concatenate(up))


def _median_length(x: Floats, links: Rows) -> float:
    return float(np.median(np.linalg.norm(x[links[:, 0]] - x[links[:, 1]], axis=1))) if len(links) else 0.0


def _along(x: Floats, links: Rows, kept: Rows, number: Rows, max_bytes: float | None) -> Floats:
    """Shortest path lengths (c,c) in metres along the edges of a level; the largest one for unconnected components."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    what = f"{len(kept)} coarse vertices (at least one per connected component): the table of their distances"
    advice = "use the method bvh for a mesh of so many components, join them, or raise max_bytes"
    validate.budget(what, _BYTES * len(kept) ** 2, advice, max_bytes)
    length = np.linalg.norm(x[links[:, 0]] - x[links[:, 1]], axis=1)
    ends = number[links]
    far = dijkstra(coo_array((length, (ends[:, 0], ends[:, 1])), shape=(len(kept), len(kept))).tocsr(), directed=False)
    unconnected = ~np.isfinite(far)
    far[unconnected] = far[~unconnected].max(initial=1.0)
    return np.asarray(far)


def _owned(features: Ints) -> NDArray[np.uint8]:
    """(m,) bit mask of the features of each face that belong to no earlier face."""
    flat = features.ravel()
    first = np.zeros(len(flat), np.uint8)
    first[np.unique(flat, return_index=True)[1]] = 1
    bits = first.reshape(-1, 3)
    return np.asarray(bits[:, 0] | bits[:, 1] << 1 | bits[:, 2] << 2, np.uint8)


def _csr(pairs: NDArray[Any], count: int) -> tuple[Ints, Ints]:
    """Group the second members of pairs by the first (CSR): start (count+1,) and members, each list ascending."""
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    start = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=count))])
    return start.astype(np.int32), pairs[order, 1].astype(np.int32)
