"""Strands by implicit Euler steps: Newton's method, each of whose systems is solved directly.

A strand couples each of its points with the next two, so the matrix of a strand has a band of eight entries beside its
diagonal, and a Cholesky factorisation of it takes a time proportional to the number of points. Strands are independent
of each other: results are bitwise identical on any number of threads.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from .cloth import part

BAND = 8  # entries of the matrix beside the diagonal: two points
PARTS = 16  # groups of strands that threads share
ITERATIONS = 12  # of Newton's method, at most
HALVINGS = 12  # of a step that does not decrease the potential enough
DECREASE = 1e-4  # of the decrease that the gradient predicts
STILL = 1e-9  # of a segment: a step that moves no point farther ends the iteration
TINY = 1e-12


class Chains(NamedTuple):
    """Strands, point by point: those of strand k are start[k] to start[k+1] - 1. What belongs to a segment stands at
    its first point; what belongs to a bend, at its middle point."""

    start: np.ndarray  # (s+1,)
    rows: np.ndarray  # (v,) rows of the positions
    mass: np.ndarray  # (v,) kg; 0 for points with prescribed motion
    length: np.ndarray  # (v,) m at rest; 0 at the last point of a strand
    stretch: np.ndarray  # (v,) N/m: stiffness over length
    bend: np.ndarray  # (v,) N m: stiffness over the length that the bend stands for; 0 at both ends
    curl: np.ndarray  # (v,) change of the unit tangent in the bend at rest
    viscous: np.ndarray  # (v,) kg/s, between the ends of a segment
    drag: np.ndarray  # (v,) kg/m: half of air density, diameter and length, times the drag coefficient of a cylinder


class Work(NamedTuple):
    """Workspace of a strand with n points."""

    band: np.ndarray  # (3n,9) lower half of the matrix by rows; the diagonal is last
    step: np.ndarray  # (3n,) right-hand side, then the step
    trial: np.ndarray  # (n,3)


@kernel
def workspace(c):
    """Workspace for the longest strand."""
    n = 0
    for k in range(len(c.start) - 1):
        n = max(n, c.start[k + 1] - c.start[k])
    return Work(np.empty((3 * n, BAND + 1)), np.empty(3 * n), np.empty((n, 3)))


@kernel
def bend_weights(c, i):
    """Weights of the points i - 1, i and i + 1 in the change of the tangent at i."""
    a, b = 1.0 / c.length[i - 1], 1.0 / c.length[i]
    return a, -a - b, b


@kernel
def bend_vector(c, i, p, q, r):
    """Change of the tangent at point i, between its neighbours at p and r."""
    a, m, b = bend_weights(c, i)
    return vec.madd(vec.madd(vec.scale(p, a), q, m), r, b)


@kernel
def spring_energy(k, u, rest):
    """Energy of the vector u with stiffness k and length `rest`."""
    return 0.5 * k * (vec.norm(u) - rest) ** 2


@kernel
def spring_force(k, u, rest):
    """Gradient of `spring_energy` by u."""
    return vec.scale(u, k * (1.0 - rest / max(vec.norm(u), TINY)))


@kernel
def spring_block(k, u, rest):
    """Second derivative of `spring_energy` by u, without its negative part: along u, and across, as a factor of
    the identity and one of u u^T."""
    length = max(vec.norm(u), TINY)
    across = k * max(1.0 - rest / length, 0.0)
    return across, (k - across) / (length * length)


@kernel
def add_block(band, i, j, one, two, u, weight):
    """Add weight (one I + two u u^T) to the block of points i >= j."""
    for a in range(3):
        for b in range(3):
            if i > j or b <= a:
                value = two * u[a] * u[b]
                if a == b:
                    value += one
                band[3 * i + a, 3 * j + b - 3 * i - a + BAND] += weight * value


@kernel
def add_force(step, i, f, weight):
    for a in range(3):
        step[3 * i + a] -= weight * f[a]


@kernel
def potential(c, k, x, x_start, predicted, dt):
    """Incremental potential of strand k at x (n,3), its points in order; times 1, J."""
    first, n = c.start[k], c.start[k + 1] - c.start[k]
    total = 0.0
    for i in range(n):
        at, p = first + i, vec.load(x, i)
        row = c.rows[at]
        away = vec.sub(p, vec.load(predicted, row))
        total += 0.5 * c.mass[at] / (dt * dt) * vec.norm2(away)
        if i + 1 < n:
            q = vec.load(x, i + 1)
            e = vec.sub(q, p)
            total += spring_energy(c.stretch[at], e, c.length[at])
            before = vec.sub(vec.load(x_start, c.rows[at + 1]), vec.load(x_start, row))
            total += 0.5 * c.viscous[at] / dt * vec.norm2(vec.sub(e, before))
        if c.bend[at] > 0.0:
            u = bend_vector(c, at, vec.load(x, i - 1), p, vec.load(x, i + 1))
            total += spring_energy(c.bend[at], u, c.curl[at])
    return total


@kernel
def assemble(c, k, x, x_start, predicted, dt, work):
    """Second derivative and negative gradient of `potential` at x, in `work`."""
    first, n = c.start[k], c.start[k + 1] - c.start[k]
    band, step = work.band, work.step
    band[: 3 * n] = 0.0
    step[: 3 * n] = 0.0
    for i in range(n):
        at, p = first + i, vec.load(x, i)
        row = c.rows[at]
        inertia = c.mass[at] / (dt * dt)
        add_force(step, i, vec.sub(p, vec.load(predicted, row)), inertia)
        add_block(band, i, i, inertia, 0.0, p, 1.0)
        if i + 1 < n:
            e = vec.sub(vec.load(x, i + 1), p)
            one, two = spring_block(c.stretch[at], e, c.length[at])
            f = spring_force(c.stretch[at], e, c.length[at])
            rate = c.viscous[at] / dt
            before = vec.sub(vec.load(x_start, c.rows[at + 1]), vec.load(x_start, row))
            f = vec.madd(f, vec.sub(e, before), rate)
            add_force(step, i, f, -1.0)
            add_force(step, i + 1, f, 1.0)
            add_block(band, i, i, one + rate, two, e, 1.0)
            add_block(band, i + 1, i, one + rate, two, e, -1.0)
            add_block(band, i + 1, i + 1, one + rate, two, e, 1.0)
        if c.bend[at] > 0.0:
            u = bend_vector(c, at, vec.load(x, i - 1), p, vec.load(x, i + 1))
            one, two = spring_block(c.bend[at], u, c.curl[at])
            f = spring_force(c.bend[at], u, c.curl[at])
            w = bend_weights(c, at)
            for a in range(3):
                add_force(step, i - 1 + a, f, w[a])
                for b in range(a + 1):
                    add_block(band, i - 1 + a, i - 1 + b, one, two, u, w[a] * w[b])


@kernel
def hold(c, k, work):
    """Remove the rows and columns of points with prescribed motion from the system."""
    first, n = c.start[k], c.start[k + 1] - c.start[k]
    band, step = work.band, work.step
    for i in range(n):
        if c.mass[first + i] > 0.0:
            continue
        for r in range(3 * i, 3 * i + 3):
            step[r] = 0.0
            band[r, :BAND] = 0.0
            band[r, BAND] = 1.0
            for below in range(r + 1, min(r + BAND + 1, 3 * n)):
                band[below, r - below + BAND] = 0.0


@kernel
def factorise_and_solve(band, step, n):
    """Replace the matrix by its Cholesky factor and the right-hand side by the solution; return whether the matrix is
    positive definite."""
    for r in range(n):
        lowest = max(0, r - BAND)
        for col in range(lowest, r + 1):
            s = band[r, col - r + BAND]
            for k in range(max(lowest, col - BAND), col):
                s -= band[r, k - r + BAND] * band[col, k - col + BAND]
            if col < r:
                band[r, col - r + BAND] = s / band[col, BAND]
            elif s > 0.0:
                band[r, BAND] = math.sqrt(s)
            else:
                return False
    for r in range(n):
        s = step[r]
        for k in range(max(0, r - BAND), r):
            s -= band[r, k - r + BAND] * step[k]
        step[r] = s / band[r, BAND]
    for r in range(n - 1, -1, -1):
        s = step[r]
        for k in range(r + 1, min(r + BAND + 1, n)):
            s -= band[k, r - k + BAND] * step[k]
        step[r] = s / band[r, BAND]
    return True


@kernel
def relax_strand(c, k, x, x_start, predicted, dt, work):
    """Move strand k of x from its guess to the minimum of its incremental potential."""
    first, n = c.start[k], c.start[k + 1] - c.start[k]
    own, still = np.empty((n, 3)), 0.0
    for i in range(n):
        vec.store(own, i, vec.load(x, c.rows[first + i]))
        still = max(still, STILL * c.length[first + i])
    value = potential(c, k, own, x_start, predicted, dt)
    for _ in range(ITERATIONS):
        assemble(c, k, own, x_start, predicted, dt, work)
        hold(c, k, work)
        slope = 0.0
        forces = work.step[: 3 * n].copy()
        if not factorise_and_solve(work.band, work.step, 3 * n):
            break
        farthest = 0.0
        for r in range(3 * n):
            slope += forces[r] * work.step[r]
            farthest = max(farthest, abs(work.step[r]))
        share, found = 1.0, False
        for _ in range(HALVINGS):
            for i in range(n):
                d = (work.step[3 * i], work.step[3 * i + 1], work.step[3 * i + 2])
                vec.store(work.trial, i, vec.madd(vec.load(own, i), d, share))
            new = potential(c, k, work.trial, x_start, predicted, dt)
            if new <= value - DECREASE * share * slope:
                found = True
                break
            share *= 0.5
        if not found:
            break
        own[:] = work.trial[:n]
        value = new
        if share * farthest <= still:
            break
    for i in range(n):
        if c.mass[first + i] > 0.0:
            vec.store(x, c.rows[first + i], vec.load(own, i))


@kernel
def relax_strands_serial(c, first, last, x, x_start, predicted, dt):
    """Solve strands first..last-1 of x, whose motion without internal forces is `predicted`."""
    work = workspace(c)
    for k in range(first, last):
        relax_strand(c, k, x, x_start, predicted, dt, work)


@kernel(parallel=True)
def relax_strands_parallel(c, first, last, x, x_start, predicted, dt):
    """As `relax_strands_serial`."""
    for p in prange(PARTS):
        a, b = part(first, last, p, PARTS)
        relax_strands_serial(c, a, b, x, x_start, predicted, dt)


@kernel
def drag_strands(c, x, v, wind, dt):
    """Drag of the air on the velocities v: quadratic in the velocity across the strand, implicit in its size."""
    for k in range(len(c.start) - 1):
        first, last = c.start[k], c.start[k + 1]
        for at in range(first, last):
            if c.mass[at] == 0.0 or c.drag[at] == 0.0:
                continue
            i = c.rows[at]
            p, q = c.rows[max(at - 1, first)], c.rows[min(at + 1, last - 1)]
            along = vec.sub(vec.load(x, q), vec.load(x, p))
            along = vec.scale(along, 1.0 / max(vec.norm(along), TINY))
            u = vec.sub(wind, vec.load(v, i))
            across = vec.madd(u, along, -vec.dot(u, along))
            rate = c.drag[at] * vec.norm(across) * dt / c.mass[at]
            vec.store(v, i, vec.madd(vec.load(v, i), across, rate / (1.0 + rate)))


@kernel
def strands_energy(c, x):
    """Elastic energy of stretch and bending, J."""
    total = 0.0
    for k in range(len(c.start) - 1):
        for at in range(c.start[k], c.start[k + 1]):
            p = vec.load(x, c.rows[at])
            if c.length[at] > 0.0:
                total += spring_energy(c.stretch[at], vec.sub(vec.load(x, c.rows[at + 1]), p), c.length[at])
            if c.bend[at] > 0.0:
                u = bend_vector(c, at, vec.load(x, c.rows[at - 1]), p, vec.load(x, c.rows[at + 1]))
                total += spring_energy(c.bend[at], u, c.curl[at])
    return total
