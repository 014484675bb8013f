"""Self-collision culling: patches of a mesh that provably do not touch themselves."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...kernels.bvh import cones as _kernels
from ...kernels.bvh.cones import MARGIN, Patches, PatchMotion
from ...kernels.jit import worth
from ...mesh.topology import triangles_across_edges
from .leaf_mesh import LeafMesh

if TYPE_CHECKING:
    from ...kernels.bvh.motion import MotionBvh

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
FEWEST = 16  # fewest triangles of a patch that is tested; 8 to 32 perform about as well
_WORTH_THREADS = 4096  # triangles
_NO_DRIFT = np.zeros((0, 3)), np.zeros((0, 6))
SLACK = 1e-8  # of the distance of a proof, which is repeated for others that differ by their rounding margin
_SIZES = 1e-100, 1e100  # sizes of a mesh in metres between which squared lengths neither under- nor overflow


class Cones:
    """Culls patches without self-contact by normal cones and contour tests.

    A patch is the set of triangles below a node of the leaf mesh's BVH, at least `fewest`. The criterion and its proof
    are in the kernel's docstring and in docs/trees/cones.md.
    """

    def __init__(self, leaf_mesh: LeafMesh, *, fewest: int = FEWEST) -> None:
        self.leaf_mesh, self.fewest = leaf_mesh, fewest
        leaves, nodes = leaf_mesh.leaves, leaf_mesh.tree.nodes
        _, first, inverse = np.unique(leaves.welded, return_index=True, return_inverse=True)
        number: Ints = inverse.reshape(-1, 3).astype(np.int32)
        twin = leaves.corners.ravel()[first][number].reshape(-1, 3)
        start = np.zeros(len(nodes) + 1, np.int64)
        known = number, twin, triangles_across_edges(number), fewest, start
        _kernels.contours(nodes, *known, np.empty(0, np.int32))  # counts their vertices only
        np.cumsum(start, out=start)
        rows = np.empty(start[-1], np.int32)
        if len(rows):
            _kernels.contours(nodes, *known, rows)
        copies = bool((twin != leaves.corners).any())
        room = np.zeros((9, len(number))), np.zeros((len(rows), 4)), np.empty((len(nodes), 3))
        self.patches = Patches(start, rows, twin if copies else twin[:0], *room)
        self._self_traversal_start = leaf_mesh.self_traversal_start
        self._begin = self._self_traversal_start.copy()
        self._proof = -1, 0.0  # the fit of the leaf mesh that the last proof is for, and its distance
        self.count = 0  # patches culled by the last call of `begin`

    def begin(self, reach: float, along: "MotionBvh | None" = None) -> Ints:
        """(m,) node at which the traversal of each triangle through the leaf mesh's own BVH may start and still find
        all pairs nearer than `reach` at the current positions or at any time during the motion `along`."""
        self._begin[:] = self._self_traversal_start
        leaf_mesh, patches, self.count = self.leaf_mesh, self.patches, 0
        least = self._distance(reach)
        self._proof = -1, 0.0
        if len(patches.rows) and least > 0.0:
            motion, fewest = self._motion(along)
            corners, nodes = leaf_mesh.leaves.corners, leaf_mesh.tree.nodes
            if along is not None:
                least *= 1.0 + SLACK
                self._proof = leaf_mesh.fits, least
            if len(corners) >= _WORTH_THREADS and _kernels.whole_is_proved(corners, patches, motion, least):
                self._begin[:], self.count = nodes[0]["skip"], 1
                return self._begin
            skip_proved_patches = worth(_kernels.skip_proved_patches, len(corners), _WORTH_THREADS)
            self.count = int(skip_proved_patches(nodes, corners, patches, motion, least, fewest, self._begin))
        return self._begin

    def begin_anew(self, reach: float, along: "MotionBvh", before: Ints) -> Ints:
        """As `begin`, after `LeafMesh.predict_anew(before)`, for a query about the triangles that have changed: the
        proof of the last call is repeated for these. Without such a proof, no patch is culled."""
        leaf_mesh, (fit, least) = self.leaf_mesh, self._proof
        if not self.count or not leaf_mesh.was_fitted_anew(fit, before) or self._distance(reach) > least:
            self.count = 0
            return self._self_traversal_start
        from ...kernels.bvh.changed_patches import retest_patches

        motion, fewest = self._motion(along)
        mesh = leaf_mesh.tree.nodes, leaf_mesh.leaves.corners, self.patches, motion
        self.count = retest_patches(*mesh, before, (least, fewest), self._begin, self._self_traversal_start)
        self._proof = leaf_mesh.fits, least
        return self._begin

    def _distance(self, reach: float) -> float:
        """Return `reach` with a margin for rounding; zero if the size of the mesh permits no proof."""
        if not len(self.leaf_mesh.tree.nodes):
            return 0.0
        x_0, y_0, z_0, x_1, y_1, z_1 = self.leaf_mesh.box.tolist()
        size = (x_1 - x_0) + (y_1 - y_0) + (z_1 - z_0)
        return reach * (1.0 + 1e-9) + MARGIN * size if _SIZES[0] < size < _SIZES[1] else 0.0

    def _motion(self, along: "MotionBvh | None") -> tuple[PatchMotion, int]:
        """Return positions and displacements as kernels expect them, and the fewest triangles of a patch."""
        if along is None:
            return PatchMotion(self.leaf_mesh.x, *_NO_DRIFT), self.fewest
        from ...kernels.bvh.motion import BLOCK

        return PatchMotion(along.x, along.drift, along.node_drifts), max(self.fewest, BLOCK + 1)
