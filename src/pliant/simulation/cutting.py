"""Cutting: separate a body of tetrahedra along faces between tets, and continue the run with the pieces."""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..mesh import Mesh
from ..motion.rigid import Motion
from ..scene import Grip, Scene
from ..state import State

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
_OPPOSITE = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]])  # corners of the face opposite each corner
_ASIDE = 1e-7  # fraction by which a copy is moved towards the centroid of its tets, so that it is not welded again


@dataclasses.dataclass(frozen=True, eq=False)
class Cut:
    """A cut `mesh`, and for each of its vertices the row `source` (n,) in the welded mesh `before` the cut."""

    mesh: Mesh
    before: Mesh
    source: Rows

    @property
    def copies(self) -> int:
        """Number of vertices added."""
        return len(self.source) - self.before.n_vertices

    def carried(self, scene: Scene, state: State, body: int) -> tuple[Scene, State]:
        """Return the scene with the mesh of `body` replaced by the cut one, and the state in it: copies have position
        and velocity of their source. Pins and grips apply to all copies."""
        old = scene.bodies[body]
        if old.mesh.welded is not self.before:
            raise ValueError(f"body {body} ({old.label!r}) has a different mesh from the one that was cut")
        pins = np.flatnonzero(np.isin(self.source, old.mesh.weld_index[old.pins]))
        grips = [self._held(grip, old.mesh.weld_index) for grip in old.grips]
        made = dataclasses.replace(old, mesh=self.mesh, pins=pins, grips=grips)
        bodies = [made if b == body else other for b, other in enumerate(scene.bodies)]
        came = np.empty(len(self.source), np.int64)
        came[self.mesh.weld_index] = self.source
        first, after = int(scene.first[body]), int(scene.first[body + 1])
        rows = np.concatenate([np.arange(first), first + came, np.arange(after, len(state.x))])
        x, v, start = state.x[rows], state.v[rows], state.x_start[rows]
        return dataclasses.replace(scene, bodies=bodies), dataclasses.replace(state.copy(), x=x, v=v, x_start=start)

    def _held(self, grip: Grip, weld: Any) -> Grip:
        held, index = np.unique(weld[grip.rows], return_index=True)
        rows = np.flatnonzero(np.isin(self.source, held))
        motion = grip.motion
        if not isinstance(motion, Motion):
            motion = motion.taking(index[np.searchsorted(held, self.source[rows])])
        return Grip(rows, motion)


@check_arguments
def cut(mesh: Mesh, point: Any, normal: Any, *, reach: float | None = None, x: Any = None) -> Cut:
    """Separate a tet mesh near the plane through `point` with `normal`, along faces: no tet itself is cut.

    A tet belongs to the side of its centroid. `reach` (metres) limits the cut to that distance from `point`, like a
    knife that does not go through. `x` (n,3): positions of the vertices of `mesh.welded`, if not at rest.
    """
    old = mesh.welded
    if not len(old.tets):
        raise ValueError(f"mesh {mesh.name!r} has no tets to cut; use pliant.Mesh.from_tets or pliant.shapes.bar")
    middle, across = validate.floats("point", point, (3,)), validate.floats("normal", normal, (3,))
    if not across.any():
        raise ValueError("normal is 0, 0, 0; expected the normal of the cutting plane")
    at = old.vertices if x is None else validate.floats("x", x, old.vertices.shape)
    side = (at[old.tets].mean(1) - middle) @ across > 0.0
    one, other, corners = _shared_sides(old.tets)
    parted = side[one] != side[other]
    if reach is not None:
        far = np.linalg.norm(at[corners].mean(1) - middle, axis=1) > validate.number("reach", reach, above=0.0)
        parted &= ~far
    return _part(old, one, other, corners, parted)


def _shared_sides(tets: NDArray[np.int32]) -> tuple[Rows, Rows, NDArray[np.int32]]:
    """Return the two tets (k,) of each shared face, and its corners (k,3)."""
    sides = np.sort(tets[:, _OPPOSITE].reshape(-1, 3), 1)
    order = np.lexsort(sides.T)
    same = np.flatnonzero((sides[order[1:]] == sides[order[:-1]]).all(1))
    return order[same] // 4, order[same + 1] // 4, sides[order[same]]


def _part(old: Mesh, one: Rows, other: Rows, corners: NDArray[np.int32], parted: NDArray[np.bool_]) -> Cut:
    """Duplicate each vertex of a cut face once per group of tets around it that stay connected."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, k = old.n_vertices, len(old.tets)
    touched = np.zeros(n, np.bool_)
    touched[corners[parted]] = True
    # graph with a node for each corner of each tet, linked across uncut faces; untouched vertices form one group
    ends = [_nodes(old.tets, t[~parted], corners[~parted]) for t in (one, other)]
    graph = coo_array((np.ones(len(ends[0]), np.int8), (ends[0], ends[1])), shape=(4 * k, 4 * k))
    group = connected_components(graph, directed=False)[1]
    flat = old.tets.ravel()
    key = np.where(touched[flat], group, -1)
    # the first group of a vertex keeps its row, the others get new rows at the end
    pairs, index = np.unique(np.stack([flat, key], 1), axis=0, return_inverse=True)
    first = np.concatenate([[True], pairs[1:, 0] != pairs[:-1, 0]])
    row = np.where(first, pairs[:, 0], 0)
    row[~first] = n + np.arange(int((~first).sum()))
    source = np.concatenate([np.arange(n), pairs[~first, 0]])
    tets = row[index.ravel()].reshape(-1, 4)
    vertices = old.vertices[source]
    middle = np.repeat(old.vertices[old.tets].mean(1), 4, 0)
    count = np.bincount(tets.ravel(), minlength=len(source))[n:, None]
    total = np.stack([np.bincount(tets.ravel(), middle[:, j], len(source)) for j in range(3)], 1)[n:]
    vertices[n:] += _ASIDE * (total / count - vertices[n:])
    return Cut(Mesh.from_tets(vertices, tets, name=old.name), old, source)


def _nodes(tets: NDArray[np.int32], rows: Rows, corners: NDArray[np.int32]) -> Rows:
    """Return the nodes (3 k,), 4 tet + corner, of the corners (k,3) in tets `rows` (k,)."""
    return (4 * rows[:, None] + (tets[rows][:, None, :] == corners[:, :, None]).argmax(2)).ravel()
