"""Simulation: the time-stepping loop of a scene."""

import dataclasses
import functools
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import renamed, validate
from ..arguments import check_arguments
from ..contacts import Contacts
from ..detect.base import BaseDetector, Detector, Side, complete
from ..detect.choose import AUTO, Chosen, method_for
from ..detect.detectors.offset import OffsetDetector, offset
from ..detect.detectors.rigid_parts import PartsDetector
from ..detect.methods import METHODS, check_options, method_name
from ..dynamics import SoftDynamics
from ..errors import MeshFileError
from ..kernels.motion import pose as _pose
from ..motion.rigid import Motion
from ..respond import RESPONSES
from ..scene import Scene
from ..state import State
from .checkpoint import Checkpoint, fingerprint
from .clock import Clock
from .deformable_contact import DeformableContact
from .drag import DragConstraint, grab
from .final_projection import FinalProjection
from .guard import Guard

log = logging.getLogger("pliant.simulation")


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """Result of one step of `dt`: positions x (n,3) and poses (bodies,3,4) of all bodies, contacts of the last substep,
    and computing time in seconds. remained: pairs that an iterative response left too near. cut: exact number of
    intersecting triangle pairs in safe mode, present from the start or after pairs were given up. lost: vertex moves
    undone because the new position was not finite."""

    index: int
    time: float  # s
    x: NDArray[np.float64]
    pose: NDArray[np.float64]
    contacts: Contacts
    seconds: float
    unresolved: int = 0
    cut: int = 0
    lost: int = 0


SHORTEST = 1e-9  # s per step: shorter motion is lost in rounding
LONGEST = 3600.0  # s per step: a body in free fall for longer leaves the scene


@check_arguments
class Simulation:
    """Runs a scene in steps of `dt` seconds, each divided into `substeps`.

    `method` names the detector between every deformable body and every obstacle ("auto": `chosen` gives the choice and
    its reason); `options` are passed to each detector. Pass `detectors` to supply your own. `response` is one of
    RESPONSES: "projection", the papers' "surface-tag" for vertices on a skin, "penalty", "geometric" and
    "penalty+geometric", or "separate" for deep overlaps. `self_method` (with `self_options`) and `self_response` choose
    detector and response for contacts among deformable bodies; without either the guard handles these, see
    docs/self-contact.md.
    """

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.01,
        *,
        substeps: int = 16,
        method: str = "distance-field",
        options: Mapping[str, Any] | None = None,
        detectors: Sequence[Detector] | None = None,
        response: str = "projection",
        self_method: str | None = None,
        self_options: Mapping[str, Any] | None = None,
        self_response: str | None = None,
        state: State | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.scene = scene
        self.dt = validate.number("dt", dt, low=SHORTEST, high=LONGEST)
        self.substeps = validate.whole("substeps", substeps, low=1, high=1000)
        self.state = scene.start() if state is None else state.copy()
        if self.state.x.shape != (int(scene.first[-1]), 3):
            raise ValueError(f"state has {len(self.state.x)} vertices; the scene has {int(scene.first[-1])}")
        if options and detectors is not None:
            raise ValueError("options configure the detectors that method creates; pass options or detectors, not both")
        self.clock = clock or Clock(on=False)
        chosen = method_for(scene) if method == AUTO else Chosen(method_name(method), "asked for")
        self.chosen: Chosen | None = chosen if detectors is None else None
        self.method = chosen.name if detectors is None else ""
        self.dynamics = SoftDynamics(scene)
        given = list(detectors) if detectors is not None else _detectors(scene, chosen.name, options or {})
        self._detectors = given  # one list, shared with the responses
        for one in map(complete, given):
            if one.remembers or state is None:  # its state may be of another run
                one.reset()
        self._moving = scene.moving
        self._posed = [b for b in self._moving if b not in scene.shapes]
        # only detectors that read the vertices of obstacles need them in every substep
        self._follow = bool(self._moving) and (
            scene.self_contact == "safe" or bool(scene.shapes) or any(d.follows for d in self.detectors)
        )
        self.responds = validate.choice("response", response, tuple(RESPONSES))
        self.response = RESPONSES[self.responds](scene, obstacles=self._follow)
        self.response.look = functools.partial(_seen_by, self.detectors)  # a bound method would be a reference cycle
        self.last = FinalProjection(scene, self.detectors)
        self.guard = _guard(scene, self_method, self_options, self_response)
        self.drags: list[DragConstraint] = []
        self.state.pose, self.state.bones = scene.poses(self.state.time), scene.bones(self.state.time)
        self.state.pose_start = self.state.pose.copy()
        self._warn_of_speed()
        self.index = 0

    hands = renamed.attribute("hands", "drags")

    @property
    def separates(self) -> bool:
        """Whether a response separates contacts iteratively at the end of a frame."""
        return self.response.shows or (isinstance(self.guard, DeformableContact) and self.guard.shows)

    def step(self) -> Frame:
        """Advance by dt."""
        began, lost = time.perf_counter(), self.dynamics.lost
        dt, state, clock, guard = self.dt / self.substeps, self.state, self.clock, self.guard
        if guard:
            with clock("guard"):
                guard.begin(state, dt, self.substeps)
        self.last.begin(state)
        bones = self._bones_ahead(dt)
        for k, (pose, held) in enumerate(zip(self._poses_ahead(dt), self.scene.held_at(self._ends(dt)), strict=True)):
            with clock("predict"):
                self.dynamics.predict(state, dt)
            with clock("move"):
                self._move(pose, {b: ahead[k] for b, ahead in bones.items()}, dt)
                state.x[self.scene.held] = held
            with clock("respond"):
                self.response.hold(state, dt)
            with clock("relax"):
                self.dynamics.relax(state, dt)
                for drag in self.drags:
                    drag.pull(state, dt)
            if guard:
                with clock("guard"):
                    guard.follow(state)
                    guard.apply(state, dt)
            with clock("detect"):
                found = self._look(state)
                self.last.remember(state)
            with clock("respond"):
                self.response.begin(found, state)
                self.response.apply(found, state, dt)
            if guard:
                with clock("guard"):
                    self.dynamics.limit_velocities(state)
                    guard.keep(state, dt)
            with clock("finish"):
                self.dynamics.finish(state, dt)
                self.response.finish(found, state, dt)
                if guard:
                    guard.finish(state, dt)
        if not self._follow:
            self.scene.place(state.x, state.pose, state.bones)
        with clock("show"):
            unresolved = self._show(found, dt)
        if guard or len(self.detectors) > 1:
            found = _contacts.concatenate([found, guard.found] if guard else [found])
        self.index += 1
        cut = sum(len(corners) for _, _, corners in guard.crossed(state.x)) if guard else 0
        lost, took = self.dynamics.lost - lost, time.perf_counter() - began
        return Frame(self.index, state.time, state.x.copy(), state.pose.copy(), found, took, unresolved, cut, lost)

    @check_arguments
    def run(self, frames: int) -> Iterator[Frame]:
        """Run `frames` steps and yield each frame."""
        for _ in range(validate.whole("frames", frames, low=0)):
            yield self.step()

    @check_arguments
    def grab(self, origin: Any, along: Any) -> DragConstraint | None:
        """Attach a drag constraint where a ray from `origin` (3,) along `along` (3,) hits; None if not deformable.

        Set `to` of the result to its target, and remove it from `hands` to release. Not stored in checkpoints.
        """
        drag = grab(self.scene, self.state, origin, along)
        if drag is not None:
            self.drags.append(drag)
        return drag

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, atomically, from which `load` continues bitwise identically; it excludes the scene."""
        guard, own = self.guard, ("", "")
        if isinstance(guard, DeformableContact):
            own = guard.method, guard.responds
        ways = [np.insert(one.state(), 0, k, axis=1) for k, one in enumerate(self._remembering())]
        kept: dict[str, Any] = {"index": self.index, "dt": self.dt, "substeps": self.substeps, "method": self.method}
        kept["failed_substeps"] = guard.failed_substeps if guard else 0
        kept["given_up_pairs"] = guard.given_up_pairs if guard else 0
        kept |= {"response": self.responds, "memory": self.response.memory}
        kept |= {"self_method": own[0], "self_response": own[1], "ways": np.concatenate([np.zeros((0, 11)), *ways])}
        Checkpoint(state=self.state, scene=fingerprint(self.scene), **kept).save(path)

    @check_arguments
    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        scene: Scene,
        *,
        options: Mapping[str, Any] | None = None,
        detectors: Sequence[Detector] | None = None,
        self_options: Mapping[str, Any] | None = None,
        clock: Clock | None = None,
    ) -> Self:
        """Continue the run saved at `path`, with its dt, substeps, methods and responses.

        `scene` must be built as in that run; pass `options`, `self_options` or `detectors` again if that run had them.
        Raises MeshFileError if the file is damaged, of another kind, or of another scene.
        """
        saved = Checkpoint.load(path)
        if saved.scene != fingerprint(scene):
            why = f"a checkpoint of another scene than {scene.name!r}: build it with the same meshes and parameters"
            raise MeshFileError(path, "", why)
        if not saved.method and detectors is None:
            raise MeshFileError(path, "", "the saved run used its own detectors; pass detectors= again")
        try:
            sim = cls(
                scene,
                saved.dt,
                substeps=saved.substeps,
                method=saved.method or "distance-field",
                options=options,
                detectors=detectors,
                response=saved.response,
                self_method=saved.self_method or None,
                self_options=self_options,
                self_response=saved.self_response or None,
                state=saved.state,
                clock=clock,
            )
            for one in map(complete, sim.detectors):
                one.reset()
            for k, one in enumerate(sim._remembering()):
                one.restore(saved.ways[saved.ways[:, 0] == k, 1:])
        except ValueError as error:
            raise MeshFileError(path, "", f"cannot be resumed in scene {scene.name!r}: {error}") from None
        sim.index, sim.response.memory = saved.index, saved.memory
        if sim.guard:
            sim.guard.failed_substeps, sim.guard.given_up_pairs = saved.failed_substeps, saved.given_up_pairs
        return sim

    @property
    def detectors(self) -> list[Detector]:
        return self._detectors

    @detectors.setter
    def detectors(self, others: Sequence[Detector]) -> None:
        self._detectors[:] = others  # the responses share this list

    def _remembering(self) -> list[BaseDetector]:
        """Return the detectors whose results depend on earlier ones."""
        own = self.guard.detectors if isinstance(self.guard, DeformableContact) else []
        return [one for one in map(complete, (*self.detectors, *own)) if one.remembers]

    def _look(self, state: State) -> Contacts:
        """Return the contacts with obstacles."""
        return _seen_by(self.detectors, state)

    def _show(self, found: Contacts, dt: float) -> int:
        """Apply the final projection and the end-of-frame responses; return the number of pairs left too near."""
        guard, state = self.guard, self.state
        moved = self.response.strict and self.last.apply(found, state, self.dt)
        if isinstance(guard, DeformableContact) and guard.shows:
            beyond = self.scene.eps - guard.thickness
            guard.show(state, dt, lambda at: offset(self._look(at), beyond))
            return guard.unresolved
        self.response.show(state, dt)
        if guard and (moved or self.response.shows):
            guard.keep(state, dt)
        return self.response.unresolved

    def _ends(self, dt: float) -> NDArray[np.float64]:
        """Return the end time (substeps,) of each substep of this frame, seconds."""
        ends = np.empty(self.substeps)
        end = self.state.time
        for s in range(self.substeps):  # accumulated like state.time, so that both are bitwise identical
            end += dt
            ends[s] = end
        return ends

    def _poses_ahead(self, dt: float) -> NDArray[np.float64]:
        """Return the poses (substeps, moving bodies, 3, 4) at the end of each substep of this frame."""
        ends = self._ends(dt)
        motions = [self.scene.bodies[b].motion for b in self._posed]
        ahead = [motion.sample(ends) for motion in motions if motion is not None]
        return np.stack(ahead, 1) if ahead else np.zeros((self.substeps, 0, 3, 4))

    def _bones_ahead(self, dt: float) -> dict[int, NDArray[np.float64]]:
        """Return, per deforming obstacle (by index), its bone matrices (substeps,k,3,4) at the end of each substep."""
        return {b: shape.sample(self._ends(dt)) for b, shape in self.scene.shapes.items()}

    def _move(self, pose: NDArray[np.float64], bones: dict[int, NDArray[np.float64]], dt: float) -> None:
        """Move kinematic bodies to their poses at the end of this substep, storing the previous ones."""
        if not self._moving:
            return
        state, scene = self.state, self.scene
        state.pose_start[:] = state.pose
        state.pose[self._posed] = pose
        state.bones = bones
        state.lapse = dt
        if self._follow:
            for b in self._moving:
                rows, to = scene.rows(b), scene.place_of(b, state.pose, bones)
                _pose.go_on(to, dt, state.x[rows], state.x_start[rows], state.v[rows])

    def _warn_of_speed(self) -> None:
        for b in self._moving if self.scene.deformable else ():
            body = self.scene.bodies[b]
            rigid = body.motion if isinstance(body.motion, Motion) else None
            speed = rigid.fastest(body.mesh.bounds) if rigid else self.scene.shapes[b].fastest()
            step = speed * self.dt / self.substeps
            # detectors for deforming bodies find vertices at any depth, so only thin parts can be tunnelled through
            if step > (self.scene.eps if rigid else 4.0 * self.scene.eps):
                text = "body %r moves up to %.3g m per substep, more than eps = %.3g m; use more substeps"
                log.warning(text, body.label, step, self.scene.eps)


def _seen_by(detectors: Sequence[Detector], state: State) -> Contacts:
    """Return the contacts of all detectors."""
    parts = [detector.update(state).find(state) for detector in detectors]
    # in the order of the detectors: sorting would dominate the time and change nothing
    return parts[0] if len(parts) == 1 else _contacts.join(parts)


def _guard(
    scene: Scene, method: str | None, options: Mapping[str, Any] | None, response: str | None
) -> Guard | DeformableContact | None:
    """Return what handles contacts among deformable bodies, or None."""
    if options and method is None and response is None:
        raise ValueError("self_options are options of a self_method; pass self_method too")
    # pairs close at rest are taken from the scene's start, not from the state, so that a resumed run agrees
    if method is not None or response is not None:
        return DeformableContact(scene, scene.start(), method, options, response)
    return None if scene.self_contact == "off" or not scene.deformable else Guard(scene, scene.start())


def _detectors(scene: Scene, method: str, options: Mapping[str, Any]) -> list[Detector]:
    """Make one detector per deformable body and obstacle; fields of obstacles of one group are combined."""
    method = method_name(method)
    options = check_options(method, options)
    pairs = [(s, f) for s in scene.deformable for f in scene.fixed]
    found: list[tuple[int, Any]] = []
    groups: dict[tuple[int, str], list[Any]] = {}
    for k, (s, f) in enumerate(pairs):
        body, reach = scene.bodies[f], scene.eps + scene.lift(s)
        made = METHODS[method].against(scene.shapes.get(f))
        if f in scene.shapes and not made.follows:
            able = ", ".join(name for name, other in METHODS.items() if other.follows)
            raise ValueError(f"method {method!r} needs rigid bodies, but {body.label!r} deforms; use one of: {able}")
        mesh = scene.bodies[s].mesh
        soft = Side(mesh.welded if made.volume else mesh.surface, int(scene.first[s]), s)
        rigid = Side(body.mesh.welded, int(scene.first[f]), f, scene.shapes.get(f))
        detector = made(soft, rigid, within=reach, **_shared(options, k, len(pairs)))
        field = detector.field
        if field is not None and getattr(field, "spacing", 0.0) > 1.001 * scene.eps:
            text = "the field's cells are %.3g m, larger than eps = %.3g m: cloth may enter %r; choose a larger eps"
            log.warning(text, field.spacing, scene.eps, body.label)
        if field is not None and body.group:
            groups.setdefault((s, body.group), []).append(detector)
        else:
            found.append((s, detector))
    found += [(s, PartsDetector(parts)) for (s, _), parts in groups.items()]
    lifted: list[Any] = [
        OffsetDetector(detector, scene.lift(s)) if scene.lift(s) else detector for s, detector in found
    ]
    return lifted


def _shared(options: Mapping[str, Any], k: int, count: int) -> dict[str, Any]:
    """Return the options of the k-th of `count` detectors, with `progress` scaled to all of them."""
    whole = options.get("progress")
    if whole is None or count < 2:
        return dict(options)
    return {**options, "progress": lambda share: whole((k + share) / count)}
