"""T3: the nearest point of a surface for many points, near the surface and anywhere."""

import dataclasses
import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant import geometry
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from . import contest, models
from .contest import Entry
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
UNIT = "us"
CHECKED = 50  # points that are compared with the distances to all triangles
_OFF = 0.005  # m: largest offset of near points from the surface along each axis
COLUMNS = contest.columns(
    UNIT,
    Column("mean", show="{:.6f}"),
    Column("error", show="{:.1e}"),
    Column("off_ours", "off-ours", "{:.1e}"),
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Query points (n,3) of a mesh, the true distances of some rows, and the result of pliant for all."""

    mesh: Mesh
    ask: ClosestPoints
    points: Floats
    rows: NDArray[np.int64]
    truth: Floats
    ours: Floats


def nearest_table(
    *, quick: bool = False, repeats: int = 5, progress: Callable[[str], None] = lambda _: None, **_: Any
) -> Table:
    """Bumpy spheres, with points near the surface and anywhere."""
    rows: list[dict[str, Any]] = []
    count = 2_000 if quick else 100_000
    for subdivisions in (3,) if quick else (6, 8):
        mesh = models.bumpy_sphere(subdivisions)
        ask = ClosestPoints(mesh)
        for kind, points in _points(mesh, count).items():
            name = f"{mesh.n_faces:,} faces, {kind}"
            progress(f"{name}: the truth")
            case = _case(mesh, ask, points)
            entries = contest.gather(case, _ours, PEERS, present)
            rows += contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t3-nearest", "T3: nearest point of a surface, microseconds a point", COLUMNS, rows)


def _points(mesh: Mesh, count: int) -> dict[str, Floats]:
    """Points near random points of random faces, and anywhere in the box; faces have about the same size."""
    rng = np.random.default_rng(count)
    face = rng.integers(0, mesh.n_faces, count)
    weights = rng.dirichlet([1.0, 1.0, 1.0], count)
    near = np.einsum("ij,ijk->ik", weights, mesh.vertices[mesh.faces[face]]) + rng.normal(size=(count, 3)) * _OFF
    return {"near": near, "anywhere": rng.uniform(mesh.bounds[0], mesh.bounds[1], (count, 3))}


def _case(mesh: Mesh, ask: ClosestPoints, points: Floats) -> Case:
    rows = np.random.default_rng(0).choice(len(points), min(CHECKED, len(points)), replace=False)
    stencil = np.empty((mesh.n_faces, 4, 3))
    stencil[:, 1:] = mesh.vertices[mesh.faces]
    truth = np.empty(len(rows))
    for k, row in enumerate(rows):
        stencil[:, 0] = points[row]
        truth[k] = geometry.point_triangle_distance(stencil).min()
    return Case(mesh, ask, points, rows, truth, np.abs(ask.query(points)[0]))


def _judge(case: Case, distance: Floats) -> dict[str, Any]:
    """Mean distance, maximum error where the truth is known, and maximum difference from pliant."""
    return {
        "mean": float(distance.mean()),
        "error": float(np.abs(distance[case.rows] - case.truth).max()),
        "off_ours": float(np.abs(distance - case.ours).max()),
    }


def _judge_points(case: Case, points: Any) -> dict[str, Any]:
    return _judge(case, np.linalg.norm(np.asarray(points, np.float64) - case.points, axis=1))


def _ours(case: Case) -> list[Entry]:
    def check(answer: Any) -> dict[str, Any]:
        return _judge(case, np.abs(answer[0]))

    note = "signed distance, point, face, normal; points checked"
    return [Entry(contest.OWN, lambda: case.ask.query(case.points), check, len(case.points), note=note)]


def _open3d(case: Case) -> list[Entry]:
    module = importlib.import_module("open3d")
    scene = module.t.geometry.RaycastingScene()
    scene.add_triangles(case.mesh.vertices.astype(np.float32), case.mesh.faces.astype(np.uint32))
    asked = module.core.Tensor(case.points.astype(np.float32))
    count = [1]

    def work() -> Any:
        return scene.compute_closest_points(asked, nthreads=count[0])["points"].numpy()

    ready = functools.partial(count.__setitem__, 0)
    note = "compute_closest_points, float32, no sign"
    check = functools.partial(_judge_points, case)
    return [Entry(PACKAGES["open3d"][0], work, check, len(case.points), ready=ready, note=note)]


def _igl(case: Case) -> list[Entry]:
    module = importlib.import_module("igl")
    x, faces = case.mesh.vertices.copy(), case.mesh.faces.astype(np.int64)
    tree = module.AABB()
    tree.init(x, faces)

    def check(answer: Any) -> dict[str, Any]:
        return _judge_points(case, answer[2])

    note = "AABB.squared_distance, no sign"
    work = functools.partial(tree.squared_distance, x, faces, case.points)
    return [Entry(PACKAGES["igl"][0], work, check, len(case.points), runs_on="all", note=note)]


def _warp(case: Case) -> list[Entry]:
    from . import warp_kernels

    mesh = warp_kernels.mesh_of(*models.arrays(case.mesh))
    asked = warp_kernels.vectors(case.points)
    note = "mesh_query_point_no_sign, float32"
    check = functools.partial(_judge_points, case)
    work = functools.partial(warp_kernels.nearest, mesh, asked)
    return [Entry(PACKAGES["warp"][0], work, check, len(case.points), runs_on="one", note=note)]


PEERS: dict[str, contest.Maker] = {"open3d": _open3d, "igl": _igl, "warp": _warp}
TASK = contest.Task(
    nearest_table,
    UNIT,
    "Microseconds to find the nearest point of a surface",
    "T3: BVHs are built before the clock starts; allocation of the results is timed. error: maximum difference from "
    f"the distances to all triangles at {CHECKED} points; off-ours: maximum difference from pliant at any point. "
    "pliant also returns the side, the face and the normal; peers only the point.",
)
