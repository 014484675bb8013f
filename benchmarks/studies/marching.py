"""A garment through which limbs go, with and without the march from the rest pose: a table of docs/fix.md.

python benchmarks/studies/marching.py cesium-man/long-dress --vertices 1500 --frames 20
"""

import argparse
import time
from unittest import mock

import numpy as np
from dancing import CLEARANCE, case

import pliant
from pliant.audit import repair

FOUND = "vertices inside", "crossing pairs", "self-intersecting pairs", "free frames"
COLUMNS = "case", "", *FOUND, "jitter, mm", "CPU s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "cases", nargs="*", default=["cesium-man/long-dress"], help="CHARACTER/GARMENT, see dancing.py."
    )
    parser.add_argument("--vertices", type=int, default=1500, help="Default: 1500.")
    parser.add_argument("--frames", type=int, default=20, help="Default: 20.")
    args = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name in args.cases:
        one = case(name, args.vertices, args.frames, None)
        for way, share in (("without", np.inf), ("with", repair.MARCHED)):
            begin = time.process_time()
            with mock.patch.object(repair, "MARCHED", share):
                fixed = pliant.fix(one.garment, one.body, clearance=CLEARANCE)
            seconds = time.process_time() - begin
            rows = (("given", fixed.before, 0), (f"{way} the march", fixed.after, 1))
            for what, report, k in rows if way == "without" else rows[1:]:
                found = np.array([(each.inside, each.crossings, each.self_pairs) for each in report.frames])
                told = [f"{count:,}" for count in (*found.sum(0), int((found == 0).all(1).sum()))]
                told += [f"{1e3 * fixed.jitter[k]:.1f}", f"{seconds:.1f}" if k else ""]
                print(f"| {' | '.join([name, what, *told])} |", flush=True)


if __name__ == "__main__":
    main()
