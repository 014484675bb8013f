"""The crossing triangles of deforming bodies, for formulas that a framework differentiates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.intersections import self_intersections_of
from ..errors import TooBigError
from ..kernels.gradients import crossings as _kernels
from ..kernels.gradients.crossings import Crossings
from .bodies import fitted

Floats = NDArray[np.float64]


def find_crossings(vertices: Floats, faces: Any, most: int | None = None) -> Crossings:
    """Return the crossing pairs of triangles of each body (..., v, 3) with the same faces (m,3).

    Arrays (..., k): k is the largest number of pairs of a body, or `most`; where a body has fewer, the rest have the
    kind `NOTHING`.
    """
    lead = vertices.shape[:-2]
    bodies = vertices.reshape(-1, *vertices.shape[-2:])
    found = [_of_body(shape, query) for shape, query in fitted(bodies, faces)]
    count = max((len(each.kind) for each in found), default=0)
    if most is not None and count > most:
        what = f"vertices have {count} crossing pairs of triangles; expected at most {most}, one per face,"
        raise TooBigError(f"{what} inside of jit, vmap or compile: separate them outside of it first")
    k = count if most is None else most
    shape = (len(bodies), k)
    out = Crossings(np.zeros(shape, np.uint8), np.zeros((*shape, 4), np.int64), np.ones(shape))
    for i, each in enumerate(found):
        for array, part in zip(out, each, strict=True):
            array[i, : len(part)] = part
    return Crossings(*(array.reshape(*lead, *array.shape[1:]) for array in out))


def _of_body(faces: NDArray[np.int32], query: Any) -> Crossings:
    x, welded = query.surface.x, query.solid.faces
    pairs = self_intersections_of(x, welded, query.fitted())
    n = len(pairs)
    out = Crossings(np.zeros(n, np.uint8), np.zeros((n, 4), np.int64), np.ones(n))
    _kernels.fill_crossings(x, welded, pairs, out)
    # from welded vertices to those of the caller: any copy, since copies are at the same place
    first = np.zeros(len(x), np.int64)
    first[welded.ravel()[::-1]] = faces.ravel()[::-1]
    return out._replace(rows=first[out.rows])
