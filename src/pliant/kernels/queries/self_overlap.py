"""Points near the ray intervals of a layered depth image in which a body overlaps itself."""

import math

from ..jit import kernel


@kernel
def near_intervals(screen, start, depth, points, reach, found):
    """Set found (n,) for points (n,3) with an interval whose pixel and depth are within `reach` metres of theirs: of
    pixel k the rows start[k]:start[k+1] of depth (m,2).
    """
    u, v, axis = (screen.axis + 1) % 3, (screen.axis + 2) % 3, screen.axis
    wide, high = math.ceil(reach * screen.across), math.ceil(reach * screen.down)
    for i in range(len(points)):
        column = int(math.floor((points[i, u] - screen.left) * screen.across))
        row = int(math.floor((points[i, v] - screen.top) * screen.down))
        first, last = max(column - wide, 0), min(column + wide, screen.width - 1)
        for r in range(max(row - high, 0), min(row + high, screen.height - 1) + 1):
            # the intervals of neighbouring columns are consecutive
            if first <= last:
                for m in range(start[r * screen.width + first], start[r * screen.width + last + 1]):
                    if depth[m, 0] - reach <= points[i, axis] <= depth[m, 1] + reach:
                        found[i] = True
