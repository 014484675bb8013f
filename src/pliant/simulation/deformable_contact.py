"""DeformableContact: contacts of deformable bodies with themselves and each other, by any detector and any response.

It replaces the guard's detection and response. In safe mode the guard still limits the motion after it, so that an
intersection-free state stays so even if the detector misses a contact.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import renamed, validate
from ..contacts import Contacts
from ..detect.base import BaseDetector, Finds, Side
from ..detect.detectors.offset import offset
from ..detect.methods import METHODS
from ..detect.options import MethodChoice, check_options, merged, parse_method
from ..respond import RESPONSES
from ..respond.base import Detect
from ..scene import Scene
from ..state import State
from .guard import Guard, keys, near_at_rest
from .intersections import make_response
from .self_contact_interface import FormerNames, NoGuard

METHOD, RESPONSE = "bvh", "penalty+geometric"  # defaults if only the other of the two is given


@dataclasses.dataclass(frozen=True, eq=False)
class _Part:
    """A detector for one deformable body with itself, or for two of them."""

    detector: Any
    rows: tuple[slice, ...]
    settled: NDArray[np.int64]  # keys of pairs that are closer than the thickness in the rest shape

    def apart(self, state: State, reach: float) -> bool:
        """Whether the boxes of two bodies, swept over this substep, are farther apart than `reach`."""
        if len(self.rows) < 2:
            return False
        (low, high), (bottom, top) = (_box(state, rows) for rows in self.rows)
        return bool((low > top + reach).any() or (bottom > high + reach).any())

    def forget(self) -> None:
        """Reset the detector's memory when the pair is culled."""
        if self.detector.remembers:
            self.detector.reset()

    def find(self, state: State) -> Contacts:
        found: Contacts = self.detector.update(state).find(state)
        return found[~np.isin(keys(found), self.settled)] if len(self.settled) else found


class DeformableContact(FormerNames):
    """Implements `SelfContact` by the detector `method` (with `options`) and the named response."""

    tangled = False

    def __init__(
        self,
        scene: Scene,
        state: State,
        method: str | None = None,
        options: Mapping[str, Any] | None = None,
        response: str | None = None,
    ) -> None:
        chosen = able_method(METHOD if method is None else method, len(scene.deformable) > 1)
        self.method, self._class = chosen.text, METHODS[chosen.name]
        able = tuple(name for name, other in RESPONSES.items() if other.between)
        if response in RESPONSES and response not in able:
            names = ", ".join(able)
            raise ValueError(f"self_response {response!r} works against obstacles only; use one of: {names}")
        self.response_name = validate.choice("self_response", RESPONSE if response is None else response, able)
        if scene.self_contact == "off":
            raise ValueError(
                f"self_method and self_response require self-contact, and scene {scene.name!r} has "
                "self_contact 'off'; make it with self_contact='safe' or self_contact='push'"
            )
        self.guard = Guard(scene, state) if scene.self_contact == "safe" else NoGuard()
        self.thickness = cast(float, scene.thickness)
        self.response = make_response(scene, self.response_name, among_deformables=True, eps=self.thickness)
        self._beyond = scene.eps - self.thickness  # contact offset of obstacles beyond that of deformable bodies
        sides = _sides(scene, self._class)
        pairs = [(a, None) for a in sides] + [(a, b) for k, a in enumerate(sides) for b in sides[k + 1 :]]
        links = {b: scene.bodies[b].mesh.welded.links + np.int32(scene.first[b]) for b in scene.deformable}
        given = check_options(chosen.name, merged(chosen.name, chosen.options, options))
        if self._class.many and len(sides) > 1 and all(len(s.mesh.tets) for s in sides):
            one = self._class(sides[0], more=sides[1:], within=self.thickness, **given)
            self._parts = [_Part(one, (scene.deformable_rows,), np.zeros(0, np.int64))]
        else:
            self._parts = [self._part(a, b, given, state, links[a.body]) for a, b in pairs]
        self._found = _contacts.empty()

    def _part(self, a: Side, b: Side | None, options: dict[str, Any], state: State, links: NDArray[np.int32]) -> _Part:
        detector = self._class(a, b, within=self.thickness, **options)
        if b is not None:
            return _Part(detector, (a.rows, b.rows), np.zeros(0, np.int64))
        close = detector.update(state).find(state)
        return _Part(detector, (a.rows,), near_at_rest(close, links, len(state.x)))

    def detect(self, state: State) -> Contacts:
        """Return the contacts among all deformable bodies, in the order of the bodies."""
        near = [not part.apart(state, self.thickness) for part in self._parts]
        for part, is_near in zip(self._parts, near, strict=True):
            if not is_near:
                part.forget()
        parts = [part.find(state) for part, is_near in zip(self._parts, near, strict=True) if is_near]
        return parts[0] if len(parts) == 1 else _contacts.concatenate_unsorted(parts)

    look = renamed.attribute("look", "detect")

    @property
    def detectors(self) -> list[Any]:
        return [part.detector for part in self._parts]

    def is_inside(self, x: NDArray[np.float64]) -> bool:
        """Bodies do not yield to what this handles."""
        return False

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt."""
        self.guard.begin(state, dt, steps)

    def redetect_if_needed(self, state: State) -> None:
        """Do nothing: `apply` always runs a detection pass."""

    def apply(self, state: State, dt: float) -> None:
        """Detect contacts, and respond."""
        self._found = self.detect(state)
        self.response.begin(self._found, state)
        self.response.apply(self._found, state, dt, self.detect)

    def forget(self, state: State) -> None:
        """Clear the corrections of the last `apply`."""
        self.response.begin(self._found, state)
        self.guard.forget(state)

    def limit_motion(self, state: State, dt: float) -> None:
        """In safe mode, limit the motion to what the guard proves free of intersections."""
        self.guard.forget(state)
        self.guard.limit_motion(state, dt)

    def finish(self, state: State, dt: float) -> None:
        """Correct v."""
        self.response.finish(self._found, state, dt)
        self.guard.finish(state, dt)

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Correct x at the end of a frame; `detect` finds the contacts with obstacles, which are resolved too."""
        if self.iterates:
            self.response.end_frame(state, dt, self._with_bodies(detect))
            self.limit_motion(state, dt)

    def count_near(self, state: State, detect: Detect) -> int:
        """Return the number of pairs that are too near, which is `unresolved` then; `detect` as in `end_frame`."""
        return self.response.count_near(state, self._with_bodies(detect))

    def _with_bodies(self, detect: Detect) -> Detect:
        return lambda at: _contacts.concatenate_unsorted([self.detect(at), offset(detect(at), self._beyond)])

    @property
    def iterates(self) -> bool:
        return self.response.iterates

    @property
    def unresolved(self) -> int:
        """Number of pairs, as found by the detector, that were still too near when the response stopped."""
        return self.response.unresolved

    @property
    def found(self) -> Contacts:
        """The contacts within the thickness, which a `Frame` reports."""
        return self._found[self._found["distance"] <= self.thickness]

    def intersections(self, x: NDArray[np.float64]) -> list[tuple[int, int, NDArray[np.int32]]]:
        """Return the intersecting pairs of triangles, see `Guard.intersections`."""
        return self.guard.intersections(x)

    @property
    def passes(self) -> int:
        return self.guard.passes

    @property
    def hindered(self) -> bool:
        return self.guard.hindered

    @property
    def rows_without_room(self) -> NDArray[np.int32]:
        return self.guard.rows_without_room

    @property
    def unguarded_rows(self) -> NDArray[np.int32]:
        return self.guard.unguarded_rows

    @property
    def without_contacts(self) -> NDArray[np.bool_] | None:
        return self.guard.without_contacts

    def follow_bodies(self, state: State, dt: float) -> None:
        """Let cloth inside of bodies move with the surface that it lies on, and out of it."""
        self.guard.follow_bodies(state, dt)

    def keep_on_their_way(self, state: State) -> None:
        """Undo displacements by which the solve pressed cloth back into a body that it is leaving."""
        self.guard.keep_on_their_way(state)

    def with_room(self, found: Contacts) -> Contacts:
        """Return those contacts of cloth with bodies whose cloth has room."""
        return self.guard.with_room(found)

    def supports(self, state: State) -> Contacts:
        """Return the contacts of cloth with bodies that the guard adds to those of the detectors."""
        return self.guard.supports(state)

    def under_triangles(self, reported: Contacts) -> Contacts:
        """Return the contacts of cloth with corners and edges of bodies that the guard adds to those of the
        detectors."""
        return self.guard.under_triangles(reported)

    def to_keep_open(self, state: State) -> Contacts:
        """Return the contacts of cloth with bodies whose gaps the strain limit must not close."""
        return self.guard.to_keep_open(state)

    def release(self, state: State, stretched: NDArray[np.int32]) -> NDArray[np.int32]:
        """Stop guarding the ends of the `stretched` edges (k,2) where bodies leave them no room."""
        return self.guard.release(state, stretched)

    @property
    def given_up_pairs(self) -> int:
        return self.guard.given_up_pairs

    @given_up_pairs.setter
    def given_up_pairs(self, count: int) -> None:
        self.guard.given_up_pairs = count

    @property
    def failed_substeps(self) -> int:
        return self.guard.failed_substeps

    @failed_substeps.setter
    def failed_substeps(self, count: int) -> None:
        self.guard.failed_substeps = count


def self_method_reasons(scene: Scene) -> dict[str, str]:
    """Return for every method the reason why it cannot detect contacts among the deformable bodies of a scene; empty if
    it can."""
    wanted = Finds.SELF | Finds.PAIR if len(scene.deformable) > 1 else Finds.SELF
    bodies = [scene.bodies[b] for b in scene.deformable]
    is_open = [body.label for body in bodies if not body.mesh.surface.welded.issues.closed]
    found = {}
    for name, method in METHODS.items():
        why = ""
        if scene.self_contact == "off" or not bodies:
            why = "self-contact is off" if bodies else "nothing deforms"
        elif wanted not in method.finds:
            why = "does not find contacts among deformable bodies"
        elif method.needs_closed and is_open:
            why = f"needs closed bodies, but {is_open[0]!r} is open"
        found[name] = why
    return found


def self_refusal_of(scene: Scene, method: str, options: Mapping[str, Any]) -> str:
    """Return why options of a method do not apply to contacts among the deformable bodies of a scene; empty if they
    do."""
    refused = (METHODS[method].refuses(side, None, options) for side in _sides(scene, METHODS[method]))
    return next(filter(None, refused), "")


def _sides(scene: Scene, detector_class: type[BaseDetector]) -> list[Side]:
    """Return the deformable bodies as the detector takes them."""
    meshes = {b: scene.bodies[b].mesh for b in scene.deformable}
    whole = detector_class.volume
    return [Side(m.welded if whole else m.surface, int(scene.first[b]), b) for b, m in meshes.items()]


def able_method(text: str, several: bool) -> MethodChoice:
    """Return the method that `text` names, which finds contacts among deformable bodies."""
    chosen = parse_method(text)
    name = chosen.name
    wanted = Finds.SELF | Finds.PAIR if several else Finds.SELF
    if wanted not in METHODS[name].finds:
        able = ", ".join(n for n, other in METHODS.items() if wanted in other.finds)
        missing = "contacts between deformable bodies" if Finds.SELF in METHODS[name].finds else "self-contact"
        hint = ""
        if METHODS[name].finds is Finds.OBSTACLE:
            hint = ". It is for obstacles: a body that is simulated is one in another scene, by its recorded frames"
        raise ValueError(f"self_method {name!r} does not detect {missing}; use one of: {able}{hint}")
    return chosen


def _box(state: State, rows: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, start = state.x[rows], state.x_start[rows]
    return np.minimum(x.min(0), start.min(0)), np.maximum(x.max(0), start.max(0))
