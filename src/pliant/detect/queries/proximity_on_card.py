"""Proximity queries on a graphics card: the pairs of `NearPairs`, in the same order, for positions that live there."""

from typing import Any, NamedTuple

import numpy as np

from ... import arrays
from ...kernels import device as _device
from ..bvh.boxes_on_card import BoxesOnCard
from ..bvh.leaf_mesh import LeafMesh
from .overlaps_on_card import Overlaps
from .proximity import NearPairs
from .workspace_on_card import Workspace


class PairsOnCard(NamedTuple):
    """Arrays (k,2) i4 on the card, sorted: vertices of a and faces of b, vertices of b and faces of a, edges. Within
    one mesh the first has both directions."""

    vertex_face: Any
    face_vertex: Any
    edges: Any


class LeafMeshOnCard:
    """A `LeafMesh` that was copied to the card, with a BVH that is refitted there."""

    def __init__(self, mesh: LeafMesh) -> None:
        self.mesh = mesh
        self._records = _device.upload(mesh.records)
        self.boxes = BoxesOnCard(mesh.tree, self._records)
        self.x: Any = None
        self.rows = _device.empty((len(mesh.x), 4))  # the same positions, one more number in each row

    def move(self, x: Any) -> None:
        """Take positions (n,3) on the card, which must not change until the next query is done."""
        from ...kernels.gpu import near_pairs as kernels

        self.x = x
        _device.launch(kernels.copy_points, len(x), x, self.rows)
        self.boxes.fit(x)

    @property
    def side(self) -> Any:
        from ...kernels.gpu.near_pairs import CardSide

        return CardSide(self.rows, self._records, *self.boxes.at)


class NearPairsOnCard:
    """`NearPairs` of two leaf meshes on the card, or of one with itself (`b=None`)."""

    def __init__(self, a: LeafMeshOnCard, b: LeafMeshOnCard | None = None, *, max_bytes: float | None = None) -> None:
        self.a, self.same = a, b is None
        self.b = a if b is None else b
        n_a, n_b = len(a.mesh.x), len(self.b.mesh.x)
        # as in `NearPairs.ordered`: where the vertices of a, the edges, and the vertices of b begin
        self._base = np.array([0, n_a, 0] if self.same else [0, n_a + n_b, n_a])
        self._buckets = int(self._base.max()) + len(a.mesh.top.edges)
        self._base_there = _device.upload(self._base)
        self._overlaps = Overlaps(len(a.mesh.leaves.face), same=self.same, max_bytes=max_bytes)
        self.workspace = Workspace()

    @classmethod
    def of(cls, near: NearPairs) -> "NearPairsOnCard":
        """The queries of leaf meshes on the host."""
        a = LeafMeshOnCard(near.a)
        return cls(a, None if near.same else LeafMeshOnCard(near.b), max_bytes=near.max_bytes)

    def within(self, distance: float) -> PairsOnCard:
        """Return the pairs that `NearPairs.within` returns; they are valid until the next query."""
        from ...kernels.gpu import near_pairs as kernels

        work = self.workspace
        a, b = self.a.side, self.b.side
        query = kernels.NearQuery(self.same, distance, self._base_there)
        count, overlaps = self._overlaps.listed(a, b, distance), self._overlaps
        listed = kernels.Listed(overlaps.pairs, count, work.take("near", count, np.int16))
        sizes = work.zeros("sizes", self._buckets, np.int32)
        _device.launch(kernels.test_pairs, count, a, b, query, listed, sizes)
        start = _device.exclusive_sums(sizes)
        ends = [len(self.a.mesh.x), int(self._base[1]), self._buckets]
        one, two, total = (int(start[end : end + 1].copy_to_host()[0]) for end in ends)
        overlaps.budget(total, f"{total} contacts")
        pairs, filled = work.take("pairs", total, np.int32, 2), work.zeros("filled", self._buckets, np.int32)
        if total:
            _device.launch(kernels.write_pairs, count, a, b, query, listed, start, filled, pairs)
            _device.launch(kernels.sort_buckets, self._buckets, start, pairs)
        ranges = (0, one), (one, two), (two, total)
        return PairsOnCard(*(_device.part(pairs, first, last) for first, last in ranges))


def positions(name: str, x: Any, n: int) -> Any:
    """Return a checked view of positions (n,3) on the card."""
    return arrays.floats(name, x, (n, 3))
