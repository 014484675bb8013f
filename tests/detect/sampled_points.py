"""A detection method of class C that is no part of the package; docs/adding-a-method.md explains it."""

from typing import Self

import numpy as np

from pliant import contacts
from pliant.detect import BaseDetector, Finds, Reports, Side
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.state import State


class SampledPoints(BaseDetector):
    """Contacts of a random share of the vertices, a new sample at every update."""

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
        self._rows = np.flatnonzero(self._rng.random(self.one.mesh.n_vertices) < self.share)
        return self

    def find(self, state: State) -> contacts.Contacts:
        distance, nearest, _, normal = self._body.query(state.x[self.one.rows][self._rows])
        near = np.flatnonzero(distance <= self.within)
        hits = contacts.empty(len(near))
        hits["kind"] = contacts.VERTEX_FIELD
        hits["elements"][:, 0] = self._rows[near]
        hits["vertices"][:, 0] = self.one.first + self._rows[near]
        hits["weights"][:, 0] = 1.0
        hits["bodies"] = self.one.body, self.other.body
        hits["normal"], hits["anchor"], hits["distance"] = normal[near], nearest[near], distance[near]
        return hits

    @property
    def estimated_recall(self) -> float:
        return self.share
