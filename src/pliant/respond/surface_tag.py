"""Surface tag: set to the surface, tagged until it leaves, never moved towards it (Pelechano et al., section 4.6)."""

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..contacts import CONTACT, VERTEX_FACE, VERTEX_FIELD, Contacts
from ..kernels import surface_tag as _kernels
from ..scene import Scene
from ..state import State
from .base import Response

Floats = NDArray[np.float64]
STIFFNESS = 1e4  # 1/s2: of the depth a third is left after a hundredth of a second
_HAIR = 1e-6  # of eps: so much nearer than eps things are set, so that the detector sees them again


class SurfaceTag(Response):
    """Sets vertices to where they are `eps` from what they touch; they stay tagged until nothing presses them there.

    Call `hold` after a step's forces have moved x and before anything else looks at it: it takes what moves a tagged
    vertex towards its surface, relative to that surface, and lets it rub as hard as it is pressed. What was more than
    `deep` metres (default: eps) beyond eps already is not set but driven out by a force in proportion to the depth
    (`stiffness`, 1/s2). Nothing bounces. `pushed` (n,) are the corrections of the last step, metres.
    """

    between = False  # what it tags is on a surface that does not give way

    def __init__(
        self,
        scene: Scene,
        *,
        obstacles: bool = False,
        eps: float | None = None,
        deep: float | None = None,
        stiffness: float = STIFFNESS,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.deep = self.eps if deep is None else validate.number("deep", deep, low=0.0)
        self.stiffness = validate.number("stiffness", stiffness, low=0.0)
        self.friction = scene.friction
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self.pushed, self._outward, self._stopped = np.zeros(0), np.zeros(0), np.zeros(0)
        self.tags: Contacts = np.zeros(0, CONTACT)

    @property
    def tagged(self) -> NDArray[np.int32]:
        """Rows of the vertices that are on a surface, ascending."""
        return np.unique(self.tags["vertices"][:, 0])

    @property
    def memory(self) -> Contacts:
        """What is remembered from step to step."""
        return self.tags

    @memory.setter
    def memory(self, tags: Contacts) -> None:
        self.tags, self._stopped = tags, np.zeros(len(tags))

    def hold(self, state: State, dt: float) -> None:
        """Take what forces and velocity did towards the surface to what is tagged."""
        self._stopped = np.zeros(len(self.tags))
        if len(self.tags):
            _kernels.hold(self.tags, state.x, state.x_start, self.w, self.friction, self.simple, dt, self._stopped)

    def begin(self, contacts: Contacts, state: State) -> None:
        """A new step: forget the pushes of the last one."""
        self.pushed, self._outward = np.zeros(len(contacts)), np.zeros(len(contacts))

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Set what is too near to the surface, rubbing along the way."""
        if len(contacts):
            _kernels.set_out(
                contacts,
                state.x,
                state.x_start,
                self.w,
                (1.0 - _HAIR) * self.eps,
                self.deep,
                self.stiffness,
                self.friction,
                self.simple,
                dt,
                self.pushed,
                self._outward,
            )

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v for what was moved, and say who is on a surface now."""
        if len(contacts):
            _kernels.stop(contacts, state.v, self.w, self.pushed, self._outward)
        i = contacts["vertices"][:, 0]
        pressed = self.tags["vertices"][self._stopped > 0.0, 0]
        on = ((self.pushed > 0.0) & (self._outward == 0.0)) | ((self.pushed == 0.0) & np.isin(i, pressed))
        self.tags = contacts[on & np.isin(contacts["kind"], (VERTEX_FACE, VERTEX_FIELD)) & (self.w[i] > 0.0)]
        self._stopped = np.zeros(len(self.tags))
