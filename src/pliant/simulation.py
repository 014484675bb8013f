"""Simulation: the loop, one screen long."""

import dataclasses
import functools
import logging
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from . import contacts as _contacts
from . import validate
from .checkpoint import Checkpoint, fingerprint
from .clock import Clock
from .contacts import Contacts
from .deforming import Skinned
from .detect.base import Detector, Remembering, Side
from .detect.choose import AUTO, Chosen, method_for
from .detect.distance_field.bone_fields import BoneFieldsDetector
from .detect.distance_field.parts import PartsDetector
from .detect.lifted import Lifted, bare, forget, raised
from .detect.methods import METHODS, check_options, method_name
from .door import door
from .dynamics import SoftDynamics
from .errors import MeshFileError
from .guard import Guard
from .hand import Hand, grab
from .kernels import pose as _pose
from .last_look import LastLook
from .motion import Motion
from .respond import RESPONSES
from .scene import Scene
from .soft_contact import SoftContact
from .state import State

log = logging.getLogger("pliant.simulation")


@dataclasses.dataclass(frozen=True, eq=False)
class Frame:
    """What one step of `dt` left: positions (n,3) and poses (bodies,3,4) of all bodies, contacts of its last substep,
    how long it took, and how many pairs a response that separates until nothing touches left too near. cut: pairs of
    triangles that meet in safe mode, exactly: from the start, or after it had to give something up. lost: vertices that
    stayed where they were in a small step because their new place was not finite."""

    index: int
    time: float  # s
    x: NDArray[np.float64]
    pose: NDArray[np.float64]
    contacts: Contacts
    seconds: float
    remained: int = 0
    cut: int = 0
    lost: int = 0


SHORTEST = 1e-9  # seconds a step: what moves less than that is lost in rounding
LONGEST = 3600.0  # seconds a step: what falls for that long is beyond all that is near


@door
class Simulation:
    """Runs a scene in steps of `dt` seconds, each in `substeps` small ones.

    `method` names the detector between every cloth and every fixed body ("auto": `chosen` says which and why), and
    `options` goes to each of them; pass `detectors` to make them yourself. `response` is one of RESPONSES:
    "projection", or the papers' "surface-tag" for vertices on a skin, "penalty", "geometric", "penalty+geometric", and
    "separate" for what is deep inside. Where soft bodies are kept from themselves and from each other, `self_method`
    (with `self_options`) and `self_response` say by which detector and which response; without either the guard does
    it, see docs/self-contact.md.
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
            raise ValueError("options are for detectors that method makes; give options or detectors, not both")
        self.clock = clock or Clock(on=False)
        chosen = method_for(scene) if method == AUTO else Chosen(method_name(method), "asked for")
        self.chosen: Chosen | None = chosen if detectors is None else None
        self.method = chosen.name if detectors is None else ""
        self.dynamics = SoftDynamics(scene)
        given = list(detectors) if detectors is not None else _detectors(scene, chosen.name, options or {})
        self._detectors = given  # one list for all who look
        for one in map(bare, given):
            if isinstance(one, Remembering):  # of another run, if anything
                one.memory = np.zeros((0, 10))
        if state is None:
            forget(given)
        self._moving = scene.moving
        self._posed = [b for b in self._moving if b not in scene.shapes]
        # only detectors that look at the vertices of obstacles need them in every small step
        self._follow = bool(self._moving) and (
            scene.self_contact == "safe" or bool(scene.shapes) or any(d.follows for d in self.detectors)
        )
        self.responds = validate.choice("response", response, tuple(RESPONSES))
        self.response = RESPONSES[self.responds](scene, obstacles=self._follow)
        self.response.look = functools.partial(_seen_by, self.detectors)  # a method of ours would keep us alive
        self.last = LastLook(scene, self.detectors)
        self.guard = _guard(scene, self_method, self_options, self_response)
        self.hands: list[Hand] = []
        self.state.pose, self.state.bones = scene.poses(self.state.time), scene.bones(self.state.time)
        self.state.pose_start = self.state.pose.copy()
        self._warn_of_speed()
        self.index = 0

    @property
    def separates(self) -> bool:
        """Whether a response sets things apart before a frame is shown, until nothing touches."""
        return self.response.shows or (isinstance(self.guard, SoftContact) and self.guard.shows)

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
                for hand in self.hands:
                    hand.pull(state, dt)
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
                    self.dynamics.tame(state)
                    guard.keep(state, dt)
            with clock("finish"):
                self.dynamics.finish(state, dt)
                self.response.finish(found, state, dt)
                if guard:
                    guard.finish(state, dt)
        if not self._follow:
            self.scene.place(state.x, state.pose, state.bones)
        with clock("show"):
            remained = self._show(found, dt)
        if guard or len(self.detectors) > 1:
            found = _contacts.concatenate([found, guard.found] if guard else [found])
        self.index += 1
        cut = sum(len(corners) for _, _, corners in guard.crossed(state.x)) if guard else 0
        lost, took = self.dynamics.lost - lost, time.perf_counter() - began
        return Frame(self.index, state.time, state.x.copy(), state.pose.copy(), found, took, remained, cut, lost)

    @door
    def run(self, frames: int) -> Iterator[Frame]:
        """The next `frames` steps, one at a time."""
        for _ in range(validate.whole("frames", frames, low=0)):
            yield self.step()

    @door
    def grab(self, origin: Any, along: Any) -> Hand | None:
        """Take hold of what a ray from `origin` (3,) along `along` (3,) meets first; None where that is not soft.

        Set `to` of the hand to where it shall go, and take it out of `hands` to let go. Hands are not in checkpoints.
        """
        hand = grab(self.scene, self.state, origin, along)
        if hand is not None:
            self.hands.append(hand)
        return hand

    @door
    def save(self, path: str | os.PathLike[str]) -> None:
        """A checkpoint, atomically: what `load` needs to go on with the same bits, beside the scene itself."""
        own = (self.guard.method, self.guard.responds) if isinstance(self.guard, SoftContact) else ("", "")
        ways = [np.insert(one.memory, 0, k, axis=1) for k, one in enumerate(self._remembering())]
        Checkpoint(
            state=self.state,
            index=self.index,
            dt=self.dt,
            substeps=self.substeps,
            method=self.method,
            forced=self.guard.forced if self.guard else 0,
            unheld=self.guard.unheld if self.guard else 0,
            scene=fingerprint(self.scene),
            response=self.responds,
            memory=self.response.memory,
            self_method=own[0],
            self_response=own[1],
            ways=np.concatenate([np.zeros((0, 11)), *ways]),
        ).save(path)

    @door
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
        """Go on where `save` was called; dt, substeps, methods and responses are those of that run.

        `scene` must be made as it was then, and `options`, `self_options` or `detectors` given again where they were.
        MeshFileError when the file is damaged, of another kind, or of another scene.
        """
        saved = Checkpoint.load(path)
        if saved.scene != fingerprint(scene):
            why = f"a checkpoint of another scene than {scene.name!r}: make its meshes and parameters as they were"
            raise MeshFileError(path, "", why)
        if not saved.method and detectors is None:
            raise MeshFileError(path, "", "its run had detectors made by hand; pass detectors= again")
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
            forget(sim.detectors)
            for k, one in enumerate(sim._remembering()):
                one.memory = saved.ways[saved.ways[:, 0] == k, 1:]
        except ValueError as error:
            raise MeshFileError(path, "", f"does not go on in scene {scene.name!r}: {error}") from None
        sim.index, sim.response.memory = saved.index, saved.memory
        if sim.guard:
            sim.guard.forced, sim.guard.unheld = saved.forced, saved.unheld
        return sim

    @property
    def detectors(self) -> list[Detector]:
        return self._detectors

    @detectors.setter
    def detectors(self, others: Sequence[Detector]) -> None:
        self._detectors[:] = others  # responses that look again have this list

    def _remembering(self) -> list[Remembering]:
        """Detectors whose answers depend on those before."""
        own = self.guard.detectors if isinstance(self.guard, SoftContact) else []
        return [one for one in map(bare, (*self.detectors, *own)) if isinstance(one, Remembering)]

    def _look(self, state: State) -> Contacts:
        """Contacts with the bodies."""
        return _seen_by(self.detectors, state)

    def _show(self, found: Contacts, dt: float) -> int:
        """Responses have their last word before the frame is shown; how many pairs they left too near."""
        guard, state = self.guard, self.state
        moved = self.response.strict and self.last.apply(found, state, self.dt)
        if isinstance(guard, SoftContact) and guard.shows:
            beyond = self.scene.eps - guard.thickness
            guard.show(state, dt, lambda at: raised(self._look(at), beyond))
            return guard.remained
        self.response.show(state, dt)
        if guard and (moved or self.response.shows):
            guard.keep(state, dt)
        return self.response.remained

    def _ends(self, dt: float) -> NDArray[np.float64]:
        """(substeps,) when each small step of this frame ends, seconds."""
        ends = np.empty(self.substeps)
        end = self.state.time
        for s in range(self.substeps):  # added up as the clock of the state is, to the bit
            end += dt
            ends[s] = end
        return ends

    def _poses_ahead(self, dt: float) -> NDArray[np.float64]:
        """(substeps, moving bodies, 3, 4): where they will be at the end of each small step of this frame."""
        ends = self._ends(dt)
        motions = [self.scene.bodies[b].motion for b in self._posed]
        ahead = [motion.sample(ends) for motion in motions if motion is not None]
        return np.stack(ahead, 1) if ahead else np.zeros((self.substeps, 0, 3, 4))

    def _bones_ahead(self, dt: float) -> dict[int, NDArray[np.float64]]:
        """Of each body that bends (substeps,k,3,4): what its shape follows from at the end of each small step."""
        return {b: shape.sample(self._ends(dt)) for b, shape in self.scene.shapes.items()}

    def _move(self, pose: NDArray[np.float64], bones: dict[int, NDArray[np.float64]], dt: float) -> None:
        """Prescribed bodies go where they will be at the end of this small step; contacts know where they came from."""
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
        for b in self._moving if self.scene.soft else ():
            body = self.scene.bodies[b]
            rigid = body.motion if isinstance(body.motion, Motion) else None
            speed = rigid.fastest(body.mesh.bounds) if rigid else self.scene.shapes[b].fastest()
            step = speed * self.dt / self.substeps
            # what is asked about vertices at any depth only thin parts can pass
            if step > (self.scene.eps if rigid else 4.0 * self.scene.eps):
                text = "body %r moves up to %.3g m in a small step, more than eps = %.3g m; use more substeps"
                log.warning(text, body.label, step, self.scene.eps)


def _seen_by(detectors: Sequence[Detector], state: State) -> Contacts:
    """All contacts that detectors find."""
    parts = [detector.update(state).find(state) for detector in detectors]
    # in the order of the detectors: canonical order would take longer than all else and change nothing
    return parts[0] if len(parts) == 1 else _contacts.join(parts)


def _guard(
    scene: Scene, method: str | None, options: Mapping[str, Any] | None, response: str | None
) -> Guard | SoftContact | None:
    """What keeps soft bodies apart, if anything does."""
    if options and method is None and response is None:
        raise ValueError("self_options are for a self_method; name one")
    # what lies close from the start is asked of the scene, not of the state: a run that is resumed must agree
    if method is not None or response is not None:
        return SoftContact(scene, scene.start(), method, options, response)
    return None if scene.self_contact == "off" or not scene.soft else Guard(scene, scene.start())


def _detectors(scene: Scene, method: str, options: Mapping[str, Any]) -> list[Detector]:
    """One detector for every cloth and fixed body; fields of the parts of one group answer together."""
    method = method_name(method)
    options = check_options(method, options)
    pairs = [(s, f) for s in scene.soft for f in scene.fixed]
    found: list[tuple[int, Any]] = []
    groups: dict[tuple[int, str], list[Any]] = {}
    for k, (s, f) in enumerate(pairs):
        body, reach = scene.bodies[f], scene.eps + scene.lift(s)
        made = METHODS[method]
        if made.name == BoneFieldsDetector.name and isinstance(scene.shapes.get(f), Skinned):
            made = BoneFieldsDetector
        if f in scene.shapes and not made.follows:
            able = ", ".join(name for name, other in METHODS.items() if other.follows)
            raise ValueError(
                f"method {method!r} needs bodies that keep their shape, and {body.label!r} bends; one of: {able}"
            )
        mesh = scene.bodies[s].mesh
        soft = Side(mesh.welded if getattr(made, "volume", False) else mesh.surface, int(scene.first[s]), s)
        rigid = Side(body.mesh.welded, int(scene.first[f]), f, scene.shapes.get(f))
        detector = made(soft, rigid, within=reach, **_shared(options, k, len(pairs)))
        field = getattr(detector, "field", None)
        if field is not None and getattr(field, "spacing", 0.0) > 1.001 * scene.eps:
            text = "the field's cells are %.3g m, larger than eps = %.3g m: cloth may enter %r; choose a larger eps"
            log.warning(text, field.spacing, scene.eps, body.label)
        if field is not None and body.group:
            groups.setdefault((s, body.group), []).append(detector)
        else:
            found.append((s, detector))
    found += [(s, PartsDetector(parts)) for (s, _), parts in groups.items()]
    lifted: list[Any] = [Lifted(detector, scene.lift(s)) if scene.lift(s) else detector for s, detector in found]
    return lifted


def _shared(options: Mapping[str, Any], k: int, count: int) -> dict[str, Any]:
    """The options of the k-th of `count` detectors: progress over all of them, not over each."""
    whole = options.get("progress")
    if whole is None or count < 2:
        return dict(options)
    return {**options, "progress": lambda share: whole((k + share) / count)}
