"""The data of the HTML report of a comparison."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..report.charts import bars_svg
from ..report.compare_page import Part, Shot, Shown
from ..report.differences import HARD, SOFT, Scenery
from .comparison import ROLES
from .evaluate import KINDS

if TYPE_CHECKING:
    from .comparison import Comparison, Role, Row

WORDS = (
    ("counts", "the kind of contact that the method reports: see below"),
    ("there", "exact number of contacts of that kind, without those at the limit, summed over all states"),
    ("found", "those that the method reported, also at the limit of the distance, where rounding decides"),
    ("missed, extra", "contacts that it did not report; reported contacts that do not exist"),
    ("beyond", "missed, extra and wrong distances that exceed its stated bound: must be 0 for A and B"),
    ("recall, estimated", "1 - missed / there; and the method's own estimate of it"),
    ("depth-max, depth-mean", "millimetres: error of its distances"),
    ("bound", "stated error bound, millimetres; 0: exact; empty: none"),
    ("normal-max, normal-mean", "degrees between its normals and the exact directions"),
    ("CPU-ms", "CPU time of update and find, the median over all states but the first"),
    ("build-ms", "CPU time to build it once"),
    ("memory", "bytes of all its arrays, without those of the meshes"),
)


def shown(comparison: "Comparison") -> Shown:
    count = len(comparison.states)
    over = "one state" if count == 1 else f"{count} states"
    methods = {row.method for role in comparison.roles for row in role.rows}
    broken = comparison.broken
    verdict = (
        f"{len(methods)} methods over {over}: all of class A are exact, and none exceeds its bound."
        if not broken
        else f"{len(methods)} methods over {over}: {len(broken)} violated their guarantee."
    )
    notes = [f"auto picks {pick.name} for contacts {ROLES[role]}: {pick.why}." for role, pick in comparison.picks]
    notes += [f"{name.capitalize()} are {words}." for name, words in KINDS.items()]
    notes.append("The ground truth shares no search with any method: sweep and prune, then exact tests of pairs.")
    parts = [_part(comparison, role) for role in comparison.roles]
    return Shown(f"Methods on {comparison.title}", verdict, not broken, broken, parts, WORDS, notes)


def _part(comparison: "Comparison", role: "Role") -> Part:
    wrong = [k for k, row in enumerate(role.rows) if not row.kept]
    times = {row.method: {"update and find": max(1e3 * row.seconds, 1e-3)} for row in role.rows}
    chart = bars_svg(times, "ms", "CPU time of update and find") if times else ""
    remarks = [f"{row.method}: {row.note}." for row in role.rows if row.note]
    return Part(role.table, wrong, role.unfit, chart, _shots(comparison, role), remarks)


def _shots(comparison: "Comparison", role: "Role") -> list[Shot]:
    """A picture of each method with errors, in the state with most of them."""
    views: dict[int, Scenery] = {}
    out = []
    for row in role.rows:
        if not (row.missed or row.extra):
            continue
        worst = row.worst
        if worst.frame not in views:
            every = [places for r in role.rows if r.worst.frame == worst.frame for places in r.worst[1:]]
            views[worst.frame] = scenery(comparison, worst.frame, np.concatenate(every))
        pixels = views[worst.frame].marked(worst.right, worst.missed, worst.extra)
        out.append(Shot(row.method, caption(row, comparison), pixels))
    return out


def scenery(comparison: "Comparison", frame: int, places: NDArray[np.float64]) -> Scenery:
    """The given state in two colours: deformable bodies and obstacles."""
    state = comparison.states[frame]
    meshes = [
        (mesh, state.x[first : first + mesh.n_vertices], HARD if obstacle else SOFT)
        for mesh, first, obstacle in comparison.meshes
    ]
    return Scenery(meshes, places)


def caption(row: "Row", comparison: "Comparison") -> str:
    worst = row.worst
    what = f"{len(worst.missed):,} missed (red), {len(worst.extra):,} extra (blue), {len(worst.right):,} right"
    return what if len(comparison.states) == 1 else f"{what}; state {worst.frame + 1} of {len(comparison.states)}"
