"""T4: all vertex-face and edge-edge pairs of a moving cloth that are closer than a distance."""

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
from .referee import Pairs

Floats = NDArray[np.float64]
UNIT = "ms"
WITHIN = 0.6 * cloths.H  # m
METHOD = "bvh"
COLUMNS = contest.columns(
    UNIT,
    Column("vertex_face", "vertex-face", "{:,}"),
    Column("edge_edge", "edge-edge", "{:,}"),
    Column("missing", show="{:,}"),
    Column("extra", show="{:,}"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A cloth at two alternating positions, and its pairs at both."""

    mesh: Mesh
    truth: tuple[Pairs, Pairs]

    @property
    def poses(self) -> tuple[Floats, Floats]:
        return cloths.poses(self.mesh.vertices)


def proximity_table(
    *,
    quick: bool = False,
    repeats: int = 5,
    method: str = METHOD,
    progress: Callable[[str], None] = lambda _: None,
    **_: Any,
) -> Table:
    """Flat, folded and crumpled cloth; `method` is the name of the detector of pliant."""
    rows: list[dict[str, Any]] = []
    for nx, ny in cloths.QUICK if quick else cloths.SIZES:
        for state in cloths.STATES:
            name = f"{nx}x{ny} {state}"
            progress(f"{name}: the truth")
            mesh = cloths.pile(nx, ny, state)
            case = Case(mesh, referee.near_pairs(mesh, WITHIN))
            entries = contest.gather(case, functools.partial(_ours, method=method), PEERS, present)
            rows += contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t4-proximity", "T4: pairs of a cloth closer than 0.6 of an edge, ms a frame", COLUMNS, rows)


def _ours(case: Case, method: str) -> list[Entry]:
    detector = own.detector(method, case.mesh, WITHIN)

    def work() -> list[Any]:
        return [detector.update(x).find() for x in case.poses]

    def check(answers: list[Any]) -> dict[str, Any]:
        return referee.differ(referee.pairs_of(answers[0]), case.truth)

    note = f"{method}: update and find, contact records"
    return [Entry(contest.OWN, work, check, len(case.poses), note=note)]


def _ipc(case: Case) -> list[Entry]:
    theirs = ipc.collision_mesh(case.mesh)
    places = [np.asfortranarray(x) for x in case.poses]
    name = PACKAGES["ipctk"][0]

    def candidates() -> list[Any]:
        return [ipc.candidates(theirs, x, reach=0.5 * WITHIN) for x in places]

    def near(answers: list[Any]) -> dict[str, Any]:
        # AABBs inflated by half of the distance: the near pairs among the candidates are those of pliant
        pairs = ipc.pair_arrays(answers[0])
        return {} if pairs is None else referee.differ(ipc.closer(case.mesh, places[0], pairs, WITHIN), case.truth)

    def collisions() -> list[Any]:
        return [ipc.collisions(theirs, x, WITHIN) for x in places]

    broad = "LBVH candidates, no distances; pairs counted after exact distances"
    full = "LBVH NormalCollisions, its own set of nearest features"
    return [
        Entry(f"{name} candidates", candidates, near, len(places), ready=ipc.set_threads, note=broad),
        Entry(name, collisions, parts=len(places), ready=ipc.set_threads, note=full),
    ]


def _newton(case: Case) -> list[Entry]:
    from .newton_peer import Proximity

    theirs = Proximity(case.mesh, case.poses, WITHIN)
    note = "TriMeshCollisionDetector, refit, float32"
    return [Entry(PACKAGES["newton"][0], theirs.work, theirs.check, len(case.poses), runs_on="one", note=note)]


PEERS: dict[str, contest.Maker] = {"ipctk": _ipc, "newton": _newton}
TASK = contest.Task(
    proximity_table,
    UNIT,
    "Milliseconds to find all near pairs of a cloth",
    "T4: cloth at two alternating positions, half an edge apart, so that every update does work; update and find, "
    "time of one. missing and extra: compared with the pairs of the brute-force detector.",
)
