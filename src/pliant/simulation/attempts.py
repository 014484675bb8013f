"""Attempts: a frame that ends with exposed crossings is computed again in other ways, and the best result is kept.

Where limbs close on cloth and part again, it depends on little whether cloth comes out in the crease or is caught: on
how finely the motion is divided, and on where surfaces yield. A frame that goes wrong therefore mostly goes right if it
is computed in another way, from the same start. It is given out only when that is done.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ..contacts import Contacts
from ..detect.base import with_defaults
from .clearing import LONG, Clearing
from .guard import Guard
from .guard.exposed import Exposed
from .moment import Moment

if TYPE_CHECKING:
    from .step import Simulation

GAIN = 0.5  # largest ratio of the length of all exposed crossings in another way and in the plain one
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
    """How the frames of a simulation are computed; its `clearing` tells the exposed crossings that they leave."""

    def __init__(self, sim: "Simulation", clearing: Clearing | None) -> None:
        guard = sim.self_contact
        repeats = sim.stepping == "fixed" and not any(with_defaults(one).remembers for one in sim.detectors)
        self._guard = guard if isinstance(guard, Guard) and clearing is not None and repeats else None
        self._start: Moment | None = None

    def best(self, sim: "Simulation", advance: Callable[[Way], Outcome]) -> tuple[Outcome, int]:
        """Let `advance` compute a frame, in the way that leaves the shortest exposed crossings; return what that has
        found, and the number of ways that were tried."""
        guard = self._guard
        if guard is None or not guard.may_cross:
            return advance(PLAIN), 1
        if self._start is None:
            self._start = Moment(sim)
        start = self._start
        start.take(sim)
        best = advance(PLAIN)
        if not _length(best) or len(guard.exposed(start.state.x).cloth) > MANY:
            return best, 1
        end, is_best, tried = Moment(sim), True, 1
        least, longest, lost = GAIN * _length(best), max(sim.dynamics.longest(sim.state), LONG), sim.dynamics.lost
        for way in _others(may_yield=sim.kinematics.may_yield, yielded=best.yielded):
            start.restore(sim)
            found, tried = advance(way), tried + 1
            is_sound = sim.dynamics.longest(sim.state) <= longest and sim.dynamics.lost <= lost
            is_best = is_sound and _length(found) <= least and _length(found) < _length(best)
            if is_best:
                best = found
                if not _length(best):
                    break
                end.take(sim)
        if not is_best:
            end.restore(sim)
        return best, tried


def _others(*, may_yield: bool, yielded: bool) -> list[Way]:
    """Return the other ways to compute a frame in which skins have `yielded` or not, if they `may_yield` at all."""
    if not may_yield:
        return [way for way in OTHERS if way.yields]
    return [way for way in OTHERS if yielded or way.parts > 1 or way.yields]


def _length(outcome: Outcome) -> float:
    return 0.0 if outcome.left is None else outcome.left.length
