"""Contacts with an offset surface of an obstacle, for outer garments that are worn over inner ones."""

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ... import renamed
from ...contacts import Contacts
from ...state import State
from ..base import BaseDetector, Finds, InsideQuery, with_defaults

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]


class OffsetDetector(BaseDetector):
    """Wrap a detector and offset the surface of its contacts by `layer_offset` metres along each normal.

    The detection distance of the wrapped detector must be larger by `layer_offset`. Everything else that a detector
    states about itself is that of the wrapped one.
    """

    name = "offset"
    finds = Finds.OBSTACLE
    needs = "a detector"
    gives = "what the wrapped detector gives"

    def __init__(self, detector: Any, layer_offset: float) -> None:
        self.detector, self.layer_offset = detector, layer_offset
        inner = self._inner = with_defaults(detector)
        self.guarantee, self.obstacle_may_deform = detector.guarantee, inner.obstacle_may_deform
        self.reports, self.remembers = inner.reports, inner.remembers
        self.signed_if_open, self.finds_deep, self.swept = inner.signed_if_open, inner.finds_deep, inner.swept
        self.views, self.field = inner.views, inner.field
        self.volume, self.many, self.needs_closed = inner.volume, inner.many, inner.needs_closed

    lift = renamed.attribute("lift", "layer_offset")

    def ignore(self, which: NDArray[np.bool_] | None) -> None:
        self._inner.ignore(which)

    def update(self, state: State) -> Self:
        self.detector.update(state)
        return self

    def find(self, state: State) -> Contacts:
        return offset(self.detector.find(state), self.layer_offset)

    @property
    def bounds(self) -> tuple[float, float]:
        return self._inner.bounds

    def bound_at(self, distance: Floats) -> Floats:
        return self._inner.bound_at(distance)

    @property
    def remark(self) -> str:
        return self._inner.remark

    def covers(self, distance: Floats) -> NDArray[np.bool_]:
        return self._inner.covers(distance)

    @property
    def estimated_recall(self) -> float:
        return self._inner.estimated_recall

    @property
    def inside_query(self) -> InsideQuery | None:
        return self._inner.inside_query

    def box_corners(self) -> Floats | None:
        return self._inner.box_corners()

    def structure(self, state: State, level: int | None = None) -> "Structure | None":
        return self._inner.structure(state, level)

    def state(self) -> Floats:
        return self._inner.state()

    def restore(self, state: Floats) -> None:
        self._inner.restore(state)

    def reset(self) -> None:
        self._inner.reset()


def offset(contacts: Contacts, by: float) -> Contacts:
    """Return the contacts with the surface offset by `by` metres along each normal."""
    found = cast("Contacts", np.array(contacts))
    found["anchor"] += by * found["normal"]
    found["distance"] -= by
    return found
