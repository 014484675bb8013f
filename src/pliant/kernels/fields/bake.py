"""Bake a narrow band of signed distances into bricks. Each tile of nodes is owned by one thread (no races).

Each tile gets lists of the faces, edges and vertices whose region (regions.py) may contain one of its nodes, takes the
minimum distance at its nodes, and packs the nodes within reach into bricks.
"""

import math
from typing import NamedTuple

import numpy as np

from ..geometry.triangle import nearest2
from ..jit import kernel, prange
from ..mesh.adjacency import CHUNK
from ..vec import load, sub
from .bricks import BRICK
from .regions import (
    NEAR_BOUNDARY,
    SIGN_UNKNOWN,
    SLACK,
    TILE,
    boxes_range,
    cones_range,
    prisms_range,
    wedge,
    wedges_range,
)

PER_TILE = (TILE // BRICK) ** 3
FACES, EDGES, VERTICES = 0, 1, 2  # kinds of items
FEW = 8  # tiles; a box of more is tested tile by tile


class Tiling(NamedTuple):
    """A grid of nodes divided into tiles, and the narrow band to be baked."""

    tiles: np.ndarray  # (3,) i8 along each axis
    reach: float  # half the width of the band, cells
    h: float  # spacing of the nodes, metres


class Items(NamedTuple):
    """Faces, edges or vertices with the tiles that their regions may overlap."""

    kind: int  # FACES, EDGES or VERTICES
    items: np.ndarray  # (k,) i4: faces, edges (3 f + j is edge j of face f) or vertices
    boxes: np.ndarray  # (k,6) i2 the first and the last tile along each axis


class Bins(NamedTuple):
    """Items by tile."""

    start: np.ndarray  # (tiles+1,) i8
    items: np.ndarray  # (k,) i4 as in `Items`; those of tile t from start[t] on


class Packed(NamedTuple):
    values: np.ndarray  # (slots,64,64) f4, metres; nan beyond the band
    rim: np.ndarray  # (slots,64) u8: bit q set where node q of the brick is nearest to a boundary edge
    sign_unknown: np.ndarray  # (slots,64) u8: bit q set where the pseudonormal does not determine the sign at node q
    numbers: np.ndarray  # (slots,64) u2: index of the brick in its tile
    counts: np.ndarray  # (slots,) i8: bricks in use
    examined: np.ndarray  # (slots,) i8: distances computed


@kernel
def tiles_of(low, high, tiles):
    """Return the first and last tile along an axis that may contain nodes in low..high."""
    return max(0, math.ceil(low - SLACK) // TILE), min(tiles - 1, math.floor(high + SLACK) // TILE)


@kernel
def face_boxes(adjacency, items, reach, prism, tiles, first, last, boxes):
    """Bound the tiles of the prism above and below each face (`prism`), or of everything within reach of it."""
    x, faces, normals = adjacency.x, adjacency.faces, adjacency.normals
    for at in range(first, last):
        f = items[at]
        a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
        for k in range(3):
            r = reach * abs(normals[f, k]) if prism else reach
            low, high = min(x[a, k], x[b, k], x[c, k]) - r, max(x[a, k], x[b, k], x[c, k]) + r
            boxes[at, k], boxes[at, k + 3] = tiles_of(low, high, tiles[k])


@kernel
def edge_boxes(adjacency, items, reach, tiles, first, last, boxes):
    x, faces, normals, across = adjacency.x, adjacency.faces, adjacency.normals, adjacency.across
    for at in range(first, last):
        f, c = items[at] // 3, items[at] % 3
        other = across[f, c]
        a, b = load(x, faces[f, c]), load(x, faces[f, (c + 1) % 3])
        _, _, low, high = wedge(load(normals, f), load(normals, max(other >> 1, 0)), other, sub(b, a), reach)
        boxes[at, 0], boxes[at, 3] = tiles_of(min(a[0], b[0]) + low[0], max(a[0], b[0]) + high[0], tiles[0])
        boxes[at, 1], boxes[at, 4] = tiles_of(min(a[1], b[1]) + low[1], max(a[1], b[1]) + high[1], tiles[1])
        boxes[at, 2], boxes[at, 5] = tiles_of(min(a[2], b[2]) + low[2], max(a[2], b[2]) + high[2], tiles[2])


@kernel
def vertex_boxes(adjacency, items, reach, tiles, first, last, boxes):
    x = adjacency.x
    for at in range(first, last):
        for k in range(3):
            boxes[at, k], boxes[at, k + 3] = tiles_of(x[items[at], k] - reach, x[items[at], k] + reach, tiles[k])


@kernel(parallel=True)
def fill_boxes(adjacency, kind, items, reach, prism, tiles, boxes):
    """Fill boxes (k,6) i2: the first and last tile along each axis that the regions of `items` may overlap."""
    for c in prange(-(-len(boxes) // CHUNK)):
        first, last = c * CHUNK, min(len(boxes), (c + 1) * CHUNK)
        if kind == FACES:
            face_boxes(adjacency, items, reach, prism, tiles, first, last, boxes)
        elif kind == EDGES:
            edge_boxes(adjacency, items, reach, tiles, first, last, boxes)
        else:
            vertex_boxes(adjacency, items, reach, tiles, first, last, boxes)


@kernel
def is_far(adjacency, kind, item, i, j, k, reach):
    """Return whether a whole tile is out of reach of the face `item`, or of the face whose edge `item` is."""
    if kind == VERTICES:
        return False
    x, faces = adjacency.x, adjacency.faces
    f = item // 3 if kind == EDGES else item
    middle = ((i + 0.5) * TILE - 0.5, (j + 0.5) * TILE - 0.5, (k + 0.5) * TILE - 0.5)
    d2, _, _, _, _ = nearest2(middle, load(x, faces[f, 0]), load(x, faces[f, 1]), load(x, faces[f, 2]))
    return d2 > (reach + 0.8661 * TILE) ** 2


@kernel
def count_range(adjacency, boxed, tiling, wanted, first, last, count):
    """Add to `count` (tiles,) the number of items first..last-1 that fall into each of the `wanted` tiles."""
    kind, items, boxes, tiles, reach = boxed.kind, boxed.items, boxed.boxes, tiling.tiles, tiling.reach
    for b in range(first, last):
        i_0, j_0, k_0, i_1, j_1, k_1 = boxes[b]
        many = (i_1 - i_0 + 1) * (j_1 - j_0 + 1) * (k_1 - k_0 + 1) > FEW
        for i in range(i_0, i_1 + 1):
            for j in range(j_0, j_1 + 1):
                for k in range(k_0, k_1 + 1):
                    t = (i * tiles[1] + j) * tiles[2] + k
                    if wanted[t] and not (many and is_far(adjacency, kind, items[b], i, j, k, reach)):
                        count[t] += 1


@kernel
def fill_range(adjacency, boxed, tiling, wanted, first, last, cursor, out):
    """Write items first..last-1 of each of the `wanted` tiles to `out` from cursor (tiles,) on, which advances."""
    kind, items, boxes, tiles, reach = boxed.kind, boxed.items, boxed.boxes, tiling.tiles, tiling.reach
    for b in range(first, last):
        i_0, j_0, k_0, i_1, j_1, k_1 = boxes[b]
        many = (i_1 - i_0 + 1) * (j_1 - j_0 + 1) * (k_1 - k_0 + 1) > FEW
        for i in range(i_0, i_1 + 1):
            for j in range(j_0, j_1 + 1):
                for k in range(k_0, k_1 + 1):
                    t = (i * tiles[1] + j) * tiles[2] + k
                    if wanted[t] and not (many and is_far(adjacency, kind, items[b], i, j, k, reach)):
                        out[cursor[t]] = items[b]
                        cursor[t] += 1


@kernel(parallel=True)
def count_tiles(adjacency, boxed, tiling, wanted, count):
    """Add to `count` (parts,tiles) the number of items of each part that fall into each of the `wanted` tiles."""
    parts, n = len(count), len(boxed.boxes)
    for p in prange(parts):
        first, last = p * n // parts, (p + 1) * n // parts
        count_range(adjacency, boxed, tiling, wanted, first, last, count[p])


@kernel(parallel=True)
def fill_tiles(adjacency, boxed, tiling, wanted, cursor, out):
    """Write the items of each tile in order; those of part p start at cursor[p, tile]."""
    parts, n = len(cursor), len(boxed.boxes)
    for p in prange(parts):
        first, last = p * n // parts, (p + 1) * n // parts
        fill_range(adjacency, boxed, tiling, wanted, first, last, cursor[p], out)


@kernel(parallel=True)
def touch_tiles(adjacency, reach, tiles, wanted, near):
    """Set near[f] where anything within reach of face f may lie in a wanted tile."""
    x, faces = adjacency.x, adjacency.faces
    for chunk in prange(-(-len(faces) // CHUNK)):
        for f in range(chunk * CHUNK, min(len(faces), (chunk + 1) * CHUNK)):
            a, b, c = load(x, faces[f, 0]), load(x, faces[f, 1]), load(x, faces[f, 2])
            i_0, i_1 = tiles_of(min(a[0], b[0], c[0]) - reach, max(a[0], b[0], c[0]) + reach, tiles[0])
            j_0, j_1 = tiles_of(min(a[1], b[1], c[1]) - reach, max(a[1], b[1], c[1]) + reach, tiles[1])
            k_0, k_1 = tiles_of(min(a[2], b[2], c[2]) - reach, max(a[2], b[2], c[2]) + reach, tiles[2])
            found = False
            for i in range(i_0, i_1 + 1):
                for j in range(j_0, j_1 + 1):
                    for k in range(k_0, k_1 + 1):
                        found |= wanted[(i * tiles[1] + j) * tiles[2] + k]
            near[f] = found


@kernel(parallel=True)
def bake_tiles(adjacency, tiling, paper, order, faces, edges, vertices, out):
    """Bake tile order[s] into slot s of `out`."""
    # not in one assignment with scalars: Numba would then drop the writes to these arrays as dead code
    counts, examined = out.counts, out.examined
    tiles, reach, h = tiling.tiles, tiling.reach, tiling.h
    for s in prange(len(order)):
        t = order[s]
        corner = (t // (tiles[1] * tiles[2]) * TILE, t // tiles[2] % tiles[1] * TILE, t % tiles[2] * TILE)
        best, mark = np.full(TILE**3, np.inf), np.zeros(TILE**3, np.uint8)
        if paper:
            n = boxes_range(adjacency, faces.items, faces.start[t], faces.start[t + 1], reach, corner, best)
        else:
            n = prisms_range(adjacency, faces.items, faces.start[t], faces.start[t + 1], reach, corner, best, mark)
            n += wedges_range(adjacency, edges.items, edges.start[t], edges.start[t + 1], reach, corner, best, mark)
            n += cones_range(
                adjacency, vertices.items, vertices.start[t], vertices.start[t + 1], reach, corner, best, mark
            )
        examined[s] = n
        counts[s] = pack(best, mark, h, s, out)


@kernel
def node_of(q):
    """Return the position in its tile of node `q` of a brick, relative to the first node of the brick."""
    return (q >> 4) * TILE * TILE + ((q >> 2) & 3) * TILE + (q & 3)


@kernel
def pack(best, mark, h, s, out):
    """Write the bricks of a tile that contain a distance into slot `s`; return their number."""
    values = out.values
    count, side = 0, TILE // BRICK
    for number in range(PER_TILE):
        o = (number // (side * side) * TILE * TILE + number // side % side * TILE + number % side) * BRICK
        held, marks = False, 0
        for q in range(BRICK**3):
            held |= best[o + node_of(q)] < np.inf
            marks |= mark[o + node_of(q)]
        if held:
            for q in range(BRICK**3):
                d = best[o + node_of(q)]
                values[s, count, q] = d * h if d < np.inf else np.nan
            out.rim[s, count] = bits(mark, o, NEAR_BOUNDARY) if marks & NEAR_BOUNDARY else np.uint64(0)
            out.sign_unknown[s, count] = bits(mark, o, SIGN_UNKNOWN) if marks & SIGN_UNKNOWN else np.uint64(0)
            out.numbers[s, count] = number
            count += 1
    return count


@kernel
def bits(mark, o, which):
    """Return bits for the brick that starts at node o of its tile: bit q is set where node q has the mark `which`."""
    total = np.uint64(0)
    for q in range(BRICK**3):
        if mark[o + node_of(q)] & which:
            total |= np.uint64(1) << np.uint64(q)
    return total
