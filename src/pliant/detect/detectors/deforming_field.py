"""Distance fields of an obstacle that deforms without bones: baked again whenever its vertices have moved."""

import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts
from ...motion.deforming import Recorded
from ...state import State
from ..base import Side
from ..fields.by_name import Accuracy, bake_again, bake_kind
from ..fields.sampled import Cube, Sampled
from ..queries.penetration import DeformingClosestPoints
from .distance_field import DistanceFieldDetector, accuracy_for, reach_of

Floats = NDArray[np.float64]
FINER = 0.8  # of `within`: cells; a simulation detects contacts with deforming bodies from 1.25 eps on
ROOM = 0.1  # of the longest side: space around the shape at rest, where the motion is not known in advance


class DeformingFieldDetector(DistanceFieldDetector):
    """Contacts with the field of an obstacle that deforms vertex by vertex: a sequence, blend shapes, or vertices that
    the caller moves.

    The field is baked again in the first query after the vertices moved, if the cloth is near: bricks only around the
    faces that moved, the others as a whole. Contacts have the velocity of the nearest point of the surface.
    `bake_count` and `bake_seconds` (CPU time) state the cost. The options are those of `DistanceFieldDetector`.
    """

    obstacle_may_deform = True

    def __init__(self, deformable: Side, obstacle: Side, **options: Any) -> None:
        self._field: Any = None
        self._widened: Accuracy | None = None
        self._stale, self.bake_count, self.bake_seconds = False, 0, 0.0
        super().__init__(deformable, obstacle, **options)
        base: Sampled = self.field
        bounds = base.mesh.bounds
        self._base = None if self._widened is not None else base
        self._margin = np.maximum(bounds[0] - self.box[0], self.box[1] - bounds[1])
        issues = obstacle.mesh.issues
        if isinstance(base, Cube) and (not issues.closed or issues.inward):
            self._margin[:] = base.side  # behind an open sheet, contacts are anywhere in the cube
        self._shape = obstacle.mesh.vertices
        self._surface = DeformingClosestPoints(obstacle.mesh)
        self._speed: Floats | None = None

    @property
    def field(self) -> Any:
        """The field at the positions of the last update."""
        if self._stale:
            began = time.process_time()
            if self._base is None and self._widened is not None:
                self._base = bake_kind(self.kind, self.obstacle.mesh, self._widened, cache=False)
            self._field = bake_again(self._field, self._base, self._shape)
            self.bake_seconds += time.process_time() - began
            self.bake_count += 1
            self._stale = False
            self._known, self._slack, _ = reach_of(self._field, self.obstacle.mesh, self.within)
        return self._field

    @field.setter
    def field(self, field: Any) -> None:
        self._field = field

    def _accuracy(self, spacing: float | None) -> Accuracy:
        body, motion = self.obstacle.mesh, self.obstacle.motion
        made = accuracy_for(self.deformable, body, self.within * (1.0 if motion is None else FINER), spacing)
        room = ROOM * float(np.ptp(body.bounds, axis=0).max())
        if motion is None:  # a body that may never move: room for its motion is made when it first does
            self._widened = made._replace(room=room)
            return made
        if isinstance(motion, Recorded):  # all its shapes fit into one grid
            low, high = motion.frames.min((0, 1)), motion.frames.max((0, 1))
            room = float(max((body.bounds[0] - low).max(), (high - body.bounds[1]).max(), 0.0))
        return made._replace(room=room)

    def update(self, state: State) -> Self:
        """Take the positions and velocities of the obstacle; its field is baked when it is next needed."""
        if not self._has_pose(state):
            x, v = state.x[self.obstacle.rows], state.v[self.obstacle.rows]
            if not np.array_equal(x, self._shape):
                self._shape, self._stale = x.copy(), True
                low, high = x.min(0), x.max(0)
                self.box = np.stack([low - self._margin, high + self._margin])
            self._speed = v.copy() if v.any() else None
        return self

    def contacts_of_points(self, state: State, placement: int, longest: float) -> tuple[Contacts, Contacts]:
        found = super().contacts_of_points(state, placement, longest)
        if self._speed is not None:
            for part in found:
                self._set_velocities(part, self._speed)
        return found

    @property
    def remark(self) -> str:
        """The share of its time that baking takes."""
        if not self.bake_count:
            return ""
        each = 1e3 * self.bake_seconds / self.bake_count
        return f"its {self.kind} are baked again for each shape, {each:.3g} ms of CPU time, which is part of CPU-ms"

    def _set_velocities(self, contacts: Contacts, v: Floats) -> None:
        """Set the velocities of anchors to those of the nearest points of the surface, whose vertices move at `v`."""
        if len(contacts):
            surface = self._surface.update(self._shape)
            face, share = surface.nearest_faces(contacts["anchor"])
            corners = v[surface.rows][surface.surface.faces[face]]
            contacts["anchor_velocity"] = np.einsum("ij,ijk->ik", share, corners)

    def _has_pose(self, state: State) -> bool:
        """Whether the obstacle moves rigidly: its field then moves with it."""
        body, rest = self.obstacle.body, np.eye(3, 4)
        return body < len(state.pose) and not (
            np.array_equal(state.pose[body], rest) and np.array_equal(state.pose_start[body], rest)
        )
