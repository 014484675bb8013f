"""Slipping: attached vertices follow the skin only as far as the cloth between them can stretch.

The skin of a character may tear an attached garment: separate parts move apart, a stretched back is longer than the
garment. No position of the free vertices would then keep the strain limit.
"""

import numpy as np
from numpy.typing import NDArray

from ..dynamics.rest_scale import scales_of
from ..kernels.simulation import slipping as _kernels
from ..materials import Cloth
from ..scene import Scene

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
STRETCH = 0.5  # of the strain limit: how far the skin stretches the cloth; the rest is for bodies that push it
SWEEPS = 100  # over all pairs, per substep
MOST_SOURCES = 128  # attached vertices of a cloth whose distances from all others are limited
TOLERANCE = 1.0 + 1e-3  # times the largest distance: within it, targets between the ends of a frame need no sweeps
WORK = 2_000_000  # number of these times that of the vertices of the cloth: the time in which distances are computed


class Slipping:
    """The pairs of vertices that are attached to skin (`Attached`), as places in `Scene.gripped_rows`, and how far
    apart they may be: along the edges of the cloth, each stretched by `STRETCH` of its strain limit."""

    def __init__(self, scene: Scene) -> None:
        pairs, most = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for b in scene.cloths:
            rows = scene.gripped_rows - int(scene.first[b])
            places = np.flatnonzero(scene.is_attached & (rows >= 0) & (rows < scene.bodies[b].mesh.welded.n_vertices))
            if len(places) > 1:
                ends, far = _distances(scene, b, rows[places].astype(np.int64))
                pairs.append(places[ends])
                most.append(far)
        self._pairs, self._most = np.concatenate(pairs), np.concatenate(most)
        self._last = np.zeros((2, 0, 3))  # the last targets that were moved, before and after

    def apply(self, targets: Floats) -> None:
        """Move those of the targets (t,k,3) of all gripped vertices at t equidistant times of a frame that are too far
        apart. Between the first and the last, which sweeps move, displacements are interpolated linearly where that
        brings them near enough."""
        if not len(self._most):
            return
        own = targets.copy()
        for x in (targets[0], targets[-1]):
            self._bring_together(x)
        first, last, kept = targets[0] - own[0], targets[-1] - own[-1], self._last
        for k in range(1, len(targets) - 1):
            t = k / (len(targets) - 1)
            targets[k] += (1.0 - t) * first + t * last
            if _kernels.are_too_far(targets[k], self._pairs, self._most, TOLERANCE):
                targets[k] = own[k]
                self._bring_together(targets[k])
        self._last = kept

    def _bring_together(self, x: Floats) -> None:
        if not _kernels.are_too_far(x, self._pairs, self._most, _kernels.SLACK):
            return
        if not np.array_equal(x, self._last[0]):  # a frame begins where the last one ended
            self._last, corrections = np.stack([x, x]), np.empty((len(self._most), 3))
            _kernels.bring_together(self._last[1], self._pairs, self._most, SWEEPS, corrections)
        x[:] = self._last[1]


def _distances(scene: Scene, b: int, rows: Rows) -> tuple[Rows, Floats]:
    """Return pairs (k,2) of the vertices `rows` of cloth b, as places in `rows`, and their largest distances (k,).

    All pairs, or where these are too many those with some of the vertices, and those that edges join."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    body, mesh = scene.bodies[b], scene.bodies[b].mesh.welded
    assert isinstance(body.material, Cloth)
    edges, n = mesh.topology.edges, mesh.n_vertices
    rest = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    stretched = np.maximum(scales_of(body, edges).max(1), 1.0) * (1.0 + STRETCH * body.material.strain_limit)
    longest = np.maximum(stretched * rest, 1e-300)
    both = np.concatenate([edges, edges[:, ::-1]])
    links = coo_array((np.tile(longest, 2), both.T), shape=(n, n)).tocsr()
    count = min(max(WORK // n, 16), MOST_SOURCES, len(rows))
    some = np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))
    far = dijkstra(links, indices=rows[some])[:, rows]
    place = np.full(n, -1, np.int64)
    place[rows] = np.arange(len(rows))
    joined = (place[edges] >= 0).all(1)
    one, two = np.repeat(some, len(rows)), np.tile(np.arange(len(rows)), len(some))
    # each pair once: a later source does not repeat the pairs with earlier ones
    is_source = np.zeros(len(rows), np.bool_)
    is_source[some] = True
    once = np.isfinite(far.ravel()) & ((one < two) | (~is_source[two] & (one != two)))
    pairs = np.concatenate([place[edges[joined]], np.column_stack([one, two])[once]])
    return pairs, np.concatenate([longest[joined], far.ravel()[once]])
