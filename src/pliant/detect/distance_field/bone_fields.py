"""A skin that bones move, by rigid parts with a field each, which ride on the bones."""

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...contacts import Contacts
from ...deforming import Skinned
from ...door import door
from ...motion import brought
from ...state import State
from ..base import Finds, Side
from .bones import SHARE, RigidParts
from .detector import DistanceFieldDetector
from .parts import PartsDetector

Floats = NDArray[np.float64]


@door
class BoneFieldsDetector:
    """Contacts with the rigid parts of a skin (`RigidParts`), baked once; of those near a point the nearest touches it.

    What is fast about fields stays: a look-up a part, whatever the number of triangles. What is lost: parts do not
    blend, so that around joints they lie under the skin or above it; by how much depends on the character and its clip
    (see `distance`), hence the guarantee C. `share` of a triangle makes it part of a bone that holds it besides others.
    Other options are those of `DistanceFieldDetector`.
    """

    name: ClassVar[str] = DistanceFieldDetector.name
    finds: ClassVar[Finds] = Finds.OBSTACLE
    guarantee: ClassVar[str] = "C"
    needs: ClassVar[str] = "an obstacle held by bones"
    gives: ClassVar[str] = DistanceFieldDetector.gives
    source: ClassVar[str] = DistanceFieldDetector.source
    follows: ClassVar[bool] = True

    def __init__(
        self,
        soft: Side,
        body: Side,
        *,
        within: float,
        share: float = SHARE,
        midpoints: bool = True,
        cache: bool = True,
        max_bytes: float | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(body.motion, Skinned):
            raise ValueError(f"mesh {body.mesh.name!r} is not held by bones; expected a Skinned motion")
        self.soft, self.body, self._motion = soft, body, body.motion
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        share = validate.number("share", share, above=0.0, high=1.0)
        self.parts = RigidParts.of(body.mesh, body.motion, share)
        self.fields: list[DistanceFieldDetector] = []
        for k, mesh in enumerate(self.parts.meshes):
            part = Side(mesh, 0, k)
            found = DistanceFieldDetector(
                soft, part, within=within, midpoints=midpoints, cache=cache, max_bytes=max_bytes
            )
            self.fields.append(found)
            if progress is not None:
                progress((k + 1) / len(self.parts.meshes))
        self._all = PartsDetector(self.fields)
        self._bones: Floats | None = None
        self.poses = self._before = np.zeros((0, 3, 4))

    @property
    def nbytes(self) -> int:
        """Of all fields."""
        return sum(part.field.nbytes for part in self.fields)

    def update(self, state: State) -> Self:
        """Parts to their bones."""
        bones = state.bones[self.body.body]
        if self._bones is None:
            # where a run is resumed the parts must have come from where they were
            self.poses = self.parts.poses(self._motion.sample(np.array([state.time]))[0])
        if bones is not self._bones:
            self._before, self.poses, self._bones = self.poses, self.parts.poses(bones), bones
        return self

    def forget(self) -> None:
        """The next update begins another run."""
        self._bones = None

    def find(self, state: State) -> Contacts:
        """Contacts in canonical order: vertices first, then middles of edges."""
        view = State(state.x, state.v, state.x_start, state.time, self.poses, self._before, state.lapse)
        found = self._all.find(view)
        found["bodies"][:, 1] = self.body.body
        return found

    def distance(self, points: Floats) -> Floats:
        """(n,) signed distance of `points` (n,3) from the parts where they are now; nan where all bands end."""
        least = np.full(len(points), np.inf)
        for part, pose in zip(self.fields, self.poses):
            least = np.fmin(least, part.field.sample(brought(points, pose))[0])
        return np.where(np.isfinite(least), least, np.nan)
