"""The exact reference: a uniform grid is the broad phase, and every candidate pair of features is tested."""

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...arguments import check_arguments
from ...contacts import Contacts, Pool
from ...kernels.detectors import brute_force as _kernels
from ...kernels.detectors.brute_force import CellSearch
from ...kernels.mesh.features import Segments
from ...state import State
from ..base import BaseDetector, Finds, MaxBytes, Side
from ..queries.cells import bin_boxes
from ..queries.contact_records import NO_PAIRS, PosedSide, WeldedSide, contacts_of, with_rounding_margin

if TYPE_CHECKING:
    from ..structure import Structure

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
_NOWHERE = np.zeros((0, 3))
_NOWHERE.flags.writeable = False  # as the vertices of a mesh, so that one compiled specialisation serves both
_BYTES = 400  # peak memory per contact during detection


@check_arguments
class BruteForceDetector(BaseDetector):
    """Find all pairs of features at a distance of at most `within`; `other=None` finds self-contact.

    Self-contact excludes adjacent features: those that share a vertex, or copies of one that coincide both in the rest
    pose and now. Against a closed mesh the distance is signed, and a vertex inside it is reported with its nearest face
    at any depth. Open meshes have no inside: distances are positive, the normal points from the second feature to the
    first. Self-contact is unsigned, even of a closed mesh: distances are positive, and no vertices inside are added.
    """

    name = "brute-force"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "A"
    needs = "any triangle meshes"
    gives = "distance, normal, depth (closed obstacle)"
    source = "the definition"
    obstacle_may_deform = True

    def __init__(self, one: Side, other: Side | None = None, *, within: float, max_bytes: MaxBytes = None) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.same = other is None
        self.sides = (one, one if other is None else other)
        self.max_bytes = max_bytes

    def update(self, state: State) -> Self:
        """Do nothing: this detector keeps no state between queries."""
        return self

    def find(self, state: State) -> Contacts:
        a = _pose(self.sides[0], state)
        b = a if self.same else _pose(self.sides[1], state)
        back = NO_PAIRS if self.same else self._faces(b, a)
        return contacts_of(a, b, self._faces(a, b), back, self._edges(a, b), Pool())

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from .structures.cells import structure_of_grid

        return structure_of_grid(self.sides, state.x, self.within, self.same)

    def _faces(self, a: PosedSide, b: PosedSide) -> Pairs:
        """Return (k,2) pairs of a vertex of `a` and a face of `b` that are within `self.within`."""
        mesh = b.welded.side.mesh
        if not mesh.n_faces:
            return NO_PAIRS
        corners, reach = b.x[mesh.faces], with_rounding_margin(self.within, a.x, b.x)
        cells = bin_boxes(corners.min(1) - reach, corners.max(1) + reach)
        common = (CellSearch(cells, self._rest, self.within), a.x, b.x, mesh.faces)
        start = np.zeros(len(a.x) + 1, np.int64)
        _kernels.vertex_face_pairs(*common, start, NO_PAIRS)
        start = np.cumsum(start)
        pairs = self._buffer(int(start[-1]))
        if len(pairs):
            _kernels.vertex_face_pairs(*common, start, pairs)
        return pairs

    def _edges(self, a: PosedSide, b: PosedSide) -> Pairs:
        """Return (k,2) pairs of an edge of `a` and an edge of `b` that are within `self.within`."""
        e_a, e_b = a.welded.side.mesh.topology.edges, b.welded.side.mesh.topology.edges
        if not (len(e_a) and len(e_b)):
            return NO_PAIRS
        reach, line = with_rounding_margin(self.within, a.x, b.x), b.x[e_b]
        low = line.min(1) - reach
        cells = bin_boxes(low, line.max(1) + reach)
        common = (CellSearch(cells, self._rest, self.within), Segments(a.x, e_a), Segments(b.x, e_b), low)
        start = np.zeros(len(e_a) + 1, np.int64)
        _kernels.edge_edge_pairs(*common, start, NO_PAIRS)
        start = np.cumsum(start)
        pairs = self._buffer(int(start[-1]))
        if len(pairs):
            _kernels.edge_edge_pairs(*common, start, pairs)
            pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
        return pairs

    @property
    def _rest(self) -> Floats:
        """Rest positions (n,3), which determine adjacency in self-contact; (0,3) for two meshes."""
        return self.sides[0].mesh.vertices if self.same else _NOWHERE

    def _buffer(self, count: int) -> Pairs:
        advice = "reduce the detection distance or raise max_bytes"
        validate.budget(f"{count} contacts", count * _BYTES, advice, self.max_bytes)
        return np.empty((count, 2), np.int32)


def _pose(side: Side, state: State) -> PosedSide:
    """Return a side at its current positions, welding vertices that coincide both there and in the rest pose."""
    x = state.x[side.rows]
    return PosedSide(WeldedSide.of(side._replace(mesh=side.mesh.welded_at(x))), x)
