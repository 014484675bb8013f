"""A comparison as what its page shows."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..report.charts import bars_svg
from ..report.compare_page import Part, Shot, Shown
from ..report.differences import HARD, SOFT, Scenery
from .compared import ROLES
from .judge import KINDS

if TYPE_CHECKING:
    from .compared import Comparison, Role, Row

WORDS = (
    ("counts", "what it says that it finds: see below"),
    ("there", "contacts that are exactly there, of the kind that the method says it finds, summed over all states"),
    ("found", "of these, what it found; at the limit of the distance, where rounding decides, either is right"),
    ("missed, extra", "what it did not find; what it found that is not there"),
    ("beyond", "missed, extra and wrong distances that its stated bound does not excuse: must be 0 for A and B"),
    ("recall, estimated", "1 - missed / there; and what the method itself thinks it is"),
    ("depth-max, depth-mean", "millimetres: how far its distances are from the exact ones"),
    ("bound", "millimetres that it states; 0: exact; empty: none"),
    ("normal-max, normal-mean", "degrees between its normals and the exact directions"),
    ("CPU-ms", "processor time of update and find, the median over all states but the first"),
    ("build-ms", "processor time to build it once"),
    ("memory", "bytes of all arrays that it keeps, those of the meshes left out"),
)


def shown(comparison: "Comparison") -> Shown:
    count = len(comparison.states)
    over = "one state" if count == 1 else f"{count} states"
    methods = {row.method for role in comparison.roles for row in role.rows}
    broken = comparison.broken
    verdict = (
        f"{len(methods)} methods over {over}: every one of class A found all and nothing else, none left its bound."
        if not broken
        else f"{len(methods)} methods over {over}: {len(broken)} did not keep what they promise."
    )
    notes = [f"auto picks {pick.name} for contacts {ROLES[role]}: {pick.why}." for role, pick in comparison.picks]
    notes += [f"{name.capitalize()} are {words}." for name, words in KINDS.items()]
    notes.append("The referee shares no search with any method: boxes swept along an axis, then pair by pair.")
    parts = [_part(comparison, role) for role in comparison.roles]
    return Shown(f"Methods on {comparison.title}", verdict, not broken, broken, parts, WORDS, notes)


def _part(comparison: "Comparison", role: "Role") -> Part:
    wrong = [k for k, row in enumerate(role.rows) if not row.kept]
    times = {row.method: {"update and find": max(1e3 * row.seconds, 1e-3)} for row in role.rows}
    chart = bars_svg(times, "ms", "Processor time of update and find") if times else ""
    remarks = [f"{row.method}: {row.note}." for row in role.rows if row.note]
    return Part(role.table, wrong, role.unfit, chart, _shots(comparison, role), remarks)


def _shots(comparison: "Comparison", role: "Role") -> list[Shot]:
    """A picture of each method that differs, in the state where it does most."""
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
    """The state with that number, in two colours: what touches, and what is touched."""
    state = comparison.states[frame]
    meshes = [
        (mesh, state.x[first : first + mesh.n_vertices], HARD if fixed else SOFT)
        for mesh, first, fixed in comparison.meshes
    ]
    return Scenery(meshes, places)


def caption(row: "Row", comparison: "Comparison") -> str:
    worst = row.worst
    what = f"{len(worst.missed):,} missed (red), {len(worst.extra):,} extra (blue), {len(worst.right):,} right"
    return what if len(comparison.states) == 1 else f"{what}; state {worst.frame + 1} of {len(comparison.states)}"
