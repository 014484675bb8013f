"""What every response is: told of a small step's contacts, it moves x, and then corrects v."""

from collections.abc import Callable
from typing import ClassVar

from .. import contacts as _contacts
from ..contacts import Contacts
from ..state import State

Look = Callable[[State], Contacts]


class Response:
    """`hold`, `begin`, `apply` and `finish` are called in this order in every small step, `show` once a frame.

    look: finds the contacts of a state, for responses that ask again after they have moved things. remained: how many
    pairs were still too near when such a response gave up. between: whether it keeps two soft things apart. shows:
    whether `show` does anything. strict: whether what it leaves inside a body is set out at once
    before a frame is shown.
    """

    between: ClassVar[bool] = True
    shows: ClassVar[bool] = False
    strict: ClassVar[bool] = False
    look: Look | None = None
    remained: int = 0

    def hold(self, state: State, dt: float) -> None:
        """Forces have moved x, nothing else has: nothing is held."""

    def begin(self, contacts: Contacts, state: State) -> None:
        """A new small step, whose velocities are those before impact."""
        raise NotImplementedError

    def apply(self, contacts: Contacts, state: State, dt: float) -> None:
        """Move x."""
        raise NotImplementedError

    def finish(self, contacts: Contacts, state: State, dt: float) -> None:
        """Correct v, which is by now what x went in the small step."""
        raise NotImplementedError

    def show(self, state: State, dt: float, look: Look | None = None) -> None:
        """The last word before a frame is shown; `look` instead of this response's own."""

    @property
    def memory(self) -> Contacts:
        """What is remembered from step to step: nothing."""
        return _contacts.empty()

    @memory.setter
    def memory(self, tags: Contacts) -> None:
        pass
