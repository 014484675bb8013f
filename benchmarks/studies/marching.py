"""A smoothed garment through which limbs go, marched out of the body from the rest pose: an experiment of docs/fix.md.

    python benchmarks/studies/marching.py cesium-man/long-dress --vertices 4000 --frames 40

Where limbs go through a garment in every frame, the separation direction of the nearest skin points to the wrong side
of them. In the rest pose the garment is outside. From there the body moves to its first frame, and on through the clip,
so little at a time that the nearest skin is on the right side; each correction starts from the last.
"""

import argparse
import time

import numpy as np
from dancing import CLEARANCE, Case, case
from numpy.typing import NDArray

import pliant
from pliant.audit.edge_solver import EdgeSolver
from pliant.audit.repair import Repair
from pliant.audit.temporal import TemporalFilter

Floats = NDArray[np.float64]
TO_FIRST, BETWEEN = 24, 2  # steps from the rest pose to the first frame, and from each frame to the next
KEPT = 0.97  # of the correction of the last step
ROUNDS, SETTLING = 8, 6  # of each step, see `Projector.project`


class March:
    """The smoothed frames of a case, and the body that moves through them."""

    def __init__(self, one: Case) -> None:
        self.one, before = one, pliant.check(one.garment, one.body)
        self.work = work = Repair(one.garment, one.body, [], CLEARANCE, True, None, before)
        self.x = np.asarray(one.garment.frames, np.float64)[:, work.first]
        work._given, work._rest_lengths = self.x, work._rest(self.x)
        work._filter = TemporalFilter(work.mesh, self.x)
        self.smooth = work._smoothed(self.x)
        self.lengths = EdgeSolver(work.mesh, work._rest_lengths, work.untangler.stiffness)

    def frames(self) -> Floats:
        """The smoothed frames (T,n,3), out of the body."""
        rest = np.asarray(self.one.body.mesh.vertices, np.float64), self.work.mesh.vertices, self.work.mesh.vertices
        u, out = np.zeros_like(self.smooth[0]), []
        for t in range(len(self.smooth)):
            there = np.asarray(self.one.body.at(t), np.float64), self.smooth[t], self.x[t]
            steps = BETWEEN if t else TO_FIRST
            for share in np.arange(1, steps + 1) / steps:
                u = self._step(u, *((1.0 - share) * a + share * b for a, b in zip(rest, there)))
            out.append(self.smooth[t] + u)
            rest = there
        return np.stack(out)

    def _step(self, u: Floats, body: Floats, smooth: Floats, given: Floats) -> Floats:
        """Displacements of the smoothed garment, starting from u, while the body is here."""
        work, required = self.work, np.full(len(u), CLEARANCE)
        assert work.depths is not None
        work.depths.update(body)
        work._body_x = body
        self.lengths.set(given)
        how = {"rounds": ROUNDS, "settling": SETTLING, "lengths": self.lengths}
        u = work.projector.project(smooth, required, work._query, KEPT * u, **how)
        return work.projector.uncross(smooth, u, required, work._query, work._crossing_faces)

    def problems(self, frames: Floats) -> tuple[NDArray[np.int64], float]:
        """(T,3) vertices inside, faces that cross the body, and self-intersecting pairs; and the share of edges with
        more than 3 % of added strain."""
        found, strained = [], 0.0
        for t, x in enumerate(frames):
            self.work._move_body(t)
            inside = int((self.work._query(x)[0] < -1e-4).sum())
            found.append((inside, len(self.work._crossing_faces(x)), len(self.work.untangler.pairs(x))))
            self.lengths.set(self.x[t])
            strained += float((self.lengths.added_strain(x) > 0.03).mean()) / len(frames)
        return np.array(found), strained


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "cases", nargs="*", default=["cesium-man/long-dress"], help="CHARACTER/GARMENT, see dancing.py."
    )
    parser.add_argument("--vertices", type=int, default=4000, help="Default: 4000.")
    parser.add_argument("--frames", type=int, default=40, help="Default: 40.")
    args = parser.parse_args()
    columns = "case", "", "vertices inside", "crossing faces", "self-intersecting pairs", "free frames", "edges > 3 %"
    print(f"| {' | '.join(columns)} | CPU s |\n{'|---' * 8}|")
    for name in args.cases:
        march = March(case(name, args.vertices, args.frames, None))
        begin = time.process_time()
        marched = march.frames()
        seconds = time.process_time() - begin
        for what, frames in (("given", march.x), ("smoothed", march.smooth), ("marched", marched)):
            found, strained = march.problems(frames)
            inside, faces, own = found.sum(0)
            free, spent = int((found == 0).all(1).sum()), f"{seconds:.1f}" if frames is marched else ""
            print(f"| {name} | {what} | {inside:,} | {faces:,} | {own:,} | {free} | {100 * strained:.1f} % | {spent} |")


if __name__ == "__main__":
    main()
