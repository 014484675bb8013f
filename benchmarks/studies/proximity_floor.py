"""Where the time of T4 goes, stage by stage on one thread, and what no method that writes contact records can do
without.

    NUMBA_NUM_THREADS=1 python benchmarks/studies/proximity_floor.py [--large]

Folded cloth of `pliant bench peers T4`. Milliseconds of CPU time per position, the best of several: *move* refits the
BVH; *candidates* is the traversal that lists features of triangles whose boxes overlap; *distances* computes those of
the candidates and drops what is too far; *sort* orders the pairs; *records* writes one of 160 bytes for each, with
points, normal and distance. *copy* copies finished records into memory that was used before, as fast as this machine
can.
"""

import sys
import time
from collections.abc import Callable

import numpy as np

from pliant.contacts import CONTACT
from pliant_bench import cloths, own
from pliant_bench.proximity import WITHIN

ROUNDS = 7


def least(work: Callable[[], object]) -> float:
    """The least CPU time of a call, ms."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return 1e3 * min(times)


def stages(nx: int, ny: int) -> dict[str, float]:
    mesh = cloths.pile(nx, ny, "folded")
    detector = own.detector("bvh", mesh, WITHIN)
    x = cloths.poses(mesh.vertices)[0]
    contacts = detector.update(x).find()
    near = detector._detector.near
    candidates = near.candidates(WITHIN)
    reach = near._reach(WITHIN)
    found = near._traverse(reach, WITHIN, near._begin_at(reach))
    target = np.empty(len(contacts), CONTACT)
    move, broad = least(lambda: near.a.move(x)), least(lambda: near.candidates(WITHIN))
    narrow = least(lambda: near._traverse(reach, WITHIN, near._begin_at(reach)))
    sort = least(lambda: near.ordered(*found))
    whole = least(lambda: detector.update(x).find())
    return {
        "candidates": int(candidates[1].sum()),
        "pairs": len(contacts),
        "move": move,
        "traversal": broad,
        "distances": narrow - broad,
        "sort": sort,
        "records": whole - move - narrow - sort,
        "in all": whole,
        "copy": least(lambda: np.copyto(target, np.asarray(contacts).view(CONTACT))),
    }


if __name__ == "__main__":
    sizes = cloths.SIZES if "--large" in sys.argv else cloths.SIZES[:2]
    for size in sizes:
        print(f"{size[0]} x {size[1]}", {k: v if isinstance(v, int) else round(v, 2) for k, v in stages(*size).items()})
