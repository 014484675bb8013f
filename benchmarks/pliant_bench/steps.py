"""T5: the largest part of a motion of cloth that is free of collision."""

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
SLACK = 1e-9  # of the motion: the truth is a root of a cubic in double precision
COLUMNS = contest.columns(
    UNIT,
    Column("step", show="{:.6f}"),
    Column("true_step", "true-step", "{:.6f}"),
    Column("of_true", "of-true", "{:.3f}"),
    Column("late"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A cloth that moves from `x_0` to `x_1`, and when it first meets itself; None where nobody can tell."""

    mesh: Mesh
    x_0: Floats
    x_1: Floats
    truth: float | None


def steps_table(
    *, quick: bool = False, repeats: int = 5, progress: Callable[[str], None] = lambda _: None, **_: Any
) -> Table:
    """Folded and crumpled cloth, in a motion without and one with collision."""
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
    """The first root of all cubics: of every pair of small cloth, of the IPC toolkit's candidates of larger one."""
    pairs = referee.all_pairs(mesh)
    if pairs is None and present("ipctk") is not None:
        ends = (np.asfortranarray(x) for x in (x_0, x_1))
        found = ipc.candidates(ipc.collision_mesh(mesh), *ends)
        pairs = ipc.pair_arrays(found)
    return None if pairs is None else referee.first_impact(mesh, x_0, x_1, pairs)


def _judge(case: Case, step: float) -> dict[str, Any]:
    """A step may fall short of the truth and must not go beyond."""
    if case.truth is None:
        return {"step": step}
    late = "LATE" if step > case.truth + SLACK else "no"
    of_true = step / case.truth if case.truth else None
    return {"step": step, "true_step": case.truth, "of_true": of_true, "late": late}


def _ours(case: Case) -> list[Entry]:
    sweep = own.sweep(case.mesh)
    check = functools.partial(_judge, case)
    return [Entry(contest.OWN, lambda: sweep.step(case.x_0, case.x_1), check, note="Sweep.step, swept tree included")]


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
    "T5: swept boxes and all queries are in the time. true-step: the least root of the cubics of all candidates, where "
    "they can be had; a step beyond it is LATE.",
)
