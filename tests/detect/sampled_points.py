"""A detection method of class C that is no part of the package; docs/adding-a-method.md explains it."""

from typing import Self

import numpy as np

from pliant import contacts
from pliant.detect import BaseDetector, Finds, Reports, Side
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.state import State


class SampledPoints(BaseDetector):
    """Contacts of a random share of the vertices and edge midpoints, a new sample at every update."""

    name = "sampled-points"
    finds = Finds.OBSTACLE
    guarantee = "C"
    needs = "any triangle meshes"
    gives = "signed distance, normal"
    source = "a uniform sample"
    reports = Reports.POINTS
    signed_if_open = True

    def __init__(self, one: Side, other: Side, *, within: float, share: float = 0.5, seed: int = 0) -> None:
        self.one, self.other, self.within = one, other, within
        self.share, self.seed = share, seed
        self.reset()

    def reset(self) -> None:
        self._rng = np.random.default_rng(self.seed)

    def update(self, state: State) -> Self:
        self._body = ClosestPoints(self.other.mesh.moved(state.x[self.other.rows]))
        edges = self.one.mesh.topology.edges  # (m,2) indices of the ends
        self._vertices = np.flatnonzero(self._rng.random(self.one.mesh.n_vertices) < self.share)
        self._edges = np.flatnonzero(self._rng.random(len(edges)) < self.share)
        return self

    def find(self, state: State) -> contacts.Contacts:
        ends = self.one.mesh.topology.edges[self._edges]
        vertices = self._near(state, self._vertices, self._vertices[:, None], contacts.VERTEX_FIELD)
        return np.concatenate([vertices, self._near(state, self._edges, ends, contacts.MIDPOINT_FIELD)])

    def _near(self, state: State, rows: np.ndarray, ends: np.ndarray, kind: int) -> contacts.Contacts:
        """Records of points near the body, each the mean of its `ends` (n,1) or (n,2); `rows`: of vertices or edges."""
        distance, nearest, _, normal = self._body.query(state.x[self.one.rows][ends].mean(1))
        near, count = np.flatnonzero(distance <= self.within), ends.shape[1]
        hits = contacts.empty(len(near))
        hits["kind"] = kind
        hits["elements"][:, 0] = rows[near]
        hits["vertices"][:, :count] = self.one.first + ends[near]
        hits["weights"][:, :count] = 1.0 / count
        hits["bodies"] = self.one.body, self.other.body
        hits["normal"], hits["anchor"], hits["distance"] = normal[near], nearest[near], distance[near]
        return hits

    @property
    def estimated_recall(self) -> float:
        return self.share
