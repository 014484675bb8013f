"""Continuous collision queries: the pairs of features of moving leaf meshes that touch during a step, and when."""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.bvh import fit as _fit
from ...kernels.detectors import continuous as _kernels
from ...kernels.detectors.continuous import HitBuffer, ImpactQuery, MovingSide, SweptGeometry
from ..bvh.leaf_mesh import LeafMesh, parts_of
from ..bvh.tree_options import TreeOptions

if TYPE_CHECKING:
    from ..bvh.blended_body import BlendedBody
    from .tree_pairs import TreePairs

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
SOLVERS = {"conservative": _kernels.ALL, "cubic": _kernels.ALL_BY_CUBIC}
# relative to the largest coordinate: twice the rounding error of x_0 + t (x_1 - x_0)
SLACK = 2.0**-50
_BYTES = 400  # peak memory per contact during detection
_ROOM = 4096  # initial size of the buffer for pairs
FAST = TreeOptions()


class Hits(NamedTuple):
    """Pairs that touch during the step, sorted by kind and features."""

    pairs: Rows  # (k,3) kind (see kernels/kinds.py) and the two features
    time: Floats  # (k,) time of impact, 0..1


class Moving:
    """A `LeafMesh` in motion, with its own BVH of swept AABBs, and with the velocities below each node if
    `velocity_cones`."""

    def __init__(self, leaf_mesh: LeafMesh, velocity_cones: bool = False) -> None:
        leaves, tree = leaf_mesh.leaves, leaf_mesh.tree
        self.leaf_mesh, self.leaves = leaf_mesh, leaves
        self.tree = tree._replace(nodes=tree.nodes.copy(), items=tree.items.copy())
        m, k, n = len(leaves.face), len(leaves.edge), len(leaves.vertex)
        shapes = (m, 18), (k, 12), (k, 6), (n, 6), (n, 6), (len(tree.nodes) if velocity_cones else 0, 12)
        self.at = SweptGeometry(self.tree.nodes, self.tree.items, *(np.empty(shape) for shape in shapes))

    def move(self, x_0: Floats, x_1: Floats) -> None:
        """Refit the swept AABBs to the linear motion from x_0 to x_1 (n,3)."""
        self.x_0, self.x_1 = x_0, x_1
        _kernels.update_motion(self.leaves, validate.read_only(x_0), validate.read_only(x_1), self.at)
        _fit.refit_boxes(self.tree)
        if len(self.at.node_motion):
            _kernels.fit_node_motion(self.at.nodes, self.at.faces, self.at.node_motion)

    def motion_of_leaves(self, which: Rows) -> Floats:
        """Return the rows (k,12) of `SweptGeometry.node_motion` of the leaves of triangles `which` (k,)."""
        at = self.leaf_mesh.self_traversal_start[which] - 1 if len(self.at.node_motion) else which[:0]
        return self.at.node_motion[at]

    @property
    def farthest(self) -> float:
        """The largest absolute coordinate during the motion."""
        nodes = self.tree.nodes
        return float(np.abs(nodes["bounds"][0]).max()) if len(nodes) else 0.0


class CollisionQuery:
    """CCD queries between two moving leaf meshes; `b=None` queries a against itself, excluding adjacent features."""

    def __init__(
        self,
        a: Moving,
        b: Moving | None = None,
        *,
        max_bytes: float | None = None,
        tree: TreeOptions = FAST,
        within: float = 0.0,
        velocity_cones: bool = False,
        blended: "BlendedBody | None" = None,
    ) -> None:
        """tree: of the BVHs of swept volumes; within: the default margin of their lazy update, metres; velocity_cones:
        skip nodes that do not approach, for sides that are `Moving` with them; blended: the BVH of the second side,
        for the update "blend"."""
        self.velocity_cones = velocity_cones
        self.tested = 0  # pairs of triangles that the last query tested
        self.a, self.same = a, b is None
        self.b = a if b is None else b
        self.max_bytes = max_bytes
        self._begin = (
            a.leaf_mesh.self_traversal_start if self.same else np.zeros(len(a.leaf_mesh.leaves.face), np.int32)
        )
        self._parts = parts_of(len(self._begin))
        self._capacity = _ROOM // self._parts
        meshes = [side.leaf_mesh for side in self.sides]
        self.broad_phase = None if tree.fast else _tree_pairs(meshes, tree, within, max_bytes, blended)

    @property
    def sides(self) -> list[Moving]:
        return [self.a] if self.same else [self.a, self.b]

    def moved(self, sample: Floats | None = None) -> None:
        """Update the BVHs of swept volumes to the motions of the leaf meshes, which end at a sample of the motion of
        the second one."""
        if self.broad_phase is not None:
            self.broad_phase.move(*((side.x_0, side.x_1) for side in self.sides), sample=sample)

    def least(self, tolerance: float) -> float:
        """Return the earliest time of impact, or inf if there is no contact."""
        return float(self._sweep(_kernels.LEAST, tolerance, 0)[2].min())

    def all(self, tolerance: float, solver: str) -> Hits:
        """Return every pair that touches, with its time of impact."""
        while True:
            hits, counts, _ = self._sweep(SOLVERS[solver], tolerance, self._capacity)
            enough = counts.max() <= self._capacity
            if not enough or self.max_bytes is not None:
                what, advice = f"{counts.sum()} contacts", "take a shorter step or raise max_bytes"
                validate.budget(what, int(counts.sum()) * _BYTES, advice, self.max_bytes)
            if enough:
                break
            # the counts are complete even if the buffer overflowed: allocate enough and repeat
            self._capacity = int(counts.max() * 1.25) + 1
        taken = np.arange(self._capacity) < counts[:, None]
        pairs, time = hits.pairs[taken], hits.times[taken]
        order = np.lexsort(pairs.T[::-1])
        return Hits(pairs[order], time[order])

    def _sweep(self, mode: int, tolerance: float, capacity: int) -> tuple[HitBuffer, NDArray[np.int64], Floats]:
        a, b, parts = self.a, self.b, self._parts
        hits = HitBuffer(np.empty((parts, capacity, 3), np.int32), np.empty((parts, capacity)))
        counts, least = np.zeros(parts, np.int64), np.full(parts, math.inf)
        tested = np.zeros(parts, np.int64)
        slack = SLACK * max(a.farthest, b.farthest)
        query = ImpactQuery(self.same, mode, tolerance, slack, self.velocity_cones)
        at_b, begin = b.at, self._begin
        if self.broad_phase is not None:
            nodes, begin = self.broad_phase.leaves(self._reach(query), at_b.boxes, begin)
            at_b = at_b._replace(nodes=nodes, node_motion=b.motion_of_leaves(nodes["first"]))
        sides = MovingSide(a.leaves, a.at), MovingSide(b.leaves, at_b)
        _kernels.sweep(*sides, query, begin, hits, counts, least, tested)
        self.tested = int(tested.sum())
        return hits, counts, least

    def _reach(self, query: ImpactQuery) -> float:
        """A distance beyond which no pair of triangles counts as contact, by tolerance or rounding."""
        extents = (np.max(side.at.boxes[:, 3:] - side.at.boxes[:, :3], initial=0.0) for side in (self.a, self.b))
        return 2.0 * float(sum(extents)) * _kernels.gap_of(query.tolerance) + 4.0 * query.slack


def _tree_pairs(
    sides: list[LeafMesh], tree: TreeOptions, within: float, max_bytes: float | None, blended: "BlendedBody | None"
) -> "TreePairs":
    from .tree_pairs import TreePairs

    return TreePairs(sides, tree, within, max_bytes, blended)
