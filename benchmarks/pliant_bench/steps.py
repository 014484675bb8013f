"""T5: the largest collision-free step of a cloth."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from . import cloths, contest, ipc, own, referee
from .contest import Entry
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
UNIT = "ms"
SLACK = 1e-9  # fraction of the motion: rounding of the root of a cubic in double precision
COLUMNS = contest.columns(
    UNIT,
    Column("step", show="{:.6f}"),
    Column("true_step", "true-step", "{:.6f}"),
    Column("of_true", "of-true", "{:.3f}"),
    Column("late"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A cloth that moves from `x_0` to `x_1`, and its first time of impact; None if it is not known."""

    mesh: Mesh
    x_0: Floats
    x_1: Floats
    truth: float | None


def steps_table(
    *, quick: bool = False, repeats: int = 5, progress: Callable[[str], None] = lambda _: None, **_: Any
) -> Table:
    """Folded and crumpled cloth, in a motion without collisions and one with collisions."""
    rows: list[dict[str, Any]] = []
    for nx, ny in cloths.QUICK if quick else cloths.SIZES:
        for state in ("folded", "crumpled"):
            mesh = cloths.pile(nx, ny, state)
            for kind in ("miss", "hit"):
                name = f"{nx}x{ny} {state} {kind}"
                progress(f"{name}: the truth")
                x_1 = cloths.stepped(mesh.vertices, kind)
                case = Case(mesh, mesh.vertices, x_1, _truth(mesh, mesh.vertices, x_1))
                entries = contest.gather(case, _ours, PEERS, present)
                rows += contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t5-step", "T5: the largest step of cloth without collision, ms", COLUMNS, rows)


def _truth(mesh: Mesh, x_0: Floats, x_1: Floats) -> float | None:
    """The first root of the cubics of all pairs, or for larger cloth of the candidates of the IPC Toolkit."""
    pairs = referee.all_pairs(mesh)
    if pairs is None and present("ipctk") is not None:
        ends = (np.asfortranarray(x) for x in (x_0, x_1))
        found = ipc.candidates(ipc.collision_mesh(mesh), *ends)
        pairs = ipc.pair_arrays(found)
    return None if pairs is None else referee.first_impact(mesh, x_0, x_1, pairs)


def _judge(case: Case, step: float) -> dict[str, Any]:
    """A conservative step is at most the true one."""
    if case.truth is None:
        return {"step": step}
    late = "LATE" if step > case.truth + SLACK else "no"
    of_true = step / case.truth if case.truth else None
    return {"step": step, "true_step": case.truth, "of_true": of_true, "late": late}


def _ours(case: Case) -> list[Entry]:
    sweep = own.sweep(case.mesh)
    check = functools.partial(_judge, case)
    return [
        Entry(contest.OWN, lambda: sweep.step(case.x_0, case.x_1), check, note="Sweep.step, including the swept BVH")
    ]


def _ipc(case: Case) -> list[Entry]:
    theirs = ipc.collision_mesh(case.mesh)
    x_0, x_1 = np.asfortranarray(case.x_0), np.asfortranarray(case.x_1)
    check = functools.partial(_judge, case)
    return [
        Entry(
            f"{PACKAGES['ipctk'][0]} {solver}",
            functools.partial(ipc.free_step, theirs, x_0, x_1, solver),
            check,
            ready=ipc.set_threads,
            note=f"LBVH, {words}, its defaults",
        )
        for solver, words in (("Additive", "additive advancement"), ("TightInclusion", "Tight Inclusion"))
    ]


PEERS: dict[str, contest.Maker] = {"ipctk": _ipc}
TASK = contest.Task(
    steps_table,
    UNIT,
    "Milliseconds to find the largest step without collision",
    "T5: the time includes swept AABBs and all queries. true-step: the least root of the cubics of all candidates, "
    "where they are available; a larger step is marked LATE.",
)
