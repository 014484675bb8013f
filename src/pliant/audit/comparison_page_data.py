"""The data of the HTML report of a comparison."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..report.charts import bars_svg
from ..report.compare_page import Part, Shot, Shown
from ..report.differences import HARD, SOFT, Scenery
from .comparison import CLASSES, ROLES, WORDS
from .evaluate import KINDS

if TYPE_CHECKING:
    from .comparison import Comparison, Role, Row

REFEREE = (
    "The referee for pairs, tetrahedra and vertices inside their own mesh shares no search structure with any method. "
    "For points and depths it is the exact nearest-point query (ClosestPoints), whose kernels bvh, bone-boxes and "
    "others also use for depths and nearest points; its own tests compare it with libigl and with sums of solid angles."
)


def shown(comparison: "Comparison") -> Shown:
    broken = comparison.broken
    notes = [f"auto picks {pick.name} for contacts {ROLES[role]}: {pick.why}." for role, pick in comparison.picks]
    notes += [f"{name.capitalize()} are {words}." for name, words in KINDS.items()]
    notes += [CLASSES[0].upper() + CLASSES[1:] + ".", REFEREE]
    parts = [_part(comparison, role) for role in comparison.roles]
    return Shown(f"Methods on {comparison.title}", comparison.verdict, not broken, broken, parts, WORDS, notes)


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
