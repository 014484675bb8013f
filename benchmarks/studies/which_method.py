"""Every detection method on four kinds of scenes: table and chart of docs/which-method.md.

`NUMBA_NUM_THREADS=1 python benchmarks/studies/which_method.py` runs `pliant.compare` on the ready scenes of CASES
(about two minutes), writes which-method.csv to benchmarks/results/MACHINE, and prints the tables of the page. Times are
CPU time of one thread, so that they hold on a busy machine; everything else is the same on every machine.
"""

import pathlib
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import pliant
from pliant.report.charts import bars_svg
from pliant.report.tables import BYTES, Chart, Column, Table
from pliant.scenes import SCENES
from pliant_bench import machine

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"


class Case(NamedTuple):
    """A scene, and the role whose methods are compared."""

    scene: str
    role: str
    options: Mapping[str, Any]
    frames: int
    every: int  # substeps between two states


CASES = {
    "cloth on a rigid body": Case("tablecloth-on-bust", "obstacle", {}, 3, 40),
    "cloth on a character": Case("walking-skirt", "obstacle", {}, 3, 40),
    "two soft bodies": Case("cylinders", "pair", {"self_contact": "off"}, 4, 8),
    "cloth on itself": Case("ribbon", "self", {"resolution": 60}, 3, 60),
}
COLUMNS = (
    Column("case", detail=True),
    Column("method"),
    Column("class"),
    Column("counts"),
    Column("there", show="{:,}"),
    Column("recall", show="{:.3f}"),
    Column("extra", show="{:,}"),
    Column("depth_max_mm", "error-mm", "{:.2g}"),
    Column("bound_mm", "bound-mm", "{:.2g}"),
    Column("cpu_ms", "CPU-ms", "{:.3g}"),
    Column("build_ms", "build-ms", "{:.3g}"),
    Column("bytes", "memory", BYTES),
)


def measure(name: str) -> list[dict[str, Any]]:
    """The rows of a case."""
    case = CASES[name]
    scene = SCENES[case.scene](eps=None, **case.options)
    found = pliant.compare(scene, frames=case.frames, every=case.every)
    if found.broken:
        sys.exit("\n".join(found.broken))
    (role,) = (each for each in found.roles if each.role == case.role)
    return [row.shown() | {"case": name} for row in role.rows]


def markdown(table: Table, name: str) -> str:
    """The rows of a case, as the page has them."""
    part = Table(name, name, COLUMNS, [row for row in table.rows if row["case"] == name])
    lines = [part.headings, ["---"] * len(part.headings), *part.texts()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def chart(table: Table) -> Chart:
    """CPU time of each method in each case."""
    groups: dict[str, dict[str, float]] = {}
    for row in table.rows:
        groups.setdefault(row["method"], {})[row["case"]] = row["cpu_ms"]
    label = "Milliseconds of CPU time of a query by each method in four scenes"
    return Chart("which-method", f"{label}, logarithmic.", bars_svg(groups, "ms", label))


def main() -> None:
    table = Table("which-method", "", COLUMNS, [row for name in CASES for row in measure(name)])
    (RESULTS / machine.name() / "which-method.csv").write_text(table.csv(), encoding="utf-8")
    for name in CASES:
        print(f"### {name}\n\n{markdown(table, name)}\n")


if __name__ == "__main__":
    main()
