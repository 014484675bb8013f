"""Marching: a garment through which limbs go, moved out of the body from the rest pose, in which it is outside.

Where limbs go through a garment, the nearest skin is on the wrong side of them. So the body moves from the rest pose to
its first frame, and on through the clip, so little at a time that the nearest skin stays on the right side; each
correction starts from the last one.
"""

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..respond.edge_lengths import EdgeLengths
from ..respond.project_out import Projector
from .worn_body import WornBody

Floats = NDArray[np.float64]
TO_FIRST, BETWEEN = 24, 2  # fewest steps from the rest pose to the first frame, and from each frame to the next
MOST = 48  # most steps from one frame to the next
STRIDE = 0.01  # of the body's size: most that a vertex moves along the skin nearest to it in a step, within `MOST`
KEPT = 0.97  # of the correction of the last step, where there are as few steps as possible
ROUNDS, SETTLING = 8, 6  # of each step, see `Projector.project`


class March:
    """Marches a garment on a body; `lengths`: its edges, of which all vertices may move."""

    def __init__(
        self, mesh: Mesh, worn: WornBody, projector: Projector, lengths: EdgeLengths, clearance: float
    ) -> None:
        self._mesh, self._worn, self._projector, self._lengths = mesh, worn, projector, lengths
        self._required = np.full(mesh.n_vertices, clearance)

    @property
    def begins_outside(self) -> bool:
        """Whether the garment is outside the body, and does not cross it, in the rest pose of both."""
        self._worn.move_to(np.asarray(self._worn.body.mesh.vertices, np.float64))
        rest = self._mesh.vertices
        return bool((self._worn.query(rest)[0] > 0.0).all()) and not len(self._worn.crossing_faces(rest))

    def displacements(self, smooth: Floats) -> Floats:
        """Displacements (T,n,3) of the frames `smooth` (T,n,3) out of the body."""
        at = np.asarray(self._worn.body.mesh.vertices, np.float64), self._mesh.vertices, self._mesh.vertices
        u, out = np.zeros_like(smooth[0]), []
        for t, frame in enumerate(smooth):
            to = np.asarray(self._worn.body.at(t), np.float64), frame, self._worn.given[t]
            fewest = BETWEEN if t else TO_FIRST
            steps = min(max(fewest, self._strides(at, to)), MOST)
            kept = KEPT ** (fewest / steps)
            for share in np.arange(1, steps + 1) / steps:
                u = self._step(kept * u, *((1.0 - share) * a + share * b for a, b in zip(at, to, strict=True)))
            out.append(u)
            at = to
        return np.stack(out)

    def _strides(self, at: tuple[Floats, Floats, Floats], to: tuple[Floats, Floats, Floats]) -> int:
        """Steps in which no vertex of the garment moves farther than a stride relative to the skin nearest to it, from
        the body and the garment `at` one frame `to` the next."""
        self._worn.move_to(at[0])
        carried = self._worn.carried(at[1], to[0] - at[0])
        along = np.linalg.norm(to[1] - at[1] - carried, axis=1).max(initial=0.0)
        return int(np.ceil(along / (STRIDE * max(self._worn.body.mesh.size, 1e-300))))

    def _step(self, u: Floats, body: Floats, smooth: Floats, given: Floats) -> Floats:
        """Displacements (n,3) of the garment `smooth`, starting from u, while the body is here."""
        worn, project = self._worn, self._projector
        worn.move_to(body)
        self._lengths.set(given)
        u = project.project(smooth, self._required, worn.query, u, ROUNDS, self._lengths, SETTLING)
        return project.uncross(smooth, u, self._required, worn.query, worn.crossing_faces)
