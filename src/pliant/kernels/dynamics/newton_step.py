"""A Newton step of cloth by preconditioned conjugate gradients, in one launch.

The loops are those of `implicit`, `stiffness` and `cholesky`, over fixed chunks of triangles, vertices and subtrees,
which the threads of a team share (`team`). Sums are added up in the order of the chunks: bitwise identical on any
number of threads.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from ..team import BATCHES, barrier, claim, claim_next
from .cholesky import backward_part, forward_part, solve_top
from .cloth import part
from .contact_constraints import keep_free, keep_rows_free
from .contact_springs import add_spring_forces, multiply_springs, stiffen
from .implicit import add_blocks, next_direction, take_step, vertex_residuals
from .stiffness import CHUNKS, gather_rows, multiply_rows, ordered_sum
from .triangles import triangle_terms

PER_BATCH = CHUNKS // BATCHES
FIRST = 3  # loops before the first iteration
LOOPS = 8  # of an iteration


def loops(iterations: int) -> int:
    """Return the number of loops of a step."""
    return FIRST + LOOPS * iterations


class Step(NamedTuple):
    """The vectors of a step. Those of conjugate gradients are (n,4) arrays of f4, of which the last column is
    padding."""

    x: np.ndarray  # (n,3) the guess, and the result
    predicted: np.ndarray  # (n,3) motion without internal forces
    rest_gradient: np.ndarray  # (n,3) gradient of the energy of rest curvature
    gradient: np.ndarray  # (3m,3) scratch: gradients by corners of triangles
    parts: np.ndarray  # (3m,9) f4 scratch: blocks by edges of triangles
    blocks: np.ndarray  # (n,6) f4 inverse diagonal blocks
    r: np.ndarray  # residual
    z: np.ndarray  # preconditioned residual
    p: np.ndarray  # direction
    q: np.ndarray  # product of the matrix with it
    scratch: np.ndarray  # (n+k,4) f4, of the solve with the factor
    sums: np.ndarray  # (iterations,2,CHUNKS+1) parts of p . q, of which the last is that of springs, and of r . z
    team: np.ndarray  # (loops,16) i8 zeros, see `team`


class Sizes(NamedTuple):
    springs: int  # number of springs of contacts
    touched: int  # number of vertices that have any
    constrained: int  # number of vertices that contacts constrain
    iterations: int
    threads: int


@kernel
def linearise(m, g, k, s, free, step, sizes):
    """Loops 0 to 2: the residual at x, the matrix and the inverses of its diagonal blocks, with springs of contacts."""
    team, n = step.team, len(step.x)
    b = claim(team, 0)
    while b < BATCHES:
        first, last = part(0, len(m.faces), b, BATCHES)
        triangle_terms(m, first, last, step.x, step.gradient, step.parts)
        b = claim_next(team, 0)
    barrier(team, 0, BATCHES)
    b = claim(team, 1)
    while b < BATCHES:
        first, last = part(0, n, b, BATCHES)
        vertex_residuals(g, first, last, step.x, step.predicted, step.rest_gradient, step.gradient, step.r)
        gather_rows(k, first, last, g.mass, step.parts, step.blocks)
        b = claim_next(team, 1)
    barrier(team, 1, BATCHES)
    if claim(team, 2) == 0:
        if sizes.springs > 0:
            add_spring_forces(s, sizes.springs, step.x, step.r)
            stiffen(s, sizes.touched, step.blocks)
        keep_free(free, sizes.constrained, step.r)
        claim_next(team, 2)
    barrier(team, 2, 1)


@kernel
def precondition(f, s, free, step, sizes, it):
    """The first four loops of iteration `it`: z from r, and the parts of r . z."""
    team, k, parts = step.team, FIRST + LOOPS * it, len(f.parts) - 1
    b = claim(team, k)
    while b < parts:
        forward_part(f, b, step.r, s, step.scratch)
        b = claim_next(team, k)
    barrier(team, k, parts)
    if claim(team, k + 1) == 0:
        solve_top(f, step.r, step.z, s, step.scratch)
        claim_next(team, k + 1)
    barrier(team, k + 1, 1)
    b = claim(team, k + 2)
    while b < parts:
        backward_part(f, b, step.z, s, step.scratch)
        b = claim_next(team, k + 2)
    barrier(team, k + 2, parts)
    b = claim(team, k + 3)
    while b < BATCHES:
        for c in range(b * PER_BATCH, (b + 1) * PER_BATCH):
            first, last = part(0, len(step.r), c, CHUNKS)
            step.sums[it, 1, c] = add_blocks(step.blocks, first, last, step.r, step.z)
            keep_rows_free(free, sizes.constrained, first, last, step.z)  # r . z is the same: r is projected
        b = claim_next(team, k + 3)
    barrier(team, k + 3, BATCHES)


@kernel
def advance(g, k, s, free, step, sizes, it):
    """The other loops of iteration `it`: the next direction, its product with the matrix, and a step along it."""
    team, at, n = step.team, FIRST + LOOPS * it + 4, len(step.x)
    rz = ordered_sum(step.sums[it, 1, :CHUNKS])
    before = ordered_sum(step.sums[it - 1, 1, :CHUNKS]) if it > 0 else 0.0
    b = claim(team, at)
    while b < BATCHES:
        first, last = part(0, n, b, BATCHES)
        if it == 0:
            step.p[first:last] = step.z[first:last]
        else:
            next_direction(first, last, step.z, rz / before if before > 0.0 else 0.0, step.p)
        b = claim_next(team, at)
    barrier(team, at, BATCHES)
    b = claim(team, at + 1)
    while b < BATCHES:
        for c in range(b * PER_BATCH, (b + 1) * PER_BATCH):
            first, last = part(0, n, c, CHUNKS)
            step.sums[it, 0, c] = multiply_rows(k, first, last, g.mass, step.p, step.q)
        b = claim_next(team, at + 1)
    barrier(team, at + 1, BATCHES)
    if claim(team, at + 2) == 0:
        step.sums[it, 0, CHUNKS] = multiply_springs(s, sizes.springs, step.p, step.q)
        claim_next(team, at + 2)
    barrier(team, at + 2, 1)
    curvature = ordered_sum(step.sums[it, 0])
    along = rz / curvature if rz > 0.0 else 0.0
    b = claim(team, at + 3)
    while b < BATCHES:
        first, last = part(0, n, b, BATCHES)
        take_step(first, last, step.p, step.q, along, step.x, step.r)
        keep_rows_free(free, sizes.constrained, first, last, step.r)
        b = claim_next(team, at + 3)
    barrier(team, at + 3, BATCHES)


@kernel
def work(m, g, k, f, s, free, step, sizes):
    """The part of one thread."""
    linearise(m, g, k, s, free, step, sizes)
    for it in range(sizes.iterations):
        precondition(f, s, free, step, sizes, it)
        advance(g, k, s, free, step, sizes, it)


@kernel(parallel=True)
def newton_step(m, g, k, f, s, free, step, sizes):
    """Improve step.x, the first guess, as the end of the substep whose motion without internal forces is
    step.predicted."""
    for loop in range(len(step.team)):
        for c in range(step.team.shape[1]):
            step.team[loop, c] = 0
    for _ in prange(sizes.threads):
        work(m, g, k, f, s, free, step, sizes)
