"""T6: intersecting triangles of a static and a deforming body. T6b: refit of a BVH to a deformation."""

import dataclasses
import functools
import importlib
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from . import contest, models, own, referee
from .contest import Entry
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
UNIT = "ms"
FRAMES = 5
COLUMNS = contest.columns(
    UNIT,
    Column("pairs", show="{:,}"),
    Column("true_pairs", "true-pairs", "{:,}"),
    Column("missing", show="{:,}"),
    Column("extra", show="{:,}"),
)
REFIT_COLUMNS = contest.columns(UNIT, Column("box_right", "box-right"))


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A static mesh, positions (n,3) of its deforming copy, and the true pairs (k,2) in the last frame."""

    mesh: Mesh
    frames: list[Floats]
    truth: NDArray[np.int64]


def pairs_table(
    *,
    quick: bool = False,
    repeats: int = 5,
    folder: pathlib.Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Update and pairs in each of five frames; those of the last frame are verified."""
    name, case = _case(quick, folder, progress)
    entries = contest.gather(case, _ours, PEERS, present)
    rows = contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t6-pairs", "T6: intersecting triangles of a body and its deforming twin, ms a frame", COLUMNS, rows)


def refit_table(
    *,
    quick: bool = False,
    repeats: int = 5,
    folder: pathlib.Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Refit of the BVH only."""
    name, mesh = _body(quick, folder)
    case = Case(mesh, deformed(mesh.vertices), np.zeros((0, 2), np.int64))
    entries = contest.gather(case, _our_refit, REFITS, present)
    rows = contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t6b-refit", "T6b: a BVH refitted to new positions, ms", REFIT_COLUMNS, rows)


def deformed(x: Floats) -> list[Floats]:
    """Five positions of a waving body of about unit size, translated so that it intersects its copy."""
    waves = (np.sin(9.0 * x[:, [1, 2, 0]] + 0.7 * k) for k in range(FRAMES))
    # waves have the memory order of their columns; positions have that of all arrays of points
    return [np.ascontiguousarray(x + 0.01 * wave + np.array([0.35, 0.05, 0.02])) for wave in waves]


def _body(quick: bool, folder: pathlib.Path | None) -> tuple[str, Mesh]:
    """The bunny, or a bumpy sphere where it is not available; centred, with a longest side of 1."""
    bunny = None if quick else models.original("Bunny", folder)
    mesh = bunny or models.bumpy_sphere(3 if quick else 6)
    x = mesh.vertices
    name = f"{'bunny' if bunny else 'bumpy sphere'}, {mesh.n_faces:,} faces"
    return name, mesh.moved((x - x.mean(0)) / (x.max(0) - x.min(0)).max())


def _case(quick: bool, folder: pathlib.Path | None, progress: Callable[[str], None]) -> tuple[str, Case]:
    name, mesh = _body(quick, folder)
    progress(f"{name}: the truth")
    frames = deformed(mesh.vertices)
    return name, Case(mesh, frames, referee.crossings(mesh.vertices, mesh.faces, frames[-1], mesh.faces))


def _judge(case: Case, pairs: Any) -> dict[str, Any]:
    none = np.zeros((0, 2), np.int64)
    found = referee.differ((np.asarray(pairs, np.int64), none), (case.truth, none))
    return {
        "pairs": found["vertex_face"],
        "true_pairs": len(case.truth),
        "missing": found["missing"],
        "extra": found["extra"],
    }


def _ours(case: Case) -> list[Entry]:
    found = own.crossings(case.mesh, case.mesh)

    def work() -> Any:
        return [found.update(None, x).pairs() for x in case.frames][-1]

    check = functools.partial(_judge, case)
    return [Entry(contest.OWN, work, check, FRAMES, note="refit of one and exact pairs")]


def _coal(case: Case) -> list[Entry]:
    from .coal_peer import Coal

    theirs = Coal(case.mesh.vertices, case.frames[0], case.mesh.faces)
    places = [theirs.points(x) for x in case.frames]

    def work() -> Any:
        for points in places:
            theirs.update(points)
            found = theirs.find()
        return found

    def check(found: Any) -> dict[str, Any]:
        return _judge(case, theirs.pairs(found))

    return [Entry(PACKAGES["coal"][0], work, check, FRAMES, "one", note="OBBRSS, refit of one and collide")]


def _fcl(case: Case) -> list[Entry]:
    from .coal_peer import FCL

    theirs = FCL(case.mesh.vertices, case.mesh.faces)

    def work() -> Any:
        return [theirs.find(x) for x in case.frames][-1]

    def check(found: Any) -> dict[str, Any]:
        return _judge(case, theirs.pairs(found))

    return [Entry(PACKAGES["fcl"][0], work, check, FRAMES, "one", note="OBBRSS, build of one and collide")]


def _warp(case: Case) -> list[Entry]:
    from . import warp_kernels

    theirs = warp_kernels.Intersections(case.mesh.vertices, warp_kernels.mesh_of(case.frames[0], case.mesh.faces))
    places = [warp_kernels.vectors(x) for x in case.frames]

    def work() -> Any:
        for points in places:
            theirs.update(points)
            found = theirs.find()
        return found

    check = functools.partial(_judge, case)
    return [Entry(PACKAGES["warp"][0], work, check, FRAMES, "one", note="refit of one, intersect_tri_tri, float32")]


def _our_refit(case: Case) -> list[Entry]:
    tree = own.FaceTree(case.mesh)

    def work() -> None:
        for x in case.frames:
            tree.refit(x)

    def check(_: Any) -> dict[str, Any]:
        low, high = tree.bounds
        last = case.frames[-1]
        return {"box_right": "yes" if (low == last.min(0)).all() and (high == last.max(0)).all() else "NO"}

    return [Entry(contest.OWN, work, check, FRAMES, note="refit")]


def _coal_refit(case: Case) -> list[Entry]:
    from .coal_peer import Coal

    theirs = Coal(case.mesh.vertices, case.frames[0], case.mesh.faces)
    places = [theirs.points(x) for x in case.frames]

    def work() -> None:
        for points in places:
            theirs.update(points)

    return [Entry(PACKAGES["coal"][0], work, parts=FRAMES, runs_on="one", note="OBBRSS, bottom-up refit")]


def _warp_refit(case: Case) -> list[Entry]:
    from . import warp_kernels

    theirs = warp_kernels.Intersections(case.mesh.vertices, warp_kernels.mesh_of(case.frames[0], case.mesh.faces))
    places = [warp_kernels.vectors(x) for x in case.frames]

    def work() -> None:
        for points in places:
            theirs.update(points)

    return [Entry(PACKAGES["warp"][0], work, parts=FRAMES, runs_on="one", note="positions copied and refit, float32")]


def _open3d_build(case: Case) -> list[Entry]:
    module = importlib.import_module("open3d")
    places = [x.astype(np.float32) for x in case.frames]
    faces, nowhere = case.mesh.faces.astype(np.uint32), module.core.Tensor(np.zeros((1, 3), np.float32))
    count = [1]

    def work() -> None:
        for x in places:
            scene = module.t.geometry.RaycastingScene(nthreads=count[0])
            scene.add_triangles(x, faces)
            scene.compute_distance(nowhere)  # the BVH is built at the first query

    ready = functools.partial(count.__setitem__, 0)
    return [
        Entry(PACKAGES["open3d"][0], work, parts=FRAMES, ready=ready, note="build, because it has no refit; float32")
    ]


PEERS: dict[str, contest.Maker] = {"coal": _coal, "fcl": _fcl, "warp": _warp}
REFITS: dict[str, contest.Maker] = {"warp": _warp_refit, "coal": _coal_refit, "open3d": _open3d_build}
TASK = contest.Task(
    pairs_table,
    UNIT,
    "Milliseconds to update to a deformation and find the intersecting triangles",
    "T6: the bunny (or a bumpy sphere) and a deforming copy, five frames in turn, time of one: update or build, and "
    "all pairs. true-pairs: edge-triangle tests in double precision in the last frame, for all overlapping AABBs.",
)
REFIT_TASK = contest.Task(
    refit_table,
    UNIT,
    "Milliseconds to refit a BVH to new positions",
    "T6b: the same frames, refit only; positions are converted to the types of each participant before timing.",
)
