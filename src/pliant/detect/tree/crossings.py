"""The exact list of triangle pairs that meet, of two meshes or of one with itself, for meshes that deform."""

import functools
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...door import door
from ...kernels import crossings as _kernels
from ...kernels.crossings import Side
from ...kernels.tree import Tree
from ...mesh import Mesh
from ..base import Side as _Side
from ..seams import Seams
from .build import VOLUMES
from .tree import refit, tree_of

Floats = NDArray[np.float64]
Pairs = NDArray[np.int32]
_ROOM = 1024  # pairs a subtree may hold before they are counted first


class Crossings:
    """Pairs of triangles that meet: faces of `a` with faces of `b`, or of `a` with itself where `b` is left out.

    Triangles are closed sets, so touching counts. Faces of one mesh that share a vertex or an edge count only when they
    have more than that in common; vertices at equal places at the start are one vertex as long as they stay together.
    `options` are those of a tree of boxes. `update` follows the meshes, `pairs` answers for where they are.
    """

    def __init__(self, a: Mesh, b: Mesh | None = None, *, max_bytes: float | None = None, **options: Any) -> None:
        if validate.choice("volume", options.get("volume", "box"), list(VOLUMES)) != "box":
            raise ValueError(f"volume = {options['volume']!r}; expected 'box', the volume that crossings are found by")
        self.max_bytes = max_bytes
        self._one = _Follower(a, options)
        self._other = self._one if b is None else _Follower(b, options)

    def update(self, x_a: Any = None, x_b: Any = None) -> Self:
        """New vertices of either mesh, (n,3); None leaves them where they are."""
        if x_b is not None and self._other is self._one:
            raise ValueError("x_b was given, but there is no second mesh; expected x_a alone")
        for name, x, mesh in (("x_a", x_a, self._one), ("x_b", x_b, self._other)):
            if x is not None:
                mesh.move(validate.floats(name, x, mesh.x.shape))
        self.__dict__.pop("_found", None)
        return self

    def pairs(self) -> Pairs:
        """(k,2) faces that meet, sorted; of one mesh with itself the lower face first, each pair once."""
        return self._found.copy()

    @property
    def count(self) -> int:
        """How many pairs meet."""
        return len(self._found)

    @functools.cached_property
    def _found(self) -> Pairs:
        one, other = self._one, self._other
        room = one.room + other.room
        return crossings_between(one.side, other.side, one is other, room=room, max_bytes=self.max_bytes)


class _Follower:
    """A mesh with a tree that follows it."""

    def __init__(self, mesh: Mesh, options: dict[str, Any]) -> None:
        self.x = mesh.vertices.copy()  # may be written, like those that follow: one compiled kernel serves them all
        self.faces = mesh.faces
        self.corners = mesh.weld_index[mesh.faces]
        self._seams = Seams(_Side(mesh))
        self.tree = tree_of(self.x, self.faces, **options)
        self.room = int(_kernels.stack_room(self.tree.nodes))

    def move(self, x: Floats) -> None:
        self.x = x
        if self._seams.follow(x):
            self.corners = self._seams.sides[0].mesh.weld_index[self.faces]
        refit(self.tree, x, self.faces)

    @property
    def side(self) -> Side:
        return side_of(self.x, self.faces, self.tree, self.corners)


def side_of(x: Floats, faces: Pairs, tree: Tree, corners: Pairs | None = None) -> Side:
    """The kernel's view of a mesh; `corners` (m,3) are its faces with equal vertices under one number."""
    x = np.require(x, np.float64, ["C", "W"])
    faces, corners = (_read_only(a) for a in (faces, faces if corners is None else corners))
    return Side(x, faces, corners, tree.nodes, tree.order, tree.items, tree.parts)


def _read_only(a: Pairs) -> Pairs:
    """A view that may not be written, like the faces of every mesh: kernels are compiled for that."""
    view = np.require(a, np.int32, ["C"]).view()
    view.flags.writeable = False
    return view


def crossings_of(x: Floats, faces: Pairs, tree: Tree, corners: Pairs | None = None) -> Pairs:
    """Pairs of faces of one mesh that meet, for a tree of boxes that fits `x`; see `Crossings`."""
    side = side_of(x, faces, tree, corners)
    return crossings_between(side, side, True)


def crossings_between(
    a: Side, b: Side, same: bool = False, *, room: int | None = None, max_bytes: float | None = None
) -> Pairs:
    """What `Crossings.pairs` answers, for sides whose trees fit; `same` where both are one."""
    n = len(a.parts)
    if not len(a.nodes) or not len(b.nodes):
        return np.empty((0, 2), np.int32)
    if room is None:
        room = int(_kernels.stack_room(a.nodes)) + int(_kernels.stack_room(b.nodes))
    start, out = np.arange(n + 1) * _ROOM, np.empty((n * _ROOM, 2), np.int32)
    found = np.empty(n, np.int64)
    _kernels.find_crossings(a, b, same, room + n, start, out, found)
    if (found > _ROOM).any():
        total = int(found.sum())
        advice = "cut the meshes into pieces or raise max_bytes"
        # as they are found, their keys, and the sorted list
        validate.budget(f"{total} pairs", 24.0 * total, advice, max_bytes)
        start, out = np.concatenate([[0], np.cumsum(found)]), np.empty((total, 2), np.int32)
        _kernels.find_crossings(a, b, same, room + n, start, out, found)
    else:
        out = np.concatenate([out[s : s + k] for s, k in zip(start, found)])
    width = len(b.faces)
    keys = np.sort(out[:, 0].astype(np.int64) * width + out[:, 1])
    return np.stack([keys // width, keys % width], 1).astype(np.int32)


@door
def intersections(a: Mesh, b: Mesh | None = None) -> Pairs:
    """(k,2) the exact list of triangle pairs that meet: faces of `a` with faces of `b`, or of `a` with itself.

    Touching counts. Within one mesh, faces that share a vertex or an edge count only when they have more than that in
    common. For meshes that move keep a `Crossings`: its trees follow.
    """
    return Crossings(a, b).pairs()
