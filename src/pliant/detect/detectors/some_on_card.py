"""The part of a mesh on a graphics card that a few records need on the host."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...kernels import device as _device
from ...mesh import Mesh
from ..queries.contact_records import PosedSide, WeldedSide

Rows = NDArray[Any]


def sides_with_edges(a: WeldedSide, b: WeldedSide, x_a: Any, x_b: Any, pairs: Rows) -> tuple[PosedSide, PosedSide]:
    """Return both sides with the positions, zero elsewhere, that pairs (k,2) of their edges need, and the pseudonormals
    of the edges of the second."""
    faces = _faces_around(b.side.mesh, np.unique(pairs[:, 1]))
    rows_a = np.unique(a.side.mesh.topology.edges[pairs[:, 0]])
    rows_b = np.unique(np.append(b.side.mesh.topology.edges[pairs[:, 1]], b.side.mesh.faces[faces]))
    if x_b is x_a:
        rows_a = rows_b = np.union1d(rows_a, rows_b)
    one = PosedSide(a, _fetched(x_a, rows_a))
    two = one if x_b is x_a else PosedSide(b, _fetched(x_b, rows_b))
    two.__dict__["edge_normals"] = _edge_normals(b.side.mesh, two.x, np.unique(pairs[:, 1]), faces)
    return one, two


def _faces_around(mesh: Mesh, edges: Rows) -> Rows:
    """The faces at these edges, ascending."""
    start, faces = mesh.topology.edge_faces
    counts = start[edges + 1] - start[edges]
    first = np.repeat(start[edges] - np.cumsum(counts) + counts, counts)
    return np.unique(faces[first + np.arange(len(first))])


def _fetched(x: Any, rows: Rows) -> NDArray[np.float64]:
    """Positions (n,3) on the host, of which only these rows are copied."""
    from ...kernels.gpu import rows as _rows

    there = _device.empty((len(rows), 3))
    _device.launch(_rows.take, len(rows), _device.upload(rows.astype(np.int64)), x, there)
    out = np.zeros((len(x), 3))
    out[rows] = there.copy_to_host()
    return out


def _edge_normals(mesh: Mesh, x: NDArray[np.float64], edges: Rows, faces: Rows) -> NDArray[np.float64]:
    """`Mesh.edge_normals` of these edges, at which only these faces are, in an array (k,3) of all edges."""
    corners = mesh.faces[faces]
    used = np.unique(corners)
    part = Mesh(x[used], np.searchsorted(used, corners))
    ends, known = np.searchsorted(used, mesh.topology.edges[edges]), part.topology.edges.astype(np.int64)
    at = np.searchsorted(known[:, 0] * len(used) + known[:, 1], ends[:, 0] * len(used) + ends[:, 1])
    out = np.zeros((len(mesh.topology.edges), 3))
    out[edges] = part.edge_normals[at]
    return out
