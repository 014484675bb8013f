"""A Newton step of cloth by preconditioned conjugate gradients, in one launch.

The loops are those of `implicit`, `stiffness` and `cholesky`, over fixed chunks of triangles, vertices and subtrees,
which the threads of a team share (`team`). Sums are added up in the order of the chunks: bitwise identical on any
number of threads.
"""

from typing import NamedTuple

import numpy as np

from ..jit import kernel, prange
from ..team import BATCHES, barrier, claim, clear, complete
from .cholesky import backward_part, forward_part, solve_top
from .cloth import part
from .contact_constraints import keep_free
from .contact_springs import add_spring_forces, add_spring_stiffness, stiffen
from .implicit import add_blocks, copy_rows, next_direction, take_step, vertex_residuals
from .limit_springs import add_limit_springs
from .stiffness import CHUNKS, gather_rows, multiply_rows, ordered_sum
from .triangles import triangle_terms

PER_BATCH = CHUNKS // BATCHES
FIRST = 1  # loops before the first iteration
LOOPS = 7  # of an iteration


def loops(iterations: int) -> int:
    """Return the number of loops of a step."""
    return FIRST + LOOPS * iterations


class Step(NamedTuple):
    """The vectors of a step. Those of conjugate gradients are (n,4) arrays of f4, of which the last column is
    padding."""

    x: np.ndarray  # (n,3) the guess, and the result
    predicted: np.ndarray  # (n,3) motion without internal forces
    rest_gradient: np.ndarray  # (n,3) gradient of what rest curvature and rest lengths of stitches add to the energy
    gradient: np.ndarray  # (threads,3m,3) scratch: gradients by corners of the triangles of a patch
    parts: np.ndarray  # (threads,3m+1,9) f4 scratch: blocks by edges of the triangles of a patch
    patch_start: np.ndarray  # see `stiffness.Patches`
    patch_faces: np.ndarray
    longest: np.ndarray  # (m,3) lengths of the edges ab, bc, ca of triangles beyond which springs pull, metres
    pull: np.ndarray  # (m,) stiffness of these springs, N/m
    blocks: np.ndarray  # (n,6) f4 inverse diagonal blocks: xx, yy, zz, xy, xz, yz
    r: np.ndarray  # residual
    z: np.ndarray  # preconditioned residual
    p: np.ndarray  # direction
    q: np.ndarray  # product of the matrix with it
    scratch: np.ndarray  # (n+k,4) f4, of the solve with the factor
    sums: np.ndarray  # (iterations,2,CHUNKS) parts of p . q and of r . z
    team: np.ndarray  # (loops,threads,8) i8, see `team`


class Sizes(NamedTuple):
    springs: int  # number of springs of contacts
    constrained: int  # number of vertices that contacts constrain
    iterations: int


@kernel
def linearise(m, g, k, s, free, step, sizes, t):
    """Loop 0: residual, matrix and the inverses of its diagonal blocks at x, with the springs of contacts."""
    patches = len(step.patch_start) - 1
    b = claim(step.team, 0, t, patches)
    while b >= 0:
        first, last = part(0, len(step.x), b, patches)
        gradient, parts = step.gradient[t], step.parts[t]
        triangle_terms(m, step.patch_faces, step.patch_start[b], step.patch_start[b + 1], step.x, gradient, parts)
        add_limit_springs(m.faces, step, b, gradient, parts)
        vertex_residuals(g, first, last, step.x, step.predicted, step.rest_gradient, gradient, step.r)
        gather_rows(k, first, last, g.mass, parts, step.blocks)
        if sizes.springs > 0:
            add_spring_forces(s, first, last, step.x, step.r)
            add_spring_stiffness(s, k, first, last)
            stiffen(s, first, last, step.blocks)
        keep_free(free, sizes.constrained, first, last, step.r)
        complete(step.team, 0, b, patches)
        b = claim(step.team, 0, t, patches)
    barrier(step.team, 0, patches)


@kernel
def precondition(f, s, free, step, sizes, it, t):
    """The first four loops of iteration `it`: z from r, and the parts of r . z."""
    team, k, parts = step.team, FIRST + LOOPS * it, len(f.parts) - 1
    b = claim(team, k, t, parts)
    while b >= 0:
        forward_part(f, b, step.r, s, step.scratch)
        complete(team, k, b, parts)
        b = claim(team, k, t, parts)
    barrier(team, k, parts)
    if claim(team, k + 1, t, 1) == 0:
        solve_top(f, step.r, step.z, s, step.scratch)
        complete(team, k + 1, 0, 1)
    barrier(team, k + 1, 1)
    b = claim(team, k + 2, t, parts)
    while b >= 0:
        backward_part(f, b, step.z, s, step.scratch)
        complete(team, k + 2, b, parts)
        b = claim(team, k + 2, t, parts)
    barrier(team, k + 2, parts)
    b = claim(team, k + 3, t, BATCHES)
    while b >= 0:
        for c in range(b * PER_BATCH, (b + 1) * PER_BATCH):
            first, last = part(0, len(step.r), c, CHUNKS)
            step.sums[it, 1, c] = add_blocks(step.blocks, first, last, step.r, step.z)
            keep_free(free, sizes.constrained, first, last, step.z)  # r . z is the same: r is projected
        complete(team, k + 3, b, BATCHES)
        b = claim(team, k + 3, t, BATCHES)
    barrier(team, k + 3, BATCHES)


@kernel
def advance(g, k, s, free, step, sizes, it, t):
    """The other loops of iteration `it`: the next direction, its product with the matrix, and a step along it."""
    team, at, n = step.team, FIRST + LOOPS * it + 4, len(step.x)
    rz = ordered_sum(step.sums[it, 1])
    before = ordered_sum(step.sums[it - 1, 1]) if it > 0 else 0.0
    b = claim(team, at, t, BATCHES)
    while b >= 0:
        first, last = part(0, n, b, BATCHES)
        if it == 0:
            copy_rows(first, last, step.z, step.p)
        else:
            next_direction(first, last, step.z, rz / before if before > 0.0 else 0.0, step.p)
        complete(team, at, b, BATCHES)
        b = claim(team, at, t, BATCHES)
    barrier(team, at, BATCHES)
    b = claim(team, at + 1, t, BATCHES)
    while b >= 0:
        for c in range(b * PER_BATCH, (b + 1) * PER_BATCH):
            first, last = part(0, n, c, CHUNKS)
            step.sums[it, 0, c] = multiply_rows(k, s, first, last, g.mass, step.p, step.q)
        complete(team, at + 1, b, BATCHES)
        b = claim(team, at + 1, t, BATCHES)
    barrier(team, at + 1, BATCHES)
    curvature = ordered_sum(step.sums[it, 0])
    along = rz / curvature if rz > 0.0 else 0.0
    b = claim(team, at + 2, t, BATCHES)
    while b >= 0:
        first, last = part(0, n, b, BATCHES)
        take_step(first, last, step.p, step.q, along, step.x, step.r)
        keep_free(free, sizes.constrained, first, last, step.r)
        complete(team, at + 2, b, BATCHES)
        b = claim(team, at + 2, t, BATCHES)
    barrier(team, at + 2, BATCHES)


@kernel(parallel=True)
def newton_step(m, g, k, f, s, free, step, sizes):
    """Improve step.x, the first guess, as the end of the substep whose motion without internal forces is
    step.predicted."""
    clear(step.team)
    for t in prange(0, step.team.shape[1]):
        linearise(m, g, k, s, free, step, sizes, t)
        for it in range(sizes.iterations):
            precondition(f, s, free, step, sizes, it, t)
            advance(g, k, s, free, step, sizes, it, t)
