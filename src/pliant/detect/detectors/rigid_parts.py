"""A body of rigid parts, each with its own field: boxes cull distant parts, the smallest distance counts.

Fuhrmann et al. 2003, section 4.5.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...kernels.detectors import rigid_parts as _kernels
from ...state import State
from ..base import BaseDetector
from .distance_field import DistanceFieldDetector, joined, longest_edge

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]


class PartsDetector(BaseDetector):
    """Several fields as one body of rigid parts: a point touches only the nearest part.

    Ties go to the first part. Outside all parts this is the distance to their union. In an overlap it is the part in
    which the point is deepest; its separation direction may lead through another part, so the point is moved out, but
    not always along the shortest path.
    """

    name = DistanceFieldDetector.name
    finds = DistanceFieldDetector.finds
    guarantee = DistanceFieldDetector.guarantee
    needs = DistanceFieldDetector.needs
    gives = DistanceFieldDetector.gives
    source = DistanceFieldDetector.source
    obstacle_may_deform = DistanceFieldDetector.obstacle_may_deform
    reports = DistanceFieldDetector.reports
    signed_if_open = True

    def __init__(self, parts: Sequence[DistanceFieldDetector]) -> None:
        self.parts = sorted(parts, key=lambda part: part.obstacle.body)
        self.deformable, self.reports = self.parts[0].deformable, self.parts[0].reports
        self.obstacle_may_deform = any(part.obstacle_may_deform for part in self.parts)
        self._bodies = np.array([part.obstacle.body for part in self.parts])
        self._placement = np.zeros(len(self.parts), np.int64)
        self._best = np.full(max(self.deformable.mesh.n_vertices, len(self.parts[0].edges)), -1, np.int64)

    @property
    def bounds(self) -> tuple[float, float]:
        """The largest bound of any part, metres."""
        bound = max(max(part.bounds) for part in self.parts)
        return bound, bound

    def bound_at(self, distance: Floats) -> Floats:
        bound: Floats = np.max([part.bound_at(distance) for part in self.parts], axis=0)
        return bound

    @property
    def remark(self) -> str:
        return next((part.remark for part in self.parts if part.remark), "")

    def covers(self, distance: Floats) -> NDArray[np.bool_]:
        return np.all([part.covers(distance) for part in self.parts], axis=0)

    def update(self, state: State) -> Self:
        """Update the parts that deform."""
        for part in self.parts:
            part.update(state)
        return self

    def structure(self, state: State, level: int | None = None) -> "Structure | None":
        from ..structure import together

        return together([part.structure(state, level) for part in self.parts])

    def find(self, state: State) -> Contacts:
        """Return contacts in canonical order: vertices of all parts first, then edge midpoints."""
        x, poses = state.x[self.deformable.rows], (state.pose, state.pose_start)
        longest = longest_edge(self.parts[0].edges, x)
        low, high = (np.stack([part.box[k] for part in self.parts]) for k in (0, 1))
        _kernels.classify_fields(x, 0.5 * longest, low, high, *poses, self._bodies, self._placement)
        near = [(part, int(how)) for part, how in zip(self.parts, self._placement) if how != _kernels.FAR]
        found = [part.contacts_of_points(state, how, longest) for part, how in near]
        kinds = [[part[k] for part in found if len(part[k])] for k in (0, 1)]
        return joined([self._nearest(kind) for kind in kinds])

    def _nearest(self, found: list[Contacts]) -> Contacts:
        """Return the nearest contact of each element."""
        if len(found) < 2:
            return found[0] if found else _contacts.empty()
        every = joined(found)
        keep = np.zeros(len(every), np.bool_)
        _kernels.keep_nearest(every, self._best, keep)
        return every[keep]
