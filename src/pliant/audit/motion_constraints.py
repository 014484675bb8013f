"""What the frames of a garment keep while their motion becomes even: the lengths of edges, the side of the body, and
the distances of what would meet."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..kernels.respond import even_motion as _kernels
from .skin_frames import SkinFrames
from .surroundings import Surroundings
from .untangle import Untangler

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Rows = NDArray[np.int64]
SHARE = 0.024  # of the rest length: bounds of edges
REACH = 2.0  # edges: distance beyond the required one within which half-spaces keep vertices out of the body
BESIDE = 3  # frames on either side of a problem in which it is prevented, too


class MotionConstraints:
    """The constraints of some `frames` of a garment that was given as x (T,n,3); rest: (k,) lengths of its edges."""

    def __init__(self, untangler: Untangler, around: Surroundings, x: Floats, rest: Floats, frames: range) -> None:
        self._around, self._x, self._rest, self._frames = around, x, rest, frames
        self._mesh, self._edge = untangler.mesh, untangler.edge
        self._outside = np.zeros((len(frames), x.shape[1]), np.bool_)  # come no nearer to the body
        self._apart = np.zeros((0, 3), np.int64)  # two vertices, and a frame in which they keep their distance

    def keep_outside(self, crossing: Flags) -> None:
        """Vertices `crossing` (T,n) come no nearer to the body, there and in the frames beside."""
        self._outside |= crossing
        for k in range(1, BESIDE + 1):
            self._outside[k:] |= crossing[:-k]
            self._outside[:-k] |= crossing[k:]

    def keep_apart(self, pairs: Sequence[NDArray[np.int32]]) -> None:
        """The vertices of `pairs` (k,2) of faces in each frame keep their distances, there and in the frames beside."""
        found = [self._apart]
        for t, some in enumerate(pairs):
            corners = self._mesh.faces[some]  # (k,2,3)
            one, two = np.broadcast_arrays(corners[:, 0, :, None], corners[:, 1, None, :])
            ends = np.sort(np.stack([one.reshape(-1), two.reshape(-1)], 1), axis=1)
            for k in range(max(t - BESIDE, 0), min(t + BESIDE + 1, len(pairs))):
                found.append(np.column_stack([ends, np.full(len(ends), k)]))
        self._apart = np.unique(np.concatenate(found), axis=0)

    def skin(self, skin: SkinFrames, rows: Rows) -> _kernels.Skin:
        """The frames of the skin under the vertices `rows`."""
        axes, origin = np.empty((len(rows), 3, 3, len(self._frames))), np.empty((len(rows), 3, len(self._frames)))
        for k, t in enumerate(self._frames):
            axes[..., k], origin[..., k] = skin.at(t, rows)
        return _kernels.Skin(axes, origin)

    def room(self, z: Floats, rows: Rows) -> _kernels.Room:
        """Half-spaces outside of the body near the vertices `rows` of z; without room, they come no deeper."""
        normal, offset = np.zeros((len(rows), 3, len(z))), np.full((len(rows), len(z)), -np.inf)
        worn, reach = self._around.worn, REACH * self._edge
        assert worn is not None
        for k, t in enumerate(self._frames):
            worn.move(t)
            required, firm = self._around.required(t, self._x[t])[rows], self._outside[k, rows]
            within = np.where(firm, np.inf, np.maximum(required, 0.0) + reach)
            near = np.flatnonzero(worn.bounds(t, z[k])[rows] < within)
            away, out = self._around.query(z[k, rows[near]])
            kept = away < within[near]
            near, away, out = near[kept], away[kept], out[kept]
            free = np.isfinite(required[near]) & ~firm[near]
            spare = np.where(free, np.maximum(away - required[near], 0.0), 0.0)
            normal[near, :, k] = out
            offset[near, k] = np.einsum("ij,ij->i", out, z[k, rows[near]]) - spare
        return _kernels.Room(normal, offset)

    def lengths(self, z: Floats, rows: Rows) -> tuple[_kernels.Lengths, NDArray[np.int32], Rows]:
        """The edges of the vertices `rows`, which may be as long and as short as in z, and the pairs of vertices that
        keep their distances; their ends (e,2), and the number (r,) of those of each vertex."""
        moves, edges = np.zeros(z.shape[1], np.bool_), self._mesh.topology.edges
        moves[rows] = True
        used = np.flatnonzero(moves[edges].any(1))
        rest, given = self._rest[used][:, None], _distances(z, edges[used])
        pairs, which = np.unique(self._apart[:, :2], axis=0, return_inverse=True)
        which, frame = which.reshape(-1), self._apart[:, 2]
        least = np.zeros((len(pairs), len(z)))
        least[which, frame] = _distances(z, pairs)[which, frame]
        low = np.concatenate([np.minimum((1.0 - SHARE) * rest, given), least])
        high = np.concatenate([np.maximum((1.0 + SHARE) * rest, given), np.full(least.shape, np.inf)])
        ends = np.concatenate([edges[used], pairs]).astype(np.int32)
        both, edge = np.concatenate([ends, ends[:, ::-1]]), np.tile(np.arange(len(ends), dtype=np.int32), 2)
        order = np.argsort(both[:, 0], kind="stable")
        order = order[moves[both[order, 0]]]
        degree = np.bincount(both[order, 0], minlength=z.shape[1])[rows]
        start = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
        return _kernels.Lengths(start, both[order, 1], edge[order], low, high), ends, degree


def _distances(z: Floats, ends: NDArray[np.integer]) -> Floats:
    """(e,T) the distances of the ends (e,2) in each frame of z."""
    return np.asarray(np.linalg.norm(z[:, ends[:, 1]] - z[:, ends[:, 0]], axis=2).T)
