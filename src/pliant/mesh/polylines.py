"""Polylines: the segments of a mesh of lines in order, strand by strand."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh


class Polylines(NamedTuple):
    """The vertices of each strand in order: those of strand k are vertices[start[k]:start[k+1]]."""

    vertices: NDArray[np.int32]
    start: NDArray[np.int64]


def polylines(mesh: Mesh) -> Polylines:
    """Return the strands of a welded mesh of lines, each from the end whose vertex has the lower index; strands are in
    the order of these. Raises ValueError at branches and closed loops."""
    degree = np.bincount(mesh.topology.edges.ravel(), minlength=mesh.n_vertices)
    if (degree > 2).any():
        v = int(np.argmax(degree > 2))
        raise ValueError(f"{degree[v]} lines meet at vertex {v}; expected polylines, without branches")
    first, beside = mesh.topology.neighbours
    seen, rows, start = np.zeros(mesh.n_vertices, np.bool_), [], [0]
    for end in np.flatnonzero(degree == 1).tolist():
        at = end
        if seen[end]:
            continue
        while at >= 0:
            seen[at] = True
            rows.append(at)
            ahead = beside[first[at] : first[at + 1]]
            ahead = ahead[~seen[ahead]]
            at = int(ahead[0]) if len(ahead) else -1
        start.append(len(rows))
    if (~seen & (degree > 0)).any():
        v = int(np.argmax(~seen & (degree > 0)))
        raise ValueError(f"the lines at vertex {v} are a closed loop; leave one of them out, or pin its ends")
    return Polylines(np.array(rows, np.int32), np.array(start, np.int64))
