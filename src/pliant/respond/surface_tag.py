"""Surface tag: project vertices to the surface and tag them until they leave it (Pelechano et al., section 4.6)."""

from typing import cast

import numpy as np
from numpy.typing import NDArray

from .. import renamed, validate
from ..contacts import CONTACT, VERTEX_FACE, VERTEX_FIELD, Contacts
from ..kernels.respond import surface_tag as _kernels
from ..kernels.respond.projection import Friction, Substep
from ..scene import Scene
from ..state import State
from .base import Detect, Response

Floats = NDArray[np.float64]
STIFFNESS_PER_MASS = 1e4  # 1/s2: about half of the depth is left after 0.01 s
_MARGIN = 1e-6  # of eps: vertices are projected to this much less than eps, so that the detector finds them again


class SurfaceTag(Response):
    """Projects vertices to a gap of `eps`; they stay tagged as long as they are pressed against the surface.

    Call `constrain_prediction` after the prediction of x and the motion of the obstacles: it removes the motion of a
    tagged vertex towards its surface, relative to that surface, and applies friction in proportion. Vertices more than
    `deep` metres (default: eps) beyond eps are not projected but driven out by a force proportional to the depth
    (`stiffness_per_mass`, 1/s2). No restitution. `normal_correction` (c,) are the corrections of the last substep, in
    metres.
    """

    between = False  # tagged vertices lie on the surface of an obstacle

    def __init__(
        self,
        scene: Scene,
        *,
        reads_obstacle_vertices: bool = False,
        eps: float | None = None,
        deep: float | None = None,
        stiffness_per_mass: float = STIFFNESS_PER_MASS,
        stiffness: float | None = None,
    ) -> None:
        self.eps = scene.eps if eps is None else eps
        self.deep = self.eps if deep is None else validate.number("deep", deep, low=0.0)
        if stiffness is not None:
            renamed.warn("stiffness of SurfaceTag", "stiffness_per_mass")
            stiffness_per_mass = stiffness
        self.stiffness_per_mass = validate.number("stiffness_per_mass", stiffness_per_mass, low=0.0)
        self.friction = cast(float, scene.friction)
        self.simple = scene.friction_model == "simple"
        self.w = scene.inverse_masses
        self.normal_correction, self._outward, self._stopped = np.zeros(0), np.zeros(0), np.zeros(0)
        self.tags = cast("Contacts", np.zeros(0, CONTACT))

    stiffness = renamed.attribute("stiffness", "stiffness_per_mass")

    @property
    def tagged(self) -> NDArray[np.int32]:
        """Rows of the tagged vertices, ascending."""
        return np.unique(self.tags["vertices"][:, 0])

    def state(self) -> Contacts:
        """Return the contacts of the tagged vertices, which are kept from substep to substep."""
        return self.tags

    def restore(self, state: Contacts) -> None:
        self.tags, self._stopped = state, np.zeros(len(state))

    def constrain_prediction(self, state: State, dt: float) -> None:
        """Remove the predicted motion of tagged vertices towards their surface."""
        self._stopped = np.zeros(len(self.tags))
        if len(self.tags):
            substep = Substep(state.x, state.x_start, self.w, dt)
            _kernels.cancel_inward_motion(self.tags, substep, Friction(self.friction, self.simple), self._stopped)

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep: clear the corrections."""
        self.normal_correction, self._outward = np.zeros(len(contacts)), np.zeros(len(contacts))

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Project vertices that are too near to the surface, with friction."""
        if len(contacts):
            substep, friction = Substep(state.x, state.x_start, self.w, dt), Friction(self.friction, self.simple)
            out = (1.0 - _MARGIN) * self.eps, self.deep, self.stiffness_per_mass
            _kernels.project_out(contacts, substep, *out, friction, self.normal_correction, self._outward)

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v for the projection, and update the tags."""
        if len(contacts):
            _kernels.stop(contacts, state.v, self.w, self.normal_correction, self._outward)
        i = contacts["vertices"][:, 0]
        pressed = self.tags["vertices"][self._stopped > 0.0, 0]
        on = ((self.normal_correction > 0.0) & (self._outward == 0.0)) | (
            (self.normal_correction == 0.0) & np.isin(i, pressed)
        )
        self.tags = contacts[on & np.isin(contacts["kind"], (VERTEX_FACE, VERTEX_FIELD)) & (self.w[i] > 0.0)]
        self._stopped = np.zeros(len(self.tags))
