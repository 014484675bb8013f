"""SelfContact: the interface of what handles contacts among deformable bodies and, in safe mode, limits the motion of
their triangles against each other and against obstacles; and its null object.

`Guard` and `DeformableContact` implement it; `NoGuard` does nothing: in scenes without self-contact, and within
`DeformableContact` in push mode.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import renamed
from ..contacts import Contacts
from ..respond.base import Detect
from ..state import State

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]


class SelfContact(Protocol):
    """Contacts among deformable bodies and, for the guard in safe mode, the separation of their triangles from
    obstacles, within the loop of `Simulation.step`.

    `begin` is called once per frame; `follow_bodies`, `redetect_if_needed`, `apply`, `supports` (only if contacts repel
    cloth in its solve), `keep_on_their_way` (only after cloth was solved in contact), `limit_motion`, `release` (only
    while edges are stretched beyond the limit) and `finish` are called in
    this order in every substep; `with_room` filters the result of every detection of contacts with obstacles.
    `limit_motion` may be called several times per substep, and again at the end of a frame; `end_frame` is called once
    at the end of a frame if `iterates` is set. `forget` is called only by a `SelfContact` that uses another one.
    """

    method: str  # names of its detector and response; empty if it has none of its own
    response_name: str
    failed_substeps: int  # number of substeps in which pairs were given up
    given_up_pairs: int  # pairs of features given up, and vertices released beside cloth without room, in total
    thickness: float  # contact offset among deformable bodies, metres
    tangled: bool  # whether triangles may intersect, or vertices be inside of bodies

    def is_inside(self, x: NDArray[np.float64]) -> bool:
        """Whether cloth intersects anything at x (n,3), or is inside of bodies; false where that is not computed."""

    @property
    def hindered(self) -> bool:
        """Whether the last `limit_motion` or `release` may have strained cloth, so that its strain is to be limited
        again."""

    @property
    def rows_without_room(self) -> Rows:
        """Vertices of cloth without room in this frame: inside of bodies when it began, or joined to such vertices by
        stretched edges since."""

    @property
    def unguarded_rows(self) -> Rows:
        """Free vertices with pairs given up in this frame, against bodies or cloth, and therefore not guarded."""

    @property
    def without_contacts(self) -> NDArray[np.bool_] | None:
        """Vertices (vertices, bodies) whose contacts with obstacles `with_room` leaves out, so that detectors need not
        find them; None if there are none."""

    @property
    def detectors(self) -> Sequence[Any]:
        """Its detectors; checkpoints store their `state`."""

    @property
    def iterates(self) -> bool:
        """Whether `end_frame` separates contacts iteratively."""

    @property
    def unresolved(self) -> int:
        """Number of pairs that were still too near when `end_frame` stopped."""

    def count_near(self, state: State, detect: Detect) -> int:
        """Return the number of pairs that are too near at these positions, if `iterates` is set."""

    @property
    def passes(self) -> int:
        """Total number of the guard's detection passes."""

    @property
    def found(self) -> Contacts:
        """The contacts among deformable bodies within their contact offset, which a `Frame` reports."""

    def under_triangles(self, reported: Contacts) -> Contacts:
        """Return the contacts of corners and edges of bodies with triangles and edges of cloth that pushed or repelled
        the cloth in this substep, without those that detectors have `reported`: a `Frame` reports them as well."""

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        """Begin a frame of `steps` substeps of dt."""

    def follow_bodies(self, state: State, dt: float) -> None:
        """Let cloth inside of bodies move with the surface that it lies on, and out of it."""

    def keep_on_their_way(self, state: State) -> None:
        """Undo displacements by which the solve pressed cloth back into a body that it is leaving."""

    def with_room(self, found: Contacts) -> Contacts:
        """Return the contacts with bodies, without those of cloth that has no room or lies too deep inside to be pushed
        out at once."""

    def supports(self, state: State) -> Contacts:
        """Return contacts of cloth with bodies, besides those of the detectors, that repel the cloth in its solve."""

    def to_keep_open(self, state: State) -> Contacts:
        """Return the contacts of cloth with bodies whose gaps the strain limit must not close: contacts that are too
        near for `limit_motion` have a negative one. Called whenever the strain is limited, possibly several times."""

    def redetect_if_needed(self, state: State) -> None:
        """Detect again if the motion of this substep requires it."""

    def apply(self, state: State, dt: float) -> None:
        """Move x so that pairs that are too near come apart."""

    def forget(self, state: State) -> None:
        """Clear the corrections of the last `apply`, for a substep in which another response takes its place."""

    def limit_motion(self, state: State, dt: float) -> None:
        """In safe mode, limit the motion to what is proved free of intersections."""

    def release(self, state: State, stretched: Rows) -> Rows:
        """In safe mode, stop guarding the ends of the `stretched` edges (k,2) where bodies leave them no room; return
        those released."""

    def finish(self, state: State, dt: float) -> None:
        """Correct v, which has been recomputed from the displacement of the substep."""

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Correct x at the end of a frame; `detect` finds the contacts with obstacles."""

    def intersections(self, x: Floats) -> list[tuple[int, int, Rows]]:
        """Return bodies and corners (k,2,3) of intersecting triangle pairs at x; empty while all pairs are guarded."""


class FormerNames:
    """Names of earlier versions."""

    looks = renamed.attribute("looks", "passes")
    crossed = renamed.attribute("crossed", "intersections")
    forced = renamed.attribute("forced", "failed_substeps")
    responds = renamed.attribute("responds", "response_name")
    unheld = renamed.attribute("unheld", "given_up_pairs")
    touching = renamed.attribute("touching", "obstacle_contacts")  # of `Guard`
    follow = renamed.attribute("follow", "redetect_if_needed")


class NoGuard(FormerNames):
    """Implements `SelfContact` by doing nothing: by itself, it lets deformable bodies pass through each other."""

    method = response_name = ""
    detectors: Sequence[Any] = ()
    iterates, thickness = False, 0.0
    failed_substeps = given_up_pairs = unresolved = passes = 0
    hindered = tangled = False
    rows_without_room = unguarded_rows = np.zeros(0, np.int32)
    without_contacts = None

    def __bool__(self) -> bool:
        return False  # the attribute was None without self-contact; `if sim.guard` works for one more version

    @property
    def found(self) -> Contacts:
        return _contacts.empty()

    def under_triangles(self, reported: Contacts) -> Contacts:
        return _contacts.empty()

    def is_inside(self, x: NDArray[np.float64]) -> bool:
        return False

    def begin(self, state: State, dt: float, steps: int = 1) -> None:
        pass

    def follow_bodies(self, state: State, dt: float) -> None:
        pass

    def keep_on_their_way(self, state: State) -> None:
        pass

    def with_room(self, found: Contacts) -> Contacts:
        return found

    def supports(self, state: State) -> Contacts:
        return _contacts.empty()

    def to_keep_open(self, state: State) -> Contacts:
        return _contacts.empty()

    def redetect_if_needed(self, state: State) -> None:
        pass

    def apply(self, state: State, dt: float) -> None:
        pass

    def forget(self, state: State) -> None:
        pass

    def limit_motion(self, state: State, dt: float) -> None:
        pass

    def release(self, state: State, stretched: Rows) -> Rows:
        return np.zeros(0, np.int32)

    def finish(self, state: State, dt: float) -> None:
        pass

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        pass

    def count_near(self, state: State, detect: Detect) -> int:
        return 0

    def intersections(self, x: Floats) -> list[tuple[int, int, Rows]]:
        return []
