"""The tables of docs/trees as Markdown; the bunny is in DATA/meshes.

`python benchmarks/studies/tree_table.py [--all] [DATA]` prints them.
"""

import functools
import pathlib
import sys

from pliant.report.tables import Table
from pliant_bench.trees import folding, trees_table, two_bodies, updates_table, worn_table


def markdown(table: Table) -> str:
    ends = ["---:" if column.right else "---" for column in table.shown]
    lines = [table.headings, ends, *table.texts()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    folders = [pathlib.Path(word) for word in sys.argv[1:] if word != "--all"]
    scenes = [folding(), two_bodies(folders[0] if folders else None)]
    say = lambda what: print(what, file=sys.stderr)  # noqa: E731
    for table in (functools.partial(trees_table, everything="--all" in sys.argv), updates_table):
        made = table(scenes, progress=say)
        print(f"{made.title}\n\n{markdown(made)}\n", flush=True)
    print(f"{worn_table().title}\n\n{markdown(worn_table())}")
