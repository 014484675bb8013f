"""Simulation: the time-stepping loop of a scene."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import arrays, renamed, validate
from .. import contacts as _contacts
from ..arguments import check_arguments
from ..contacts import Contacts
from ..detect.base import Detector, with_defaults
from ..detect.choose import resolve_method_for_scene
from ..detect.options import MethodChoice, merged
from ..dynamics import SOLVERS, DeformableDynamics, default_substeps
from ..dynamics.contact_springs import SOFT
from ..respond import RESPONSES
from ..scene import Scene
from ..state import State
from .attempts import Attempts, Outcome, Way
from .build import AHEAD, make_detectors, make_self_contact, may_yield, reads_obstacles
from .card_limits import device_for, scene_why_not
from .clearing import clearing
from .clock import Clock
from .drag import DragConstraint, grab
from .events import STEPPING, EventSteps
from .final_projection import FinalProjection
from .frame import Frame
from .intersections import make_response
from .kinematics import Kinematics, Target
from .resume import checkpoint_of, resumed
from .retraction import Retraction
from .substep import Substeps

SHORTEST = 1e-9  # s per frame: shorter motion is lost in rounding
LONGEST = 3600.0  # s per frame: a body in free fall for longer leaves the scene


@check_arguments
class Simulation(Substeps):
    """Runs a scene in frames of `dt` seconds, each divided into `substeps` or, where a body would move farther than the
    contact offset in a substep, a multiple of these. By default one substep per 2.5 ms (implicit) or 0.625 ms (XPBD,
    soft bodies).

    `solver` integrates cloth: "implicit" solves all constraints together with the contacts, which keeps the strain
    small and much the same at every resolution (docs/dynamics/implicit.md); "xpbd" sweeps once over all constraints per
    substep, as the papers do.
    `method` names the detector between every deformable body and every obstacle; `chosen` is its name with the reason.
    The default does not depend on the rule for "auto", so that the results of a program stay the same between versions.
    `options` are passed to each detector; they can also be part of the name, as in "bvh:volume=sphere". Pass
    `detectors` to supply your own.
    `response` is one of RESPONSES: "projection", "printed-projection", "surface-tag" for vertices on a skin, "penalty",
    "geometric" and "penalty+geometric", "separate" for deep overlaps, or "volume" for closed bodies. `self_method`
    (with `self_options`) and `self_response` choose detector and response for contacts among deformable bodies; without
    either the guard handles these, unless the scene has self_contact="off" (docs/self-contact.md).
    `stepping`: "events" ends substeps at the first time of impact, with the method "continuous" (docs/continuous.md).
    `device`: "cpu", "cuda" (a graphics card, with the same results bit by bit; what does not run there is an error), or
    "auto" (the card if there is one and everything runs there), see docs/gpu.md.
    """

    def __init__(
        self,
        scene: Scene,
        dt: float = 0.01,
        *,
        substeps: int | None = None,
        solver: str = "implicit",
        method: str | MethodChoice = "distance-field",
        options: Mapping[str, Any] | None = None,
        detectors: Sequence[Detector] | None = None,
        response: str = "projection",
        self_method: str | None = None,
        self_options: Mapping[str, Any] | None = None,
        self_response: str | None = None,
        stepping: str = "fixed",
        state: State | None = None,
        clock: Clock | None = None,
        device: arrays.Device = "cpu",
    ) -> None:
        self.scene = scene
        self.device = device_for(device, scene_why_not(scene, solver, response, stepping))
        self.dt = validate.number("dt", dt, low=SHORTEST, high=LONGEST)
        self.solver = validate.choice("solver", solver, SOLVERS)
        default = default_substeps(scene, self.dt, self.solver)
        self.substeps = default if substeps is None else validate.whole("substeps", substeps, low=1, high=1000)
        self.host_state = scene.start() if state is None else state.copy()
        if self.state.x.shape != (int(scene.first[-1]), 3):
            raise ValueError(f"state has {len(self.state.x)} vertices; the scene has {int(scene.first[-1])}")
        if options and detectors is not None:
            raise ValueError("options configure the detectors that method creates; pass options or detectors, not both")
        if detectors is not None and not len(detectors) and scene.deformable and scene.obstacles:
            raise ValueError(
                f"detectors is empty, but scene {scene.name!r} has obstacles, which nothing would keep cloth out of; "
                "leave detectors out, or pass at least one"
            )
        self.clock = clock or Clock(on=False)
        chosen = resolve_method_for_scene(scene, method)
        self.chosen = chosen if detectors is None else MethodChoice("", "detectors were given")
        self.method = chosen.text if detectors is None else ""
        self.dynamics = DeformableDynamics(scene, self.solver)
        self.response_name = validate.choice("response", response, tuple(RESPONSES))
        responds = RESPONSES[self.response_name]
        repels = self.dynamics.may_repel and responds.allows_springs(scene)
        ahead = AHEAD if repels else 1.0
        own = merged(chosen.name, chosen.options, options)
        given = list(detectors) if detectors is not None else make_detectors(scene, chosen.name, own, ahead)
        self.detectors: list[Detector] = given
        for one in map(with_defaults, given):
            if one.remembers or state is None:  # its state may be of another run
                one.reset()
        # vertices of moving obstacles are updated in every substep only if a detector or the guard reads them
        every_substep = reads_obstacles(scene, given) or (bool(scene.moving) and responds.needs_closed)
        self.kinematics = Kinematics(scene, every_substep, may_yield(scene, given, self_method or self_response))
        how: dict[str, Any] = {"reads_obstacle_vertices": every_substep, "eps": scene.eps * (1.0 - SOFT * repels)}
        how["coloured"] = self.solver == "xpbd" and scene.self_contact == "off"  # as on cards, which run these only
        self.response = make_response(scene, self.response_name, **how)
        self.response.repels = repels
        self.final_projection = FinalProjection(scene, given)
        self.self_contact = make_self_contact(scene, self_method, self_options, self_response)
        self.stepping = validate.choice("stepping", stepping, STEPPING)
        swept = [*given, *self.self_contact.detectors]
        self._events = EventSteps(swept, self.dynamics, self.kinematics) if self.stepping == "events" else None
        self._retraction: Retraction | None = None
        self.drags: list[DragConstraint] = []
        self.state.pose, self.state.bones = scene.poses(self.state.time), scene.bones(self.state.time)
        self.state.pose_start = self.state.pose.copy()
        self._clearing = clearing(scene, self.dynamics, self.self_contact, iterates=self.separates)
        self._attempts = Attempts(self, self._clearing)
        self.index = 0
        self.failed_before = 0, 0  # substeps that failed before the first frame, and pairs given up (see preroll.py)
        if self.device == "cuda":
            self.device = "cpu"
            self.to(device)

    hands = renamed.attribute("hands", "drags")
    guard = renamed.attribute("guard", "self_contact")
    responds = renamed.attribute("responds", "response_name")

    @property
    def separates(self) -> bool:
        """Whether a response separates contacts iteratively at the end of a frame."""
        return self.response.iterates or self.self_contact.iterates

    def __repr__(self) -> str:
        state, counts = self.host_state, f"{len(self.scene.bodies)} bodies, {len(self.host_state.x):,} vertices"
        return f"<Simulation {self.scene.name!r}: {counts}, at {state.time:g} s, dt {self.dt:g} s>"

    def step(self, *, divided: bool = True) -> Frame:
        """Advance by a frame of `dt` seconds, in `substeps`, or if `divided` in a multiple where bodies are fast."""
        if self.card_run is not None:
            return self.card_run.step_one(self, divided)
        began, lost, events, state = time.perf_counter(), self.dynamics.lost, self.events, self.state
        found, attempts = self._attempts.best(self, lambda way: self._advance_by(way, divided=divided))
        self.index += 1
        return Frame(
            index=self.index,
            time=state.time,
            x=state.x.copy(),
            pose=state.pose.copy(),
            contacts=found.contacts,
            unresolved=found.unresolved,
            intersections=self._count_intersections(state),
            no_room=found.no_room,
            slipped=self.kinematics.slipped(state),
            lost=self.dynamics.lost - lost,
            substeps=found.substeps,
            events=self.events - events,
            attempts=attempts,
            seconds=time.perf_counter() - began,  # last, so that it includes the rest
        )

    def _advance_by(self, way: Way, *, divided: bool) -> Outcome:
        """Advance by a frame in one way."""
        dt, substeps = self.dt / way.parts, -(-self.substeps // way.parts)
        parts = [self._advance(dt, substeps, yields=way.yields, divided=divided) for _ in range(way.parts)]
        taken, yielded = sum(part.substeps for part in parts), any(part.yielded for part in parts)
        return parts[-1]._replace(substeps=taken, yielded=yielded)

    def _advance(self, dt: float, substeps: int, *, yields: bool, divided: bool) -> Outcome:
        """Advance by dt; obstacles that overlap may yield if `yields`."""
        state, clock = self.state, self.clock
        if self.separates:
            self._retraction = (self._retraction or Retraction(self.scene, self.self_contact.iterates)).begin(state.x)
        division = self.kinematics.division(state, dt, substeps)
        substeps = substeps * (division if divided else 1)
        dt_substep = dt / substeps
        with clock("guard"):
            is_inside = self.self_contact.is_inside if yields else _nothing_inside
            targets = self.kinematics.begin_frame(state, dt_substep, substeps, is_inside)
            self.self_contact.begin(state, dt_substep, substeps)
        self.dynamics.begin(state, dt_substep)
        self.final_projection.begin(state)
        taken = 0
        for substep in targets:
            for target, dt_part in self._parts(substep, dt_substep, substeps):
                found = self._substep(target, dt_part)
                taken += 1
        with clock("end of frame"):
            unresolved = self._end_frame(found, dt, dt_substep)
            inside = self.kinematics.restore(state)
            if self._retraction is not None:
                iterative = self.self_contact if self.self_contact.iterates else self.response
                unresolved = self._retraction.end_frame(state, dt_substep, iterative, self.detect)
            self.self_contact.tangled |= self.kinematics.yields
            reported, no_room = self._with_self_contacts(found), self.self_contact.rows_without_room
            left = None if self._clearing is None else self._clearing.apply(state, dt_substep)
        without = len(np.union1d(no_room, inside)) if len(inside) else len(no_room)
        return Outcome(reported, unresolved, without, taken, self.kinematics.yields, left)

    @property
    def events(self) -> int:
        """Number of events at which substeps were divided so far; 0 with fixed steps."""
        return 0 if self._events is None else self._events.count

    def _parts(self, target: Target, dt: float, substeps: int) -> Iterable[tuple[Target, float]]:
        """Return the target and the duration of each part of a substep: the substep itself, or its parts between
        events."""
        return [(target, dt)] if self._events is None else self._events.parts(self.state, target, dt, substeps)

    def _end_frame(self, found: Contacts, dt: float, dt_substep: float) -> int:
        """Apply the final projection and the end-of-frame responses; return the number of pairs left too near."""
        self_contact, response, state = self.self_contact, self.response, self.state
        self.kinematics.end_frame(state)
        moved = response.strict and self.final_projection.apply(found, state, dt, self_contact.rows_without_room)
        if self_contact.iterates:  # it resolves the contacts with obstacles too
            self_contact.end_frame(state, dt_substep, self.detect)
            return self_contact.unresolved
        response.end_frame(state, dt_substep, self.detect)
        if moved or response.iterates:
            if moved and self.scene.self_contact == "safe":  # what is too far inside comes out in several frames
                self.dynamics.limit_strain(state, None)
            self_contact.limit_motion(state, dt_substep)
            self._shorten(dt_substep)
            self._shorten_without_room(dt_substep)
        return response.unresolved

    def _count_intersections(self, state: State) -> int:
        """Return the number of intersecting pairs of triangles, without an iterative response those the guard knows."""
        if self._retraction is not None:
            return self._retraction.count(state.x)
        return sum(len(corners) for _, _, corners in self.self_contact.intersections(state.x))

    def _with_self_contacts(self, found: Contacts) -> Contacts:
        """Return all contacts of the last substep within the contact offset, in canonical order, which those of a
        single detector have already."""
        if self.response.repels:
            near = found["distance"] <= self.scene.eps  # they may be detected from farther away
            found = _contacts.taken(found, near)
        parts = [found, self.self_contact.found, self.self_contact.under_triangles(found)]
        more = len(parts[1]) or len(parts[2]) or len(self.detectors) > 1
        return _contacts.concatenate(parts) if more else found

    @check_arguments
    def run(self, frames: int) -> Iterator[Frame]:
        """Advance by `frames` frames and yield each."""
        for _ in range(validate.whole("frames", frames, low=0)):
            yield self.step()

    @check_arguments
    def grab(self, origin: Any, along: Any) -> DragConstraint | None:
        """Attach a drag constraint where a ray from `origin` (3,) along `along` (3,) hits; None if it hits
        nothing deformable.

        Set `to` of the result to its target, and remove it from `drags` to release. Not stored in checkpoints.
        """
        drag = grab(self.scene, self.state, origin, along)
        if drag is not None:
            self.drags.append(drag)
        return drag

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a checkpoint, atomically, from which `load` continues, bitwise identically with every method except
        "active-pairs"; it excludes the scene."""
        checkpoint_of(self).save(path)

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
        found = resumed(cls, path, scene, options, detectors, self_options, clock)
        assert isinstance(found, cls)
        return found


def _nothing_inside(x: NDArray[np.float64]) -> bool:
    return False
