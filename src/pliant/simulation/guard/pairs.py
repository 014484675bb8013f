"""Parts of the guard: the faces of several bodies in one BVH, and the pairs of features that are kept separated."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ... import contacts as _contacts
from ...contacts import Contacts
from ...detect.bvh.leaf_mesh import LeafMesh
from ...detect.queries.proximity import NearPairs
from ...kernels.jit import worth
from ...kernels.simulation import bounds as _bounds
from ...kernels.simulation import carry as _carry
from ...kernels.simulation import guard as _kernels
from ...kernels.simulation import records as _records
from ...kernels.simulation.guard import FeaturePairs
from ...kernels.simulation.records import Features, FoundPairs
from ...mesh.topology import Topology
from ...scene import Scene

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
_WORTH_THREADS = 1024  # pairs
LEVER = 4.0  # largest displacement of free vertices over the distance by which it separates a contact
# weights of a pair's four vertices: the centroid of its first side less that of its second
_ONE, _TWO = np.array([1.0, -1 / 3, -1 / 3, -1 / 3]), np.array([0.5, 0.5, -0.5, -0.5])


@dataclasses.dataclass(eq=False)
class Obstacle:
    """An obstacle and its candidate pairs with the cloth."""

    near: NearPairs
    rows: Rows
    moves: bool
    reach: float = 0.0  # query distance around it, metres

    @property
    def box(self) -> Floats:
        return self.near.b.box

    def box_at(self, x: Floats) -> Floats:
        """Return the AABB (6,) at x (n,3), where the body is, although its leaf mesh may not have moved there yet."""
        return self.near.b.box_at(x) if self.moves else self.box

    @property
    def moving_rows(self) -> Rows:
        return self.rows if self.moves else self.rows[:0]

    def adapt_reach(self, count: int, vertices: int, least: float, most: float) -> None:
        """Adapt the query distance of the next pass in this frame to the number of candidates, `count`, for as many
        vertices of cloth; between `least` and `most` metres."""
        if count > 4 * vertices:
            self.reach = max(0.6 * self.reach, least)
        elif self.moves and count < vertices // 2:
            self.reach = min(1.5 * self.reach, max(most, least))

    @property
    def span(self) -> slice:
        """The same rows, which follow each other: NumPy takes a slice 20 times as fast as an array."""
        first = int(self.rows[0]) if len(self.rows) else 0
        return slice(first, first + len(self.rows))


@dataclasses.dataclass(frozen=True, eq=False)
class GuardedPairs:
    """Pairs of features that are kept separated along their normals: vertices (k,4), kinds (k,), normals (k,3), present
    gaps (k,), the room (k,) each side may use, and the gap (k,) that is always kept; metres."""

    vertices: Rows
    kinds: NDArray[np.uint8]
    normals: Floats
    gaps: Floats
    room: Floats
    kept: Floats

    @classmethod
    def of(cls, one: Contacts, two: Contacts, x: Floats, least: float, rounding: float) -> "GuardedPairs":
        """Make the pairs of all contacts `one` and `two` found at x; gaps below `least` are kept at their size less
        `rounding`."""
        count = len(one) + len(two)
        pairs = FeaturePairs(np.empty((count, 4), np.int32), np.empty(count, np.uint8), np.empty((count, 3)))
        margins = np.empty((3, count))
        closest = _kernels.guard_contacts(one, two, x, least, rounding, pairs, margins)
        return cls._separated(closest, pairs, x, least, rounding, margins)

    def measured(self, x: Floats, least: float, rounding: float) -> "GuardedPairs":
        """Return the same pairs with their normals and gaps at x."""
        pairs = FeaturePairs(self.vertices, self.kinds, np.empty_like(self.normals))
        margins = np.empty((3, len(pairs.kinds)))
        worth(_kernels.measure_normals, len(pairs.kinds), _WORTH_THREADS)(pairs, x)
        closest = _kernels.separate(pairs, x, least, rounding, margins)
        return self._separated(closest, pairs, x, least, rounding, margins)

    @classmethod
    def _separated(
        cls, closest: float, pairs: FeaturePairs, x: Floats, least: float, rounding: float, margins: Floats
    ) -> "GuardedPairs":
        """Return the pairs with their margins (3,k); where gaps are within twice the rounding, along other normals."""
        if closest <= 2.0 * rounding:
            _kernels.touching_normals(pairs, x, margins[0], 2.0 * rounding)
            _kernels.separate(pairs, x, least, rounding, margins)
        return cls(*pairs, *margins)

    def __getitem__(self, which: NDArray[np.bool_]) -> "GuardedPairs":
        return GuardedPairs(*(getattr(self, field.name)[which] for field in dataclasses.fields(self)))

    def __add__(self, other: "GuardedPairs") -> "GuardedPairs":
        names = [field.name for field in dataclasses.fields(self)]
        return GuardedPairs(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    @functools.cached_property
    def features(self) -> FeaturePairs:
        return FeaturePairs(self.vertices, self.kinds, self.normals)

    def crossed(self, start: Floats, x: Floats) -> NDArray[np.bool_]:
        """Return which pairs (k,) are no longer separated along their normal when vertices move from `start` to x."""
        out = np.empty(len(self.room), np.bool_)
        _carry.mark_overlapping(self.features, start, x - start, out)
        return out

    def separations(self, x: Floats) -> Floats:
        """Return the distance (k,) between the centroids of the two sides of each pair at x along its normal."""
        height = ((x[self.vertices] - x[self.vertices[:, :1]]) * self.normals[:, None]).sum(2)
        first = np.where((self.kinds == _contacts.VERTEX_FACE)[:, None], _ONE, _TWO)
        return np.asarray((height * first).sum(1))

    def are_separated(self, start: Floats, target: Floats) -> bool:
        """Whether all pairs stay separated if all vertices move from `start` to `target`."""
        return bool(_kernels.all_separated(self.features, self.kept, start, target))

    def limit(self, start: Floats, target: Floats, fraction: Floats, held: NDArray[np.bool_]) -> int:
        """Reduce the `fraction` (n,) of each move from `start` to `target`; return the number of newly held pairs."""
        return int(_kernels.limit(self.features, self.room, self.kept, start, target, fraction, held))


def beside(contacts: Contacts, edges: Rows, count: int) -> NDArray[np.bool_]:
    """Return which contacts (k,) are between features that a path of at most two `edges` (m,2) connects; `count` is
    the number of vertices."""
    from scipy.sparse import coo_array

    both = np.concatenate([edges, edges[:, ::-1]])
    one = coo_array((np.ones(len(both), np.int8), both.T), shape=(count, count)).tocsr()
    two = one @ one
    v = contacts["vertices"]
    split = np.where(contacts["kind"] == _contacts.VERTEX_FACE, 1, 2)
    found = np.zeros(len(contacts), np.bool_)
    for i in range(3):
        for j in range(i + 1, 4):
            across = (i < split) & (j >= split)
            found |= across & ((one[v[:, i], v[:, j]] > 0) | (two[v[:, i], v[:, j]] > 0))
    return found


def near_at_rest(close: Contacts, edges: Rows, count: int) -> NDArray[np.int64]:
    """Return the keys, ascending, of those contacts of a rest shape that join neighbours, see `beside`."""
    near = beside(close, edges, count) if len(close) else slice(0)
    return np.asarray(np.sort(keys(close[near])), np.int64)


def joined(parts: Sequence[Contacts]) -> Contacts:
    """Return the contacts of all parts, or the only part that is not empty itself."""
    some = [part for part in parts if len(part)]
    return some[0] if len(some) == 1 else _contacts.concatenate_unsorted(some)


def span_of(rows: Rows) -> slice | NDArray[np.int64]:
    """Return `rows` (k,) to index arrays with: a slice where they follow each other, which takes a twentieth of the
    time."""
    if len(rows) and int(rows[-1]) - int(rows[0]) == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows.astype(np.int64)


def guarded(found: Contacts, given_up: NDArray[np.bool_]) -> Contacts:
    """Return the contacts of which no pair of vertex and body is `given_up` (vertices, bodies)."""
    out = _contacts.uninitialised(len(found))
    return out[: _kernels.take_guarded(found, given_up, out)]


def vertices_and_bodies(v: Rows, kinds: NDArray[np.uint8], soft: NDArray[np.bool_], body_of: Rows) -> tuple[Rows, Rows]:
    """Return the vertices of cloth of pairs of features, vertices v (k,4), and the scene body (cloth or obstacle)
    on the other side of each.
    soft (n,) marks the vertices of cloth; body_of (n,): bodies of all vertices."""
    split = np.where(kinds == _contacts.VERTEX_FACE, 1, 2)
    other = np.where(np.arange(4) < split[:, None], v[np.arange(len(v)), split][:, None], v[:, :1])
    cloth = soft[v]
    return v[cloth], body_of[other[cloth]]


def too_near(found: Contacts, former: Floats, x: Floats, offset: float, free: NDArray[np.bool_]) -> Contacts:
    """Update those contacts that may be nearer than `offset` at x, where straight ways from `former` lead, and return
    the ones that `free` vertices (n,) can resolve. Beside a grip or a pin, the free end of an edge would have to move
    many times the distance that is missing."""
    if not len(found):
        return found
    out = _contacts.uninitialised(len(found))
    return out[: _kernels.take_near(found, former, x, offset, free, LEVER**-2, out)]


def gaps_left(found: Contacts, offset: float, *, closed: bool) -> Contacts:
    """Return the contacts with gaps that are zero at `offset` metres: how far their features may still approach each
    other. closed: bodies leave some cloth no room, so that gaps are zero at the present distance if that is less."""
    if len(found):
        _kernels.raise_anchors(found, offset, closed)
    return found


def with_any(which: NDArray[np.bool_], rows: Rows) -> NDArray[np.bool_]:
    """Return which rows (k,c) of vertices have any of the vertices `which` (n,)."""
    out = np.empty(len(rows), np.bool_)
    _bounds.mark_with_any(which, rows, out)
    return out


def among(rows: Rows, some: Rows) -> NDArray[np.bool_]:
    """Return which rows (k,c) are among `some` (m,c)."""
    known = set(map(tuple, some.tolist()))
    return np.fromiter((tuple(row) in known for row in rows.tolist()), np.bool_, len(rows))


def without(found: Contacts, unguarded: Rows) -> Contacts:
    """Return the contacts of which kind and vertices are not among the rows `unguarded` (m,5): a vertex and a face, and
    two edges, may have the same four vertices."""
    return found[~among(np.column_stack([found["kind"], found["vertices"]]), unguarded)]


def contained(values: NDArray[np.int64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values (k,) are among `ascending` (m,), of which there is at least one."""
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.asarray(ascending[at] == values)


def keys(contacts: Contacts) -> NDArray[np.int64]:
    """Return a key for each pair of features of one detector."""
    e = contacts["elements"].astype(np.int64)
    return np.asarray(contacts["kind"].astype(np.int64) << 62 | e[:, 0] << 31 | e[:, 1], np.int64)


def records(
    a: LeafMesh, b: LeafMesh, pairs: tuple[Rows, Rows, Rows], reach: float, motion: Floats, body_of: Rows
) -> Contacts:
    """Return contacts of two leaf meshes, or of one with itself, from `pairs` as `NearPairs` returns them: those within
    `reach`, now or during `motion` (n,3)."""
    out = _contacts.uninitialised(sum(map(len, pairs)))
    if not len(out):
        return out
    features = Features(a.top.faces, a.top.edges, b.top.faces, b.top.edges)
    fill = worth(_records.fill_records, len(out), _WORTH_THREADS)
    return out[: fill(a.x, features, FoundPairs(*pairs), motion, reach, body_of, out)]


def measure(found: Contacts, x: Floats) -> None:
    """Compute nearest points, normals and distances of contacts anew at x."""
    if len(found):
        worth(_kernels.measure_contacts, len(found), _WORTH_THREADS)(found, x)


def rows_of(scene: Scene, b: int) -> Rows:
    return np.arange(scene.first[b], scene.first[b + 1], dtype=np.int32)


def leaf_mesh_of(scene: Scene, bodies: Sequence[int], x: Floats, count: int, *, patches: bool = True) -> LeafMesh:
    """Return all faces of some bodies as one leaf mesh over the scene's array of positions; `patches`: see there."""
    faces = [scene.bodies[b].mesh.welded.faces + np.int32(scene.first[b]) for b in bodies]
    segments = [np.full(len(f), len(scene.bodies[b].mesh.lines) > 0) for f, b in zip(faces, bodies, strict=True)]
    every = np.concatenate([np.zeros((0, 3), np.int32), *faces])
    top = Topology.of(every, count, np.concatenate([np.zeros(0, np.bool_), *segments]))
    return LeafMesh(x, top, np.arange(count), isolated=False, patches=patches, arity=2)


def largest_query_distance(top: Topology, x: Floats) -> float:
    """Return half of the median edge: below the usual distance of neighbours, so flat cloth has no candidates."""
    if not len(top.edges):
        return 0.0
    span = x[top.edges[:, 0]] - x[top.edges[:, 1]]
    return 0.5 * float(np.median(np.sqrt((span**2).sum(1))))
