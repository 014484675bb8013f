"""Distances in bricks of 4 x 4 x 4 nodes around the surface, and an index that finds them."""

from typing import NamedTuple

import numpy as np

from .bake import BRICK
from .grid import trilinear
from .jit import kernel, prange
from .regions import TILE

CHUNK = 64  # bricks a thread takes at a time
POINTS = 4096  # points a thread samples at a time
KEPT = 64  # bricks that are unpacked at a time
SIX = np.uint64(6)  # bits of a node's number in its brick
# bits of a brick's nodes with i = 0, j = 0, k = 0
I_FIRST, J_FIRST, K_FIRST = np.uint64(0xFFFF), np.uint64(0x000F000F000F000F), np.uint64(0x1111111111111111)


class Bricks(NamedTuple):
    values: np.ndarray  # (n,64) f4 signed distance, metres, z fastest; nan beyond the band; brick 0 is all nan
    index: np.ndarray  # (bx,by,bz) i4: the brick at nodes 4 i, 4 j, 4 k; 0 where there is none
    rim: np.ndarray  # (n,) u8: bit q set where node q is nearest to an open border; or empty
    jump: np.ndarray  # (n,) u8: bit q set where the sign jumps in the cell above node q without a surface; or empty
    origin: np.ndarray  # (3,) metres
    size: np.ndarray  # (3,) i8 nodes along each axis
    h: float  # spacing, metres


@kernel
def brick_at(t, place, tiles):
    """Brick i, j, k of the grid that is number `place` of tile `t`."""
    side = TILE // BRICK
    i = t // (tiles[1] * tiles[2]) * side + place // (side * side)
    return i, t // tiles[2] % tiles[1] * side + place // side % side, t % tiles[2] * side + place % side


@kernel(parallel=True)
def gather(order, start, before, packed, tiles, values, rim, doubt, index):
    """Copy slot s of `packed`, which is tile order[s], to rows start[s] on; the index counts `before` bricks more."""
    for s in prange(len(order)):
        for b in range(packed.counts[s]):
            to = start[s] + b
            for q in range(BRICK**3):
                values[to, q] = packed.values[s, b, q]
            rim[to], doubt[to] = packed.rim[s, b], packed.doubt[s, b]
            i, j, k = brick_at(order[s], packed.places[s, b], tiles)
            index[i, j, k] = before + to


@kernel(parallel=True)
def splice(old, new, replaced, start, tiles, values, rim, index):
    """Bricks of the `replaced` tiles from `new`, of the others from `old`, those of tile t from start[t] on."""
    places = (TILE // BRICK) ** 3
    for t in prange(len(replaced)):
        to = start[t]
        for place in range(places):
            i, j, k = brick_at(t, place, tiles)
            b = new.index[i, j, k] if replaced[t] else old.index[i, j, k]
            if b == 0:
                continue
            for q in range(BRICK**3):
                values[to, q] = new.values[b, q] if replaced[t] else old.values[b, q]
            if len(rim) > 0:
                rim[to] = new.rim[b] if replaced[t] else old.rim[b]
            index[i, j, k] = to
            to += 1


@kernel(parallel=True)
def expand(bricks, values):
    """The dense grid (nx,ny,nz) of all nodes."""
    v, index = bricks.values, bricks.index
    for i in prange(values.shape[0]):
        for j in range(values.shape[1]):
            for k in range(values.shape[2]):
                values[i, j, k] = v[index[i >> 2, j >> 2, k >> 2], (i & 3) << 4 | (j & 3) << 2 | k & 3]


@kernel(parallel=True)
def expand_jumps(bricks, jump):
    """The dense cells (nx-1,ny-1,nz-1) u1 of the bits."""
    bits, index = bricks.jump, bricks.index
    for i in prange(jump.shape[0]):
        for j in range(jump.shape[1]):
            for k in range(jump.shape[2]):
                q = np.uint64((i & 3) << 4 | (j & 3) << 2 | k & 3)
                jump[i, j, k] = (bits[index[i >> 2, j >> 2, k >> 2]] >> q) & np.uint64(1)


@kernel(parallel=True)
def signs(values, above, below):
    """Bit q set where node q of a brick is above zero, and where it is below."""
    for c in prange(-(-len(values) // CHUNK)):
        for b in range(c * CHUNK, min(len(values), (c + 1) * CHUNK)):
            up, down = np.uint64(0), np.uint64(0)
            for q in range(BRICK**3):
                up |= np.uint64(values[b, q] > 0.0) << np.uint64(q)
                down |= np.uint64(values[b, q] < 0.0) << np.uint64(q)
            above[b], below[b] = up, down


@kernel
def joined(a, b, shift, mask):
    """Bits of the nodes or of their next ones along an axis; `b` is the next brick, `mask` the axis' first nodes."""
    next_ = np.uint64(a & ~mask) >> np.uint64(shift) | np.uint64(b & mask) << np.uint64(3 * shift)
    return a | next_


@kernel
def cells_with(bits, index, i, j, k):
    """Of brick i, j, k: bit q set where any corner of the cell above node q has its bit set."""
    ni, nj, nk = index.shape
    corner = (np.uint64(0), np.uint64(0))
    for a in range(2):
        row = (np.uint64(0), np.uint64(0))
        for b in range(2):
            x, y = i + a, j + b
            inside = x < ni and y < nj
            here = bits[index[x, y, k]] if inside else np.uint64(0)
            there = bits[index[x, y, k + 1]] if inside and k + 1 < nk else np.uint64(0)
            both = joined(here, there, 1, K_FIRST)
            row = (both, row[1]) if b == 0 else (row[0], both)
        both = joined(row[0], row[1], 4, J_FIRST)
        corner = (both, corner[1]) if a == 0 else (corner[0], both)
    return joined(corner[0], corner[1], 16, I_FIRST)


@kernel(parallel=True)
def mark_jumps(bricks, above, below, jump):
    """Set the bits of cells with both signs and no surface between them: interpolation would invent one there.

    Either a corner is nearest to an open border, or two corners are farther from the surface than from each other.
    """
    values, index, rim, h = bricks.values, bricks.index, bricks.rim, bricks.h
    ni, nj, nk = index.shape
    for c in prange(ni * nj):
        i, j = c // nj, c % nj
        for k in range(nk):
            b = index[i, j, k]
            if b == 0:
                continue
            mixed = cells_with(above, index, i, j, k) & cells_with(below, index, i, j, k)
            found = np.uint64(0)
            if mixed != np.uint64(0):
                found = mixed & cells_with(rim, index, i, j, k) if len(rim) > 0 else found
                for q in range(BRICK**3):
                    one = np.uint64(1) << np.uint64(q)
                    if mixed & ~found & one != np.uint64(0):
                        d = cell(values, index, BRICK * i + (q >> 4), BRICK * j + ((q >> 2) & 3), BRICK * k + (q & 3))
                        found |= one if too_steep(d, h) else np.uint64(0)
            jump[b] = found


@kernel
def too_steep(d, h):
    """Whether corners of a cell differ by more than their distance, which only a sign that jumps can do."""
    edge, face, room = 1.0001 * h, 1.4144 * h, 1.7323 * h
    far = False
    for p in range(8):
        for r in range(p):
            axes = ((p ^ r) >> 2) + (((p ^ r) >> 1) & 1) + ((p ^ r) & 1)
            far |= abs(d[p] - d[r]) > (edge if axes == 1 else face if axes == 2 else room)
    return far


@kernel
def cell(values, index, i, j, k):
    """Values at the corners of cell i, j, k, z fastest, as float64."""
    i_0, j_0, k_0, i_1, j_1, k_1 = i >> 2, j >> 2, k >> 2, (i + 1) >> 2, (j + 1) >> 2, (k + 1) >> 2
    x_0, y_0, z_0 = (i & 3) << 4, (j & 3) << 2, k & 3
    x_1, y_1, z_1 = ((i + 1) & 3) << 4, ((j + 1) & 3) << 2, (k + 1) & 3
    return (
        np.float64(values[index[i_0, j_0, k_0], x_0 | y_0 | z_0]),
        np.float64(values[index[i_0, j_0, k_1], x_0 | y_0 | z_1]),
        np.float64(values[index[i_0, j_1, k_0], x_0 | y_1 | z_0]),
        np.float64(values[index[i_0, j_1, k_1], x_0 | y_1 | z_1]),
        np.float64(values[index[i_1, j_0, k_0], x_1 | y_0 | z_0]),
        np.float64(values[index[i_1, j_0, k_1], x_1 | y_0 | z_1]),
        np.float64(values[index[i_1, j_1, k_0], x_1 | y_1 | z_0]),
        np.float64(values[index[i_1, j_1, k_1], x_1 | y_1 | z_1]),
    )


@kernel
def unpack(values, index, i, j, k, o, room):
    """The 5 x 5 x 5 nodes of the cells of brick i, j, k as float64, from room[o] on; anything beyond the grid."""
    ni, nj, nk = index.shape
    for x in range(BRICK + 1):
        for y in range(BRICK + 1):
            a, b = min(i + (x >> 2), ni - 1), min(j + (y >> 2), nj - 1)
            here, there = index[a, b, k], index[a, b, min(k + 1, nk - 1)]
            p, q = (x & 3) << 4 | (y & 3) << 2, o + 25 * x + 5 * y
            room[q], room[q + 1], room[q + 2] = values[here, p], values[here, p + 1], values[here, p + 2]
            room[q + 3], room[q + 4] = values[here, p + 3], values[there, p]


@kernel
def sample_range(bricks, points, first, last, distance, gradient):
    """Signed distance and gradient at points first..last-1; nan beyond the band, and where a sign jumps.

    A brick that is met again is unpacked, and 4 x 4 x 4 of them are kept: along a surface nearly all points find their
    corners there. Elsewhere corners are looked up one by one. Unsigned, so that no index is looked at for being
    negative.
    """
    values, index, jump = bricks.values.reshape(-1), bricks.index.reshape(-1), bricks.jump
    o_x, o_y, o_z = bricks.origin
    per = 1.0 / bricks.h
    x_end, y_end, z_end = bricks.size[0] - 1.0, bricks.size[1] - 1.0, bricks.size[2] - 1.0
    row, plane = bricks.index.shape[2], bricks.index.shape[1] * bricks.index.shape[2]
    room = np.empty(KEPT * (BRICK + 1) ** 3)
    met, kept = np.full(KEPT, index.size, np.uint64), np.full(KEPT, index.size, np.uint64)
    for at in range(first, last):
        x, y, z = (points[at, 0] - o_x) * per, (points[at, 1] - o_y) * per, (points[at, 2] - o_z) * per
        d, g = np.nan, (np.nan, np.nan, np.nan)
        # compared as floats, because a far point's cell number may not fit an integer
        if 0.0 <= x < x_end and 0.0 <= y < y_end and 0.0 <= z < z_end:
            i, j, k = int(x), int(y), int(z)
            a, b, c = i & 3, j & 3, k & 3
            brick = np.uint64((i >> 2) * plane + (j >> 2) * row + (k >> 2))
            slot = np.uint64((i & 12) << 2 | j & 12 | (k & 12) >> 2)
            n = np.uint64(1)
            if kept[slot] != brick or len(jump) > 0:
                n = np.uint64(index[brick])
            if n == 0 or (len(jump) > 0 and (jump[n] >> np.uint64(a << 4 | b << 2 | c)) & np.uint64(1) != 0):
                pass
            elif kept[slot] == brick or met[slot] == brick:
                if kept[slot] != brick:
                    unpack(bricks.values, bricks.index, i >> 2, j >> 2, k >> 2, np.int64(slot) * 125, room)
                    kept[slot] = brick
                q = slot * np.uint64(125) + np.uint64(a * 25 + b * 5 + c)
                corners = (
                    room[q],
                    room[q + np.uint64(1)],
                    room[q + np.uint64(5)],
                    room[q + np.uint64(6)],
                    room[q + np.uint64(25)],
                    room[q + np.uint64(26)],
                    room[q + np.uint64(30)],
                    room[q + np.uint64(31)],
                )
                d, g = trilinear(corners, x - i, y - j, z - k)
            else:
                met[slot] = brick
                x_0, y_0, z_0 = np.uint64(a << 4), np.uint64(b << 2), np.uint64(c)
                # the next node along an axis is in this brick or the first of the next one
                x_1, y_1, z_1 = np.uint64(((a + 1) & 3) << 4), np.uint64(((b + 1) & 3) << 2), np.uint64((c + 1) & 3)
                b_x, b_y = np.uint64(((a + 1) >> 2) * plane), np.uint64(((b + 1) >> 2) * row)
                b_z = np.uint64((c + 1) >> 2)
                corners = (
                    np.float64(values[n << SIX | x_0 | y_0 | z_0]),
                    np.float64(values[np.uint64(index[brick + b_z]) << SIX | x_0 | y_0 | z_1]),
                    np.float64(values[np.uint64(index[brick + b_y]) << SIX | x_0 | y_1 | z_0]),
                    np.float64(values[np.uint64(index[brick + b_y + b_z]) << SIX | x_0 | y_1 | z_1]),
                    np.float64(values[np.uint64(index[brick + b_x]) << SIX | x_1 | y_0 | z_0]),
                    np.float64(values[np.uint64(index[brick + b_x + b_z]) << SIX | x_1 | y_0 | z_1]),
                    np.float64(values[np.uint64(index[brick + b_x + b_y]) << SIX | x_1 | y_1 | z_0]),
                    np.float64(values[np.uint64(index[brick + b_x + b_y + b_z]) << SIX | x_1 | y_1 | z_1]),
                )
                d, g = trilinear(corners, x - i, y - j, z - k)
        distance[at] = d
        gradient[at, 0], gradient[at, 1], gradient[at, 2] = g[0] * per, g[1] * per, g[2] * per


@kernel(parallel=True)
def sample_points(bricks, points, distance, gradient):
    for c in prange(-(-len(points) // POINTS)):
        sample_range(bricks, points, c * POINTS, min(len(points), (c + 1) * POINTS), distance, gradient)
