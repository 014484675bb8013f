"""Contacts of cloth with obstacles as springs of the implicit step, with Coulomb friction."""

import numpy as np
from numpy.typing import NDArray

from ..contacts import Contacts
from ..kernels.dynamics import contact_springs as _kernels
from ..kernels.dynamics.contact_springs import LastSubstep, Repulsion
from ..kernels.respond.projection import Substep

Floats = NDArray[np.float64]
SOFT = 0.1  # fraction of the offset by which springs can be compressed before contacts are projected
GROWTH = 4.0  # largest ratio by which sliding is expected to grow from one substep to the next


class ContactSprings:
    """The springs of one solve: those of the contacts last given to `collect`, for the vertices of n rows."""

    def __init__(self, n: int) -> None:
        self.count = self.touched = 0  # springs, and vertices that have any
        self._n, self.arrays = n, _arrays(0, n)

    @property
    def rows(self) -> NDArray[np.int32]:
        """The vertices that have springs."""
        return self.arrays.rows[: self.touched]

    def collect(
        self, contacts: Contacts, substep: Substep, last: LastSubstep, first: int, repulsion: Repulsion
    ) -> None:
        """Make the springs of contacts (c,) with obstacles of the vertices from row `first` of the scene on; see the
        kernel `collect_springs`."""
        if len(contacts) > len(self.arrays.levels):
            self.arrays = _arrays(2 * len(contacts), self._n)
        self.count, self.touched = _kernels.collect_springs(contacts, substep, last, first, repulsion, self.arrays)

    def store_slides(self, x: Floats, still: float, slid: Floats, pressed: Floats) -> None:
        """Store how far each vertex is expected to slide in the next substep along the surfaces that it touches, and by
        how much its springs are compressed, for friction; see the kernel."""
        _kernels.store_slides(self.arrays, self.count, x, still, GROWTH, slid, pressed)


def _arrays(c: int, n: int) -> _kernels.SpringArrays:
    """Make the arrays for c contacts of n vertices."""
    return _kernels.SpringArrays(
        vertices=np.zeros((c, 4), np.int32),
        weights=np.zeros((c, 4)),
        normals=np.zeros((c, 3)),
        origins=np.zeros((c, 3)),
        levels=np.zeros(c),
        stiffness=np.zeros((c, 2)),
        beside=np.zeros(4 * c, np.int32),
        start=np.zeros(n + 1, np.int64),
        rows=np.zeros(n, np.int32),
        place=np.full(n, -1, np.int32),
        axes=np.zeros((n, 3)),
        totals=np.zeros((n, 2)),
        factors=np.zeros((n, 6)),
        held=np.zeros((n, 6)),
        slides=np.zeros(n),
        supports=np.zeros(n),
    )
