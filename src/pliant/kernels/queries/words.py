"""Three integer coordinates of 20 bits in one word of 64, with a guard bit above each (see `tet_hash`)."""

import numpy as np

from ..jit import kernel

FIELD = 21  # bits of a coordinate and its guard bit
LAST = (1 << 20) - 1  # greatest coordinate
GUARDS = 1 << 20 | 1 << 41 | 1 << 62
NONE, ONE, TWO = np.uint64(0), np.uint64(1), np.uint64(2)


@kernel
def pack(a, b, c):
    return a | b << FIELD | c << 2 * FIELD
