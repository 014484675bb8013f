"""From pairs that were found to contact records, with signs told from the neighbourhood."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...contacts import Contacts, Pool
from ...state import State
from ..features import Part, Pose, contacts_of
from .facets import Ints, Joined, sorted_pairs
from .sides import Closed, turn_inside, with_deep

Floats = NDArray[np.float64]


class Recorder:
    """Makes the records of one side with itself or of two: as the exact detectors do, if the pairs are the same and
    the nearest face of what is inside is one of its neighbourhood."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts, self.same = parts, len(parts) == 1
        self._closed = [Closed(part) if part.solid and not self.same else None for part in parts]
        self._plain = [part._replace(solid=False) for part in parts]
        self.pool = Pool()

    def make(self, state: State, found: Ints, whole: Joined, go_on: Callable[[], bool] = lambda: True) -> Contacts:
        """Records of rows (kind, feature, feature), see `add_features`; of vertices deep inside while there is time."""
        there, back, edges = sorted_pairs(found, whole, self.same)
        poses = [Pose(part, state.x[part.side.rows]) for part in self._plain]
        a, b = poses[0], poses[-1]
        if self.same:
            return contacts_of(a, a, there, back, edges, self.pool)
        for closed, pose in zip(self._closed, poses, strict=True):
            if closed is not None:
                closed.update(pose.x)
        there, deep_a = self._deep(0, a, there, edges, go_on)
        back, deep_b = self._deep(1, b, back, edges[:, ::-1], go_on)
        e_a, e_b = (part.side.mesh.topology.edges for part in self.parts)
        within = np.zeros(len(edges), np.bool_)
        closed_a, closed_b = self._closed
        if closed_b is not None:
            within |= closed_b.holds_edges(a.x, e_a, b.x, e_b, edges)
        if closed_a is not None:
            within |= closed_a.holds_edges(b.x, e_b, a.x, e_a, np.ascontiguousarray(edges[:, ::-1]))
        out = contacts_of(a, b, there, back, edges, self.pool)
        faces = [deep_a[there[:, 0]], deep_b[back[:, 0]]]
        if self.parts[0].side.body > self.parts[1].side.body:
            faces.reverse()
        turn_inside(out, np.concatenate([*faces, within]), state.x)
        return out

    def _deep(
        self, of: int, pose: Pose, pairs: Ints, edges: Ints, go_on: Callable[[], bool]
    ) -> tuple[Ints, NDArray[np.bool_]]:
        closed, top = self._closed[1 - of], self.parts[of].side.mesh.topology
        if closed is None:
            return pairs, np.zeros(len(pose.x), np.bool_)
        # where edges cross, an end may be inside that is near no face
        ends = top.edges[edges[:, 0]].ravel()
        more = np.stack([ends, np.repeat(closed.beside(edges[:, 1]), 2)], 1)
        return with_deep(pose.x, closed, pairs, more, top.neighbours, go_on)
