"""Springs that pull beyond the strain limit in an implicit step: of edges that are longer than it at the guess.

The strain limit alone shortens one edge after the other, and so moves cloth by a few rings of vertices per substep;
with these springs the solve carries the pull of a taut edge through the whole cloth. An edge has one in each of its
triangles, to whose terms it is added.
"""

import math

from .. import vec
from ..jit import kernel
from .triangles import plus_outer


@kernel
def add_limit_springs(faces, step, b, gradient, parts):
    """Add the springs of the triangles of patch `b` to the gradient of their energy by corners (3m,3), and to the
    stiffness between the ends of their edges ab, bc, ca, `parts` (3m,9)."""
    first = step.patch_start[b]
    for at in range(first, step.patch_start[b + 1]):
        e, row = step.patch_faces[at], 3 * (at - first)
        for k in range(3):
            n = (k + 1) % 3
            d = vec.sub(vec.load(step.x, faces[e, n]), vec.load(step.x, faces[e, k]))
            far2, most = vec.norm2(d), step.longest[e, k]
            if not far2 > most * most:
                continue
            tension = 1.0 - most / math.sqrt(far2)
            pull = vec.scale(d, step.pull[e] * tension)
            vec.store(gradient, row + k, vec.sub(vec.load(gradient, row + k), pull))
            vec.store(gradient, row + n, vec.add(vec.load(gradient, row + n), pull))
            along = vec.scale(d, -step.pull[e] * (1.0 - tension) / far2)
            block = plus_outer((0.0, 0.0, 0.0, 0.0, 0.0, 0.0), -step.pull[e] * tension, along, d)
            for j in range(9):
                parts[row + k, j] += block[j]
