"""BVHs over deforming meshes: cost of each volume, arity, build and update on the same frames."""

import functools
import pathlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pliant.detect.bvh.build import ARITIES, BUILDS, VOLUMES
from pliant.detect.bvh.tree import find_pairs, refit, tree_of
from pliant.detect.bvh.tree_options import UPDATES
from pliant.detect.bvh.update import MovingTree
from pliant.io import load
from pliant.report.tables import Column, Table
from pliant.shapes import ball

from . import timing

DEFAULT: dict[str, Any] = {"volume": "box", "arity": 4, "split": "longest-sah", "leaf": 4}
BUNNY = pathlib.Path("meshes") / "bunny_closed_6598.obj"
COLUMNS = (
    Column("scene"),
    Column("triangles", show="{:,}"),
    Column("volume"),
    Column("arity", show="{}"),
    Column("build"),
    Column("leaf", show="{}"),
    Column("update", detail=True),
    Column("build_ms", "build-ms", "{:.2f}"),
    Column("refit_ms", "refit-ms", "{:.3f}"),
    Column("rebuild_to_refit", "rebuild/refit", "{:.0f}"),
    Column("walk_ms", "walk-ms", "{:.2f}"),
    Column("tests", show="{:,.0f}"),
    Column("pairs", show="{:,.0f}"),
    Column("frame_ms", "refit+walk", "{:.2f}"),
)
MOVING = (
    Column("scene"),
    Column("update"),
    Column("margin", show="{:g}"),
    Column("worse", show="{:g}"),
    Column("follow_ms", "follow-ms", "{:.2f}"),
    Column("walk_ms", "walk-ms", "{:.2f}"),
    Column("frame_ms", "together-ms", "{:.2f}"),
    Column("tests", show="{:,.0f}"),
    Column("pairs", show="{:,.0f}"),
    Column("builds", show="{}"),
)


class Deforming(NamedTuple):
    """One mesh against itself, or two meshes; `frames` are the vertices of each."""

    name: str
    faces: tuple[Any, ...]
    frames: Sequence[tuple[Any, ...]]
    within: float


def folding(rows: int = 30, columns: int = 100, frames: int = 8) -> Deforming:
    """A strip of cloth that meanders more and more, until its folds almost touch."""
    z = np.tile(np.linspace(0.0, 0.3, rows), columns)
    i = (np.arange(columns - 1)[:, None] * rows + np.arange(rows - 1)).reshape(-1)
    faces = np.concatenate([np.stack([i, i + rows, i + 1], 1), np.stack([i + 1, i + rows, i + rows + 1], 1)])

    def at(turn: float) -> Any:
        """Sine-generated curve: its direction oscillates by `turn` to either side, five times."""
        angle = turn * np.sin(10.0 * np.pi * (np.arange(columns - 1) + 0.5) / (columns - 1))
        step = np.stack([np.cos(angle), np.sin(angle)], 1) / (columns - 1)
        path = np.concatenate([np.zeros((1, 2)), np.cumsum(step, 0)])
        return np.stack([np.repeat(path[:, 0], rows), np.repeat(path[:, 1], rows), z], 1)

    frames_ = [(at(turn),) for turn in np.linspace(0.0, 2.15, frames)]
    return Deforming("cloth folding", (faces.astype(np.int32),), frames_, 0.003)


def two_bodies(folder: pathlib.Path | None = None, frames: int = 8) -> Deforming:
    """A bunny that twists and moves into another one; balls if `folder` has no bunny."""
    found = folder is not None and (folder / BUNNY).is_file()
    mesh = load(folder / BUNNY) if folder is not None and found else ball(0.5, 5)
    x = np.array(mesh.vertices)
    x = (x - x.mean(0)) / np.ptp(x, axis=0).max()

    def at(t: float) -> Any:
        return _twisted(x, 1.5 * t) + np.array([0.9 - 0.5 * t, 0.05, 0.02])

    faces = mesh.faces.astype(np.int32)
    name = "two bunnies" if found else "two balls"
    return Deforming(name, (faces, faces), [(x, at(t)) for t in np.linspace(0.0, 1.0, frames)], 0.0)


def combinations(*, everything: bool = False) -> Iterable[dict[str, Any]]:
    """The default with one parameter changed at a time, volumes with arities; or all combinations."""
    if everything:
        for volume in VOLUMES:
            for arity in ARITIES:
                yield from (DEFAULT | {"volume": volume, "arity": arity, "split": split} for split in BUILDS)
        return
    yield from (DEFAULT | {"leaf": leaf} for leaf in (1, 2, 4, 8))
    for volume in VOLUMES:
        for arity in ARITIES:
            if (volume, arity) != ("box", DEFAULT["arity"]):
                yield DEFAULT | {"volume": volume, "arity": arity}
    yield from (DEFAULT | {"split": split} for split in BUILDS if split != DEFAULT["split"])


def trees_table(
    scenes: Sequence[Deforming],
    *,
    everything: bool = False,
    repeats: int = 3,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Build, refit and traversal of each combination over each deforming scene; CPU time on one thread."""
    rows = []
    with timing.threads(1):
        for scene in scenes:
            ways = list(combinations(everything=everything))
            best: list[dict[str, Any]] = [{} for _ in ways]
            # alternating, so that other load of the machine affects all of them
            for turn in range(repeats + 1):
                progress(f"{scene.name}: round {turn} of {repeats}")
                for k, options in enumerate(ways):
                    row = measure(scene, options)
                    if turn:
                        best[k] = {key: min(value, best[k].get(key, value)) for key, value in row.items()}
            rows += [_row(scene, options, row) for options, row in zip(ways, best, strict=True)]
    title = "BVHs over deforming meshes: mean over all frames, one thread"
    return Table("trees", title, COLUMNS, rows)


def findings(table: Table) -> list[str]:
    """The fastest combination for each scene, and the gain of refitting."""
    said = []
    for scene in dict.fromkeys(row["scene"] for row in table.rows):
        rows = [row for row in table.rows if row["scene"] == scene]
        best = min(rows, key=lambda row: row["frame_ms"])
        ratios = [row["rebuild_to_refit"] for row in rows]
        said.append(
            f"{scene}: least time per frame {best['frame_ms']:.3g} ms with {best['volume']}, arity {best['arity']}, "
            f"{best['build']}; rebuilding takes {min(ratios):.1f} to {max(ratios):.0f} times as long as refitting"
        )
    return said


def measure(scene: Deforming, options: dict[str, Any]) -> dict[str, float]:
    """Build over the first frame and refit to the others; the build is timed on the last frame."""
    build, _ = _timed(lambda: [tree_of(x, f, **options) for x, f in zip(scene.frames[-1], scene.faces, strict=True)])
    trees = [tree_of(x, f, **options) for x, f in zip(scene.frames[0], scene.faces, strict=True)]
    spent, tests, pairs, n = np.zeros(2), 0, 0, len(scene.frames)
    for frame in scene.frames:
        fit, _ = _timed(functools.partial(_refit, trees, frame, scene.faces))
        walk, found = _timed(lambda: find_pairs(*trees, within=scene.within))
        spent += fit, walk
        tests, pairs = tests + found.tests, pairs + len(found.pairs)
    fit, walk = 1e3 * spent / n
    return {"build_ms": 1e3 * build, "refit_ms": fit, "walk_ms": walk, "tests": tests / n, "pairs": pairs / n}


def _row(scene: Deforming, options: dict[str, Any], best: dict[str, float]) -> dict[str, Any]:
    return {
        "scene": scene.name,
        "triangles": sum(map(len, scene.faces)),
        "volume": options["volume"],
        "arity": options["arity"],
        "build": options["split"],
        "leaf": options["leaf"],
        **best,
        "rebuild_to_refit": best["build_ms"] / best["refit_ms"],
        "frame_ms": best["refit_ms"] + best["walk_ms"],
    }


def updates_table(
    scenes: Sequence[Deforming], *, repeats: int = 2, progress: Callable[[str], None] = lambda _: None
) -> Table:
    """Update strategies of the default BVH on the same scenes: cost of update and traversal per frame."""
    rows = []
    with timing.threads(1):
        for scene in scenes:
            for update, margin, worse in _ways(scene):
                progress(f"{scene.name}: {update}")
                runs = [follow(scene, update, margin, worse) for _ in range(repeats + 1)][1:]
                rows.append(min(runs, key=lambda row: row["frame_ms"]))
    return Table("tree-updates", "Following a deforming mesh: the mean of all frames, one thread", MOVING, rows)


def _ways(scene: Deforming) -> Iterable[tuple[str, float, float | None]]:
    yield from ((update, 0.0, None) for update in UPDATES if update != "lazy")
    size = float(np.ptp(scene.frames[0][0], axis=0).max())
    yield from (("lazy", share * size, None) for share in (0.005, 0.02, 0.08))
    yield from (("bottom-up", 0.0, worse) for worse in (1.1, 1.25, 1.5, 2.0, 3.0))


def follow(scene: Deforming, update: str, margin: float, worse: float | None) -> dict[str, Any]:
    """Interpolate four steps between two frames of the scene, as in a simulation."""
    how: dict[str, Any] = {"update": update, "margin": margin, "worse": worse, **DEFAULT}
    trees = [MovingTree(x, f, **how) for x, f in zip(scene.frames[0], scene.faces, strict=True)]
    spent, tests, pairs, n = np.zeros(2), 0, 0, 0
    for before, after in zip(scene.frames[:-1], scene.frames[1:], strict=True):
        for t in np.linspace(0.25, 1.0, 4):
            x = [(1.0 - t) * a + t * b for a, b in zip(before, after, strict=True)]
            follow, _ = _timed(functools.partial(_move, trees, x))
            walk, found = _timed(lambda: trees[0].pairs(*trees[1:], within=scene.within))
            spent += follow, walk
            tests, pairs, n = tests + found.tests, pairs + len(found.pairs), n + 1
    follow, walk = 1e3 * spent / n
    return {
        "scene": scene.name,
        "update": update,
        "margin": margin or None,
        "worse": worse,
        "follow_ms": follow,
        "walk_ms": walk,
        "frame_ms": follow + walk,
        "tests": tests / n,
        "pairs": pairs / n,
        "builds": sum(tree.builds for tree in trees),
    }


def _refit(trees: Sequence[Any], frame: Sequence[Any], faces: Sequence[Any]) -> None:
    for tree, x, f in zip(trees, frame, faces, strict=True):
        refit(tree, x, f)


def _move(trees: Sequence[MovingTree], frame: Sequence[Any]) -> None:
    for tree, x in zip(trees, frame, strict=True):
        tree.move(x)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def worn_table() -> Table:
    """A BVH refitted to shapes that it was not built for, against a rebuilt one: surface area, and traversal tests."""
    x = np.array(ball(0.5, 4).vertices)
    faces = ball(0.5, 4).faces.astype(np.int32)
    noise = np.random.default_rng(0).normal(size=x.shape)
    loose, alone = x[faces].reshape(-1, 3), np.arange(3 * len(faces), dtype=np.int32).reshape(-1, 3)
    apart = np.random.default_rng(1).normal(size=(len(faces), 1, 3)).repeat(3, 1).reshape(-1, 3)
    shapes = [(f"twisted by {k:g} rad/m", x, faces, _twisted(x, k)) for k in (3.0, 6.0, 12.0)]
    shapes += [(f"roughened by {k:g} m", x, faces, x + k * noise) for k in (0.02, 0.04)]
    shapes += [(f"pieces {k:g} m apart", loose, alone, loose + k * apart) for k in (0.02, 0.05, 0.2)]
    (flat,), (strip,) = folding().frames[0], folding().faces
    shapes += [("cloth, folded", flat, strip, frame[0]) for frame in folding().frames[-1:]]
    rows = []
    for name, before, elements, after in shapes:
        tree = MovingTree(before, elements, worse=None, **DEFAULT)
        found = tree.move(after).pairs()
        fresh = find_pairs(tree_of(after, elements, **DEFAULT))
        rows.append({"shape": name, "surface": tree.quality, "tests": found.tests, "fresh": fresh.tests})
    columns = (
        Column("shape"),
        Column("surface", "surface-grown", "{:.2f}"),
        Column("tests", show="{:,}"),
        Column("fresh", "tests-when-new", "{:,}"),
    )
    return Table("tree-wear", "BVHs refitted to shapes for which they were not built", columns, rows)


def _twisted(x: Any, rate: float) -> Any:
    cos, sin = np.cos(rate * x[:, 1]), np.sin(rate * x[:, 1])
    return np.stack([cos * x[:, 0] + sin * x[:, 2], x[:, 1], cos * x[:, 2] - sin * x[:, 0]], 1)
