"""Baking of a mesh into bricks of signed distances: list the features near each tile, then process tile by tile."""

import dataclasses
import math
import time

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.fields import bake as _bake
from ...kernels.fields import bricks as _bricks
from ...kernels.fields import occupied as _occupied
from ...kernels.fields.regions import TILE
from ...kernels.jit import threads
from ...kernels.mesh import adjacency as _adjacency
from ...mesh import Mesh
from ..queries.closest_point import ClosestPoints
from .basis import Basis, Progress

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
_LAUNCH = 0.25  # s: target duration of a launch; interrupts and progress are handled between launches
_SLOTS = 512  # tiles per launch, so that their bricks are still in the CPU cache when they are copied
_SHARE = 0.2  # of the time of a bake for distances, where winding numbers decide the signs; for `progress`
_PARTS = 4  # of the items, whose tiles are listed in parallel
_CHUNKS = 256  # chunks of faces per launch when edges and vertices with nodes are searched
_NODES = _bake.BRICK**3
_AROUND = np.array([(i, j, k) for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1) if (i, j, k) != (0, 0, 0)])


@dataclasses.dataclass(frozen=True)
class Grid:
    """A grid of `shape` nodes at origin + h (i, j, k), metres, for a narrow band of `reach` cells on either side."""

    origin: tuple[float, float, float]
    h: float
    shape: tuple[int, int, int]
    reach: float

    @property
    def tiles(self) -> Ints:
        return -(-np.array(self.shape, np.int64) // TILE)

    @property
    def tiling(self) -> _bake.Tiling:
        """The grid as kernels expect it."""
        return _bake.Tiling(self.tiles, self.reach, self.h)

    def budget(self, max_bytes: float | None, busy: int = 0, dense: bool = False, share: float = 1.0) -> None:
        """Raise TooBigError if a `share` (0..1) of the index and the bricks of `busy` tiles exceed `max_bytes`."""
        nodes = math.prod(float(n) for n in self.shape)
        # the index, the offsets of the lists, and the bricks during the bake
        needed = share * nodes / _NODES * 4.0 + nodes / TILE**3 * 104.0 + busy * TILE**3 * 4.0
        text = "grid " + "x".join(map(str, self.shape))
        validate.budget(text, needed + dense * 5.0 * nodes, "lower the resolution or raise max_bytes", max_bytes)


def adjacency_of(mesh: Mesh, grid: Grid, like: _adjacency.FaceAdjacency | None = None) -> _adjacency.FaceAdjacency:
    """Return the mesh in grid coordinates, with normals and adjacency; the adjacency is taken from `like` if given."""
    x, faces = np.empty_like(mesh.vertices), mesh.faces
    _adjacency.to_cells(mesh.vertices, np.array(grid.origin), grid.h, x)
    normals = np.empty((len(faces), 3))
    if like is not None:
        adjacency = _adjacency.FaceAdjacency(x, faces, normals, like.across, like.start, like.ring)
    else:
        count = np.zeros(len(x) + 1, np.int32)
        _adjacency.count_faces(faces, count)
        start = np.cumsum(count, dtype=np.int32)
        ring = np.empty(3 * len(faces), np.int32)
        _adjacency.fill_rings(faces, start.copy(), ring)
        adjacency = _adjacency.FaceAdjacency(x, faces, normals, np.empty((len(faces), 3), np.int32), start, ring)
        _adjacency.fill_across(adjacency)
    _adjacency.fill_normals(adjacency)
    return adjacency


def bake_bricks(
    basis: Basis,
    adjacency: _adjacency.FaceAdjacency,
    grid: Grid,
    paper: bool,
    wanted: Bools | None = None,
    max_bytes: float | None = None,
    progress: Progress | None = None,
) -> tuple[_bricks.Bricks, Ints, Ints]:
    """Return the bricks of the `wanted` tiles (default: all) around the mesh of `basis`, which `adjacency` holds in
    grid coordinates; the number of bricks of each tile, and the number of distances computed for it.

    Bricks are numbered tile by tile, so that the result is bitwise identical for any number of threads.
    """
    tiling, tiles = grid.tiling, grid.tiles
    bins = _bins(adjacency, grid, paper, np.ones(math.prod(tiles.tolist()), np.bool_) if wanted is None else wanted)
    busy = np.flatnonzero(np.diff(bins[0].start) + np.diff(bins[1].start) + np.diff(bins[2].start))
    # pages of the index that are never written to take no memory
    grid.budget(max_bytes, len(busy), share=1.0 if wanted is None else float(wanted.mean()))
    counts, examined = (np.zeros(math.prod(tiles.tolist()), np.int64) for _ in range(2))
    index = np.zeros(tuple(tiles * (TILE // _bake.BRICK)), np.int32)
    # pages are allocated on first write, so reserving the upper bound is free; the rest is released below
    most = 1 + len(busy) * _bake.PER_TILE
    values = np.empty((most, _NODES), np.float32)
    rim, sign_unknown = np.empty(most, np.uint64), np.empty(most, np.uint64)
    values[0], rim[0], sign_unknown[0] = np.nan, 0, 0
    done, total, group = 0, 1, _SLOTS
    sign_test = None if paper else basis.sign_test
    share = 1.0 if sign_test is None else _SHARE
    packed = _allocate(min(_SLOTS, len(busy)))
    while done < len(busy):
        began = time.perf_counter()
        batch = busy[done : done + group]
        # distribute neighbouring tiles over the threads to balance the load
        spread = np.concatenate([np.arange(first, len(batch), threads()) for first in range(threads())])
        order = batch[spread]
        _bake.bake_tiles(adjacency, tiling, paper, order, *bins, packed)
        counts[order] = packed.counts[: len(batch)]
        start = total + np.cumsum(counts[batch]) - counts[batch]
        _bricks.gather(order, start[spread], packed, tiles, values, rim, sign_unknown, index)
        examined[order] = packed.examined[: len(batch)]
        done, total = done + len(batch), total + int(counts[batch].sum())
        took = time.perf_counter() - began
        group = max(threads(), group // 2) if took > _LAUNCH else min(2 * group, _SLOTS)
        if progress is not None:
            progress(share * done / len(busy))
    for array in (values, rim, sign_unknown):
        array.resize((total, *array.shape[1:]), refcheck=False)
    rim = rim if bool((adjacency.across == _adjacency.BOUNDARY).any()) else np.zeros(0, np.uint64)
    made = bricks_of(values, index, rim, grid)
    if not paper and sign_unknown.any() and (sign_test is None or sign_test.rim is not None):
        _decide_signs(basis.mesh, made, sign_unknown)
    if sign_test is not None:
        made = sign_test.decide(made, progress and (lambda done: progress(share + (1.0 - share) * done)))
    return made, counts, examined


def bricks_of(values: NDArray[np.float32], index: NDArray[np.int32], rim: Bits, grid: Grid) -> _bricks.Bricks:
    """Make bricks without sign discontinuities marked."""
    size, none = np.array(grid.shape, np.int64), np.zeros(0, np.uint64)
    return _bricks.Bricks(values, index, rim, none, np.array(grid.origin), size, grid.h)


def with_jumps(bricks: _bricks.Bricks, paper: bool) -> _bricks.Bricks:
    """Return the bricks with the cells marked in which the sign changes without a surface.

    The sign of the `paper` (`sign="face"`) is also wrong at acute edges. On a mesh without a boundary nothing is marked
    then: the field keeps the values that the paper gives. Beyond a boundary every field would have a false surface.
    """
    if paper and not len(bricks.rim):
        return bricks
    above, below, jump = (np.zeros(len(bricks.values), np.uint64) for _ in range(3))
    _bricks.signs(bricks.values, above, below)
    _bricks.mark_jumps(bricks, above, below, jump)
    return bricks._replace(jump=jump if jump.any() else np.zeros(0, np.uint64))


def tiles_near(adjacency: _adjacency.FaceAdjacency, faces: NDArray[np.int32], grid: Grid) -> Bools:
    """Return (tiles,) whether each tile may contain nodes within the band of `faces`."""
    tiles = grid.tiles
    count = np.zeros((_PARTS, math.prod(tiles.tolist())), np.int64)
    boxes = np.empty((len(faces), 6), np.int16)
    _bake.fill_boxes(adjacency, _bake.FACES, faces, grid.reach, False, tiles, boxes)
    everywhere = np.ones(count.shape[1], np.bool_)
    _bake.count_tiles(adjacency, _bake.Items(_bake.FACES, faces, boxes), grid.tiling, everywhere, count)
    return np.asarray(count.any(0))


def _bins(adjacency: _adjacency.FaceAdjacency, grid: Grid, paper: bool, wanted: Bools) -> list[_bake.Bins]:
    """Return the faces, edges and vertices near each wanted tile."""
    m, n, tiles = len(adjacency.faces), len(adjacency.x), grid.tiles
    faces = np.arange(m, dtype=np.int32)
    of_faces, of_vertices = np.ones(m, np.bool_), np.ones(n, np.bool_)
    if not wanted.all():
        near = np.empty(m, np.bool_)
        _bake.touch_tiles(adjacency, grid.reach, tiles, wanted, near)
        of_faces, of_vertices = near, np.zeros(n, np.bool_)
        faces = np.flatnonzero(near).astype(np.int32)
        of_vertices[adjacency.faces[faces]] = True
    edges = np.zeros((0 if paper else m, 3), np.bool_)
    vertices = np.zeros(0 if paper else n, np.bool_)
    if not paper:
        chosen, occupied = _occupied.Chosen(of_faces, of_vertices), _occupied.Occupied(edges, vertices)
        chunks = -(-max(m, n) // _adjacency.CHUNK)
        for first in range(0, chunks, _CHUNKS):
            last = min(chunks, first + _CHUNKS)
            _occupied.find_occupied(adjacency, grid.reach, chosen, first, last, chunks, occupied)
    return [
        _binned(adjacency, kind, items.astype(np.int32), grid, wanted)
        for kind, items in (
            (_bake.FACES, faces),
            (_bake.EDGES, np.flatnonzero(edges)),
            (_bake.VERTICES, np.flatnonzero(vertices)),
        )
    ]


def _binned(
    adjacency: _adjacency.FaceAdjacency, kind: int, items: NDArray[np.int32], grid: Grid, wanted: Bools
) -> _bake.Bins:
    tiling, boxes = grid.tiling, np.empty((len(items), 6), np.int16)
    _bake.fill_boxes(adjacency, kind, items, grid.reach, True, tiling.tiles, boxes)
    boxed = _bake.Items(kind, items, boxes)
    count = np.zeros((_PARTS, len(wanted)), np.int64)
    _bake.count_tiles(adjacency, boxed, tiling, wanted, count)
    start = np.zeros(len(wanted) + 1, np.int64)
    np.cumsum(count.sum(0), out=start[1:])
    out = np.empty(int(start[-1]), np.int32)
    cursor = start[:-1] + np.cumsum(count, 0) - count
    _bake.fill_tiles(adjacency, boxed, tiling, wanted, cursor, out)
    return _bake.Bins(start, out)


def _allocate(slots: int) -> _bake.Packed:
    per = _bake.PER_TILE
    return _bake.Packed(
        np.empty((slots, per, _NODES), np.float32),
        np.empty((slots, per), np.uint64),
        np.empty((slots, per), np.uint64),
        np.empty((slots, per), np.uint16),
        np.empty(slots, np.int64),
        np.empty(slots, np.int64),
    )


def _decide_signs(mesh: Mesh, bricks: _bricks.Bricks, sign_unknown: Bits) -> None:
    """Set the signs of nodes without a usable pseudonormal: nearest to faces without area, or to non-manifold edges.

    Around a closed surface the sign is propagated from a neighbour: the balls whose radii are the distances contain no
    surface, so two nodes with overlapping balls are on the same side. The rest is queried on the exact surface.
    """
    i, j, k = np.nonzero(bricks.index)
    b = bricks.index[i, j, k]
    some = sign_unknown[b] != 0
    i, j, k, b = i[some], j[some], k[some], b[some]
    row, q = np.nonzero((sign_unknown[b][:, None] >> np.arange(_NODES, dtype=np.uint64)) & np.uint64(1))
    b, node = b[row], np.stack([4 * i[row] + q // 16, 4 * j[row] + q // 4 % 4, 4 * k[row] + q % 4], 1)
    side = np.zeros(len(b))
    if not len(bricks.rim):
        for step in _AROUND:
            near = np.clip(node + step, 0, bricks.size - 1)
            b_n, q_n = bricks.index[tuple((near >> 2).T)], (near & 3) @ (16, 4, 1)
            d_n = bricks.values[b_n, q_n]
            known = (sign_unknown[b_n] >> q_n.astype(np.uint64)) & np.uint64(1) == 0
            apart = bricks.h * np.linalg.norm(near - node, axis=1)
            known &= np.abs(d_n) + np.abs(bricks.values[b, q]) > 1.0001 * apart
            side = np.where((side == 0.0) & known & (apart > 0.0), np.sign(d_n), side)
    rest = np.flatnonzero(side == 0.0)
    if len(rest):
        side[rest] = ClosestPoints(mesh, behind=True).query(bricks.origin + bricks.h * node[rest])[0]
    bricks.values[b, q] = np.copysign(bricks.values[b, q], side)
