"""Contacts by trees of boxes that follow everything that moves: exact, of any two meshes or of one with itself."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...contacts import Contacts
from ...kernels import proximity as _proximity
from ...kernels import records as _records
from ...state import State
from ..base import Finds, Side
from ..features import Part, Pose, contacts_of, reach_of
from .cover import Cover

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
_BYTES = 260  # memory a contact takes while it is found
_EACH = 8  # pairs for each triangle that there is room for at first


class TreeDetector:
    """All pairs of features closer than `within`; `other=None` asks for self-contact, neighbours left out.

    Against a closed mesh the distance is signed, and a vertex inside it is reported with its nearest face however
    deep it is. Open meshes have no inside: distances are positive, the normal points from the other to this one.
    `cull` passes over patches of one mesh that are proved to be free of contact with themselves; the contacts are the
    same without it.
    """

    name: ClassVar[str] = "tree"
    finds: ClassVar[Finds] = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee: ClassVar[str] = "A"
    needs: ClassVar[str] = "any triangle meshes"
    gives: ClassVar[str] = "distance, normal, depth (closed obstacle)"
    source: ClassVar[str] = "Teschner et al. 2005, section 2"
    follows: ClassVar[bool] = True

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        cull: bool = True,
        max_bytes: float | None = None,
        **tree: Any,
    ) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.max_bytes, self.same = max_bytes, other is None
        self.one = Part.of(one)
        self.other = self.one if other is None else Part.of(other)
        self.a = Cover(one.mesh, **tree)
        self.b = self.a if other is None else Cover(other.mesh, apart=one.mesh.n_vertices, **tree)
        self._begin = self.a.behind if self.same else np.zeros(len(self.a.skin.face), np.int32)
        self._room = _EACH * max(len(self._begin), len(self.b.skin.face)) // _proximity.PARTS + 64

    def update(self, state: State) -> Self:
        """Follow the positions."""
        self.a.move(state.x[self.one.side.rows])
        if not self.same:
            self.b.move(state.x[self.other.side.rows])
        return self

    def find(self, state: State) -> Contacts:
        a = Pose(self.one, self.a.x)
        b = a if self.same else Pose(self.other, self.b.x)
        return contacts_of(a, b, *self._pairs())

    def _pairs(self) -> tuple[Ints, Ints, Ints]:
        """Pairs (k,2) within reach, sorted: vertices of a and faces of b, vertices of b and faces of a, edges.

        Of one mesh with itself the first holds both ways.
        """
        a, b, parts = self.a, self.b, _proximity.PARTS
        reach = reach_of(self.within, a.x, b.x)
        counts = np.zeros(parts, np.int64)
        while True:
            found = np.empty((parts, self._room, 3), np.int32)
            _proximity.near_pairs(a.skin, a.at, b.skin, b.at, self.same, self._begin, reach, self.within, found, counts)
            if counts.max() < self._room:
                break
            # counted, not cut off: there is room for all of them the next time
            self._room = int(counts.max() * 1.25) + 1
            advice = "ask for a smaller distance or raise max_bytes"
            validate.budget(f"{counts.sum()} contacts", int(counts.sum()) * _BYTES, advice, self.max_bytes)
        n_a, n_b = a.mesh.n_vertices, b.mesh.n_vertices
        base = np.array([0, n_a, 0] if self.same else [0, n_a + n_b, n_a])
        start = np.zeros(base.max() + len(a.mesh.topology.edges) + 2, np.int64)
        pairs = np.empty((int(counts.sum()), 2), np.int32)
        _records.sort_in(found, counts, base, start, pairs)
        _records.sort_buckets(start, pairs)
        one, two = int(start[n_a]), int(start[base[1]])
        return pairs[:one], pairs[one:two], pairs[two:]
