"""Strain limiting, for the implicit solver: edges of cloth beyond the limit of their material are shortened to it."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels.dynamics import strain_limit as _kernels
from ..kernels.jit import worth
from .global_limit import GlobalLimit
from .rest_scale import scales_of

Floats = NDArray[np.float64]
SWEEPS = 100  # over the edges that are too long
FEW = 30  # of these sweeps: where they are not enough, all edges are shortened together, and swept as often again
TOLERANCE = 1.005  # times the largest allowed length: `stretched` reports longer edges
_WORTH_THREADS = 30000  # edges
NO_GAPS = _kernels.Gaps(np.zeros((0, 4), np.int32), np.zeros((0, 4)), np.zeros((0, 3)), np.zeros(0))


class Points(NamedTuple):
    """Points of triangles of cloth that stay above planes: corners (k,3), as rows of the scene, weights (k,3), unit
    normals (k,3) and levels (k,), metres."""

    rows: NDArray[np.int32]
    weights: Floats
    normals: Floats
    levels: Floats


class StrainLimit:
    """Shortens edges of cloths to `1 + strain_limit` times their rest lengths, which a `rest_scale` above 1 enlarges.

    `parts` are the cloths as (body, mesh, row of the first vertex); w (n,) are inverse masses. `shortened` counts the
    corrections of all substeps. share: of the strain limit; attached (n,): only edges with one of their ends attached.
    """

    def __init__(
        self, parts: list[Any], w: Floats, share: float = 1.0, attached: NDArray[np.bool_] | None = None
    ) -> None:
        ends, most = [np.zeros((0, 2), np.int64)], [np.zeros(0)]
        for body, mesh, first in parts:
            edges = mesh.topology.edges
            rest = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
            limited = rest > 0.0
            if attached is not None:
                limited &= attached[edges[:, 0] + first] != attached[edges[:, 1] + first]
            ends.append(edges[limited].astype(np.int64) + first)
            grown = np.maximum(scales_of(body, edges[limited]).max(1), 1.0)
            most.append(grown * rest[limited] * (1.0 + share * body.material.strain_limit))
        both = np.concatenate(ends)
        counts = np.bincount(both.ravel(), minlength=len(w))
        self._cloths = [slice(first, first + mesh.n_vertices) for _, mesh, first in parts]
        self._global: GlobalLimit | None = None  # made when it is needed first
        self.w, self.shortened = w, 0
        self.together = 0  # times that all edges were shortened together
        self.edges = _kernels.LimitedEdges(
            ends=both.astype(np.int32),
            most=np.concatenate(most),
            beside=(np.argsort(both.ravel(), kind="stable") // 2).astype(np.int32),
            start=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        )
        m = len(both)
        self._stretched = _kernels.Stretched(np.empty(m, np.int32), np.zeros(_kernels.CHUNKS, np.int64))
        self._nothing = _kernels.Surface(np.full(len(w), -1, np.int32), np.zeros((0, 3)), np.zeros((0, 3)))
        self._scratch = _kernels.Scratch(
            np.empty((2, m), np.int32), np.zeros(m, np.bool_), np.full(len(w), -1, np.int32)
        )
        self._on_threads = m >= _WORTH_THREADS
        self._works_together = attached is None
        self._find = worth(_kernels.find_stretched, m, _WORTH_THREADS)

    def longest_at(self, faces: NDArray[np.int32]) -> Floats:
        """Return the lengths (m,3) of the edges ab, bc, ca of `faces` (m,3) beyond which `stretched` reports them; inf:
        without a limit."""
        n, ends = len(self.w), np.sort(self.edges.ends, 1).astype(np.int64)
        a, b = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)]).astype(np.int64), 0)
        known, wanted = ends[:, 0] * n + ends[:, 1], a * n + b
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known, wanted, sorter=order), max(len(known) - 1, 0))
        out = np.full(faces.shape, np.inf)
        if len(known):
            found = known[order[at]] == wanted
            out[found] = TOLERANCE * self.edges.most[order[at]][found]
        return out

    def stretched(self, x: Floats) -> NDArray[np.int32]:
        """Return the ends (k,2) of the edges of x that are too long by more than `TOLERANCE`."""
        if not self.is_exceeded(x):
            return self.edges.ends[:0]
        rows, counts = self._stretched
        self._find(self.edges, x, rows, counts)
        starts = np.arange(len(counts)) * len(rows) // len(counts)
        found = np.concatenate([rows[first : first + count] for first, count in zip(starts, counts, strict=True)])
        ends, most = self.edges.ends[found], self.edges.most[found]
        return np.asarray(ends[np.linalg.norm(x[ends[:, 0]] - x[ends[:, 1]], axis=1) > TOLERANCE * most])

    def longest(self, x: Floats) -> float:
        """Return the length of the longest edge of x over the largest that is allowed."""
        a, b = self.edges.ends.T
        return float((np.linalg.norm(x[a] - x[b], axis=1) / self.edges.most).max(initial=0.0))

    def is_exceeded(self, x: Floats) -> bool:
        """Whether any edge of x is too long."""
        if not self._on_threads:
            return bool(_kernels.is_any_stretched(self.edges, x))
        self._find(self.edges, x, *self._stretched)
        return bool(self._stretched.counts.any())

    def apply(
        self,
        x: Floats,
        surface: _kernels.Surface | None = None,
        gaps: _kernels.Gaps = NO_GAPS,
        w: Floats | None = None,
    ) -> bool:
        """Shorten the edges of x that are too long; return whether any was too long. Vertices do not move into
        `surface`, and `gaps` stay open. w (n,): other inverse masses."""
        found, touched = self._stretched, surface or self._nothing
        self._find(self.edges, x, *found)
        if not found.counts.any():
            return False
        if w is not None or not self._works_together:
            self._sweep(x, self.w if w is None else w, SWEEPS, touched, gaps)
            return True
        before = x.copy()
        if not self._sweep(x, self.w, FEW, touched, gaps):
            x[:] = before
            self._global = self._global or GlobalLimit(self.edges, self.w, self._cloths)
            self._global.apply(x, touched, gaps)
            self.together += 1
            self._find(self.edges, x, *found)
            self._sweep(x, self.w, FEW, touched, gaps)
        return True

    def _sweep(self, x: Floats, w: Floats, sweeps: int, surface: _kernels.Surface, gaps: _kernels.Gaps) -> bool:
        """Shorten the edges found too long in at most `sweeps` sweeps; return whether these were enough."""
        count, enough = _kernels.shorten(self.edges, x, w, self._stretched, sweeps, surface, gaps, self._scratch)
        self.shortened += count
        return bool(enough)


def gaps_of(contacts: Contacts, x: Floats, rows: slice) -> _kernels.Gaps:
    """Return the gaps of `contacts` as functions of the vertices `rows` of x (n,3); all others stay where they are."""
    k = len(contacts)
    gaps = _kernels.Gaps(np.empty((k, 4), np.int32), np.empty((k, 4)), np.empty((k, 3)), np.empty(k))
    _kernels.fill_gaps(contacts, x, rows.start, rows.stop, gaps)
    return gaps


def with_points(gaps: _kernels.Gaps, points: Points, rows: slice) -> _kernels.Gaps:
    """Return `gaps` of the vertices `rows`, and those of `points` from their planes."""
    corners = np.pad(points.rows - np.int32(rows.start), ((0, 0), (0, 1)), constant_values=-1)
    more = _kernels.Gaps(corners, np.pad(points.weights, ((0, 0), (0, 1))), points.normals, points.levels)
    return _kernels.Gaps(*(np.concatenate(both) for both in zip(gaps, more, strict=True)))
