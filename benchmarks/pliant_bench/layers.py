"""T9: layered depth images of a static or deforming mesh. T9b: points inside a deforming mesh."""

import dataclasses
import functools
import importlib
import pathlib
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.depth_image import DepthCamera, LayeredDepthImage
from pliant.detect.queries.ray_winding import RayWinding
from pliant.detect.queries.static_depth_image import StaticDepthCamera
from pliant.kernels.queries.depth_image import Screen
from pliant.mesh import Mesh
from pliant.report.tables import Column, Table

from . import contest, models
from .contest import Entry
from .peers import PACKAGES, present
from .timing import timed

Floats = NDArray[np.float64]
Progress = Callable[[str], None]
UNIT = "ms"
FRAMES = 3
CHECKED = 200  # pixels and points that are compared with tests against all faces
COLUMNS = contest.columns(
    UNIT,
    Column("hits", show="{:,}"),
    Column("odd", show="{:,}"),
    Column("wrong", show="{:,}"),
    Column("error", show="{:.1e}"),
    Column("build", "build-ms", "{:.0f}"),
)
INSIDE_COLUMNS = contest.columns(
    UNIT, Column("inside", show="{:,}"), Column("wrong", show="{:,}"), Column("off_ours", "off-ours", "{:,}")
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """A mesh, its positions (n,3) per frame, an image along z, and the true depths of some pixels."""

    mesh: Mesh
    frames: list[Floats]
    deforms: bool
    screen: Screen
    pixels: NDArray[np.int64]
    truth: list[Floats]

    @property
    def box(self) -> Floats:
        return np.array([[-1e9] * 3, [1e9] * 3])


def layers_table(*, quick: bool = False, repeats: int = 5, progress: Progress = lambda _: None, **_: Any) -> Table:
    """64 x 64 and 256 x 256 rays along z."""
    mesh, rows = models.bumpy_torus(40 if quick else 500), []
    for size in (16,) if quick else (64, 256):
        for deforms in (False, True):
            name = f"{mesh.n_faces:,} faces, {size} x {size}, {'deforms' if deforms else 'static'}"
            progress(f"{name}: the truth")
            entries = contest.gather(_case(mesh, size, deforms), _ours, PEERS, present)
            rows += contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t9-layers", "T9: all layers under every pixel, ms an image", COLUMNS, rows)


def inside_table(*, quick: bool = False, repeats: int = 5, progress: Progress = lambda _: None, **_: Any) -> Table:
    """100 000 random points in the bounding box, and several positions of the mesh."""
    mesh = models.bumpy_torus(40 if quick else 500)
    points = _points(mesh, 2_000 if quick else 100_000)
    name = f"{len(points):,} points, {mesh.n_faces:,} faces, deforms"
    progress(f"{name}: the truth")
    entries = contest.gather(_inside_case(mesh, points), _our_points, INSIDE_PEERS, present)
    rows = contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t9b-inside", "T9b: points inside a mesh that deforms, ms", INSIDE_COLUMNS, rows)


def _points(mesh: Mesh, count: int) -> Floats:
    return np.random.default_rng(0).uniform(mesh.bounds[0], mesh.bounds[1], (count, 3))


def deformed(x: Floats) -> list[Floats]:
    """Positions of a waving mesh of about unit size; the last are the original ones, which are verified."""
    return [x + 0.01 * (FRAMES - 1 - k) * np.sin(9.0 * x[:, [1, 2, 0]] + k) for k in range(FRAMES)]


def _case(mesh: Mesh, size: int, deforms: bool) -> Case:
    """A square slightly larger than the mesh."""
    low, high = mesh.bounds
    side, middle = 1.02 * float((high - low).max()), 0.5 * (low + high)
    screen = Screen(2, middle[0] - 0.5 * side, middle[1] - 0.5 * side, size / side, size / side, size, size)
    pixels = np.random.default_rng(1).choice(size * size, min(CHECKED, size * size), replace=False)
    truth = [crossed(mesh.vertices, mesh.faces, at) for at in _centres(screen)[pixels]]
    frames = deformed(mesh.vertices) if deforms else [mesh.vertices]
    return Case(mesh, frames, deforms, screen, pixels, truth)


def _centres(s: Screen) -> Floats:
    """x and y (pixels,2) of the pixel centres, in metres."""
    row, column = np.divmod(np.arange(s.width * s.height), s.width)
    return np.stack([s.left + (column + 0.5) / s.across, s.top + (row + 0.5) / s.down], 1)


def crossed(x: Floats, faces: NDArray[np.int32], at: Floats) -> Floats:
    """Ascending depths at which the line along z through `at` (2,) intersects the faces, by tests of all faces."""
    a, b, c = (x[faces[:, k]] for k in range(3))
    p, q, r = (corner[:, :2] - at for corner in (a, b, c))
    turns = np.stack([s[:, 0] * t[:, 1] - s[:, 1] * t[:, 0] for s, t in ((q, r), (r, p), (p, q))], 1)
    hit = (turns > 0.0).all(1) | (turns < 0.0).all(1)
    weights = turns[hit] / turns[hit].sum(1)[:, None]
    z = weights[:, 0] * a[hit, 2] + weights[:, 1] * b[hit, 2] + weights[:, 2] * c[hit, 2]
    return np.asarray(np.sort(z))


def _judge(case: Case, start: NDArray[np.int64], depth: Floats) -> dict[str, Any]:
    """Hits of pixel k are depth[start[k]:start[k+1]]."""
    found = [np.sort(depth[start[k] : start[k + 1]]) for k in case.pixels]
    right = [len(f) == len(t) for f, t in zip(found, case.truth, strict=True)]
    off = [np.abs(f - t).max(initial=0.0) for f, t, ok in zip(found, case.truth, right, strict=True) if ok]
    counts = np.diff(start)
    return {
        "hits": int(counts.sum()),
        "odd": int((counts % 2).sum()),
        "wrong": right.count(False),
        "error": float(max(off, default=0.0)),
    }


def _ours(case: Case) -> list[Entry]:
    return [_ours_deforming(case) if case.deforms else _ours_standing(case)]


def _ours_deforming(case: Case) -> Entry:
    camera = DepthCamera(case.mesh)

    def work() -> LayeredDepthImage:
        return [camera.take(x, case.screen, case.box) for x in case.frames][-1]

    def check(layers: LayeredDepthImage) -> dict[str, Any]:
        return _judge(case, layers.start[:-1], layers.depth)

    return Entry(contest.OWN, work, check, len(case.frames), note="no build; depth, face, side, sorted")


def _ours_standing(case: Case) -> Entry:
    # the first run may compile
    took = min(timed(lambda: StaticDepthCamera(case.mesh, case.frames[0])) for _ in range(3))
    camera = StaticDepthCamera(case.mesh, case.frames[0])

    def work() -> LayeredDepthImage:
        return camera.take(case.screen, case.box)

    def check(layers: LayeredDepthImage) -> dict[str, Any]:
        return _judge(case, layers.start[:-1], layers.depth) | {"build": 1e3 * took}

    return Entry(contest.OWN, work, check, note="prebuilt; depth, face, side, sorted")


def _open3d(case: Case) -> list[Entry]:
    module = importlib.import_module("open3d")
    centres = _centres(case.screen)
    below = float(case.mesh.bounds[0, 2]) - 0.1
    rays = np.zeros((len(centres), 6), np.float32)
    rays[:, :2], rays[:, 2], rays[:, 5] = centres, below, 1.0
    asked, faces = module.core.Tensor(rays), case.mesh.faces.astype(np.uint32)
    places, count = [x.astype(np.float32) for x in case.frames], [1]
    kept: list[Any] = []
    building: list[float] = []

    def scene(x: Any) -> Any:
        made = module.t.geometry.RaycastingScene(nthreads=count[0])
        made.add_triangles(x, faces)
        return made

    def work() -> Any:
        for x in places:
            tree = scene(x) if case.deforms else kept[0]
            found = tree.list_intersections(asked, nthreads=count[0])
        return found

    def ready(threads: int) -> None:
        count[0] = threads
        if not case.deforms:
            began = time.perf_counter()
            kept[:] = [scene(places[0])]
            kept[0].list_intersections(asked[:1], nthreads=threads)  # the BVH is built at the first query
            building.append(time.perf_counter() - began)
            kept[0].list_intersections(asked, nthreads=threads)

    def check(found: Any) -> dict[str, Any]:
        rows = _judge(case, found["ray_splits"].numpy(), below + found["t_hit"].numpy().astype(np.float64))
        return rows if case.deforms else rows | {"build": 1e3 * min(building)}

    note = f"list_intersections (Embree), float32, {'build included' if case.deforms else 'prebuilt'}, not sorted"
    return [Entry(PACKAGES["open3d"][0], work, check, len(places), ready=ready, note=note)]


@dataclasses.dataclass(frozen=True, eq=False)
class InsideCase:
    """Query points (n,3), the result of pliant at the last positions, and the ground truth of some rows."""

    mesh: Mesh
    frames: list[Floats]
    points: Floats
    ours: NDArray[np.bool_]
    rows: NDArray[np.int64]
    truth: NDArray[np.bool_]


def _inside_case(mesh: Mesh, points: Floats) -> InsideCase:
    rows = np.random.default_rng(2).choice(len(points), min(CHECKED, len(points)), replace=False)
    above = [crossed(mesh.vertices, mesh.faces, points[k, :2]) > points[k, 2] for k in rows]
    truth = np.array([hits.sum() % 2 == 1 for hits in above])
    ours = RayWinding(mesh.faces, mesh.n_vertices).winding(mesh.vertices, points) > 0
    return InsideCase(mesh, deformed(mesh.vertices), points, ours, rows, truth)


def _judge_inside(case: InsideCase, found: NDArray[np.bool_]) -> dict[str, Any]:
    return {
        "inside": int(found.sum()),
        "wrong": int((found[case.rows] != case.truth).sum()),
        "off_ours": int((found != case.ours).sum()),
    }


def _our_points(case: InsideCase) -> list[Entry]:
    ask = RayWinding(case.mesh.faces, case.mesh.n_vertices)

    def work() -> NDArray[np.int32]:
        return [ask.winding(x, case.points) for x in case.frames][-1]

    def check(found: NDArray[np.int32]) -> dict[str, Any]:
        return _judge_inside(case, found > 0)

    return [Entry(contest.OWN, work, check, len(case.frames), note="no build; exact winding numbers")]


def _open3d_points(case: InsideCase) -> list[Entry]:
    module = importlib.import_module("open3d")
    asked, faces = module.core.Tensor(case.points.astype(np.float32)), case.mesh.faces.astype(np.uint32)
    places, count = [x.astype(np.float32) for x in case.frames], [1]

    def work() -> Any:
        for x in places:
            scene = module.t.geometry.RaycastingScene(nthreads=count[0])
            scene.add_triangles(x, faces)
            found = scene.compute_occupancy(asked, nthreads=count[0]).numpy()
        return found

    def check(found: Any) -> dict[str, Any]:
        return _judge_inside(case, found > 0.5)

    ready = functools.partial(count.__setitem__, 0)
    note = "compute_occupancy (Embree), float32, build included"
    return [Entry(PACKAGES["open3d"][0], work, check, len(places), ready=ready, note=note)]


def survey_case(mesh: Mesh) -> Entry:
    """A layered depth image of 64 x 64 pixels of a mesh that deforms."""
    return _ours_deforming(_case(mesh, 64, True))


def survey_rows(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> list[dict[str, Any]]:
    """Section 6: images of 64 x 64 (figure 17), 100 000 particles against 500 000 faces (figure 18)."""
    from .teschner import measured  # imported here, because it lists this function among its parts

    mesh = models.bumpy_torus(40 if quick else 500)
    progress("layers: the truth")
    case, points = _case(mesh, 64, False), _points(mesh, 2_000 if quick else 100_000)
    (image,), asked = _ours(case), _inside_case(mesh, points)
    (inside,) = _our_points(asked)
    rows = []
    for what, entry, paper, paper_ms, key, texts in (
        ("layered depth image", image, "8-11 ms, 64 x 64, few faces", 11.0, "hits", "{:,} layers of 64 x 64"),
        ("points inside", inside, "225 ms, 100 k particles, 500 k faces", 225.0, "inside", "{:,} inside"),
    ):
        found = entry.check(entry.work())
        row: dict[str, Any] = {
            "what": what,
            "case": f"{mesh.n_faces:,} faces, " + (f"{len(points):,} points, deforms" if entry is inside else "static"),
            "paper": paper,
            "paper_ms": paper_ms,
            "answer": texts.format(found[key]),
            "wrong": found["wrong"],
        }
        rows.append(row | measured(entry.work, repeats, entry.parts, paper_ms))
    return rows


PEERS: dict[str, contest.Maker] = {"open3d": _open3d}
INSIDE_PEERS: dict[str, contest.Maker] = {"open3d": _open3d_points}
TASK = contest.Task(
    layers_table,
    UNIT,
    "Milliseconds to find all layers of every pixel",
    "T9: a bumpy torus and parallel rays through the pixel centres, all intersections of every ray. static: the build "
    "for all images, build-ms, is not timed; deforms: three positions in turn, time of one, including any build. odd: "
    f"pixels with an odd number of layers; wrong: of {CHECKED} pixels, those whose number differs from that of all "
    "faces in double precision; error: maximum error of a depth, metres.",
)
INSIDE_TASK = contest.Task(
    inside_table,
    UNIT,
    "Milliseconds to find the points inside a deforming mesh",
    f"T9b: the same mesh and random points in its box, three positions in turn, time of one. wrong: of {CHECKED} "
    "points, those whose side differs from that by all faces in double precision; off-ours: differences from pliant.",
)
