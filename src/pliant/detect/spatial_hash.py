"""Contacts of bodies of tetrahedra by hashed cells: every vertex inside, of any two bodies or of one with itself."""

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from .. import validate
from ..contacts import Contacts
from ..door import door
from ..state import State
from .base import Finds, Side
from .brute_force import BruteForceDetector
from .consistent_depth import ConsistentDepth
from .seams import Seams
from .tet_hash import TetHash

DEPTHS = ("consistent", "nearest")


@door
class SpatialHashDetector:
    """Every vertex that is in a tetrahedron of the other body, or of its own (`other=None`), however deep it is.

    A vertex is reported once for each body that holds it, against a face of that body: the one that consistent depth
    leads out to, or with `depth="nearest"` the nearest. What is outside is not reported, whatever `within` is. `cell`
    is the size of a hash cell in metres, None for one that suits the tets. Where a side has no tets there is nothing to
    be inside of: features closer than `within` are reported as brute force does it, through lists of cells. `more`
    bodies than one are asked about together, each with itself and with all others, for the price of one. Directions of
    consistent depth turn by little from one update to the next; `memory` is what that depends on.
    """

    name: ClassVar[str] = "spatial-hash"
    finds: ClassVar[Finds] = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee: ClassVar[str] = "A"
    needs: ClassVar[str] = "tetrahedra (or any triangle meshes)"
    gives: ClassVar[str] = "vertices inside, consistent depth"
    source: ClassVar[str] = "Teschner et al. 2005, section 5"
    follows: ClassVar[bool] = True
    volume: ClassVar[bool] = True  # wants meshes with their tets, not their surfaces
    many: ClassVar[bool] = True  # can ask about any number of bodies at once

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        cell: float | None = None,
        more: Sequence[Side] = (),
        depth: str = "consistent",
        max_bytes: float | None = None,
    ) -> None:
        self.depth = validate.choice("depth", depth, DEPTHS)
        self.sides = (one, *more) if other is None else (one, other)
        self._mutual = other is not None
        self._flat: BruteForceDetector | None = None
        if more and (other is not None or not all(len(side.mesh.tets) for side in self.sides)):
            raise ValueError("more bodies are asked about together with one, all of tets; leave out other")
        if not all(len(side.mesh.tets) for side in self.sides):
            self._flat = BruteForceDetector(one, other, within=within, max_bytes=max_bytes)
            return
        validate.number("within", within, low=0.0, high=validate.LARGEST)
        self._cell = cell
        self._seams = Seams(*self.sides)
        self._sew()

    def _sew(self) -> None:
        """What follows from which vertices are one."""
        self.sides = self._seams.sides
        welded = [side.mesh.welded for side in self.sides]
        first = np.concatenate([[0], np.cumsum([mesh.n_vertices for mesh in welded])]).astype(np.int32)
        # of vertices in one place, the first stands for all
        rows = [side.first + np.unique(side.mesh.weld_index, return_index=True)[1] for side in self.sides]
        self._rows: NDArray[np.int64] = np.concatenate(rows)
        x = np.concatenate([mesh.vertices for mesh in welded])
        tets = np.concatenate([mesh.tets + k for mesh, k in zip(welded, first[:-1])])
        self._hash = TetHash(x, tets, cell=self._cell)
        self._split = int(first[1]), len(welded[0].tets)
        self._out = ConsistentDepth(self.sides)

    def update(self, state: State) -> Self:
        """Hash the vertices where they are now."""
        if self._flat is None:
            if self._seams.follow(state.x):
                memory = self._out.memory
                self._sew()
                self._out.memory = memory
            self._hash.update(state.x[self._rows])
            self._out.go_on()
        return self

    @property
    def memory(self) -> NDArray[np.float64]:
        """(k,10) what answers depend on beside positions; setting none of it forgets."""
        return np.zeros((0, 10)) if self._flat is not None else self._out.memory

    @memory.setter
    def memory(self, rows: NDArray[np.float64]) -> None:
        if self._flat is None:
            self._out.memory = rows

    def find(self, state: State) -> Contacts:
        if self._flat is not None:
            return self._flat.find(state)
        found = self._out.contacts(state.x, self.inside(), nearest=self.depth == "nearest")
        return _contacts.sort(found)

    def inside(self) -> NDArray[np.int64]:
        """(k,2) row of the vertex among all and number of the tet, those of the second side after those of the first,
        at the positions of the last update."""
        if self._flat is not None:
            raise ValueError("a side without tets holds no vertices; use find()")
        pairs = self._hash.pairs()
        if self._mutual:
            vertices, tets = self._split
            pairs = pairs[(pairs[:, 0] < vertices) != (pairs[:, 1] < tets)]
        pairs[:, 0] = self._rows[pairs[:, 0]]
        return pairs
