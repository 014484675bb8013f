"""Patches that were proved (`cones`) and of which some triangles have changed since: the proof is repeated for these.

Condition 2 holds for each triangle by itself, along the axis of its patch: it still holds where nothing has changed.
Condition 3 is tested anew for the whole contour, which is short, if any of its vertices has changed.
"""

from ..jit import kernel
from .cones import contour_clear, diagonal, project, range_faces_along

STRIDE = 64  # triangles that are passed over at once where none has changed


@kernel
def changed_face_along(corners, motion, patches, before, node, n, least):
    """Whether all triangles of a node that have changed fulfil condition 2 along n; before (m+1,) is how many of the
    triangles 0..q-1 have."""
    q, last = node.first, node.first + node.count
    while q < last and before[last] > before[q]:
        if q + STRIDE < last and before[q + STRIDE] == before[q]:
            q += STRIDE
            continue
        stop = q
        while stop < last and before[stop + 1] > before[stop]:
            stop += 1
        if stop > q and not range_faces_along(corners, motion, patches, q, stop, n, least):
            return False
        q = stop + 1
    return True


@kernel
def retest_patches(nodes, corners, patches, motion, before, test, begin, start):
    """Test again the proved patches with triangles that have changed, as of before (m+1,); return how many proved
    patches remain.

    `begin` (m,) is the result of `skip_proved_patches` for the same distance `test[0]` and fewest triangles `test[1]`:
    where a patch is no longer proved, it becomes the default `start` (m,).
    """
    least, fewest = test
    i, total, moves = 0, 0, len(motion.drift) > 0
    while i < len(nodes):
        first, last = nodes[i].first, nodes[i].first + nodes[i].count
        if nodes[i].count < fewest:
            i = nodes[i].skip
            continue
        if begin[first] < nodes[i].skip:
            i += 1
            continue
        good = True
        if before[last] > before[first]:
            n = (patches.axes[i, 0], patches.axes[i, 1], patches.axes[i, 2])
            good = changed_face_along(corners, motion, patches, before, nodes[i], n, least)
            if good:
                one, two = patches.start[i], patches.start[i + 1]
                if project(motion, patches.rows, one, two, n, patches.seen):
                    good = contour_clear(patches.seen, one, two, least, diagonal(motion.boxes, i) if moves else 0.0)
        total += good
        if not good:
            for q in range(first, last):
                begin[q] = start[q]
        i = nodes[i].skip
    return total
