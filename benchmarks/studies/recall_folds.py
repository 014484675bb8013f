"""The random folds of docs/detectors/stochastic-bvh.md: `python benchmarks/studies/recall_folds.py [FOLDS [VERTICES]]`.

VERTICES along a side of the sheet.
"""

import sys

from pliant_bench.random_folds import calibration_table, random_fold

QUALITIES = (0.25, 0.5, 0.75, 0.9)

if __name__ == "__main__":
    count, size = (int(given) for given in (*sys.argv[1:], *("100", "64")[len(sys.argv) - 1 :]))
    folds = [random_fold(seed, size) for seed in range(count)]
    print(f"sheets of {folds[0].triangles:,} triangles")
    table = calibration_table(folds, QUALITIES, lambda _: None)
    for cells in (table.headings, ["---"] * len(table.headings), *table.texts()):
        print(f"| {' | '.join(cells)} |")
