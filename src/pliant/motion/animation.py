"""Animation: keyframed values over time. Skeleton: a hierarchy of nodes that such values pose."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import renamed, validate
from ..brief import Brief
from ..kernels.motion import animation as kernels
from ..validate import Floats, Ints

INTERPOLATIONS = ("step", "linear", "cubic")
PARTS = {"translation": (0, 3), "rotation": (3, 4), "scale": (7, 3)}  # offset in a node's values, and their number


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Track(Brief):
    """Keyframes for `width` consecutive values of a pose, starting at `column`.

    times (k,) seconds, non-decreasing; values (k,width), for "cubic" (k,3,width): in-tangent, value, out-tangent, in
    1/s. "linear" interpolates a `rotation` (x y z w) by slerp along the shorter arc. The arrays are validated,
    read-only copies.
    """

    column: int
    times: Floats
    values: Floats
    interpolation: str = "linear"
    rotation: bool = False

    def __post_init__(self) -> None:
        validate.choice("interpolation", self.interpolation, INTERPOLATIONS)
        times = validate.floats("times", self.times, (None,))
        if not len(times):
            raise ValueError("times is empty; expected at least one keyframe")
        falling = np.diff(times) < 0.0
        if falling.any():
            k = int(np.argmax(falling))
            raise ValueError(f"times[{k + 1}] = {times[k + 1]:g} comes before times[{k}] = {times[k]:g}")
        cubic = self.interpolation == "cubic"
        values = validate.floats("values", self.values, (len(times), 3, None) if cubic else (len(times), None))
        if self.rotation:
            # tangents refer to the quaternion as given, so only values without tangents may be normalised
            keys = values[:, 1] if cubic else values
            size = np.linalg.norm(keys, axis=1)
            if values.shape[-1] != 4 or not (size > 1e-6).all():
                raise ValueError("values of a rotation must be non-zero quaternions x, y, z, w")
            if not cubic:
                values /= size[:, None]
        for name, array in (("times", times), ("values", values)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def width(self) -> int:
        return self.values.shape[-1]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Animation(Brief):
    """Tracks that are played together; `duration` is the time of the last keyframe, seconds."""

    tracks: tuple[Track, ...]

    @functools.cached_property
    def duration(self) -> float:
        return max([0.0, *(float(track.times[-1]) for track in self.tracks)])

    @functools.cached_property
    def columns(self) -> int:
        """The smallest length of a pose for these tracks."""
        return max([0, *(track.column + track.width for track in self.tracks)])

    def sample(self, times: Floats, rest: Floats) -> Floats:
        """Return poses (t,p) at `times` (t,), with `rest` (p,) for values without a track. Before its first and after
        its last keyframe a track is constant; each row depends bitwise on its own time only."""
        if self.columns > len(rest):
            raise ValueError(f"the tracks drive {self.columns} numbers, but a pose has {len(rest)}")
        out = np.empty((len(times), len(rest)))
        out[:] = rest
        kernels.sample(self._packed, times, out)
        return out

    @functools.cached_property
    def _packed(self) -> kernels.Tracks:
        def ends(counts: Sequence[int]) -> Any:
            return np.cumsum([0, *counts], dtype=np.int64)

        def joined(arrays: Sequence[Floats]) -> Floats:
            return np.concatenate([np.zeros(0), *(a.ravel() for a in arrays)])

        turns = {"step": kernels.STEP, "linear": kernels.SLERP, "cubic": kernels.CUBIC_ROTATION}
        plain = {"step": kernels.STEP, "linear": kernels.LINEAR, "cubic": kernels.CUBIC}
        kinds = [(turns if t.rotation else plain)[t.interpolation] for t in self.tracks]
        return kernels.Tracks(
            ends([len(t.times) for t in self.tracks]),
            joined([t.times for t in self.tracks]),
            ends([t.values.size for t in self.tracks])[:-1].copy(),
            joined([t.values for t in self.tracks]),
            np.array(kinds, np.int64),
            np.array([t.width for t in self.tracks], np.int64),
            np.array([t.column for t in self.tracks], np.int64),
        )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Skeleton(Brief):
    """A hierarchy of nodes. A pose is a row of 10 values for each node (`PARTS`), followed by the morph weights.

    parents (n,) int32, -1 for a root, parents first; rest (10 n + m,): the default pose; matrices (n,3,4) replace the
    values of nodes for which `given` (n,) is true. The arrays are validated, read-only copies.
    """

    parents: Ints
    rest: Floats
    matrices: Floats
    given: Any

    def __post_init__(self) -> None:
        count = len(self.parents)
        parents = np.array(self.parents, np.int32).reshape(-1)
        wrong = (parents < -1) | (parents >= np.arange(count))
        if wrong.any():
            k = int(np.argmax(wrong))
            raise ValueError(f"parents[{k}] = {parents[k]}; expected -1 or a node before {k}")
        rest = validate.floats("rest", self.rest, (None,))
        if len(rest) < kernels.NODE * count:
            raise ValueError(f"rest has {len(rest)} numbers; expected {kernels.NODE} for each of {count} nodes")
        matrices = validate.floats("matrices", self.matrices, (count, 3, 4))
        given = np.array(self.given, bool).reshape(count)
        for name, array in (("parents", parents), ("rest", rest), ("matrices", matrices), ("given", given)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @classmethod
    def of_heads(cls, parents: Any, heads: Any) -> "Skeleton":
        """Create nodes without rotation at `heads` (n,3), world positions in metres."""
        heads = validate.floats("heads", heads, (len(parents), 3))
        rest = np.tile([0.0, 0, 0, 0, 0, 0, 1, 1, 1, 1], (len(heads), 1))
        above = np.where(np.array(parents)[:, None] < 0, 0.0, heads[parents])
        rest[:, :3] = heads - above
        return cls(parents, rest.ravel(), np.zeros((len(heads), 3, 4)), np.zeros(len(heads), bool))

    @staticmethod
    def column(node: int, part: str) -> int:
        """Return the first column of a node's translation, rotation or scale in a pose."""
        return kernels.NODE * node + PARTS[part][0]

    @property
    def n_weights(self) -> int:
        """The number of morph weights of a pose, which follow the values of its nodes."""
        return len(self.rest) - kernels.NODE * len(self.parents)

    def poses(self, animation: Animation | None, times: Floats) -> Floats:
        """Return poses (t,p) at `times` (t,)."""
        return np.tile(self.rest, (len(times), 1)) if animation is None else animation.sample(times, self.rest)

    def world_matrices(self, poses: Floats) -> Floats:
        """Return the world matrices (t,n,3,4) of the nodes."""
        out = np.empty((len(poses), len(self.parents), 3, 4))
        kernels.world_matrices(validate.read_only(poses), self.parents, self.matrices, self.given, out)
        return out

    place = renamed.attribute("place", "world_matrices")

    def weights(self, poses: Floats) -> Floats:
        """Return the morph weights (t,m)."""
        return poses[:, kernels.NODE * len(self.parents) :]
