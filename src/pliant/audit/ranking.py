"""Which of several shapes of a garment is the best in a frame, and whether it is better than the given one."""

from typing import NamedTuple

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

Pairs = NDArray[np.int32]
NO_PAIRS: Pairs = np.zeros((0, 2), np.int32)
Choice = tuple[Floats | None, tuple[int, int, int]]  # a displacement, or None, and the rank of a frame with it


class Inspection(NamedTuple):
    """The problems of a shape in a frame, and where they are."""

    score: Score
    own: Pairs  # (k,2) faces that intersect each other
    crossings: Pairs  # (k,2) faces that cross those of the body; only in an animation
    depth: Floats  # (n,) of each vertex inside the body, and of each face that crosses it at its vertices; else 0


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
                worse = found.worse_in_animation(given) if self._animated else found.worse(given)
                if better and not worse and (least is None or found.rank < least):
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

    def _self_pairs(self, x: Floats) -> Pairs:
        """Self-intersecting pairs; where they are to be left, only those of one shell, since a button that is sewn to
        its cloth meets more or fewer triangles of it as both move."""
        pairs = self.untangler.pairs(x)
        if self._untangle or not len(pairs):
            return pairs
        shell = self.mesh.topology.components[self.mesh.faces[pairs][:, :, 0]]
        return pairs[shell[:, 0] == shell[:, 1]]

    def _evaluate(self, t: int, x: Floats, given: Floats | None = None) -> Score:
        """Evaluate positions x in frame t; the required distances are taken at the positions `given`."""
        return self.inspect(t, x, given).score

    def inspect(self, t: int, x: Floats, given: Floats | None = None) -> Inspection:
        """The problems of positions x in frame t, to which the body was moved; the required distances are taken at the
        positions `given`."""
        own, worn, layers = self._self_pairs(x), self.around.worn, self.around.layers
        if worn is None:
            score = Score(inside=0, self_pairs=len(own), body_pairs=0, layer_problems=0, too_close=0, deepest=0.0)
            return Inspection(score, own, NO_PAIRS, np.zeros(len(x)))
        required = self.around.required(t, x if given is None else given)
        away = worn.distances(t, x, required)
        every, room = x[self._weld_index], self.around.room(t)
        deepest = -float(away[room].min(initial=0.0))
        pairs = worn.pairs(x)
        crossings, depths = self._crossing(x, pairs, away) if self._animated else (NO_PAIRS, np.zeros(0))
        score = Score(
            inside=int((away < -DEPTH_TOLERANCE).sum()),
            self_pairs=len(own),
            body_pairs=len(pairs),
            layer_problems=sum(sum(layers.counts(k, t, every)) for k in range(len(layers.inner))),
            too_close=int((away < NEARLY * required).sum()),
            deepest=deepest if self._animated else max(deepest, self._between_vertices(x, room, deepest)),
            crossings=len(crossings),
            depth=float(depths.max(initial=0.0)),
        )
        return Inspection(score, own, crossings, depths)

    def _crossing(self, x: Floats, pairs: Pairs, away: Floats) -> tuple[Pairs, Floats]:
        """Those of the `pairs` (k,2) that cross, and the `Inspection.depth` of x, whose distances are `away` (n,)."""
        assert self.around.worn is not None
        depths = np.maximum(-away, 0.0)
        if not len(pairs):
            return pairs, depths
        crossings = self.around.worn.crossings(x, pairs)
        rows = np.unique(crossings[:, 0])
        found = self.around.worn.depth_of_faces(x, rows, float(depths.max(initial=0.0)))
        if found.depth > 0.0:  # else none is deeper than the vertices
            np.maximum.at(depths, self.mesh.faces[rows], found.face_depths[:, None])
        return crossings, depths

    def _between_vertices(self, x: Floats, room: NDArray[np.bool_], least: float) -> float:
        """The greatest depth of the faces that cross the body and whose vertices have `room` (n,), 0 where it is not
        greater than `least`, that of the vertices. A single shape would otherwise be torn through the body, and count
        as out of it."""
        assert self.around.worn is not None
        faces = self.mesh.faces[self.around.worn.crossing_faces(x)]
        corners = x[faces[room[faces].all(1)]]
        return deepest_point(corners, lambda points: self.around.query(points)[0], least, self.mesh.size).depth
