"""Sorting integers on the card: a radix sort, stable and always with the same result.

Each pass sorts by 4 bits: blocks count the digits of their tile, an exclusive sum over all counts, digit by digit,
gives where each block writes each digit, and blocks write their tile in order.
"""

import numpy as np

from .. import device
from .card import cuda
from .entries import launch_blocks
from .jit import kernel
from .scan import exclusive_sums
from .simulated import SIMULATED

BITS = 4
DIGITS = 1 << BITS
THREADS = 16 if SIMULATED else 128  # of a block
EACH = 8  # numbers of a thread, consecutive
TILE = THREADS * EACH


def sort_by_key(keys, payload, most: int):
    """Return `keys` (n,) i8, each 0..most, sorted, and `payload` (n,) i4 in the same order; equal keys keep theirs.

    The arrays that are passed may be overwritten.
    """
    n = len(keys)
    if n < 2:
        return keys, payload
    blocks = -(-n // TILE)
    other = device.empty(n, keys.dtype), device.empty(n, payload.dtype)
    counts, start = device.empty(DIGITS * blocks, np.int32), device.empty(DIGITS * blocks + 1, np.int64)
    for shift in range(0, max(int(most).bit_length(), 1), BITS):
        launch_blocks(count_digits, blocks, THREADS, keys, shift, blocks, counts)
        exclusive_sums(counts, start)
        launch_blocks(scatter, blocks, THREADS, keys, payload, shift, start, *other)
        (keys, payload), other = other, (keys, payload)
    return keys, payload


@kernel
def digit_counts(keys, shift, counts):
    """Count the digits of the numbers of each thread, counts (DIGITS,THREADS) in shared memory."""
    t, first = cuda.threadIdx.x, (cuda.blockIdx.x * THREADS + cuda.threadIdx.x) * EACH
    for d in range(DIGITS):
        counts[d, t] = 0
    for k in range(first, min(first + EACH, len(keys))):
        counts[(keys[k] >> shift) & (DIGITS - 1), t] += 1
    cuda.syncthreads()


@kernel
def count_digits(keys, shift, blocks, counts):
    """Write counts (DIGITS * blocks,), all of a digit side by side."""
    own = cuda.shared.array((DIGITS, THREADS), np.int32)
    digit_counts(keys, shift, own)
    t = cuda.threadIdx.x
    if t < DIGITS:
        total = 0
        for other in range(THREADS):
            total += own[t, other]
        counts[t * blocks + cuda.blockIdx.x] = total


@kernel
def scatter(keys, payload, shift, start, sorted_keys, sorted_payload):
    """Write each number of a tile to its place."""
    place = cuda.shared.array((DIGITS, THREADS), np.int32)
    digit_counts(keys, shift, place)
    t, block, blocks = cuda.threadIdx.x, cuda.blockIdx.x, cuda.gridDim.x
    if t < DIGITS:
        total = 0
        for other in range(THREADS):
            own = place[t, other]
            place[t, other] = total
            total += own
    cuda.syncthreads()
    first = (block * THREADS + t) * EACH
    for k in range(first, min(first + EACH, len(keys))):
        d = (keys[k] >> shift) & (DIGITS - 1)
        to = start[d * blocks + block] + place[d, t]
        place[d, t] += 1
        sorted_keys[to], sorted_payload[to] = keys[k], payload[k]
