"""A simulation of one scene at a time whose method, response and parameters can be changed while it runs."""

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .. import arrays, renamed
from ..detect.base import Detector, Finds, with_defaults
from ..detect.choose import resolve_method_for_scene
from ..detect.methods import METHODS
from ..detect.options import parse_method
from ..dynamics import SOLVERS, default_substeps
from ..respond import RESPONSES
from ..scene import SELF_CONTACT, Scene
from ..scenes import SCENE_METHODS, SCENES
from ..scenes.defaults import default_run_length
from ..simulation import Frame, Simulation
from ..simulation.build import AHEAD, detection_distances
from ..simulation.clock import Clock
from ..simulation.deformable_contact import self_method_reasons
from ..simulation.drag import DragConstraint
from ..simulation.events import stepping_reasons
from ..simulation.intersections import response_reasons
from ..state import State
from .commands import GUARD
from .sliders import Slider, sliders, value_of, with_parameter

log = logging.getLogger("pliant.view")
__getattr__ = renamed.module(
    __name__,
    {
        "Range": "pliant.view.sliders:Slider",
        "tuned": "pliant.view.sliders:with_parameter",
    },
)
FRAME_SECONDS = 0.01  # simulated seconds per frame, as in `pliant drape`; simulated in one or more parts
SPEEDS = ("1/4", "1/2", "1", "2")
OWN = "your scene"
RECENT = 4  # methods kept in memory: in a large scene each takes 20 to 130 MiB and half a second to prepare again
FARTHEST = 1e6  # m: a simulation that moves deformable bodies farther from their start has diverged


@dataclasses.dataclass(frozen=True, eq=False)
class StartOptions:
    """The initial scene and method. own: a scene that the caller has built, from files or with cloth held by options;
    it is added to the menu and is the initial one instead of `scene`. subdivide: subdivision steps of displayed cloth,
    None for the default. stepping: of the initial scene. solver, device: see `Simulation`."""

    scene: str = "tablecloth-on-bust"
    method: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    own: Scene | None = None
    subdivide: int | None = None
    stepping: str = "fixed"
    solver: str = SOLVERS[0]
    device: arrays.Device = "cpu"


class InteractiveRun:
    """One scene at a time. `sim` is the simulation; changing a setting creates a new one from the current state."""

    def __init__(self, start_options: StartOptions) -> None:
        self.start_options, self.clock = start_options, Clock()
        self.drags: list[DragConstraint] = []
        self.load_scene(OWN if start_options.own is not None else start_options.scene, start_options.method)

    @property
    def scenes(self) -> tuple[str, ...]:
        return (OWN, *SCENES) if self.start_options.own is not None else tuple(SCENES)

    def load_scene(self, name: str, method: str | None = None, note: Callable[[str], None] = lambda _: None) -> None:
        """Load another scene and start it from the beginning."""
        if name == OWN and self.start_options.own is not None:
            scene = self.start_options.own
        else:
            note(f"creating {name} ...")
            # command-line options apply only to the scene they were given for
            scene = SCENES[name](**(self.start_options.options if name == self.start_options.scene else {}))
        wanted = resolve_method_for_scene(scene, method or SCENE_METHODS.get(name)).text
        substeps = default_run_length(scene).substeps or default_substeps(
            scene, FRAME_SECONDS, self.start_options.solver
        )
        first = name == (OWN if self.start_options.own is not None else self.start_options.scene)
        stepping = self.start_options.stepping if first and method == self.start_options.method else "fixed"
        if why := stepping_reasons(scene, wanted)[stepping]:
            raise ValueError(f"--stepping {stepping} {why}")
        self._begin(name, scene, substeps, wanted, stepping, note)

    def _begin(
        self, name: str, scene: Scene, substeps_per_frame: int, method: str, stepping: str, note: Callable[[str], None]
    ) -> None:
        backup = dict(self.__dict__)
        try:
            self._detectors: dict[str, list[Detector]] = {}  # detectors of the most recent methods
            self._x_start = scene.start().x
            self.name, self.initial_scene, self.scene = name, scene, scene
            self.substeps_per_frame, self.substeps_per_part = substeps_per_frame, 1
            self.method, self.self_method, self.response = method, GUARD, "projection"
            self.stepping = stepping
            self.sim = self._simulation(scene, method, self.response, scene.start(), note)
        except BaseException:  # also MemoryError: restore the previous scene to continue with
            self.__dict__.clear()
            self.__dict__.update(backup)
            raise
        self.drags.clear()

    @property
    def initial_values(self) -> dict[str, float]:
        """The initial value of every slider."""
        return {name: value_of(self.initial_scene, name) for name in self.ranges}

    @property
    def ranges(self) -> dict[str, Slider]:
        """The sliders of this scene; each range includes the current value."""
        return sliders(self.scene, self.initial_scene)

    def unavailable_reasons(self) -> dict[str, str]:
        """Return for every method the reason why it cannot be used in this scene; empty if it can."""
        obstacles = [self.scene.bodies[b] for b in self.scene.obstacles]
        open_bodies = [body.label for body in obstacles if not body.mesh.welded.issues.closed]
        found = {}
        for name, method in METHODS.items():
            why = ""
            if not (self.scene.deformable and self.scene.obstacles):
                why = "the scene has no deformable body with an obstacle"
            elif Finds.OBSTACLE not in method.finds:
                why = "does not find contacts with bodies"
            elif bad := [
                b for b, shape in self.scene.deforming_motions.items() if not method.against(shape).obstacle_may_deform
            ]:
                why = f"needs rigid bodies, but {self.scene.bodies[bad[0]].label!r} deforms"
            elif method.needs_closed and open_bodies:
                why = f"needs closed bodies, but {open_bodies[0]!r} is open"
            found[name] = why
        return found

    methods = renamed.attribute("methods", "unavailable_reasons")

    def self_method_reasons(self) -> dict[str, str]:
        """Return for the guard and every method why it cannot detect contacts among deformable bodies; empty if it
        can."""
        return {GUARD: ""} | self_method_reasons(self.scene)

    def response_reasons(self) -> dict[str, str]:
        """Return for every response why it cannot be used in the scene; empty if it can."""
        return response_reasons(self.scene)

    def stepping_reasons(self) -> dict[str, str]:
        """Return for every kind of stepping why the methods in use cannot do it; empty if they can."""
        return stepping_reasons(self.scene, self.method, self._own_self_method)

    @property
    def _own_self_method(self) -> str | None:
        return None if self.self_method == GUARD else self.self_method

    @property
    def self_contact_modes(self) -> tuple[str, ...]:
        return SELF_CONTACT

    def set_method(self, method: str, note: Callable[[str], None]) -> None:
        """Switch to another detection method, continuing from the current state; steps by events become fixed ones if
        nothing gives times of impact any more."""
        method = parse_method(method).text
        before, self.substeps_per_part = self.substeps_per_part, 1  # until its speed has been measured
        if method != self.method:
            for detector in self._detectors.get(method, ()):
                detector.update(self.sim.state)
            _reset(self._detectors.get(method, ()))
        try:
            self.sim = self._continued(self.scene, method, note)
        except BaseException:
            self.substeps_per_part = before
            raise
        self.method = method

    def set_response(self, response: str, note: Callable[[str], None] = lambda _: None) -> None:
        """Switch to another response, continuing from the current state."""
        self.sim = self._simulation(self.scene, self.method, response, self.sim.state, note)
        self.response = response

    def set_stepping(self, stepping: str, note: Callable[[str], None] = lambda _: None) -> None:
        """Switch between fixed substeps and those that end at times of impact, continuing from the current state."""
        if why := self.stepping_reasons()[stepping]:
            raise ValueError(f"stepping {stepping} {why}")
        before, self.stepping = self.stepping, stepping
        try:
            self.sim = self._continued(self.scene, self.method, note)
        except BaseException:
            self.stepping = before
            raise

    def set_self_method(self, method: str) -> None:
        """Switch to another detection method among deformable bodies, or to the guard, from the current state."""
        before, self.self_method = self.self_method, method if method == GUARD else parse_method(method).text
        try:
            self.sim = self._continued(self.scene, self.method)
        except BaseException:
            self.self_method = before
            raise

    def set_self_contact(self, mode: str) -> None:
        """Switch the treatment of self-contact."""
        if mode == "off":
            self.self_method = GUARD
        self._replace_scene(dataclasses.replace(self.scene, self_contact=mode))

    def set_parameter(self, name: str, to: float, note: Callable[[str], None] = lambda _: None) -> None:
        """Set the value of a slider."""
        self._replace_scene(with_parameter(self.scene, name, to), note)

    def reset(self) -> None:
        """Restart the scene with the current slider values, without drag constraints."""
        self.drags.clear()
        self.sim = self._simulation(self.scene, self.method, self.response, self.scene.start())
        for detector in self.sim.detectors:
            detector.update(self.sim.state)
        _reset(self.sim.detectors)

    def set_substeps_per_part(self, substeps: int) -> None:
        """Let `step` advance by a part of `substeps` substeps; the length of a substep does not change."""
        if self.substeps_per_frame % substeps:
            raise ValueError(f"substeps = {substeps} does not divide the {self.substeps_per_frame} substeps of a frame")
        if substeps != self.substeps_per_part:
            self.substeps_per_part = substeps
            self.sim = self._continued(self.scene, self.method)

    def fit_substeps_per_part(self, seconds: float, most: float) -> None:
        """Choose the most substeps per part that take at most `most` seconds, at `seconds` each; at least one."""
        whole = self.substeps_per_frame
        fit = [n for n in range(1, whole + 1) if whole % n == 0 and n * seconds <= most]
        self.set_substeps_per_part(max(fit, default=1))

    @property
    def parts_per_frame(self) -> int:
        """Number of parts, each simulated by one `step`, that make up a frame of `FRAME_SECONDS`."""
        return self.substeps_per_frame // self.substeps_per_part

    def step(self) -> Frame:
        """Simulate one part of a frame and return the state after it."""
        frame = self.sim.step()
        soft = self.scene.deformable_rows
        if not np.abs(frame.x[soft] - self._x_start[soft]).max(initial=0.0) < FARTHEST:  # nan too
            raise FloatingPointError("the simulation diverged; use weaker forces or a stiffness nearer to the default")
        return frame

    def _replace_scene(self, scene: Scene, note: Callable[[str], None] = lambda _: None) -> None:
        """Continue from the current state in the same scene with other parameters."""
        self.sim = self._continued(scene, self.method, note)
        self.scene = scene
        for drag in self.drags:
            drag.step = 0.5 * scene.eps

    def _continued(self, scene: Scene, method: str, note: Callable[[str], None] = lambda _: None) -> Simulation:
        """Return a simulation that continues from the current state, with the states of response and detectors."""
        states = [with_defaults(one).state() for one in self.sim.detectors]
        sim = self._simulation(scene, method, self.response, self.sim.state, note)
        if method == self.method:
            for one, state in zip(sim.detectors, states, strict=True):
                with_defaults(one).restore(state)
        sim.response.restore(self.sim.response.state())
        return sim

    def _simulation(
        self,
        scene: Scene,
        method: str,
        response: str,
        state: State,
        note: Callable[[str], None] = lambda _: None,
    ) -> Simulation:
        start = self.start_options
        before, after = (self.scene, self.response, start.solver), (scene, response, start.solver)
        kept = [name for name in self._detectors if _distances(name, *before) == _distances(name, *after)]
        self._detectors = {name: self._detectors[name] for name in kept}
        dt = FRAME_SECONDS * self.substeps_per_part / self.substeps_per_frame
        if method not in self._detectors and scene.deformable and scene.obstacles:
            note(f"preparing {method} ...")
        made = self._detectors.get(method)
        without_events = stepping_reasons(scene, method, self._own_self_method)["events"]
        sim = Simulation(
            scene,
            dt,
            substeps=self.substeps_per_part,
            method=method,
            detectors=made,
            response=response,
            stepping="fixed" if without_events else self.stepping,
            state=state,
            clock=self.clock,
            solver=start.solver,
            device=start.device,
            self_method=self._own_self_method,
        )
        self.stepping = sim.stepping
        # for overlays of the first frame; what is remembered of it is discarded
        new = [] if made is not None else sim.detectors
        for detector in (*new, *getattr(sim.self_contact, "detectors", ())):
            detector.update(sim.state)
            _reset([detector])
        self._detectors.pop(method, None)
        self._detectors[method] = sim.detectors
        for name in list(self._detectors)[:-RECENT]:
            del self._detectors[name]
        sim.drags = self.drags
        return sim


def _reset(detectors: Iterable[Detector]) -> None:
    for detector in detectors:
        with_defaults(detector).reset()


def _distances(method: str, scene: Scene, response: str, solver: str) -> list[float]:
    """Return the detection distances (m) of a method; larger ones if contacts repel cloth within the implicit solve."""
    repels = (
        solver == "implicit"
        and scene.cloths
        and not scene.solids
        and not scene.strands
        and RESPONSES[response].allows_springs(scene)
    )
    return detection_distances(scene, parse_method(method).name, AHEAD if repels else 1.0)
