"""Bounding volumes of a BVH at one level, of any kind, and the velocities below its nodes."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....kernels.bvh import outlines as _outlines
from ....kernels.bvh.volumes import ORIENTED, SPHERE
from ...bvh.tree import flat, kind_of
from ...bvh.update import MovingTree
from ...structure import MOST_VOLUMES, Floats, Structure, box_edges, clamped, millimetres, oriented_edges, some

_NAMES = {4: "bounding spheres", 6: "AABBs", 15: "OBBs"}
_SPEED = 0.5  # length of the drawn velocities over the diagonal of the volume, at most


class Nodes(NamedTuple):
    """The nodes of a BVH and their volumes."""

    bounds: Floats  # (n,k) parameters of the volumes
    kind: int
    depth: NDArray[np.int64]  # (n,)
    is_leaf: NDArray[np.bool_]  # (n,)
    current: NDArray[np.bool_]  # (n,) whether the volume is that of the last update
    nodes: Any  # (n,) links
    node_motion: Floats = np.zeros((0, 12))  # of `SweptGeometry`, if the method uses velocity cones

    def at(self, level: int) -> NDArray[np.int64]:
        """The nodes of a level, and the leaves above it: together they hold all elements."""
        return np.flatnonzero((self.depth == level) | (self.is_leaf & (self.depth < level)))

    def front(self, level: int) -> NDArray[np.int64]:
        """The nodes of a level and the leaves above it; where these are not current, the lowest nodes above them that
        are: how far a traversal came."""
        if self.current.all():
            return self.at(level)
        known = np.flatnonzero(self.current & (self.depth <= level))
        parents = parents_of(self.depth)[known[self.depth[known] > 0]]
        return known[~np.isin(known, parents)]


def depths_of(skip: NDArray[Any]) -> NDArray[np.int64]:
    """Return the depth (n,) of each node of a BVH in depth-first order."""
    n = len(skip)
    # node i begins its descendants at i + 1, and they end before skip[i]
    return np.cumsum((np.arange(n + 1) > 0) - np.bincount(skip, minlength=n + 1))[:n].astype(np.int64)


def parents_of(depth: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the parent (n,) of each node of a BVH in depth-first order, by the depths; that of the root is itself."""
    parent = np.zeros(len(depth), np.int64)
    for level in range(1, int(depth.max(initial=0)) + 1):
        rows, above = np.flatnonzero(depth == level), np.flatnonzero(depth == level - 1)
        parent[rows] = above[np.searchsorted(above, rows) - 1]
    return parent


def nodes_of(tree: Any, current: NDArray[np.bool_] | None = None, motion: Floats | None = None) -> Nodes:
    """Return the nodes of a BVH; current: those whose volumes are up to date, all by default."""
    skip = np.asarray(tree.nodes["skip"])
    leaf = skip == np.arange(len(skip)) + 1
    every = np.ones(len(skip), np.bool_) if current is None else current
    bounds, none = flat(tree).bounds[:, : tree.items.shape[1]], np.zeros((0, 12))
    return Nodes(bounds, kind_of(tree), depths_of(skip), leaf, every, tree.nodes, none if motion is None else motion)


def moving_nodes(tree: Any) -> Nodes:
    """Return the nodes of a `MovingTree` or a `BlendedBody`; where an update reaches only some, these are current."""
    view = tree.traversed()
    lazy = isinstance(tree, MovingTree) and tree.update not in ("top-down", "hybrid")
    return nodes_of(tree.tree, None if lazy else np.asarray(view.stamp == view.now))


def hierarchy(sides: Sequence[Nodes], level: int | None, what: str = "", more: str = "") -> Structure:
    """Return the volumes of the BVHs of one side, or of two, at a level. what: words before the kind of volume."""
    levels = max((int(side.depth.max(initial=0)) for side in sides), default=0)
    level = clamped(level, levels, levels // 2)
    lines: list[Floats] = [np.zeros((0, 2, 3)), np.zeros((0, 2, 3))]
    spheres, counts, reached, thinned = [np.zeros((0, 5))], [], True, False
    for k, side in enumerate(sides):
        rows = side.front(level)
        counts.append(len(rows))
        reached &= bool(side.current[side.at(level)].all())
        kept = rows[some(len(rows))]
        thinned |= len(kept) < len(rows)
        if side.kind == SPHERE:
            spheres.append(np.column_stack([side.bounds[kept], np.full(len(kept), float(k))]))
        else:
            lines[k] = volume_edges(side.bounds[kept], side.kind)
        lines[k] = np.concatenate([lines[k], velocities(side, kept)])
    kind = _NAMES.get(sides[0].bounds.shape[1], f"{sides[0].bounds.shape[1]}-DOPs")
    of = " (blue: deformable, orange: obstacle)" if len(sides) > 1 else ""
    text = f"{what}{kind} at level {level} of {levels}: {' + '.join(map(str, counts))} nodes{of}"
    text += "" if reached else ", where the last traversal came so far, else above"
    text += f", {MOST_VOLUMES} of each drawn" if thinned else ""
    return Structure(text + more, level, levels, lines[0], lines[1], np.concatenate(spheres))


def volume_edges(bounds: Floats, kind: int) -> Floats:
    """Return the edges (m,2,3) of volumes (n,k): AABBs, k-DOPs or OBBs."""
    if kind == ORIENTED:
        return oriented_edges(bounds[:, :3], bounds[:, 3:6], bounds[:, 6:].reshape(-1, 3, 3))
    if bounds.shape[1] == 6:
        return box_edges(bounds[:, :3], bounds[:, 3:])
    out, counts = np.empty((len(bounds), _outlines.MOST, 2, 3)), np.zeros(len(bounds), np.int64)
    _outlines.outlines(np.ascontiguousarray(bounds), out, counts)
    return np.ascontiguousarray(out[np.arange(_outlines.MOST) < counts[:, None]])


def velocities(side: Nodes, rows: NDArray[np.int64]) -> Floats:
    """Return lines (8 k,2,3) from the centre of each of these nodes along the corners of its box of velocities, all to
    one scale; none without velocity cones."""
    if not len(side.node_motion) or not len(rows):
        return np.zeros((0, 2, 3))
    motion = side.node_motion[rows]
    middle, size = 0.5 * (motion[:, :3] + motion[:, 3:6]), np.linalg.norm(motion[:, 3:6] - motion[:, :3], axis=1)
    corners = np.stack([np.where(k, motion[:, 9:], motion[:, 6:9]) for k in _corners()], 1)
    longest = float(np.linalg.norm(corners, axis=2).max())
    scale = _SPEED * float(np.median(size)) / longest if longest > 0.0 else 0.0
    ends = middle[:, None] + scale * corners
    return np.stack([np.broadcast_to(middle[:, None], ends.shape), ends], 2).reshape(-1, 2, 3)


def _corners() -> list[tuple[bool, bool, bool]]:
    return [(bool(c & 1), bool(c & 2), bool(c & 4)) for c in range(8)]


def structure_of_bvh(near: Any, level: int | None) -> Structure:
    """Return the volumes of the BVHs of `NearPairs`."""
    if near.broad_phase is None:
        meshes = [near.a] if near.same else [near.a, near.b]
        for mesh in meshes:
            _ = mesh.at  # fitted to the positions
        return hierarchy([nodes_of(mesh.tree) for mesh in meshes], level)
    return hierarchy([moving_nodes(tree) for tree in near.broad_phase.trees], level, more=_lag(near.broad_phase))


def structure_of_sweep(collisions: Any, level: int | None) -> Structure:
    """Return the swept volumes of the BVHs of `CollisionQuery`."""
    sides = collisions.sides
    if collisions.broad_phase is None:
        nodes = [nodes_of(side.tree, motion=side.at.node_motion) for side in sides]
        more = ""
    else:
        nodes = [moving_nodes(tree) for tree in collisions.broad_phase.trees]
        more = _lag(collisions.broad_phase)
        for tree in collisions.broad_phase.trees:
            if not isinstance(tree, MovingTree):
                more += f"; those of the obstacle are of the end of its motion, by up to {millimetres(tree.moved)}"
    if collisions.velocity_cones:
        more += "; velocities below each node as lines, to one scale"
    more += f"; {collisions.tested} pairs of triangles tested in motion"
    return hierarchy(nodes, level, "swept ", more)


def _lag(broad_phase: Any) -> str:
    """Say by how much the volumes of a lazy update are out of date."""
    lag = max((tree.moved for tree in broad_phase.trees if isinstance(tree, MovingTree)), default=0.0)
    return f"; lazy: vertices have moved by up to {millimetres(lag)} since the last refit" if lag > 0.0 else ""
