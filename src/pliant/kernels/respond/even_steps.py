"""Steps that are even over time: means over neighbouring frames of the steps of each vertex."""

import numpy as np

from ..jit import kernel, prange


@kernel(parallel=True)
def add_even_steps(steps, turns, part, rows, weights, factor, x):
    """Add to x (T,n,3), at the vertices `rows`, `factor` times the means of steps (T,n,3) with the 2 reach + 1
    `weights` over time, as seen by the part (n,) of a vertex, whose rotations are `turns` (T,parts,3,3). Steps are
    mirrored at the first and last frame."""
    count, reach = len(steps), len(weights) // 2
    for t in prange(count):
        between = np.empty(turns.shape[1:])
        for k in range(-reach, reach + 1):
            s = t + k
            while s < 0 or s >= count:
                s = -s if s < 0 else 2 * (count - 1) - s
            weight = factor * weights[k + reach]
            for p in range(turns.shape[1]):
                for i in range(3):
                    for j in range(3):
                        between[p, i, j] = weight * (
                            turns[t, p, i, 0] * turns[s, p, j, 0]
                            + turns[t, p, i, 1] * turns[s, p, j, 1]
                            + turns[t, p, i, 2] * turns[s, p, j, 2]
                        )
            for v in rows:
                a, b, c = steps[s, v, 0], steps[s, v, 1], steps[s, v, 2]
                if a == 0.0 and b == 0.0 and c == 0.0:
                    continue
                turn = between[part[v]]
                for i in range(3):
                    x[t, v, i] += turn[i, 0] * a + turn[i, 1] * b + turn[i, 2] * c
