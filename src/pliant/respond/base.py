"""Interface of the collision responses: given the contacts of a substep, move x, then correct v."""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import renamed
from ..contacts import Contacts
from ..scene import Scene
from ..state import State

Floats = NDArray[np.float64]
Detect = Callable[[State], Contacts]


class Response:
    """`constrain_prediction`, `begin`, `apply` and `finish` are called in this order in every substep, `apply` again
    after materials were solved in contact; `end_frame` once per frame.

    The constructor takes the scene, and by keyword `eps` (default: the scene's) and `reads_obstacle_vertices`: whether
    contacts may refer to vertices of moving obstacles. Only `Projection` reads it, to store their velocities too; the
    others ignore it.

    repels: whether contacts repel cloth inside its solve already (`allows_springs`).
    unresolved: number of pairs that were still too near when an iterative response stopped. between: whether it works
    between two deformable bodies. iterates: whether `end_frame` separates contacts iteratively. strict: whether
    vertices that this response leaves inside a body are projected out at the end of the frame (`FinalProjection`).
    needs_closed: whether it needs closed bodies, whose vertices it reads itself in every substep.
    """

    between: ClassVar[bool] = True
    iterates: ClassVar[bool] = False
    strict: ClassVar[bool] = False
    needs_closed: ClassVar[bool] = False
    unresolved: int = 0
    repels: bool = False

    @classmethod
    def allows_springs(cls, scene: Scene) -> bool:
        """Whether contacts may repel cloth inside its solve already, so that `apply` handles only those that are
        closer; not by default."""
        return False

    def constrain_prediction(self, state: State, dt: float) -> None:
        """Hook after the prediction of x, before constraints; does nothing by default."""

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep; state.v are the velocities before impact."""
        raise NotImplementedError

    def apply(self, contacts: Contacts, state: State, dt: float, detect: Detect | None = None) -> None:
        """Move x according to the contacts; an iterative response finds contacts again by `detect`."""
        raise NotImplementedError

    def enforced(self) -> Floats | None:
        """Return how far (c,) `apply` has pushed each contact along its normal since `begin`, metres, if it enforces
        gaps, so that materials are solved again with these contacts; None by default."""
        return None

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v, which has been recomputed from the displacement of the substep."""
        raise NotImplementedError

    def count_near(self, state: State, detect: Detect) -> int:
        """Return the number of pairs that are too near at these positions, if the response iterates."""
        return self.unresolved

    def end_frame(self, state: State, dt: float, detect: Detect) -> None:
        """Correct x at the end of a frame; `detect` finds the contacts. Does nothing by default."""

    def state(self) -> Contacts:
        """Return the contacts kept from substep to substep, for checkpoints; empty by default."""
        return _contacts.empty()

    def restore(self, state: Contacts) -> None:
        """Set the state to one returned by `state`; does nothing by default, so that responses can be exchanged."""

    memory = renamed.state("memory", "restore(state)")
    pushed = renamed.attribute("pushed", "normal_correction")
    rubbed = renamed.attribute("rubbed", "friction_correction")
