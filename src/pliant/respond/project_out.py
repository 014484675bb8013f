"""Project a garment out of a body: vertices that are inside or too close move along the shortest separation direction.

The displacement from the original positions is smoothed over neighbours, so that creases, folds and details are
preserved and the garment moves only where necessary.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from .edge_lengths import EdgeLengths

Floats = NDArray[np.float64]
# points (k,3) -> signed distance (k,), unit separation direction (k,3)
SeparationQuery = Callable[[Floats], tuple[Floats, Floats]]
ROUNDS, LAST_ROUNDS = 24, 8  # of smoothing and projection, and of projection of the vertices alone at the end
EXACT_EVERY = 4  # rounds between queries; in the others the surface is taken as its last tangent planes
RELAXED = 2  # sweeps over edge lengths in a round
SETTLING = 6  # rounds that end with edge lengths and samples only
SMOOTHING = 0.5  # smoothing factor of displacements towards the mean of the neighbours, per round
CROSSING_ROUNDS = 12  # rounds in which faces that still cross the body are moved
CROSSING_PATIENCE = 3  # rounds in a row that free no face, after which there is no room
GRID = 6  # subdivisions of an edge in the sample grid of such a face
GRID_SCALES = (1.0, 0.35, 0.12, 0.04)  # sizes of the successive grids around the deepest point, relative to the face
MIDPOINT_SHARE = 0.5  # distance that edge midpoints and face centroids keep, relative to that of their corners
_GRID = np.array([(i, j, GRID - i - j) for i in range(GRID + 1) for j in range(GRID + 1 - i)]) / GRID


class Projector:
    """Displaces the vertices of a welded mesh so that vertices, edge midpoints and face centroids are outside a body.

    links: (n,n) sparse adjacency; degree: (n,) number of neighbours. Default: those of the edges.
    """

    def __init__(self, mesh: Mesh, links: Any = None, degree: Floats | None = None) -> None:
        if links is None or degree is None:
            from scipy.sparse import coo_array

            both = np.concatenate([mesh.topology.edges, mesh.topology.edges[:, ::-1]])
            links = coo_array((np.ones(len(both)), both.T), shape=(mesh.n_vertices, mesh.n_vertices)).tocsr()
            degree = np.asarray(links.sum(1)).ravel()
        self.links, self.degree = links, np.maximum(degree, 1.0)[:, None]
        n = np.arange(mesh.n_vertices, dtype=np.int32)[:, None]
        edges, faces = mesh.topology.edges, mesh.faces
        # corners of every sample point; samples with fewer than three corners repeat the last one
        self.corners = np.concatenate([n[:, [0, 0, 0]], edges[:, [0, 1, 1]], faces])
        self.weights = np.repeat([[1.0, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3], [len(n), len(edges), len(faces)], 0)
        self.n, self.n_faces = mesh.n_vertices, len(faces)

    def smooth(self, u: Floats) -> Floats:
        """Displacements u (n,3) after one smoothing step over neighbours."""
        return np.asarray(u + SMOOTHING * (self.links @ u / self.degree - u))

    def project(
        self,
        x: Floats,
        required: Floats,
        query: SeparationQuery,
        u: Floats | None = None,
        rounds: int = ROUNDS,
        lengths: EdgeLengths | None = None,
        settling: int = SETTLING,
        bounds: Floats | None = None,
    ) -> Floats:
        """Displacements (n,3) of x (n,3), starting from u, after which every vertex is at least `required` (n,) metres
        from the body and midpoints are outside; in narrow gaps the distance is as large as there is room. `lengths`:
        edges that keep their lengths as far as the distances allow, also in `settling` last rounds without smoothing.
        `bounds`: (n,) known lower bounds of the distances of x from the body, or minus infinity.
        """
        u = np.zeros_like(x) if u is None else u.copy()
        required_all = np.concatenate([required, MIDPOINT_SHARE * required[self.corners[self.n :]].min(1)])
        # lower bound of each sample's distance minus the required one
        far = np.zeros(len(required_all)) if bounds is None else self._far(x, bounds, required_all) - self._largest(u)
        planes = _Planes(len(required_all))
        for k in range(rounds + (settling if lengths is not None else 0)):
            before = u
            u = self.smooth(u) if k < rounds else u
            if lengths is not None:
                u = lengths.relax(x + u, RELAXED) - x if u.any() else u
            far -= self._largest(u - before)
            exact = k % EXACT_EVERY == 0 or k >= rounds
            if not self._push(x, u, required_all, query, far, planes, exact=exact) and exact and not u.any():
                break
        # vertices are projected last; between two parts that nearly touch, the separation direction of one leads into
        # the other, so the required distance decreases
        last = far[: self.n]
        for turn in range(LAST_ROUNDS):
            if not self._push(x, u, required * 0.5 ** max(turn - 2, 0), query, last):
                break
        return u

    def uncross(
        self,
        x: Floats,
        u: Floats,
        required: Floats,
        query: SeparationQuery,
        crossing_faces: Callable[[Floats], NDArray[Any]],
    ) -> Floats:
        """Displacements (n,3) of x (n,3), starting from u, after which fewer faces cross the body where possible.

        crossing_faces: function from positions (n,3) to the rows of faces that cross the body. Where the body
        penetrates between the samples of `project`, a face is moved by its deepest point.
        """
        best, left, gainless = u, np.inf, 0
        u = u.copy()
        for _ in range(CROSSING_ROUNDS):
            faces = crossing_faces(x + u)
            gainless = gainless + 1 if len(faces) >= left else 0
            if not gainless:
                best, left = u.copy(), len(faces)
            if not len(faces) or gainless == CROSSING_PATIENCE:
                break
            corners = self.corners[len(self.corners) - self.n_faces + faces]
            away, out = _deepest((x + u)[corners], query)
            missing = np.maximum(MIDPOINT_SHARE * required[corners].min(1) - away, 0.0)
            order = np.argsort(missing, kind="stable")  # the face with the largest displacement is written last
            push = np.zeros_like(u)
            push[corners[order].ravel()] = np.repeat((missing[:, None] * out)[order], 3, 0)
            u += push
            last = np.zeros(self.n)
            for turn in range(LAST_ROUNDS):
                if not self._push(x, u, required * 0.5 ** max(turn - 2, 0), query, last):
                    break
        return best

    def _far(self, x: Floats, bounds: Floats, required: Floats) -> Floats:
        """(k,) lower bound of each sample's distance minus the required one, from the `bounds` (n,) of its corners."""
        points = np.einsum("ij,ijk->ik", self.weights, x[self.corners])
        away = [bounds[some] - np.linalg.norm(x[some] - points, axis=1) for some in self.corners.T]
        known = required > -np.inf
        return np.subtract(np.max(away, axis=0), required, out=np.full(len(required), np.inf), where=known)

    def _largest(self, move: Floats) -> Floats:
        """(k,) upper bound of the motion of each sample, from its corners."""
        return np.asarray(np.linalg.norm(move, axis=1)[self.corners].max(1))

    def _push(
        self,
        x: Floats,
        u: Floats,
        required: Floats,
        query: SeparationQuery,
        far: Floats,
        planes: "_Planes | None" = None,
        *,
        exact: bool = True,
    ) -> bool:
        """Displace samples that are too close; return whether there were any. Unless `exact`, only samples with a
        tangent plane of the last query are measured, from that plane."""
        rows = np.flatnonzero(far <= 0.0)
        if not exact and planes is not None:
            rows = rows[planes.known[rows]]
        if not len(rows):
            return False
        corners = self.corners[rows]
        points = np.einsum("ij,ijk->ik", self.weights[rows], (x + u)[corners])
        if exact or planes is None:
            away, out = query(points)
            if planes is not None:
                planes.keep(rows, points, away, out)
        else:
            away, out = planes.measure(rows, points)
        missing = required[rows] - away
        if exact:  # a plane gives no bound
            far[rows] = -missing
        near = np.flatnonzero(missing > 1e-9 * (1.0 + required[rows]))
        if not len(near):
            return False
        # of all samples at a vertex, the one with the largest displacement is written last and wins
        near = near[np.argsort(missing[near], kind="stable")]
        push = np.zeros_like(u)
        push[corners[near].ravel()] = np.repeat(missing[near, None] * out[near], 3, 0)
        u += push
        far -= self._largest(push)[: len(far)]
        return True


class _Planes:
    """The tangent planes of the body at the nearest points of samples, as of their last query."""

    def __init__(self, count: int) -> None:
        self.known = np.zeros(count, np.bool_)
        self._point, self._out, self._away = np.zeros((count, 3)), np.zeros((count, 3)), np.zeros(count)

    def keep(self, rows: NDArray[Any], points: Floats, away: Floats, out: Floats) -> None:
        self.known[rows] = True
        self._point[rows], self._out[rows], self._away[rows] = points, out, away

    def measure(self, rows: NDArray[Any], points: Floats) -> tuple[Floats, Floats]:
        """Distances (k,) of the samples `rows` at `points` (k,3) from their planes, and the directions away (k,3)."""
        out = self._out[rows]
        return self._away[rows] + np.einsum("ij,ij->i", points - self._point[rows], out), out


def _deepest(corners: Floats, query: SeparationQuery) -> tuple[Floats, Floats]:
    """Signed distance (f,) and separation direction (f,3) of the deepest sample of each face with corners (f,3,3), by
    a grid of points and finer grids around the deepest."""
    rows, centre = np.arange(len(corners)), np.full((len(corners), 3), 1.0 / 3.0)
    least, direction = np.full(len(corners), np.inf), np.zeros((len(corners), 3))
    for size in GRID_SCALES:
        weights = np.maximum(centre[:, None] + size * (_GRID - 1.0 / 3.0), 0.0)
        weights /= weights.sum(2, keepdims=True)
        points = np.einsum("fgj,fjk->fgk", weights, corners)
        found, out = query(points.reshape(-1, 3))
        away, out = found.reshape(len(corners), -1), out.reshape(points.shape)
        worst = np.argmin(away, 1)
        deeper = away[rows, worst] < least
        least = np.where(deeper, away[rows, worst], least)
        direction, centre = (
            np.where(deeper[:, None], new[rows, worst], old) for new, old in ((out, direction), (weights, centre))
        )
    return least, direction
