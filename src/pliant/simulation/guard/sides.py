"""Sides: the surface of a body that each vertex of cloth lies on.

Cloth that limbs close on, or that is inside of a body, belongs to the surface on which it lay when it had room, not to
the nearest one: a forearm that sinks into a chest does not take the cloth on the chest along, nor lets it out on its
other side.
"""

import functools

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...kernels.simulation import sides as _kernels
from ...kernels.simulation.no_room import FacesAround
from ...state import State

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
KEPT = 4.0  # times eps: distance up to which a vertex stays on its side, although another surface is nearer


class Sides:
    """Updates `State.side`: per vertex of cloth, a row of `around.faces`, or -1.

    A vertex gets a side from a contact with a face, outside of the body; contacts of methods that report no faces, such
    as distance fields, leave it at -1.
    """

    def __init__(self, around: FacesAround, eps: float) -> None:
        self._around, self._eps = around, eps

    def valid(self, side: Rows) -> Rows:
        """Return the sides (k,) that are faces of the bodies, -1 for others: a file may hold anything."""
        return np.where((side >= 0) & (side < len(self._around.faces)), side, np.int32(-1)).astype(np.int32)

    @functools.cached_property
    def shells(self) -> Rows:
        """The connected part of the bodies' faces (n,) that each vertex of the scene belongs to."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        faces, n = self._around.faces, len(self._around.first) - 1
        links = coo_array((np.ones(2 * len(faces), np.int8), (np.tile(faces[:, 0], 2), faces[:, 1:].T.ravel())), (n, n))
        return np.asarray(connected_components(links, directed=False)[1], np.int32)

    def shells_of(self, side: Rows) -> Rows:
        """Return the parts (k,), see `shells`, that sides (k,) are on; -1 for none."""
        side = self.valid(side)
        if not len(self._around.faces):
            return side
        return np.where(side >= 0, self.shells[self._around.faces[side, 0]], np.int32(-1))

    def remember(self, found: Contacts, state: State) -> None:
        """Let vertices outside of bodies lie on the surfaces that they touch, as of the contacts `found`."""
        if len(self._around.faces) and (found["kind"] == _contacts.VERTEX_FACE).any():
            before, state.side = state.side.astype(np.int32, copy=False), np.empty(len(state.side), np.int32)
            place = state.x, KEPT * self._eps
            _kernels.remember(np.ascontiguousarray(found), self._around, *place, before, state.side)

    def nearest(self, points: Floats, side: Rows, x: Floats) -> tuple[Rows, Floats]:
        """Return the corners (k,3) of the faces nearest to points (k,3) on their sides (k,), which are updated, and
        weights (k,3)."""
        weights = np.empty((len(side), 3))
        _kernels.follow_sides(points, self._around, x, side, weights)
        return self._around.faces[side], weights
