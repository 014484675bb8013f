"""Step size by events: a substep ends at the first time of impact of its predicted motion (Teschner et al. 2005,
section 2.5)."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..detect.detectors.continuous import ContinuousDetector
from ..detect.detectors.offset import OffsetDetector
from ..detect.methods import METHODS
from ..detect.options import parse_method
from ..dynamics import DeformableDynamics
from ..state import State
from .kinematics import MOST_PARTS, MOST_SUBSTEPS, Kinematics, Target

if TYPE_CHECKING:
    from ..scene import Scene

STEPPING = ("fixed", "events")


def stepping_reasons(scene: "Scene | None", method: str | None, self_method: str | None = None) -> dict[str, str]:
    """Return for every kind of stepping why it cannot be used with methods of detection (None: the default) in a scene,
    or in any (None); empty if it can."""
    with_obstacles, among = (one is not None and METHODS[parse_method(one).name].swept for one in (method, self_method))
    if not (with_obstacles or among):
        why = "needs times of impact, which only the method continuous gives"
    elif scene is not None and not (with_obstacles and scene.deformable and scene.obstacles) and not among:
        why = "needs times of impact, but the scene has no obstacle; choose continuous for self-contact"
    else:
        why = ""
    return dict.fromkeys(STEPPING, "") | {"events": why}


class EventSteps:
    """Divides substeps at the events of the detectors, which are `ContinuousDetector`s.

    The times of events are rounded down to a fraction of the substep whose denominator is a power of two, at most
    `MOST_PARTS`, and parts last powers of two of it: the systems of the solvers, which depend on the duration, are
    computed once for each. `count` is the number of events so far.
    """

    def __init__(self, detectors: Sequence[Any], dynamics: DeformableDynamics, kinematics: Kinematics) -> None:
        inner = [each.detector if isinstance(each, OffsetDetector) else each for each in detectors]
        self._detectors = [each for each in inner if isinstance(each, ContinuousDetector)]
        if not self._detectors:
            raise ValueError(
                "stepping='events' needs times of impact; use method='continuous' in a scene with obstacles, or "
                "self_method='continuous'"
            )
        self._dynamics, self._kinematics = dynamics, kinematics
        self.count = 0

    def parts(self, state: State, target: Target, dt: float, substeps: int) -> Iterator[tuple[Target, float]]:
        """Yield the target and the duration of each part of a substep of dt with the target at its end; the state has
        to be advanced by a part before the next is requested. `substeps`: of the frame, whose parts are at most
        `MOST_SUBSTEPS`, or as many."""
        ticks = 1
        while ticks < MOST_PARTS and 2 * ticks * substeps <= MOST_SUBSTEPS:
            ticks *= 2
        done = 0
        while done < ticks:
            left = ticks - done
            size = _power_of_two(left)
            if left > 1:
                free = self._free(state, dt * (left / ticks))
                if free < 1.0:
                    self.count += 1
                    size = _power_of_two(max(int(free * left), 1))
            if size == ticks:
                yield target, dt
                return
            part = dt * (size / ticks)
            yield self._kinematics.targets(state.time, part, 1)[0], part
            done += size
        state.time = target.time  # without the rounding of the sum of its parts

    def _free(self, state: State, dt: float) -> float:
        """Return the fraction of the predicted motion in dt that is free of contact: without internal forces, on
        straight lines."""
        ahead = state.copy()
        self._dynamics.predict(ahead, dt)
        self._kinematics.move(ahead, self._kinematics.targets(state.time, dt, 1)[0], dt)
        return min(detector.update(ahead).collision_free_step() for detector in self._detectors)


def _power_of_two(most: int) -> int:
    """Return the largest power of two that is at most `most`."""
    return 1 << (most.bit_length() - 1)
