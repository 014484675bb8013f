"""What the guard is made of: the faces of some bodies in one tree, and pairs of features by name."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from ..contacts import Contacts
from ..detect.tree.cover import Cover
from ..detect.tree.near import NearPairs
from ..kernels import carry as _carry
from ..kernels import guard as _kernels
from ..scene import Scene
from ..topology import Topology

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]


@dataclasses.dataclass(eq=False)
class Other:
    """A body beside the cloth."""

    near: NearPairs
    rows: Rows
    moves: bool
    reach: float = 0.0  # how far around it to look

    @property
    def box(self) -> Floats:
        return np.asarray(self.near.b.tree.nodes[0]["bounds"])


@dataclasses.dataclass(frozen=True, eq=False)
class Walls:
    """Pairs of features that are kept apart, each along its normal: vertices (k,4), kinds (k,), normals (k,3), the
    gaps (k,) there are, the room (k,) each side may use up, and the gap (k,) that is always kept."""

    vertices: Rows
    kinds: NDArray[np.uint8]
    normals: Floats
    gaps: Floats
    room: Floats
    kept: Floats

    @classmethod
    def of(cls, found: Contacts, x: Floats, least: float, rounding: float) -> "Walls":
        """Of contacts found at x; gaps below `least` are kept as they are, but for `rounding`."""
        gaps, room, kept = (np.empty(len(found)) for _ in range(3))
        pairs = found["vertices"].copy(), found["kind"].copy(), found["normal"].copy()
        _kernels.room_of(*pairs, x, least, rounding, gaps, room, kept)
        if gaps.min(initial=np.inf) <= 2.0 * rounding:
            _kernels.touching_normals(*pairs, x, gaps, 2.0 * rounding)
            _kernels.room_of(*pairs, x, least, rounding, gaps, room, kept)
        return cls(*pairs, gaps, room, kept)

    @property
    def named(self) -> tuple[Rows, NDArray[np.uint8], Floats]:
        return self.vertices, self.kinds, self.normals

    def crossed(self, seen: Floats, x: Floats) -> NDArray[np.bool_]:
        """Which pairs (k,) are no longer apart along their normal when vertices go from `seen` to x."""
        out = np.empty(len(self.room), np.bool_)
        _carry.broken(*self.named, seen, x - seen, out)
        return out

    def limit(self, seen: Floats, target: Floats, part: Floats, held: NDArray[np.bool_]) -> int:
        """Lower part (n,) of the ways from `seen` to `target`; how many pairs were held anew."""
        return int(_kernels.limit(*self.named, self.room, self.kept, seen, target, part, held))


def beside(contacts: Contacts, edges: Rows, count: int) -> NDArray[np.bool_]:
    """Which contacts (k,) are of features that no more than two of `edges` (m,2), on `count` vertices, lie between."""
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


def keys(contacts: Contacts) -> NDArray[np.int64]:
    """A number for each pair of features of one detector."""
    e = contacts["elements"].astype(np.int64)
    return np.asarray(contacts["kind"].astype(np.int64) << 62 | e[:, 0] << 31 | e[:, 1], np.int64)


def rows_of(scene: Scene, b: int) -> Rows:
    return np.arange(scene.first[b], scene.first[b + 1], dtype=np.int32)


def cover_of(scene: Scene, bodies: Sequence[int], x: Floats, count: int) -> Cover:
    """All faces of some bodies as one cover, on the one array of positions."""
    faces = [scene.bodies[b].mesh.welded.faces + np.int32(scene.first[b]) for b in bodies]
    top = Topology.of(np.concatenate([np.zeros((0, 3), np.int32), *faces]), count)
    return Cover(x, top, np.arange(count), lone=False)


def spacing(top: Topology, x: Floats) -> float:
    """How far to look at most: nearer than neighbours usually are, so that flat cloth finds nothing."""
    if not len(top.edges):
        return 0.0
    span = x[top.edges[:, 0]] - x[top.edges[:, 1]]
    return 0.5 * float(np.median(np.sqrt((span**2).sum(1))))
