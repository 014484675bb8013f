"""Untangle: remove the self-intersections of cloth while staying close to its shape.

Smoothing usually gives a nearby shape without intersections: the cloth is smoothed first around its intersection
curves, then farther out, until no triangles intersect. From there it moves back towards the original shape under the
guard of safe mode, which prevents new intersections. Where such a smooth shape is found, the result is free of
intersections and as close to the input as that allows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.self_intersections import SelfIntersections
from ..mesh import Mesh
from ..scene import Body, Cloth, Scene
from ..simulation.guard import Guard

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
RINGS = (2, 4)  # rings of edges around the curves that are smoothed; then the whole mesh
FLATTENING, PASSES = 0.01, 60  # anchor stiffness and most passes when the whole mesh is smoothed
ANCHORS = 10.0 ** np.arange(-0.5, -4.6, -0.5)  # anchor stiffness of smoothed vertices relative to edges
STIFF = 1e4  # anchor stiffness of the other vertices
THICKNESS = 0.05  # thickness of the cloth while it moves back, relative to the median edge
STEP = 0.3  # fraction of the remaining displacement per step of moving back
COLLAPSED = 4.0  # factor by which edges have become shorter, from which on a smoothed shape is scaled to its size
CROWDED = 3e7  # vertices times the squared mean number of those within an edge: a shape beyond it is no way back
SLOW, PATIENCE = 0.98, 3  # stop after this many steps in a row that leave more than this fraction of the displacement


class Untangler:
    """Untangles one welded mesh, in any number of shapes. Vertices `pinned` (n,) do not move: where the mesh is a patch
    of a larger one, those that it shares with the rest."""

    def __init__(self, mesh: Mesh, pinned: NDArray[np.bool_] | None = None) -> None:
        from scipy.sparse import coo_array, diags_array
        from scipy.sparse.csgraph import connected_components

        self.mesh, top = mesh, mesh.topology
        self.pinned = np.zeros(mesh.n_vertices, np.bool_) if pinned is None else pinned
        self.cross = SelfIntersections(mesh)
        n, both = mesh.n_vertices, np.concatenate([top.edges, top.edges[:, ::-1]])
        self.links = coo_array((np.ones(len(both)), both.T), shape=(n, n)).tocsr()
        self.degree = np.asarray(self.links.sum(1)).ravel()
        self._part = connected_components(self.links, directed=False)[1]
        self.stiffness = (diags_array(self.degree) - self.links).tocsc()
        span = mesh.vertices[top.edges[:, 1]] - mesh.vertices[top.edges[:, 0]]
        self.edge = float(np.median(np.linalg.norm(span, axis=1)))
        self.thickness = THICKNESS * self.edge
        options: dict[str, Any] = {"gravity": (0.0, 0.0, 0.0), "friction": 0.0, "self_contact": "safe"}
        body = Body(mesh, material=Cloth(), pins=np.flatnonzero(self.pinned))
        self._scene = Scene([body], eps=self.thickness, thickness=self.thickness, **options)
        self._guard: Guard | None = None
        self.steps = 0  # total number of steps in `move_back`
        self.measured = 0  # total number of pairs that were measured in it

    def pairs(self, x: Floats) -> Pairs:
        """(k,2) intersecting faces of the shape x (n,3)."""
        return self.cross.update(x).pairs()

    def smoothed_free(self, x: Floats) -> Floats | None:
        """A smoothed shape near x without intersections; None where none was found from which the way back is short of
        pairs that are near each other."""
        y = self._without_intersections(x)
        return None if y is None or self._is_crowded(y) else y

    def _is_crowded(self, y: Floats) -> bool:
        """Whether so many vertices of the shape y are within an edge of each other that its near pairs take gigabytes,
        as where layers of cloth have collapsed onto each other."""
        from scipy.spatial import cKDTree

        tree = cKDTree(y)
        return float(tree.count_neighbors(tree, self.edge)) ** 2 / len(y) > CROWDED

    def _without_intersections(self, x: Floats) -> Floats | None:
        """A smoothed shape near x without intersections; None where none was found."""
        pairs = self.pairs(x)
        if not len(pairs):
            return x
        patch = np.zeros(len(x), np.bool_)
        for rings in (*RINGS, None):
            patch[self.mesh.faces[np.unique(pairs)]] = True
            around = np.ones(len(x), np.bool_) if rings is None else self._dilated(patch, rings)
            for anchor in ANCHORS:
                y = self._smoothed(x, np.where(around & ~self.pinned, anchor, STIFF))
                y[self.pinned] = x[self.pinned]
                found = self.pairs(y)
                if not len(found):
                    return self._grown(y, x) if around.all() and not self.pinned.any() else y
            # faces that the smoothed patch intersects are smoothed too
            pairs = np.concatenate([pairs, found])
            if rings == RINGS[-1] and not self.pinned.any() and (flat := self._flattened(x)) is not None:
                return flat
            if around.all():
                break
        return None

    def _flattened(self, x: Floats) -> Floats | None:
        """Smooth the whole of x repeatedly, rescaling every part to its size, until no faces intersect; None where some
        remain. A sheet converges to its two lowest modes, which are flat."""
        y = x
        for anchor, times in (*((anchor, 1) for anchor in ANCHORS[:3]), (FLATTENING, PASSES)):
            everywhere = np.full(len(x), anchor)
            solve = self.springs(everywhere)
            for _ in range(times):
                y = self._rescaled(np.asarray(solve(everywhere[:, None] * y)), x)
                if not len(self.pairs(y)):
                    return y
        return None

    def _rescaled(self, y: Floats, x: Floats) -> Floats:
        """Scale every connected part of y about its centre so that its edges are as long as in x (root mean square)."""
        edges, part = self.mesh.topology.edges, self._part
        count = np.maximum(np.bincount(part), 1)[:, None]
        middle = np.stack([np.bincount(part, y[:, k]) for k in range(3)], 1) / count
        long = [((p[edges[:, 1]] - p[edges[:, 0]]) ** 2).sum(1) for p in (x, y)]
        was, now = (np.bincount(part[edges[:, 0]], some, len(count)) for some in long)
        factor = np.sqrt(was / np.maximum(now, 1e-300))
        return np.asarray(middle[part] + factor[part, None] * (y - middle[part]))

    def _grown(self, y: Floats, x: Floats) -> Floats:
        """The smoothed shape y, scaled as a whole until its edges are as long as in x (root mean square) where they
        have collapsed: all faces would be near each other on the way back."""
        edges = self.mesh.topology.edges
        was, now = (float(np.sqrt(((p[edges[:, 1]] - p[edges[:, 0]]) ** 2).sum(1).mean())) for p in (x, y))
        if not 0.0 < COLLAPSED * now < was:
            return y
        z = np.asarray(y.mean(0) + was / now * (y - y.mean(0)))
        return y if len(self.pairs(z)) else z

    def _dilated(self, patch: NDArray[np.bool_], rings: int) -> NDArray[np.bool_]:
        for _ in range(rings):
            patch = patch | (self.links @ patch > 0)
        return patch

    def _smoothed(self, x: Floats, anchor: Floats) -> Floats:
        """The equilibrium of springs along all edges and anchor springs to x of stiffness `anchor` (n,)."""
        return np.asarray(self.springs(anchor)(anchor[:, None] * x))

    def springs(self, anchor: Floats) -> Callable[[Floats], Floats]:
        """The solver from anchor forces to equilibrium positions, factorised once."""
        from scipy.sparse import diags_array
        from scipy.sparse.linalg import splu

        return splu((self.stiffness + diags_array(anchor)).tocsc()).solve

    def move_back(
        self, x: Floats, target: Floats, steps: int = 40, bend: Callable[[Floats, int], Floats] | None = None
    ) -> Floats:
        """Move from x, free of intersections, towards `target` as far as the guard allows. `bend` may modify the target
        of each step."""
        state = self._scene.start()
        if self._guard is None:
            self._guard = Guard(self._scene, self._scene.start())
        guard, state.x[:] = self._guard, x
        left, slow = np.inf, 0
        for k in range(steps):
            self.steps, passes = self.steps + 1, guard.passes
            guard.begin(state, 1.0, 1)
            state.x_start[:] = state.x
            aim = state.x + STEP * (target - state.x)
            aim = aim if bend is None else bend(aim, k)
            aim[self.pinned] = state.x[self.pinned]
            state.x[:] = aim
            guard.redetect_if_needed(state)
            guard.apply(state, 1.0)
            guard.limit_motion(state, 1.0)
            self.measured += (guard.passes - passes) * len(guard.contacts)
            state.v[:] = 0.0
            before, left = left, float(np.abs(target - state.x).sum())
            slow = slow + 1 if left > SLOW * before else 0
            if slow == PATIENCE:
                break
        return state.x.copy()
