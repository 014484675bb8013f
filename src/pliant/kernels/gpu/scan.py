"""Exclusive sums of integers, in three launches per level: sums of tiles, their own exclusive sums, sums within tiles.

Sums of integers do not depend on the order, so that results are always the same.
"""

import numpy as np

from .. import device
from .card import cuda
from .entries import launch_blocks
from .jit import kernel
from .simulated import SIMULATED

THREADS = 16 if SIMULATED else 128  # of a block
EACH = 16  # numbers of a thread
TILE = THREADS * EACH


def exclusive_sums(values, start) -> None:
    """Write start (n+1,) i8: start[k] is the sum of values[:k]; values (n,) are integers on the card."""
    blocks = -(-len(values) // TILE)
    if blocks <= 1:
        launch_blocks(scan_tiles, 1, THREADS, values, device.zeros(2, np.int64), start)
        return
    sums, before = device.empty(blocks, np.int64), device.empty(blocks + 1, np.int64)
    launch_blocks(sum_tiles, blocks, THREADS, values, sums)
    exclusive_sums(sums, before)
    launch_blocks(scan_tiles, blocks, THREADS, values, before, start)


@kernel
def sums_before(values, shared, sums):
    """The sum of the numbers of earlier threads of the block; sums[0] becomes that of all, shared (2,THREADS)."""
    t, first = cuda.threadIdx.x, (cuda.blockIdx.x * THREADS + cuda.threadIdx.x) * EACH
    own = 0
    for k in range(first, min(first + EACH, len(values))):
        own += values[k]
    here, there, distance = 0, 1, 1
    shared[0, t] = own
    cuda.syncthreads()
    while distance < THREADS:
        shared[there, t] = shared[here, t] + (shared[here, t - distance] if t >= distance else 0)
        here, there, distance = there, here, 2 * distance
        cuda.syncthreads()
    if t == THREADS - 1:
        sums[0] = shared[here, t]
    return shared[here, t] - own


@kernel
def sum_tiles(values, sums):
    """Write the sum of each tile of `values` (n,), one tile per block."""
    shared = cuda.shared.array((2, THREADS), np.int64)
    block = cuda.blockIdx.x
    sums_before(values, shared, sums[block : block + 1])


@kernel
def scan_tiles(values, before, start):
    """Write start (n+1,), from the sums `before` each tile."""
    shared = cuda.shared.array((2, THREADS), np.int64)
    total = cuda.shared.array(1, np.int64)
    at = sums_before(values, shared, total) + before[cuda.blockIdx.x]
    first = (cuda.blockIdx.x * THREADS + cuda.threadIdx.x) * EACH
    for k in range(first, min(first + EACH, len(values))):
        start[k] = at
        at += values[k]
        if k == len(values) - 1:
            start[k + 1] = at
    if len(values) == 0 and first == 0:
        start[0] = 0
