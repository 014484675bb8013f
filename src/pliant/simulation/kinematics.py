"""Kinematics: the prescribed motion of obstacles and grips within a frame."""

import itertools
import logging
import math
from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ..kernels.simulation import kinematics as _kernels
from ..motion.deforming import Deforming
from ..motion.rigid import Motion, placed
from ..scene import Scene
from ..state import State
from .slipping import Slipping
from .yielding import Yielding

log = logging.getLogger("pliant.simulation")
Floats = NDArray[np.float64]
# the bounds on the work of a frame: parts of a substep, and substeps with all their parts; in safe mode the guard
# keeps cloth apart from bodies that are faster, and each part of a substep costs several detection passes
MOST_PARTS, GUARDED_PARTS, MOST_SUBSTEPS = 16, 8, 128
RETURN = 0.2  # m/s: speed at which attached vertices that had to slip return to their places on the skin
EVERYWHERE = np.array([[-np.inf] * 3, [np.inf] * 3])
NOWHERE = -EVERYWHERE
_WORTH_THREADS = 20_000  # vertices of an obstacle


class Target(NamedTuple):
    """Prescribed positions at the end of a substep: poses (k,3,4) of the rigid kinematic bodies; per deforming obstacle
    (by index), its motion sample (k,3,4), see `Deforming`: bone matrices and morph weights, or the time; positions
    (2,k,3) of the gripped vertices at the beginning and at the end."""

    time: float  # s
    pose: Floats
    bones: dict[int, Floats]
    gripped: Floats


class Samples:
    """Samples of deforming motions in a frame, each made once for obstacles, grips and the division of substeps."""

    def __init__(self) -> None:
        self._times = np.zeros(0)  # s: those at which samples will be needed
        self._known: dict[int, dict[float, Floats]] = {}  # by identity of the motion and time

    def begin(self, times: Floats) -> None:
        """Begin a frame in which samples will be needed at `times` (t,), seconds, and perhaps at others."""
        self._times, self._known = times, {}

    def at(self, motion: Deforming, times: Floats) -> Floats:
        """Return the samples (t,k,3,4) of a motion at `times` (t,), as `Deforming.sample`."""
        if id(motion) not in self._known:
            self._known[id(motion)] = {}
            self._add(motion, self._times)
        known, wanted = self._known[id(motion)], times.tolist()
        if missing := [time for time in wanted if time not in known]:
            self._add(motion, np.array(missing))
        return np.stack([known[time] for time in wanted])

    def _add(self, motion: Deforming, times: Floats) -> None:
        if len(times):
            self._known[id(motion)].update(zip(times.tolist(), motion.sample(times), strict=True))


class Kinematics:
    """Moves the kinematic bodies and the gripped vertices of a scene.

    `every_substep`: the vertices of obstacles in `state.x` are moved in every substep, instead of once per frame.
    `may_yield`: then deforming obstacles yield where they overlap (see yielding.py): between `begin_frame` and
    `restore`, `state.x` holds their inset vertices.
    """

    def __init__(self, scene: Scene, every_substep: bool, may_yield: bool = False) -> None:
        self.scene, self.every_substep = scene, every_substep
        self._moving, self._warned = scene.moving, False
        self._skins = frozenset(scene.deforming_motions)
        self._posed = [b for b in self._moving if b not in scene.deforming_motions]
        self._slipping = Slipping(scene)
        self._places = np.zeros((0, 3))  # of all gripped vertices at the end of the frame, on the skin
        self._yielding = Yielding(scene) if may_yield and every_substep and scene.deforming_motions else None
        self._insets: tuple[Floats, Floats] | None = None  # displacements of its rows where this frame begins and ends
        self._span = 0.0, 1.0  # times at which it begins and ends
        self._own_shapes: dict[int, Floats] = {}  # by obstacle that yields: its vertices without the inset
        self._shapes: dict[tuple[int, float], Floats] = {}  # by obstacle and time: vertices that `division` has moved
        self._samples = Samples()

    def targets(self, time: float, dt: float, substeps: int) -> list[Target]:
        """Return the target of each of `substeps` substeps of dt from `time` on."""
        ends = _ends(time, dt, substeps)
        motions = [self.scene.bodies[b].motion for b in self._posed]
        ahead = [motion.sample(ends) for motion in motions if motion is not None]
        poses = np.stack(ahead, 1) if ahead else np.zeros((substeps, 0, 3, 4))
        bones = {b: self._samples.at(shape, ends) for b, shape in self.scene.deforming_motions.items()}
        gripped = self.scene.gripped_at(np.concatenate([[time], ends]), self._samples.at)
        self._places = gripped[-1].copy()
        self._slipping.apply(gripped)
        each = enumerate(ends.tolist())
        return [Target(end, poses[k], {b: at[k] for b, at in bones.items()}, gripped[k : k + 2]) for k, end in each]

    def begin_frame(self, state: State, dt: float, substeps: int, is_inside: Callable[[Floats], bool]) -> list[Target]:
        """Return the targets of all substeps of a frame, and inset the obstacles that overlap if cloth is inside of
        them: as long as it is not, it has found room."""
        targets = self.targets(state.time, dt, substeps)
        self._insets, self._span = None, (state.time, targets[-1].time)
        if self._yielding is not None and is_inside(state.x):
            rows, region, x = self._yielding.rows, self._yielding.region(state.x), state.x.copy()
            before = self._yielding.insets(x[rows], region)
            for b in self.scene.deforming_motions:
                to = self._shapes.get((b, targets[-1].time))
                to = self.scene.place_of(b, state.pose, targets[-1].bones) if to is None else to
                x[self.scene.rows(b)] = to
            after = self._yielding.insets(x[rows], region)
            if before.any() or after.any():
                self._insets = before, after
                state.x[rows] += before
                state.posed = frozenset()
        return targets

    @property
    def may_yield(self) -> bool:
        """Whether obstacles may yield in any frame."""
        return self._yielding is not None

    @property
    def yields(self) -> bool:
        """Whether obstacles yield in this frame."""
        return self._insets is not None

    def move(self, state: State, target: Target, dt: float) -> None:
        """Move bodies and grips to their target at the end of a substep of dt, storing the previous poses."""
        if self._moving:
            state.pose_start[:] = state.pose
            state.pose[self._posed] = target.pose
            state.bones = target.bones
            state.lapse, state.posed = dt, frozenset()
            if self.every_substep:
                state.posed = self._skins if self._insets is None else state.posed
                for b in self._moving:
                    rows, to = self.scene.rows(b), self._shapes.pop((b, target.time), None)
                    to = self.scene.place_of(b, state.pose, target.bones) if to is None else to
                    move = _kernels.move_parallel if len(to) >= _WORTH_THREADS else _kernels.move_serial
                    move(self._inset(b, to, target.time), dt, state.x[rows], state.x_start[rows], state.v[rows])
        _kernels.move_gripped(self.scene.gripped_rows, self.scene.is_attached, *target.gripped, RETURN * dt, state.x)

    def slipped(self, state: State) -> float:
        """Return how far the vertices attached to skin are from their places on it at the end of a frame, at most."""
        if not self.scene.is_attached.any():
            return 0.0
        away = (state.x[self.scene.gripped_rows] - self._places)[self.scene.is_attached]
        return float(np.sqrt((away**2).sum(1).max()))

    def _inset(self, b: int, to: Floats, time: float) -> Floats:
        """Return the positions (k,3) of obstacle `b` at `time`, inset where it yields."""
        if self._insets is None or self._yielding is None or b not in self.scene.deforming_motions:
            return to
        (before, after), (begin, end), first = self._insets, self._span, int(self.scene.first[b])
        t = (time - begin) / (end - begin)
        mine = slice(*np.searchsorted(self._yielding.rows, [first, first + len(to)]))
        self._own_shapes[b], out = to, to.copy()
        out[self._yielding.rows[mine] - first] += (1.0 - t) * before[mine] + t * after[mine]
        return out

    def restore(self, state: State) -> NDArray[np.int64]:
        """At the end of a frame, give obstacles that have yielded their own shape again; return the rows of the
        vertices of cloth that are inside of them then."""
        if self._insets is None or self._yielding is None:
            return np.zeros(0, np.int64)
        for b, shape in self._own_shapes.items():
            state.x[self.scene.rows(b)] = shape
        soft = self.scene.deformable_rows
        return np.flatnonzero(self._yielding.inside(state.x[soft])) + soft.start

    def end_frame(self, state: State) -> None:
        """Move the vertices of obstacles to their poses, unless every substep has done so."""
        if not self.every_substep:
            self.scene.place(state.x, state.pose, state.bones)

    def division(self, state: State, dt: float, substeps: int, extents: Floats | None = None) -> int:
        """Return into how many parts each of `substeps` substeps of a frame of dt has to be divided, a power of two, so
        that near deformable bodies no obstacle moves farther than the contact offset in a part, relative to them; see
        the bounds above. extents (parts,9): see `extents_of`, where the state is elsewhere."""
        self._samples.begin(np.zeros(0))
        if not self._moving or not self.scene.deformable:
            return 1
        self._shapes.clear()
        soft, eps = self.scene.deformable_rows, self.scene.eps * (1.0 + 1e-9)
        box, velocity = np.empty((2, 3)), np.empty(3)
        parts_of_all = extents_of(state.x[soft], state.v[soft]) if extents is None else extents
        _kernels.joined_extent(parts_of_all, soft.stop - soft.start, box, velocity)
        box += 2.0 * eps * np.array([[-1.0], [1.0]])
        # where substeps are not divided, one of them ends at each of these times, and moves bodies to the same shapes
        ends = _ends(state.time, dt / substeps, substeps)
        middle = ends[substeps // 2 - 1] if substeps % 2 == 0 else state.time + 0.5 * dt
        times = np.array([state.time, middle, ends[-1]])
        self._samples.begin(np.unique(np.concatenate([times, ends])))
        speed = max(self._fastest(b, state, times, box, velocity) for b in self._moving)
        parts, step = 1, dt / substeps
        most = GUARDED_PARTS if self.scene.self_contact == "safe" else MOST_PARTS
        while speed * step > parts * eps and parts < most and 2 * parts * substeps <= MOST_SUBSTEPS:
            parts *= 2
        if speed * step > parts * eps and not self._warned:
            self._warned = True
            text = "bodies move at %.3g m/s, %.3g m in a substep divided by %d, more than eps = %.3g m"
            log.warning(text, speed, speed * step / parts, parts, self.scene.eps)
        return parts

    def _fastest(self, b: int, state: State, times: Floats, box: Floats, velocity: Floats) -> float:
        """Return the highest speed relative to `velocity` (3,) between the `times` (3,), of which the first is the
        present, m/s, of those vertices of obstacle `b` that touch `box` (2,3); of the corners of its own box if it is
        rigid."""
        body, lapse = self.scene.bodies[b], 0.5 * float(times[2] - times[0])
        shape = self.scene.deforming_motions.get(b)
        if shape is None:
            corners = np.array(list(itertools.product(*body.mesh.bounds.T)))
            path = [placed(corners, pose) for pose in cast(Motion, body.motion).sample(times)]
        else:
            ahead = [shape.shape(sample) for sample in self._samples.at(shape, times[1:])]
            self._shapes.update(zip([(b, float(time)) for time in times[1:]], ahead, strict=True))
            path = [state.x[self.scene.rows(b)], *ahead]
        most = 0.0
        for before, after in itertools.pairwise(path):
            near = box
            if shape is None:  # the whole body is near, or nothing of it
                low, high = np.minimum(before, after).min(0), np.maximum(before, after).max(0)
                near = EVERYWHERE if ((high > box[0]) & (low < box[1])).all() else NOWHERE
            most = max(most, _kernels.fastest_near(before, after, lapse, near, velocity))
        return math.sqrt(most)


def extents_of(x: Floats, v: Floats) -> Floats:
    """Return the lowest and highest coordinates and the sum of velocities (parts,9) of parts of vertices (n,3)."""
    out, first = np.empty((1, _kernels.CHUNKS, 9)), np.array([0, len(x)])
    run = _kernels.extents if len(x) >= _WORTH_THREADS else _kernels.extents.serial
    run(x, v, first, out)
    return out[0]


def _ends(time: float, dt: float, substeps: int) -> Floats:
    """Return the times (substeps,) at which substeps of dt from `time` on end, accumulated like state.time, so that
    both are bitwise identical."""
    ends = np.empty(substeps)
    for s in range(substeps):
        time += dt
        ends[s] = time
    return ends
