"""Deforming kinematic bodies: prescribed motion by skinning, by recorded frames, or attached to another body."""

import dataclasses
import functools
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import validate
from ..arguments import check_arguments
from ..brief import Brief, brief
from ..kernels.jit import worth
from ..kernels.motion import skinning as _kernels
from ..kernels.motion.attached import place_on_faces, place_on_shapes
from ..mesh import Mesh
from .animation import Animation, Track
from .character import Character

Floats = NDArray[np.float64]
SEAM = 1e-6  # of the mesh size: above the rounding of one position in a float32 file
_SOME = 10_000  # vertices below which starting threads does not pay
Rows = NDArray[np.int64]


@runtime_checkable
class Deforming(Protocol):
    """Interface of `Body.motion` for a deforming kinematic body. `sample` is called once for many times, `shape` once
    per sample.

    A sample (k,3,4) determines the shape: bone matrices, or only the time.
    """

    def sample(self, times: Floats) -> Floats: ...

    def shape(self, sample: Floats) -> Floats: ...

    def taking(self, rows: Rows) -> "Deforming": ...

    def fastest(self) -> float: ...

    @property
    def key(self) -> tuple[Any, ...]: ...


@runtime_checkable
class Frame(Protocol):
    """Interface of a frame that moves rigidly, as `moving_frame.MovingFrame`: its poses (t,3,4) at times (t,), and what
    they depend on."""

    def poses(self, times: Floats) -> Floats: ...

    @property
    def key(self) -> tuple[Any, ...]: ...


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Skinned:
    """A character that plays one of its clips once, or repeatedly with `loop`, after `lead_in` seconds.

    During the lead-in it blends from the default pose of its nodes to the first pose of the clip, easing in and out.
    `rows`: the vertices of the character's mesh to return. Default: all. `frame`: positions are relative to this moving
    frame. Default: to the world.
    """

    character: Character
    clip: str | None = None
    lead_in: float = 0.0
    loop: bool = False
    rows: Any = None
    frame: Frame | None = None

    __repr__ = brief

    def __post_init__(self) -> None:
        if self.clip is not None:
            validate.choice("clip", self.clip, tuple(self.character.clips))
        validate.number("lead_in", self.lead_in, low=0.0, high=validate.LARGEST)
        if self.rows is not None:
            object.__setattr__(self, "rows", validate.rows("rows", self.rows, self.character.mesh.n_vertices))

    @property
    def duration(self) -> float:
        """Duration of clip and lead-in, seconds; 0 for a static character."""
        return self.lead_in + self.character.clips[self.clip].duration if self.clip is not None else 0.0

    def sample(self, times: Floats) -> Floats:
        """Return skin matrices (t,b,3,4) at `times` (t,) seconds; each depends on its own time only.

        Additional rows after those of the bones hold the morph weights.
        """
        times = np.asarray(times, np.float64)
        out = self.sample_of(self.poses(times))
        if self.frame is not None:
            bones = len(self.character.names)
            out[:, :bones] = relative(self.frame.poses(times), out[:, :bones])
        return out

    def sample_of(self, poses: Floats) -> Floats:
        """Return the samples of poses (t,p) of the skeleton, relative to the world."""
        out = self.character.skin_matrices(poses)
        extra = self.character.skeleton.weights(poses)
        if not self.character.morphs:
            return out
        rows = np.zeros((len(out), -(-extra.shape[1] // 12), 12))
        rows.reshape(len(out), -1)[:, : extra.shape[1]] = extra
        return np.concatenate([out, rows.reshape(len(out), -1, 3, 4)], 1)

    def shape(self, sample: Floats) -> Floats:
        """Return the skinned positions (n,3) of a sample."""
        x, joints, weights = self._skin
        bones = len(self.character.names)
        if self.character.morphs:
            x = self.character.blended(sample[bones:].reshape(-1))
            x = x if self.rows is None else np.ascontiguousarray(x[self.rows])
        out = np.empty(x.shape)
        matrices = validate.read_only(np.ascontiguousarray(sample[:bones]))
        worth(_kernels.skin, len(x), _SOME)(validate.read_only(x), joints, weights, matrices, out)
        return out

    def shapes(self, samples: Floats) -> Floats:
        """Return the skinned positions (t,n,3) of samples (t,k,3,4), for few vertices in one call."""
        x, joints, weights = self._skin
        if self.character.morphs or len(x) >= _SOME:
            return np.stack([self.shape(sample) for sample in samples])
        out = np.empty((len(samples), *x.shape))
        matrices = validate.read_only(np.ascontiguousarray(samples[:, : len(self.character.names)]))
        _kernels.skin_poses(x, joints, weights, matrices, out)
        return out

    def poses(self, times: Floats) -> Floats:
        """Return poses (t,p) of the skeleton at `times` (t,), relative to the world."""
        t, skeleton = times - self.lead_in, self.character.skeleton
        if self.clip is None:
            return skeleton.poses(None, t)
        clip = self.character.clips[self.clip]
        if self.loop and clip.duration > 0.0:
            t = np.where(t > clip.duration, np.mod(t, clip.duration), t)
        out = skeleton.poses(clip, np.maximum(t, 0.0))
        early = np.flatnonzero(t < 0.0)
        if len(early):
            s = 1.0 + t[early] / self.lead_in
            out[early] = skeleton.poses(self._lead, s * s * (3.0 - 2.0 * s))
        return out

    def keyed(self, times: Any) -> Character:
        """Return the character with one clip, "run", that has a keyframe for each of `times`, shifted to start at 0."""
        times = np.asarray(times, np.float64)
        poses = self.poses(times)
        tracks = []
        for track in self.character.clips[self.clip].tracks if self.clip is not None else ():
            values = poses[:, track.column : track.column + track.width]
            tracks.append(Track(track.column, times - times[0], values, rotation=track.rotation))
        return dataclasses.replace(self.character, clips={"run": Animation(tuple(tracks))})

    def taking(self, rows: Rows) -> "Skinned":
        """Return the same motion for a subset of its vertices."""
        return dataclasses.replace(self, rows=rows if self.rows is None else self.rows[rows])

    def fastest(self) -> float:
        """Estimate the highest speed (m/s) of any vertex, by differences over 1/60 s."""
        t = np.arange(0.0, self.duration + 1.0 / 60.0, 1.0 / 60.0)
        before, fastest = None, 0.0
        for sample in self.sample(t):
            x = self.shape(sample)
            if before is not None:
                fastest = max(fastest, float(((x - before) ** 2).sum(1).max()))
            before = x
        return 60.0 * fastest**0.5

    @property
    def key(self) -> tuple[Any, ...]:
        """The data that determine the motion, for hashing."""
        c = self.character
        played = self.sample(np.linspace(0.0, self.duration, 17))
        own = () if self.frame is None else self.frame.key
        return (c.mesh.vertices, c.joints, c.weights, played, self.duration, self.lead_in, self.loop, *own)

    def apart(self, copies: Rows) -> Rows:
        """Return those of `copies` (k,2), pairs of coincident vertices, that bones or morph targets may separate."""
        one, two = copies.T
        differ = (self.joints[one] != self.joints[two]).any(1) | (self.weights[one] != self.weights[two]).any(1)
        for m in self.character.morphs:
            moves = np.zeros((len(m.targets), self.character.mesh.n_vertices, 3))
            moves[:, m.start : m.start + m.targets.shape[1]] = m.targets
            moves = moves if self.rows is None else moves[:, self.rows]
            differ |= (moves[:, one] != moves[:, two]).any((0, 2))
        return copies[differ]

    @property
    def joints(self) -> NDArray[Any]:
        """(n,k) bones of each vertex; their weights are `weights` (n,k)."""
        return self._skin[1]

    @property
    def weights(self) -> Floats:
        return self._skin[2]

    @property
    def bind(self) -> Floats | None:
        """(n,3) positions that the matrices move; None with morph targets, which move them as well."""
        return None if self.character.morphs else self._skin[0]

    @functools.cached_property
    def _lead(self) -> Animation:
        """Blend from the default pose of the nodes to the first pose of the clip, over a time of 1."""
        skeleton, clip = self.character.skeleton, self.character.clips[self.clip or ""]
        first = skeleton.poses(clip, np.zeros(1))[0]
        ends = np.stack([skeleton.rest, first])
        tracks = []
        for track in clip.tracks:
            values = ends[:, track.column : track.column + track.width]
            tracks.append(Track(track.column, np.array([0.0, 1.0]), values, rotation=track.rotation))
        return Animation(tuple(tracks))

    @functools.cached_property
    def _skin(self) -> tuple[Floats, NDArray[Any], Floats]:
        c, rows = self.character, slice(None) if self.rows is None else self.rows
        arrays = (np.ascontiguousarray(a[rows]) for a in (c.mesh.vertices, c.joints, c.weights))
        return tuple(validate.read_only(array) for array in arrays)  # type: ignore[return-value]


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False)
class Recorded:
    """Recorded vertex positions (t,n,3) at `times` (t,) seconds, interpolated linearly."""

    times: Floats
    frames: Floats

    __repr__ = brief

    if TYPE_CHECKING:

        def __init__(self, times: ArrayLike, frames: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        times = validate.floats("times", self.times, (None,))
        frames = validate.floats("frames", self.frames, (len(times), None, 3))
        late = np.flatnonzero(np.diff(times) <= 0.0)
        if not len(times) or len(late):
            k = int(late[0]) if len(late) else -1
            wrong = f"times[{k + 1}] = {times[k + 1]:g} follows {times[k]:g}; they must increase" if len(late) else ""
            raise ValueError(wrong or "times is empty; expected at least one frame")
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "frames", frames)

    def sample(self, times: Floats) -> Floats:
        """Return samples (t,1,3,4) that hold only the time, in entry [0, 0, 3]."""
        out = np.zeros((len(times), 1, 3, 4))
        out[:, 0, 0, 3] = times
        return out

    def shape(self, sample: Floats) -> Floats:
        t = float(sample[0, 0, 3])
        k = int(np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, max(len(self.times) - 2, 0)))
        if len(self.times) == 1:
            return self.frames[0].copy()
        s = min(max((t - self.times[k]) / (self.times[k + 1] - self.times[k]), 0.0), 1.0)
        return np.asarray((1.0 - s) * self.frames[k] + s * self.frames[k + 1])

    def taking(self, rows: Rows) -> "Recorded":
        return Recorded(self.times, self.frames[:, rows])

    def fastest(self) -> float:
        steps = np.linalg.norm(np.diff(self.frames, axis=0), axis=2).max(1, initial=0.0)
        return float((steps / np.diff(self.times)).max(initial=0.0))

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.times, self.frames)


@check_arguments
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Attached(Brief):
    """Points attached to faces of a deforming body, each with fixed coordinates relative to its face.

    carrier: the motion of the body's vertices; corners (k,3): vertices of each face; places (k,3): coordinates s, t, h
    in p = a + s (b - a) + t (c - a) + h n, with the unit normal n of the face and h in metres.
    """

    carrier: Deforming
    corners: NDArray[np.int64]
    places: Floats

    def __post_init__(self) -> None:
        corners = validate.indices("corners", self.corners, 3, 2**31 - 1).astype(np.int64)
        object.__setattr__(self, "corners", corners)
        object.__setattr__(self, "places", validate.floats("places", self.places, (len(corners), 3)))

    @check_arguments
    @classmethod
    def at(cls, carrier: Deforming, x: Floats, corners: Any, points: Floats) -> "Attached":
        """Attach points (k,3) to the faces with these corners (k,3), given vertex positions x (n,3)."""
        x = validate.floats("x", x, (None, 3))
        corners = validate.indices("corners", corners, 3, len(x)).astype(np.int64)
        points = validate.floats("points", points, (len(corners), 3))
        a, frame = cls._frames(x[corners])
        try:
            places = np.linalg.solve(frame, (points - a)[:, :, None])[:, :, 0]
        except np.linalg.LinAlgError:
            flat = int(np.argmin(np.abs(np.linalg.det(frame))))
            raise ValueError(f"corners[{flat}] is a face of zero area; expected non-degenerate faces") from None
        return cls(carrier, corners, np.asarray(places, np.float64))

    def sample(self, times: Floats) -> Floats:
        return self.carrier.sample(times)

    def shape(self, sample: Floats) -> Floats:
        out = np.empty((len(self.places), 3))
        place_on_faces(self._used[0].shape(sample), self._used[1], self.places, out)
        return out

    def shapes(self, samples: Floats) -> Floats:
        """Return the positions (t,k,3) at all samples (t,b,3,4) of the carrier."""
        carrier, corners = self._used
        x = carrier.shapes(samples) if isinstance(carrier, Skinned) else np.stack([carrier.shape(at) for at in samples])
        out = np.empty((len(samples), len(self.places), 3))
        place_on_shapes(x, corners, self.places, out)
        return out

    def taking(self, rows: Rows) -> "Attached":
        return Attached(self.carrier, self.corners[rows], self.places[rows])

    def fastest(self) -> float:
        return self.carrier.fastest()

    @property
    def key(self) -> tuple[Any, ...]:
        return (*self.carrier.key, self.corners, self.places)

    @functools.cached_property
    def _used(self) -> tuple[Deforming, NDArray[np.int64]]:
        """The carrier restricted to the corners, and the rows of the corners in it."""
        rows, inverse = np.unique(self.corners, return_inverse=True)
        return self.carrier.taking(rows), inverse.reshape(self.corners.shape)

    @staticmethod
    def _frames(corners: Floats) -> tuple[Floats, Floats]:
        """Return the first corner (k,3), and two edges and the unit normal as columns (k,3,3)."""
        a, e, f = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        n = e[:, [1, 2, 0]] * f[:, [2, 0, 1]] - e[:, [2, 0, 1]] * f[:, [1, 2, 0]]
        n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
        return a, np.stack([e, f, n], 2)


def joined(mesh: Mesh, x: Floats) -> Floats:
    """Return positions x (n,3), or frames (t,n,3), with copies of a vertex moved onto their leader.

    Vertices that coincide in `mesh` count as copies if they stay within SEAM times its size of each other: copies that
    list the same bones in a different order are rounded differently by skinning.
    """
    rows, leaders = mesh.copies.T
    if not len(rows):
        return x
    gap = np.abs(x[..., rows, :] - x[..., leaders, :]).reshape(-1, len(rows), 3)
    together = (gap <= SEAM * mesh.size).all((0, 2))
    out = x.copy()
    out[..., rows[together], :] = x[..., leaders[together], :]
    return out


def relative(frame: Floats, matrices: Floats) -> Floats:
    """Return the matrices (t,b,3,4) relative to rigid frames (t,3,4), bitwise the same for the identity."""
    turn, out = frame[:, None, :, :3], matrices.copy()
    out[..., 3] -= frame[:, None, :, 3]
    # R^T M, summed in one order whatever the number of matrices
    return np.asarray((turn[..., :, :, None] * out[..., :, None, :]).sum(2))


def welds(mesh: Mesh, motion: Deforming) -> Mesh:
    """Return `mesh` with only those coincident vertices welded that `motion` keeps together, to SEAM times its size.

    A character is sampled 60 times per second, only at copies with different bones or morph targets.
    """
    slack = SEAM * mesh.size
    if isinstance(motion, Recorded):
        for frame in motion.frames:
            mesh = mesh.welded_at(frame, slack)
    elif isinstance(motion, Skinned) and len(motion.joints) == mesh.n_vertices:
        copies = motion.apart(mesh.copies)
        if not len(copies):
            return mesh
        rows, x = np.unique(copies), mesh.vertices.copy()
        some = motion.taking(rows)
        for sample in some.sample(np.arange(0.0, motion.duration + 1.0 / 60.0, 1.0 / 60.0)):
            x[rows] = some.shape(sample)
            mesh = mesh.welded_at(x, slack)
    return mesh
