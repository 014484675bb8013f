"""Attempts: a frame that ends with exposed crossings is computed again in other ways, and the best result is kept.

Where limbs close on cloth and part again, it depends on little whether cloth comes out in the crease or is caught: on
how finely the motion is divided, and on where surfaces yield. A frame that goes wrong therefore mostly goes right if it
is computed in another way, from the same start. It is given out only when that is done.
"""

from typing import TYPE_CHECKING, NamedTuple

from ..contacts import Contacts
from ..detect.base import with_defaults
from .clearing import LONG
from .guard import Guard
from .guard.exposed import Exposed
from .moment import Moment

if TYPE_CHECKING:
    from .step import Simulation

MANY = 8  # exposed crossings: frames that begin with more are not computed again


class Way(NamedTuple):
    """How a frame is computed: in how many parts, each of which the guard begins like a frame and ends with clearing,
    and whether skins yield in it."""

    parts: int = 1
    yields: bool = True


PLAIN = Way()
OTHERS = Way(1, False), Way(2, False), Way(2), Way(4), Way(4, False)  # in the order in which they are tried


class Outcome(NamedTuple):
    """What a frame has found: the contacts of its last substep, pairs that an iterative response left too near, the
    vertices without room, the number of substeps, whether skins yielded, and the exposed crossings that are left,
    None where these are not searched for."""

    contacts: Contacts
    unresolved: int
    no_room: int
    substeps: int
    yielded: bool
    left: Exposed | None


class Attempts:
    """Computes the frames of a simulation."""

    def __init__(self, sim: "Simulation") -> None:
        self._sim = sim
        guard = sim.self_contact
        alone = not any(with_defaults(one).remembers for one in sim.detectors) and sim.stepping == "fixed"
        self._guard = guard if isinstance(guard, Guard) and sim.clears and alone else None
        self._start: Moment | None = None

    def best(self, *, divided: bool) -> tuple[Outcome, int]:
        """Advance by a frame, in the way that leaves the shortest exposed crossings; return what it has found, and the
        number of ways that were tried."""
        sim, guard = self._sim, self._guard
        if guard is None or not guard.may_cross:
            return sim.advance(PLAIN, divided=divided), 1
        if self._start is None:
            self._start = Moment(sim)
        self._start.take()
        best = sim.advance(PLAIN, divided=divided)
        if not _length(best) or len(guard.exposed(self._start.state.x).cloth) > MANY:
            return best, 1
        end, is_best, tried = Moment(sim), True, 1
        longest, lost = max(sim.dynamics.longest(sim.state), LONG), sim.dynamics.lost
        for way in OTHERS:
            if way == PLAIN._replace(yields=False) and not best.yielded:
                continue
            self._start.restore()
            found, tried = sim.advance(way, divided=divided), tried + 1
            is_best = (
                _length(found) < _length(best)
                and sim.dynamics.longest(sim.state) <= longest
                and sim.dynamics.lost <= lost
            )
            if is_best:
                best = found
                if not _length(best):
                    break
                end.take()
        if not is_best:
            end.restore()
        return best, tried


def _length(outcome: Outcome) -> float:
    return 0.0 if outcome.left is None else outcome.left.length
