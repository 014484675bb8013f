"""The steps of a substep of `Simulation`."""

from .. import contacts as _contacts
from ..contacts import Contacts
from ..detect.base import Detector, with_defaults
from ..dynamics import DeformableDynamics
from ..respond import Response
from ..scene import Scene
from ..state import State
from .clock import Clock
from .drag import DragConstraint
from .final_projection import FinalProjection
from .kinematics import Kinematics, Target
from .placed import Placed
from .self_contact_interface import SelfContact

SHORTENINGS = 4  # of strain limit and guard per call of `_shorten`, where the guard holds cloth back
ALTERNATIONS = 3  # of contacts and strain limit per substep, while one violates the other


class Substeps(Placed):
    """The part of a simulation that advances by a substep."""

    scene: Scene
    clock: Clock
    dynamics: DeformableDynamics
    kinematics: Kinematics
    detectors: list[Detector]
    response: Response
    self_contact: SelfContact
    final_projection: FinalProjection
    drags: list[DragConstraint]

    def _substep(self, target: Target, dt: float) -> Contacts:
        """Advance by dt to a target; return the contacts with obstacles."""
        state, clock = self.state, self.clock
        with clock("predict"):
            self.dynamics.predict(state, dt)
        with clock("move"):
            self.kinematics.move(state, target, dt)
            self.self_contact.follow_bodies(state, dt)
        with clock("respond"):
            self.response.constrain_prediction(state, dt)
        with clock("relax"):
            self._relax(dt)
        with clock("guard"):
            self.self_contact.redetect_if_needed(state)
            self.self_contact.apply(state, dt)
        with clock("detect"):
            found = self.detect(state)
            self.final_projection.remember(state)
        with clock("respond"):
            self.response.begin(found, state)
            if self.response.repels:
                self.dynamics.guess(state, dt)
            self.response.apply(found, state, dt, self.detect)
        with clock("relax in contact"):
            self._relax_in_contact(found, dt)
        with clock("guard"):
            self._keep_apart(dt)
        with clock("finish"):
            self._finish(found, dt)
        return found

    def detect(self, state: State) -> Contacts:
        """Return the contacts of deformable bodies with obstacles, as found by all detectors, without those of
        cloth that has no room."""
        for one in map(with_defaults, self.detectors):
            one.ignore(self.self_contact.without_contacts)
        parts = [detector.update(state).find(state) for detector in self.detectors]
        # in the order of the detectors: sorting would dominate the time and change nothing
        return self.self_contact.with_room(parts[0] if len(parts) == 1 else _contacts.concatenate_unsorted(parts))

    def _relax(self, dt_substep: float) -> None:
        """Solve the constraints of materials once, unless contacts repel cloth: it is then solved when these are
        known. Pull by the drag constraints."""
        if self.response.repels:
            self.dynamics.begin_solve(self.state, dt_substep)
        else:
            self.dynamics.relax(self.state, dt_substep)
        for drag in self.drags:
            drag.pull(self.state, dt_substep)

    def _relax_in_contact(self, found: Contacts, dt_substep: float) -> None:
        """Solve cloth with the contacts, if these repel it, or again if drags, contacts or the guard have moved its
        vertices since the first solve; then enforce the contacts again. Only for responses that enforce gaps.

        Without this solve, cloth would end every substep with the strain that the contacts have caused.
        """
        pushed = self.response.enforced()
        if pushed is None:
            return
        if self.response.repels:
            self.dynamics.relax_with(self.state, found, pushed, self.self_contact.supports(self.state), dt_substep)
        elif not self.dynamics.relax_in_contact(self.state, found, pushed, dt_substep):
            return
        self.self_contact.keep_on_their_way(self.state)
        # what cloth intersects does not hold it
        self.dynamics.let_into_surface(self.self_contact.unguarded_rows)
        for _ in range(ALTERNATIONS):
            self.response.apply(found, self.state, dt_substep, self.detect)
            if not self._limit_strain():
                return
        if self.scene.self_contact != "safe":  # there the guard keeps apart what the strain limit brings too near
            self.response.apply(found, self.state, dt_substep, self.detect)

    def _keep_apart(self, dt_substep: float) -> None:
        """Close seams that contacts have opened; in safe mode, limit the motion to what the guard proves free of
        intersections."""
        self.dynamics.close_seams(self.state, dt_substep)
        self.dynamics.reset_lost_vertices(self.state)
        self.dynamics.yield_to_tension(self.state, self.self_contact.to_keep_open)
        self.self_contact.limit_motion(self.state, dt_substep)
        # cloth that was held back or carried is stretched; shortening it is a motion that the guard limits in turn
        self._shorten(dt_substep)
        stretched = self.dynamics.stretched_edges(self.state)
        if len(stretched) and self.dynamics.may_yield:
            self._shorten(dt_substep, yielding=True)
            stretched = self.dynamics.stretched_edges(self.state)
        if len(stretched):
            # where bodies leave no room, cloth is either stretched or enters them: it enters, and is counted
            self.dynamics.let_into_surface(self.self_contact.release(self.state, stretched))
            self._shorten_without_room(dt_substep)

    def _limit_strain(self, *, yielding: bool = False) -> bool:
        """Shorten edges beyond the strain limit along bodies; return whether any was longer."""
        return self.dynamics.limit_strain(self.state, self.self_contact.to_keep_open, yielding=yielding)

    def _shorten(self, dt_substep: float, *, yielding: bool = False) -> None:
        """Limit the strain of cloth that the guard has held back, and the motion again, in turn. yielding: of all
        cloth, and attached vertices give way."""
        for _ in range(SHORTENINGS):
            if not (self.self_contact.hindered or yielding) or not self._limit_strain(yielding=yielding):
                return
            self.dynamics.close_seams(self.state, dt_substep)
            self.self_contact.limit_motion(self.state, dt_substep)

    def _shorten_without_room(self, dt_substep: float) -> None:
        """The same in frames in which bodies leave cloth no room: there only the guard stops the strain limit."""
        for _ in range(SHORTENINGS if len(self.self_contact.unguarded_rows) else 0):
            self.dynamics.let_into_surface(self.dynamics.stretched_edges(self.state).ravel())
            if not self.dynamics.limit_strain(self.state, None):
                return
            self.self_contact.limit_motion(self.state, dt_substep)

    def _finish(self, found: Contacts, dt_substep: float) -> None:
        """Compute v from the displacement of the substep, and correct it for all contacts."""
        self.dynamics.finish(self.state, dt_substep)
        self.response.finish(found, self.state, dt_substep)
        self.self_contact.finish(self.state, dt_substep)
