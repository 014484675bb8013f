"""Distance fields of a skinned body: one rigid part per bone, each with its own field."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import OneOf, Range, check_arguments
from ...contacts import Contacts
from ...motion.deforming import Skinned
from ...motion.rigid import brought
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Side
from ..fields.bones import SHARE, RigidParts
from ..fields.by_name import GRIDS, TOLERANCE
from ..fields.cell_size import cell_sizes
from ..fields.sampled import KINDS, Sampled
from .distance_field import DistanceFieldDetector
from .rigid_parts import PartsDetector

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]


@check_arguments
class BoneFieldsDetector(BaseDetector):
    """Contacts with the rigid parts of a skin (`RigidParts`), baked once; a point touches only the nearest part.

    A query costs one lookup per part, whatever the number of triangles. Rigid parts do not blend, so around joints they
    lie below or above the skin by an amount that depends on the character and its clip (see `distance`); hence
    guarantee class C. A bone's part also contains the triangles on which the bone has at least the weight `share`.
    The other options are those of `DistanceFieldDetector`; `field` names the kind of field of every part.
    """

    name = DistanceFieldDetector.name
    finds = Finds.OBSTACLE
    guarantee = "C"
    needs = "a skinned obstacle"
    gives = DistanceFieldDetector.gives
    source = DistanceFieldDetector.source
    obstacle_may_deform = True
    reports = DistanceFieldDetector.reports
    signed_if_open = True

    def __init__(
        self,
        deformable: Side,
        body: Side,
        *,
        within: float,
        field: Sampled | Annotated[str, OneOf(KINDS)] | None = None,
        spacing: Annotated[float, Range(above=0.0)] | None = None,
        tolerance: Annotated[float, Range(above=0.0)] | None = None,
        share: Annotated[float, Range(above=0.0, high=1.0)] = SHARE,
        midpoints: bool = True,
        cache: bool = True,
        max_bytes: MaxBytes = None,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        if not isinstance(body.motion, Skinned):
            raise ValueError(f"mesh {body.mesh.name!r} is not skinned; expected a Skinned motion")
        if isinstance(field, Sampled):
            raise ValueError(
                f"field is a {type(field).__name__}, but {body.mesh.name!r} has bones, and each gets a field of its "
                f"own; name the kind of field instead, one of: {', '.join(KINDS)}"
            )
        self.deformable, self.body, self._motion = deformable, body, body.motion
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        share = validate.number("share", share, above=0.0, high=1.0)
        self.parts = RigidParts.of(body.mesh, body.motion, share)
        self.fields: list[DistanceFieldDetector] = []
        accuracy: list[dict[str, float | None]] = [{"spacing": spacing, "tolerance": tolerance}] * len(
            self.parts.meshes
        )
        if spacing is None and tolerance is None:
            sizes = cell_sizes(self.parts.meshes, within)
            self.cell_size = max(sizes, default=0.0)
            grid = field is None or field in GRIDS
            accuracy = [{"spacing": size} if grid else {"tolerance": TOLERANCE * size} for size in sizes]
        for k, (mesh, given) in enumerate(zip(self.parts.meshes, accuracy, strict=True)):
            done_of_part = _of_part(progress, k, len(accuracy))
            found = DistanceFieldDetector(
                deformable, Side(mesh, 0, k), within=within, field=field, midpoints=midpoints, cache=cache,
                max_bytes=max_bytes, progress=done_of_part, **given,
            )  # fmt: skip
            self.fields.append(found)
            if done_of_part is not None:  # a cached field reports nothing
                done_of_part(1.0)
        self._all = PartsDetector(self.fields)
        self.reports = self._all.reports
        self._bones: Floats | None = None
        self.poses = self._before = np.zeros((0, 3, 4))

    @property
    def nbytes(self) -> int:
        """Bytes of all fields."""
        return sum(part.field.nbytes for part in self.fields)

    def update(self, state: State) -> Self:
        """Move the parts with their bones."""
        bones = state.bones[self.body.body]
        if self._bones is None:
            # a resumed run needs the previous poses of the parts
            self.poses = self.parts.poses(self._motion.sample(np.array([state.time]))[0])
        if bones is not self._bones:
            self._before, self.poses, self._bones = self.poses, self.parts.poses(bones), bones
        return self

    def reset(self) -> None:
        """Reset, so that the next update begins a new run."""
        self._bones = None

    def find(self, state: State) -> Contacts:
        """Return contacts in canonical order: vertices first, then edge midpoints."""
        view = State(state.x, state.v, state.x_start, state.time, self.poses, self._before, state.lapse)
        found = self._all.find(view)
        found["bodies"][:, 1] = self.body.body
        return found

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.fields import structure_of_parts

        return structure_of_parts(self, level)

    def distance(self, points: Floats) -> Floats:
        """Return signed distances (n,) of `points` (n,3) from the parts at present; nan outside all bands."""
        least = np.full(len(points), np.inf)
        for part, pose in zip(self.fields, self.poses):
            least = np.fmin(least, part.field.sample(brought(points, pose))[0])
        return np.where(np.isfinite(least), least, np.nan)


def _of_part(progress: Callable[[float], None] | None, k: int, count: int) -> Callable[[float], None] | None:
    """Return `progress` for the k-th of `count` parts."""
    return None if progress is None else lambda done: progress((k + done) / count)
