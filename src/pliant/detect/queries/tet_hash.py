"""TetHash: exact test of all vertices against all tetrahedra of any number of bodies, by spatial hashing."""

import functools
import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.jit import worth
from ...kernels.queries import tet_hash as _kernels
from ...kernels.queries import tet_hash_cells as _cells
from ...kernels.queries.tet_hash import Table
from ...kernels.queries.words import FIELD, LAST, pack

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
CELL = 1.0  # cell size over the median longest side of the tets' AABBs; the best of 0.1 to 10 (spatial-hash.md)
_FINE = 2  # cells are 2**_FINE times shorter along x, where additional cells cost nothing
_SUB = 3  # fewest fractional bits of a coordinate within its cell, before empty cells are compacted
_SAMPLE = 4096  # tets sampled for the cell size
_DENSE = 16  # cells per vertex up to which the grid is dense, with a bucket for every cell
_PRIMES = (1, 73856093, 19349663)  # hash multipliers of the cell coordinates
HASHES = ("rows", "xor")
MOST_BUCKETS = 1 << 28
_SMALLEST = 1e-285  # cell size below which its reciprocal, times a power of two, might overflow
_FEW = 2000  # tets up to which one thread is faster than two


class TetHash:
    """Pairs of a vertex and a tetrahedron that contains or touches it, except the tetrahedron's own corners.

    x (n,3) are the vertices of all bodies, tets (m,4) index them; vertices without tets are allowed. `cell` is the cell
    size in metres, best about the size of a tetrahedron's AABB; None derives it from the tets when they are set. An
    inverted tet contains the same points as its mirrored orientation; one of exactly zero volume contains none.

    `hash`: how cells are mapped to buckets. "rows": consecutive buckets for cells along x, which are a quarter as long;
    a dense grid if few cells are empty, otherwise two primes scatter the rows. "xor": the hash function of Teschner et
    al. 2003, with three primes. `table`: number of buckets (with "rows" the next power of two); None: as many as there
    are cells or 16 to 32 per vertex, with "xor" the first prime above twice the number of vertices. The pairs are the
    same for all values.
    """

    def __init__(
        self,
        x: Any,
        tets: Any,
        *,
        cell: float | None = None,
        table: int | None = None,
        hash: str = "rows",
        max_bytes: float | None = None,
    ) -> None:
        self._given = None if cell is None else validate.number("cell", cell, above=0.0, high=validate.LARGEST)
        self.table = None if table is None else validate.whole("table", table, low=1, high=MOST_BUCKETS)
        self.hash, self._max_bytes = validate.choice("hash", hash, HASHES), max_bytes
        if table is not None:
            advice = "make table smaller or raise max_bytes"
            validate.budget(f"a table of {table} buckets", 16.0 * table, advice, max_bytes)
        self.set_tets(x, tets)

    def set_tets(self, x: Any, tets: Any) -> Self:
        """Replace the tets (m,4) and the vertices x (n,3), of any number: after a cut, or when bodies come and go."""
        p = validate.floats("x", x, (None, 3))
        self.tets: Ints = validate.indices("tets", tets, 4, len(p))
        self._corners = self.tets.view(np.uint32)
        self.cell = cell_of(p, self.tets) if self._given is None else self._given
        self._out = np.empty((-(-len(self.tets) // _kernels.CHUNK), 64), np.int64)
        return self._place(p)

    def update(self, x: Any) -> Self:
        """Set new positions (n,3) of the same vertices."""
        return self._place(validate.floats("x", x, self.x.shape))

    def _place(self, x: Floats) -> Self:
        self.x = x
        make = _in_cells if self.hash == "xor" else _in_rows
        self._table = make(*quantise(x, self.cell), self.table)
        return self

    @property
    def buckets(self) -> int:
        """Number of buckets at the last positions."""
        table = self._table
        return table.xor if table.xor else (len(table.start) - 2) // (1 if table.mask < 0 else 2)

    @property
    def collisions(self) -> int:
        """Number of hash collisions at the last positions: cells with vertices less buckets with vertices."""
        table, n = self._table, self._table.n
        cells = np.stack([(table.words[:n] >> k * FIELD & LAST) >> table.bits[k] for k in range(3)], 1)
        cells = np.unique(cells, axis=0)
        if table.xor:
            buckets = np.empty(len(cells), np.int64)
            _cells.buckets_of(pack(*cells.T), len(cells), 0, table.xor, buckets)
        else:
            buckets = (cells @ table.step) & table.mask
        return len(cells) - len(np.unique(buckets))

    def cells(self) -> tuple[Floats, Floats, Rows]:
        """Return the lowest corner (3,) of the grid at the last positions, the sides (3,) of its cells, metres, and the
        cell (n,3) of each vertex."""
        x, bits = self.x, self._table.bits
        low, size = x.min(0) if len(x) else np.zeros(3), self.cell / np.exp2(bits[1] - bits)
        if float(np.ptp(x, axis=0).max(initial=0.0)) / self.cell < LAST >> _SUB:
            words = quantise(x, self.cell)[0]
            return low, size, np.stack([(words >> k * FIELD & LAST) >> bits[k] for k in range(3)], 1)
        return low, size, np.floor((x - low) / size).astype(np.int64)  # the words leave out empty cells

    def pairs(self) -> Rows:
        """Return (k,2) vertex and tet, in ascending order."""
        counts, n = np.zeros(len(self._out), np.int64), len(self.tets)
        # beyond this number of groups of four cells a tet is tested against all vertices
        most = len(self.x) // 8 + 4
        while True:
            launch = worth(_kernels.find_inside, n, _FEW)
            launch(self._table, self.x, self._corners, most, self._out, counts)
            if counts.max(initial=0) <= self._out.shape[1]:
                break
            room = len(counts), 2 * int(counts.max())
            what = f"{int(counts.sum())} pairs of a vertex and a tetrahedron"
            advice = "check for tetrahedra that are far too large, or raise max_bytes"
            validate.budget(what, 8.0 * room[0] * room[1], advice, self._max_bytes)
            self._out = np.empty(room, np.int64)
        keys = np.concatenate([np.zeros(0, np.int64), *(row[:k] for row, k in zip(self._out, counts, strict=True))])
        keys.sort()
        if self._table.mask >= 0 and len(keys):  # with hash collisions a vertex may be found twice
            keys = keys[np.diff(keys, prepend=-1) > 0]
        return np.stack(np.divmod(keys, max(n, 1)), 1)


def cell_of(x: Floats, tets: Ints) -> float:
    """Return the default cell size: CELL times the median of the longest sides of the tets' AABBs."""
    corners = x[tets[:: max(len(tets) // _SAMPLE, 1)]]
    sides = (corners.max(1) - corners.min(1)).max(1) if len(corners) else np.zeros(1)
    size = float(np.median(sides)) or float(sides.max())
    return CELL * size or 1.0


def quantise(x: Floats, h: float) -> tuple[Rows, int, Rows]:
    """Return the words (n,) of vertices (n,3), the number of bits of a coordinate below its cell of size h, and the
    largest coordinates (3,)."""
    n, box = len(x), np.zeros(6)
    if n:
        _kernels.bounds_of(x, box)
    words = np.empty(n, np.int64)
    extent = float((box[3:] - box[:3]).max())
    h = max(h, _SMALLEST)
    cells = extent / h
    if cells < LAST >> _SUB:
        # as many fractional bits as fit in a word
        below = math.floor(math.log2(LAST / max(cells, 1e-9)))
        _kernels.to_words(x, box[:3], math.ldexp(1.0 / h, below), words)
        top = ((box[3:] - box[:3]) * math.ldexp(1.0 / h, below)).astype(np.int64)
    else:
        below, corners = _without_gaps(x - box[:3], h)
        words[:] = pack(*corners.T)
        top = corners.max(0)
    return words, below, top


def _without_gaps(x: Floats, h: float) -> tuple[int, Rows]:
    """Return the number of fractional bits and integer coordinates (n,3) for extents beyond 20 bits: runs of empty
    cells are compacted to one cell. x (n,3) is non-negative."""
    scaled = x / h
    cell = np.floor(scaled)
    whole, most = np.empty(x.shape, np.int64), 0
    for k in range(3):
        used, index = np.unique(cell[:, k], return_inverse=True)
        rank = np.concatenate([[0], np.cumsum(np.minimum(np.diff(used), 2.0))]).astype(np.int64)
        whole[:, k] = rank[index.ravel()]
        most = max(most, int(rank[-1]))
    below = 20 - most.bit_length()
    if below < 0:
        return 0, whole >> -below
    return below, (whole << below) + np.floor(np.ldexp(scaled - cell, below)).astype(np.int64)


def _in_rows(vertices: Rows, below: int, top: Rows, table: int | None) -> Table:
    """Sort the vertices into a dense grid with a bucket per cell, or into a hash table if most cells are empty or its
    size is given."""
    bits = np.array([max(below - _FINE, 0), below, below])
    shape = (top >> bits) + 1
    n, count = len(vertices), math.prod(shape.tolist())
    dense = table is None and count <= _DENSE * n + 1024
    size = 1 << (16 * n).bit_length() if table is None else 1 << (table - 1).bit_length()
    rounds, mask = (1, -1) if dense else (2, size - 1)
    buckets = count if dense else size
    step = np.array([1, shape[0], shape[0] * shape[1]] if dense else _PRIMES, np.int64)
    room = n + 4 * n * rounds + 1
    words, order = np.zeros(room, np.int64), np.zeros(room, np.uint32)
    words[:n] = vertices
    start = np.zeros(rounds * buckets + 2, np.uint32)
    _kernels.sort_words(n, bits, step, mask, buckets, start, words, order)
    return Table(n, words, order, start, bits, step, mask, 0)


def _in_cells(vertices: Rows, below: int, top: Rows, table: int | None) -> Table:
    """Sort the vertices into the hash table of Teschner et al. 2003."""
    n = len(vertices)
    buckets = _next_prime(2 * n) if table is None else table
    words, order, bucket = np.zeros(2 * n, np.int64), np.zeros(2 * n, np.uint32), np.empty(n, np.int64)
    words[:n] = vertices
    start = np.zeros(buckets + 1, np.uint32)
    _cells.buckets_of(words, n, below, buckets, bucket)
    _cells.sort_into_buckets(n, bucket, start, words, order)
    return Table(n, words, order, start, np.full(3, below), np.zeros(3, np.int64), -1, buckets)


@functools.cache
def _next_prime(n: int) -> int:
    """The smallest prime above n."""
    n = max(n + 1, 2)
    while any(n % k == 0 for k in range(2, math.isqrt(n) + 1)):
        n += 1
    return n
