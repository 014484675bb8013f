"""Positions between prediction and solve of an implicit step: the first guess, and what has moved it since.

Loops over all vertices have two forms with the same arguments and the same results, as in `deformable`.
"""

from .. import vec
from ..jit import kernel, prange
from .cloth import part

PARTS = 16  # ranges of vertices that threads share


@kernel
def shift_rows(rows, by, x):
    """Add `by` (3,) to the rows of x."""
    for at in range(len(rows)):
        i = rows[at]
        vec.store(x, i, (x[i, 0] + by[0], x[i, 1] + by[1], x[i, 2] + by[2]))


@kernel(parallel=True)
def shift_rows_parallel(rows, by, x):
    """As `shift_rows`; no row is there twice."""
    for p in prange(PARTS):
        a, b = part(0, len(rows), p, PARTS)
        shift_rows(rows[a:b], by, x)


@kernel
def add_displacement_serial(before, after, mass, out):
    """out += after - before where mass (n,) is positive; return how many of these rows differ."""
    moved = 0
    for i in range(len(out)):
        if mass[i] == 0.0:
            continue
        d = vec.sub(vec.load(after, i), vec.load(before, i))
        if d[0] != 0.0 or d[1] != 0.0 or d[2] != 0.0:
            vec.store(out, i, vec.add(vec.load(out, i), d))
            moved += 1
    return moved


@kernel(parallel=True)
def add_displacement_parallel(before, after, mass, out):
    """As `add_displacement_serial`."""
    moved = 0
    for p in prange(PARTS):
        a, b = part(0, len(out), p, PARTS)
        moved += add_displacement_serial(before[a:b], after[a:b], mass[a:b], out[a:b])
    return moved


@kernel
def copy_to_both_serial(x, one, two):
    """Copy x (n,3) to two arrays."""
    to, first, second = x.reshape(-1), one.reshape(-1), two.reshape(-1)
    for i in range(len(to)):
        first[i], second[i] = to[i], to[i]


@kernel(parallel=True)
def copy_to_both_parallel(x, one, two):
    """As `copy_to_both_serial`."""
    for p in prange(PARTS):
        a, b = part(0, len(x), p, PARTS)
        copy_to_both_serial(x[a:b], one[a:b], two[a:b])
