"""Which of several shapes of a garment is the best in a frame, and whether it is better than the given one."""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .face_depth import deepest_point
from .score import DEPTH_TOLERANCE, NEARLY, Score
from .surroundings import Surroundings
from .untangle import Untangler

Floats = NDArray[np.float64]
NEGLIGIBLE = 1e-3  # relative to the edge length; smaller displacements are dropped

TORN, FAR = 2.0, 3.0  # factor of the length of an edge, and of the depth, beyond which a single shape is torn

Choice = tuple[Floats | None, tuple[int, int, int]]  # a displacement, or None, and the rank of a frame with it


class Ranking:
    """Ranks displacements of a garment; `mesh` is welded, and `weld_index` (n,) numbers its vertices for each of the
    unwelded ones. untangle: whether self-intersections are to be removed; animated: whether frames have neighbours."""

    def __init__(
        self,
        mesh: Mesh,
        weld_index: NDArray[np.integer],
        untangler: Untangler,
        around: Surroundings,
        *,
        untangle: bool,
        animated: bool,
    ) -> None:
        self.mesh, self.untangler, self.around = mesh, untangler, around
        self._weld_index, self._untangle, self._animated = weld_index, untangle, animated

    def best(self, t: int, x: Floats, tried: list[Floats]) -> Choice:
        """The best of the displacements `tried` that improves the frame and is worse in nothing, None without one; and
        the rank of the frame with it. Ties are broken by fewer intersections with the body and inner garments, then by
        clearance, then in the order of `tried`. In an animation it may also be merely as good as the frame is, for the
        sake of its neighbours."""
        self.around.move(t)
        given, best, least = None, None, None
        for k, u in enumerate(tried):
            if not np.isfinite(u).all() or not u.any() or any(np.array_equal(u, other) for other in tried[:k]):
                continue
            for each in (self.without_negligible(u), u) if not self._animated else (u,):
                found = self._evaluate(t, x + each, x)
                if found.perfect and self._animated:
                    return each, found.rank
                given = self._evaluate(t, x) if given is None else given
                better = found.rank < given.rank if not self._animated else found.rank <= given.rank
                if not self._animated and found.little_better(given) and self._tears(x, each, given.deepest):
                    continue
                if better and not found.worse(given) and (least is None or found.rank < least):
                    best, least = each, found.rank
                if least is not None and not any(least):
                    return best, least
        if least is None:
            least = (self._evaluate(t, x) if given is None else given).rank
        return best, least

    def _tears(self, x: Floats, u: Floats, depth: float) -> bool:
        """Whether displacements u (n,3) of x stretch an edge to more than twice its length there and at rest, or are
        more than three times as long as the garment was deep."""
        edges = self.mesh.topology.edges
        before, rest, after = (
            np.linalg.norm(p[edges[:, 1]] - p[edges[:, 0]], axis=1) for p in (x, self.mesh.vertices, x + u)
        )
        torn = after > TORN * np.maximum(before, rest)
        return bool(torn.any() or np.linalg.norm(u, axis=1).max() > FAR * max(depth, self.around.clearance))

    def without_negligible(self, u: Floats) -> Floats:
        """Displacements u (n,3) or (T,n,3), with those of vertices that hardly move, in any frame, set to zero."""
        small = np.linalg.norm(u, axis=-1) < NEGLIGIBLE * self.untangler.edge
        small = small if u.ndim == 2 else small.all(0)
        return np.where(small[:, None], 0.0, u)

    def _self_pairs(self, x: Floats) -> int:
        """Self-intersecting pairs; where they are to be left, only those of one shell, since a button that is sewn to
        its cloth meets more or fewer triangles of it as both move."""
        pairs = self.untangler.pairs(x)
        if self._untangle or not len(pairs):
            return len(pairs)
        shell = self.mesh.topology.components[self.mesh.faces[pairs][:, :, 0]]
        return int((shell[:, 0] == shell[:, 1]).sum())

    def _evaluate(self, t: int, x: Floats, given: Floats | None = None) -> Score:
        """Evaluate positions x in frame t; the required distances are taken at the positions `given`."""
        pairs, worn, layers = self._self_pairs(x), self.around.worn, self.around.layers
        if worn is None:
            return Score(inside=0, self_pairs=pairs, body_pairs=0, layer_problems=0, too_close=0, deepest=0.0)
        required = self.around.required(t, x if given is None else given)
        away = worn.distances(t, x, required)
        every, room = x[self._weld_index], self.around.room(t)
        deepest = -float(away[room].min(initial=0.0))
        layer_problems = sum(sum(layers.counts(k, t, every)) for k in range(len(layers.inner)))
        return Score(
            inside=int((away < -DEPTH_TOLERANCE).sum()),
            self_pairs=pairs,
            body_pairs=worn.count_pairs(x),
            layer_problems=layer_problems,
            too_close=int((away < NEARLY * required).sum()),
            deepest=deepest if self._animated else max(deepest, self._between_vertices(x, room, deepest)),
        )

    def _between_vertices(self, x: Floats, room: NDArray[np.bool_], least: float) -> float:
        """The greatest depth of the faces that cross the body and whose vertices have `room` (n,), 0 where it is not
        greater than `least`, that of the vertices. A single shape would otherwise be torn through the body, and count
        as out of it."""
        assert self.around.worn is not None
        faces = self.mesh.faces[self.around.worn.crossing_faces(x)]
        corners = x[faces[room[faces].all(1)]]
        return deepest_point(corners, lambda points: self.around.query(points)[0], least, self.mesh.size).depth
