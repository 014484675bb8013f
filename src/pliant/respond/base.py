"""Interface of the collision responses: given the contacts of a substep, move x, then correct v."""

from collections.abc import Callable
from typing import ClassVar

from .. import contacts as _contacts
from ..contacts import Contacts
from ..state import State

Look = Callable[[State], Contacts]


class Response:
    """`hold`, `begin`, `apply` and `finish` are called in this order in every substep, `show` once per frame.

    look: detection function, for iterative responses that detect again after moving vertices. remained: number of pairs
    that were still too near when such a response stopped. between: whether it works between two deformable bodies.
    shows: whether `show` does anything. strict: whether the final projection moves vertices that it leaves inside a
    body out before a frame is returned.
    """

    between: ClassVar[bool] = True
    shows: ClassVar[bool] = False
    strict: ClassVar[bool] = False
    look: Look | None = None
    unresolved: int = 0

    def hold(self, state: State, dt: float) -> None:
        """Hook after the prediction of x, before constraints; does nothing by default."""

    def begin(self, contacts: Contacts, state: State) -> None:
        """Begin a substep; state.v are the velocities before impact."""
        raise NotImplementedError

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Move x according to the contacts."""
        raise NotImplementedError

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v, which has been recomputed from the displacement of the substep."""
        raise NotImplementedError

    def show(self, state: State, dt: float, look: Look | None = None) -> None:
        """Correct x at the end of a frame; `look` replaces this response's detection function."""

    @property
    def memory(self) -> Contacts:
        """Contacts kept from substep to substep; empty by default."""
        return _contacts.empty()

    @memory.setter
    def memory(self, tags: Contacts) -> None:
        pass
