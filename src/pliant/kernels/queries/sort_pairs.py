"""Bucket sort of pairs of features, so that their order does not depend on the threads that found them."""

from ..jit import kernel, prange

KEYS = 64  # buckets per task of a thread


@kernel
def sort_into_buckets(found, counts, base, start, pairs):
    """Sort pairs (kind, i, j) of found (parts,cap,3) by bucket base[kind] + i: bucket k is pairs[start[k]:start[k+1]].

    start (keys+2,) is initially zero.
    """
    for part in range(len(found)):
        for m in range(counts[part]):
            start[base[found[part, m, 0]] + found[part, m, 1] + 2] += 1
    for k in range(2, len(start)):
        start[k] += start[k - 1]
    for part in range(len(found)):
        for m in range(counts[part]):
            k = base[found[part, m, 0]] + found[part, m, 1] + 1
            to = start[k]
            pairs[to, 0], pairs[to, 1] = found[part, m, 1], found[part, m, 2]
            start[k] = to + 1


@kernel(parallel=True)
def sort_buckets(start, pairs):
    """Sort the second features in every bucket; buckets are short, so by insertion."""
    n = len(start) - 2
    for c in prange(-(-n // KEYS)):
        for k in range(c * KEYS, min(n, (c + 1) * KEYS)):
            for m in range(start[k] + 1, start[k + 1]):
                j, to = pairs[m, 1], m
                while to > start[k] and pairs[to - 1, 1] > j:
                    pairs[to, 1] = pairs[to - 1, 1]
                    to -= 1
                pairs[to, 1] = j
