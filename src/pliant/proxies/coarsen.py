"""Coarsening: short edges of a dense sheet are collapsed, before it is remeshed."""

import numpy as np

from ..kernels.proxies.collapse import Work, collapse_short
from ..validate import Floats, Ints
from .remesh import CORNER

LEAST, MOST = 0.55, 1.4  # of the wanted length: shorter edges are collapsed, and no edge becomes longer


def coarsened(x: Floats, faces: Ints, loop: Ints, length: float) -> tuple[Floats, Ints, Ints]:
    """Vertices, faces and loops of the surface without edges much shorter than `length`; the vertices that remain do
    not move. loop: as in `remeshed`."""
    n, m = len(x), len(faces)
    work = Work(
        np.require(x, np.float64, ["C"]),
        faces.astype(np.int64),
        loop.astype(np.int64),
        CORNER,
        np.empty(n, np.int64),
        np.empty(n, np.int64),
        np.empty(3 * m, np.int64),
        np.empty((n, 2), np.int64),
    )
    collapse_short(work, LEAST * length, MOST * length)
    kept = work.faces[work.faces[:, 0] >= 0]
    used, flat = np.unique(kept, return_inverse=True)
    return x[used], flat.reshape(-1, 3).astype(np.int32), loop[used]
