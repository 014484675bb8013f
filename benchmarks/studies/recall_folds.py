"""Prints the random folds of docs/detectors/stochastic-bvh.md: `python benchmarks/studies/recall_folds.py [FOLDS]`."""

import sys

from pliant_bench.random_folds import calibration_table, random_fold

QUALITIES = (0.25, 0.5, 0.75, 0.9)

if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for size in (64, 112):
        folds = [random_fold(seed, size) for seed in range(count)]
        print(f"sheets of {folds[0].triangles:,} triangles")
        table = calibration_table(folds, QUALITIES, lambda _: None)
        for cells in (table.headings, ["---"] * len(table.headings), *table.texts()):
            print(f"| {' | '.join(cells)} |")
