"""Sparse distance field: bricks of 4 x 4 x 4 nodes around the surface, and an index of them."""

from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from .grid import trilinear
from .regions import TILE

BRICK = 4  # nodes along each side of a brick
CHUNK = 64  # bricks per task of a thread
POINTS = 16384  # points per task of a thread at most
PARTS = 8  # tasks at least
BLOCK = 512  # points located, then fetched, then interpolated together
KEPT = 64  # bricks kept unpacked at a time
SIX, SEVEN = np.uint64(6), np.uint64(7)  # bits of a node index in a brick, and in an unpacked brick
LOW, HALF = np.uint64(127), np.uint64(32)  # mask of a node index in an unpacked brick; bits of a float32
NANS = np.uint64(0x7FC000007FC00000)  # two float32 nans
ONE, TWO, THREE, FOUR = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
# bits of the nodes of a brick with i = 0, j = 0, k = 0
I_FIRST, J_FIRST, K_FIRST = np.uint64(0xFFFF), np.uint64(0x000F000F000F000F), np.uint64(0x1111111111111111)


class Bricks(NamedTuple):
    values: np.ndarray  # (n,64) f4 signed distance, metres, z fastest; nan beyond the band; brick 0 is all nan
    index: np.ndarray  # (bx,by,bz) i4: the brick at nodes 4 i, 4 j, 4 k; 0 if there is none
    rim: np.ndarray  # (n,) u8: bit q set where node q is nearest to a boundary edge; or empty
    jump: np.ndarray  # (n,) u8: bit q set where the sign jumps in the cell above node q without a surface; or empty
    origin: np.ndarray  # (3,) metres
    size: np.ndarray  # (3,) i8 nodes along each axis
    h: float  # spacing, metres


class Flat(NamedTuple):
    """Bricks as flat arrays and tuples, as the loops over points read them."""

    nodes: np.ndarray  # (64n,) u4 values as words
    index: np.ndarray  # (bx*by*bz,) i4
    jump: np.ndarray  # (n,) u8, or empty
    origin: tuple  # (3,) metres
    per: float  # cells per metre
    size: tuple  # (3,) nodes along each axis
    shape: tuple  # (3,) bricks along each axis


class Located(NamedTuple):
    """The cells of a block of points."""

    share: np.ndarray  # (3*BLOCK,) fractions along the cell
    brick: np.ndarray  # (BLOCK,) u8
    at: np.ndarray  # (BLOCK,) i4 the slot of the brick in the cache, and the node in it


class Cache(NamedTuple):
    """Bricks that are kept unpacked, and those that were encountered once."""

    encountered: np.ndarray  # (KEPT,) u8 bricks
    kept: np.ndarray  # (KEPT,) u8 bricks
    room: np.ndarray  # (128*KEPT,) u8 pairs of nodes


@kernel
def brick_at(t, number, tiles):
    """Return the grid position i, j, k of brick `number` of tile `t`."""
    side = TILE // BRICK
    i = t // (tiles[1] * tiles[2]) * side + number // (side * side)
    return i, t // tiles[2] % tiles[1] * side + number // side % side, t % tiles[2] * side + number % side


@kernel(parallel=True)
def gather(order, start, packed, tiles, values, rim, sign_unknown, index):
    """Copy slot s of `packed`, which holds tile order[s], to the rows from start[s] on."""
    for s in prange(len(order)):
        for b in range(packed.counts[s]):
            to = start[s] + b
            for q in range(BRICK**3):
                values[to, q] = packed.values[s, b, q]
            rim[to], sign_unknown[to] = packed.rim[s, b], packed.sign_unknown[s, b]
            i, j, k = brick_at(order[s], packed.numbers[s, b], tiles)
            index[i, j, k] = to


@kernel(parallel=True)
def splice(old, new, replaced, start, tiles, values, rim, index):
    """Merge bricks: `replaced` tiles from `new`, the others from `old`; those of tile t start at start[t]."""
    numbers = (TILE // BRICK) ** 3
    for t in prange(len(replaced)):
        to = start[t]
        for number in range(numbers):
            i, j, k = brick_at(t, number, tiles)
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
    """Expand to the dense grid (nx,ny,nz) of all nodes."""
    v, index = bricks.values, bricks.index
    for i in prange(values.shape[0]):
        for j in range(values.shape[1]):
            for k in range(values.shape[2]):
                values[i, j, k] = v[index[i >> 2, j >> 2, k >> 2], (i & 3) << 4 | (j & 3) << 2 | k & 3]


@kernel(parallel=True)
def expand_jumps(bricks, jump):
    """Expand the jump bits to dense cells (nx-1,ny-1,nz-1) u1."""
    bits, index = bricks.jump, bricks.index
    for i in prange(jump.shape[0]):
        for j in range(jump.shape[1]):
            for k in range(jump.shape[2]):
                q = np.uint64((i & 3) << 4 | (j & 3) << 2 | k & 3)
                jump[i, j, k] = (bits[index[i >> 2, j >> 2, k >> 2]] >> q) & np.uint64(1)


@kernel(parallel=True)
def signs(values, above, below):
    """Set bit q of `above` where node q of a brick is positive, and of `below` where it is negative."""
    for c in prange(-(-len(values) // CHUNK)):
        for b in range(c * CHUNK, min(len(values), (c + 1) * CHUNK)):
            up, down = np.uint64(0), np.uint64(0)
            for q in range(BRICK**3):
                up |= np.uint64(values[b, q] > 0.0) << np.uint64(q)
                down |= np.uint64(values[b, q] < 0.0) << np.uint64(q)
            above[b], below[b] = up, down


@kernel
def joined(a, b, shift, mask):
    """Bits of nodes or of their successors along an axis; `b` is the next brick, `mask` the first nodes of the axis."""
    next_ = np.uint64(a & ~mask) >> np.uint64(shift) | np.uint64(b & mask) << np.uint64(3 * shift)
    return a | next_


@kernel
def cells_with(bits, index, i, j, k):
    """Return bits of brick i, j, k: bit q is set where any corner of the cell above node q has its bit set."""
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
    """Set the bits of cells with both signs and no surface in between, where interpolation creates a false surface.

    There a corner is nearest to a boundary edge, or the values at two corners differ by more than their distance.
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
    """Return whether corners of a cell differ by more than their distance, which is possible only if the sign jumps."""
    edge, face, room = 1.0001 * h, 1.4144 * h, 1.7323 * h
    far = False
    for p in range(8):
        for r in range(p):
            axes = ((p ^ r) >> 2) + (((p ^ r) >> 1) & 1) + ((p ^ r) & 1)
            far |= abs(d[p] - d[r]) > (edge if axes == 1 else face if axes == 2 else room)
    return far


@kernel
def cell(values, index, i, j, k):
    """Return the values at the corners of cell i, j, k, z fastest, as float64."""
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
def locate(points, first, count, flat, out):
    """Locate points first..first+count-1 (flat): the brick, the fractions along the cell, and the node index `at`.

    Branch-free with flat arrays and constant strides, so that it vectorises, as does `interpolate`.
    """
    origin, per, size, shape = flat.origin, flat.per, flat.size, flat.shape
    share, brick, at = out
    row, plane = shape[2], shape[1] * shape[2]
    x_end, y_end, z_end = size[0] - 1.0, size[1] - 1.0, size[2] - 1.0
    for s in range(count):
        p = np.uint64(3 * first) + np.uint64(3 * s)
        x, y = (points[p] - origin[0]) * per, (points[p + ONE] - origin[1]) * per
        z = (points[p + TWO] - origin[2]) * per
        # compared as floats, because the cell index of a distant point may overflow an integer
        inside = (x >= 0.0) & (x < x_end) & (y >= 0.0) & (y < y_end) & (z >= 0.0) & (z < z_end)
        x, y, z = x if inside else 0.0, y if inside else 0.0, z if inside else 0.0
        i, j, k = np.int32(x), np.int32(y), np.int32(z)
        share[s], share[BLOCK + s], share[2 * BLOCK + s] = x - i, y - j, z - k
        number = np.int64(i >> 2) * plane + np.int64(j >> 2) * row + np.int64(k >> 2)
        brick[s] = number if inside else shape[0] * plane
        slot = (i & 12) << 2 | j & 12 | (k & 12) >> 2
        at[s] = slot << 7 | (i & 3) * 20 + (j & 3) * 4 + (k & 3)


@kernel
def pair(nodes, p, q):
    """Pack two float32 nodes into one word: moved together, and reinterpreted as floats by `interpolate`."""
    return np.uint64(nodes[p]) | np.uint64(nodes[q]) << HALF


@kernel
def unpack(flat, brick, q, room):
    """Unpack pairs along z for the cells of `brick`: 5 x 5 x 4 from room[q] on; arbitrary beyond the grid."""
    nodes, index, shape = flat.nodes, flat.index, flat.shape
    i, j, k = brick // (shape[1] * shape[2]), brick // shape[2] % shape[1], brick % shape[2]
    b_x = shape[1] * shape[2] if i + 1 < shape[0] else 0
    b_y, b_z = shape[2] if j + 1 < shape[1] else 0, 1 if k + 1 < shape[2] else 0
    for x in range(BRICK + 1):
        for y in range(BRICK + 1):
            b = brick + (x >> 2) * b_x + (y >> 2) * b_y
            row = np.uint64((x & 3) << 4 | (y & 3) << 2)
            p = np.uint64(index[np.uint64(b)]) << SIX | row
            room[q], room[q + ONE] = pair(nodes, p, p + ONE), pair(nodes, p + ONE, p + TWO)
            room[q + TWO] = pair(nodes, p + TWO, p + THREE)
            room[q + THREE] = pair(nodes, p + THREE, np.uint64(index[np.uint64(b + b_z)]) << SIX | row)
            q += FOUR


@kernel
def look_up(flat, brick, node):
    """Return the four pairs of the cell above a node of a brick, read one by one."""
    nodes, index, shape = flat.nodes, flat.index, flat.shape
    a, b, c = node >> 4, (node >> 2) & 3, node & 3
    x_0, y_0, z_0 = np.uint64(a << 4), np.uint64(b << 2), np.uint64(c)
    # the next node along an axis is in this brick or is the first node of the next brick
    x_1, y_1, z_1 = np.uint64(((a + 1) & 3) << 4), np.uint64(((b + 1) & 3) << 2), np.uint64((c + 1) & 3)
    b_x = brick + np.uint64(((a + 1) >> 2) * shape[1] * shape[2])
    b_y, b_z = np.uint64(((b + 1) >> 2) * shape[2]), np.uint64((c + 1) >> 2)
    n_00, n_01 = np.uint64(index[brick]) << SIX, np.uint64(index[brick + b_z]) << SIX
    n_10, n_11 = np.uint64(index[brick + b_y]) << SIX, np.uint64(index[brick + b_y + b_z]) << SIX
    m_00, m_01 = np.uint64(index[b_x]) << SIX, np.uint64(index[b_x + b_z]) << SIX
    m_10, m_11 = np.uint64(index[b_x + b_y]) << SIX, np.uint64(index[b_x + b_y + b_z]) << SIX
    return (
        pair(nodes, n_00 | x_0 | y_0 | z_0, n_01 | x_0 | y_0 | z_1),
        pair(nodes, n_10 | x_0 | y_1 | z_0, n_11 | x_0 | y_1 | z_1),
        pair(nodes, m_00 | x_1 | y_0 | z_0, m_01 | x_1 | y_0 | z_1),
        pair(nodes, m_10 | x_1 | y_1 | z_0, m_11 | x_1 | y_1 | z_1),
    )


@kernel
def fetch(flat, located, count, cache, eager, corners):
    """Fetch the corners of each cell as pairs along z; nan beyond the band and where the sign jumps.

    A brick that is needed again is unpacked and cached, 4 x 4 x 4 bricks in all: along a surface nearly all points find
    their corners in the cache, and then bricks are unpacked at first use (`eager`; the return value is the setting for
    the next call). Unsigned indices avoid the check for negative ones.
    """
    index, jump, brick, at = flat.index, flat.jump, located.brick, located.at
    encountered, kept, room = cache
    missed = 0
    for s in range(count):
        b, q = brick[s], np.uint64(at[s])
        slot = q >> SEVEN
        hit = kept[slot] == b
        if not hit or len(jump) > 0:
            node = np.int64(q & LOW)
            node = (node // 20) << 4 | node % 20
            n = np.uint64(index[b]) if b < np.uint64(index.size) else np.uint64(0)
            if n == 0 or (len(jump) > 0 and (jump[n] >> np.uint64(node)) & ONE != 0):
                corners[s] = corners[BLOCK + s] = corners[2 * BLOCK + s] = corners[3 * BLOCK + s] = NANS
                continue
            missed += not hit
            if not hit and not eager and encountered[slot] != b:
                encountered[slot] = b
                four = look_up(flat, b, node)
                corners[s], corners[BLOCK + s] = four[0], four[1]
                corners[2 * BLOCK + s], corners[3 * BLOCK + s] = four[2], four[3]
                continue
            if not hit:
                unpack(flat, np.int64(b), slot << SEVEN, room)
                kept[slot] = b
        four = room[q], room[q + FOUR], room[q + np.uint64(20)], room[q + np.uint64(24)]
        corners[s], corners[BLOCK + s] = four[0], four[1]
        corners[2 * BLOCK + s], corners[3 * BLOCK + s] = four[2], four[3]
    return 8 * missed < count


@kernel
def interpolate(corners, share, first, count, per, distance, gradient):
    """Interpolate distance and gradient (flat) of points first..first+count-1 from their float32 corners."""
    for s in range(count):
        p = 2 * s
        c = (
            np.float64(corners[p]),
            np.float64(corners[p + 1]),
            np.float64(corners[p + 2 * BLOCK]),
            np.float64(corners[p + 2 * BLOCK + 1]),
            np.float64(corners[p + 4 * BLOCK]),
            np.float64(corners[p + 4 * BLOCK + 1]),
            np.float64(corners[p + 6 * BLOCK]),
            np.float64(corners[p + 6 * BLOCK + 1]),
        )
        d, g = trilinear(c, share[s], share[BLOCK + s], share[2 * BLOCK + s])
        distance[np.uint64(first) + np.uint64(s)] = d
        q = np.uint64(3 * first) + np.uint64(3 * s)
        gradient[q], gradient[q + ONE], gradient[q + TWO] = g[0] * per, g[1] * per, g[2] * per


@kernel
def sample_range(bricks, points, first, last, distance, gradient):
    """Sample signed distance and gradient at points first..last-1; nan beyond the band and where the sign jumps."""
    nodes, index = bricks.values.view(np.uint32).reshape(-1), bricks.index.reshape(-1)
    origin = (bricks.origin[0], bricks.origin[1], bricks.origin[2])
    size, per = (bricks.size[0], bricks.size[1], bricks.size[2]), 1.0 / bricks.h
    flat = Flat(nodes, index, bricks.jump, origin, per, size, bricks.index.shape)
    located = Located(np.empty(3 * BLOCK), np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.int32))
    none = np.uint64(index.size + 1)
    cache = Cache(np.full(KEPT, none), np.full(KEPT, none), np.empty(KEPT << 7, np.uint64))
    corners, eager = np.empty(4 * BLOCK, np.uint64), False
    for start in range(first, last, BLOCK):
        count = min(BLOCK, last - start)
        locate(points.reshape(-1), start, count, flat, located)
        eager = fetch(flat, located, count, cache, eager, corners)
        interpolate(corners.view(np.float32), located.share, start, count, per, distance, gradient.reshape(-1))


@kernel(parallel=True)
def sample_points(bricks, points, distance, gradient):
    parts = max(PARTS, -(-len(points) // POINTS))
    for c in prange(parts):
        first, last = c * len(points) // parts, (c + 1) * len(points) // parts
        sample_range(bricks, points, first, last, distance, gradient)
