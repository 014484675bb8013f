"""Recall against cost of the stochastic detectors: three moving scenes, and the exact BVH on the same frames."""

import gc
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pliant import shapes
from pliant.contacts import Contacts
from pliant.detect.base import Side
from pliant.detect.bvh.tree import refit, tree_of
from pliant.detect.detectors.bvh import BvhDetector
from pliant.detect.detectors.stochastic import ActivePairsDetector, StochasticBvhDetector, measured_recall
from pliant.mesh import Mesh
from pliant.report.charts import plain_svg
from pliant.report.tables import Chart, Column, Table
from pliant.state import State

from . import timing

Floats = NDArray[np.float64]
Progress = Callable[[str], None]
QUALITIES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
FRESH = (8, 16, 32, 64)
SPREAD = (8, None)
FRAMES, SETTLED = 20, 10  # frames of a scene, and the first of them that count for recall

NOTES = (
    "CPU time on one thread, mean over frames, the least of several runs; exact is the BVH on the same frames. A "
    "contact region consists of contacts that share vertices; it is found if any of its contacts is.",
    f"Active pairs: recall from frame {SETTLED} on. Budget: CPU time of update and find together.",
)


class Moving(NamedTuple):
    """The sides of a query, and the positions of all vertices in each frame."""

    name: str
    sides: tuple[Side, ...]
    frames: Sequence[Floats]
    within: float

    @property
    def triangles(self) -> int:
        return sum(side.mesh.n_faces for side in self.sides)


def sliding_tori(count: int = 112, frames: int = FRAMES) -> Moving:
    """A torus that rotates on a wavy one and touches its crests."""
    ring = _torus(2 * count, count)
    x = ring.vertices
    around = np.arctan2(x[:, 2], x[:, 0])

    def at(t: float) -> Floats:
        one = x + (0.006 * np.sin(9.0 * around))[:, None] * np.array([0.0, 1.0, 0.0])
        cos, sin = np.cos(0.3 * t), np.sin(0.3 * t)
        turned = np.stack([cos * x[:, 0] + sin * x[:, 2], x[:, 1], cos * x[:, 2] - sin * x[:, 0]], 1)
        tilt = 0.003 * np.sin(5.0 * around + 3.0 * t)
        return np.concatenate([one, turned + np.stack([0.01 * t + 0.0 * tilt, 0.2048 + tilt, 0.0 * tilt], 1)])

    sides = Side(ring, 0, 0), Side(ring.moved(at(0.0)[len(x) :]), len(x), 1)
    return Moving("two tori", sides, [at(0.05 * k + 0.02) for k in range(frames)], 0.0015)


def folded_cloth(count: int = 224, frames: int = FRAMES) -> Moving:
    """A sheet in five folds with dents, which touch at moving spots."""
    sheet = shapes.cloth(1.0, 1.0, count)
    s, z = sheet.vertices[:, 0] - sheet.vertices[:, 0].min(), sheet.vertices[:, 2]

    def at(t: float) -> Floats:
        # straight runs of 0.2 m, 12 mm apart, joined by half circles
        turn, run = 0.006, 0.2 - 0.006 * np.pi
        fold, along = np.divmod(s, 0.2)
        angle = np.clip((along - run) / turn, 0.0, np.pi)
        across = np.minimum(along, run) + turn * np.sin(angle)
        side = np.where(fold % 2 == 0, across, run - across)
        height = 2.0 * turn * fold + turn * (1.0 - np.cos(angle))
        dent = np.where(fold % 2 == 0, 0.0058, -0.0058) * np.sin(31.0 * z + 0.6 * t) * np.sin(40.0 * side)
        flat = np.clip(5.0 * np.minimum(along, run - along) / run, 0.0, 1.0)
        return np.stack([side, height + dent * flat, z], 1)

    return Moving("folded cloth", (Side(sheet, 0, 0),), [at(0.1 * k) for k in range(frames)], 0.001)


def gut(around: int = 56, frames: int = FRAMES) -> Moving:
    """A tube of 24 mm in seven runs, 38 mm apart, that sway until they touch."""
    tube = _loops(0.012, 0.0384, 0.16, 7, around)
    x = tube.vertices

    def at(t: float) -> Floats:
        # neighbouring runs sway towards each other, except in the bends
        straight = np.clip(50.0 * (0.077 - np.abs(x[:, 0])), 0.0, 1.0)
        sway = 0.0075 * straight * np.sin(90.0 * x[:, 0] + 0.5 * t) * np.cos(np.pi * np.round(x[:, 2] / 0.0384))
        return x + np.stack([0.0 * sway, 0.003 * np.sin(20.0 * x[:, 0] + t), sway], 1)

    return Moving("gut", (Side(tube, 0, 0),), [at(0.1 * k) for k in range(frames)], 0.0003)


def scenes(quick: bool) -> list[Moving]:
    if quick:
        return [sliding_tori(24, 12), folded_cloth(48, 12), gut(20, 12)]
    return [sliding_tori(), folded_cloth(), gut()]


def exact_of(scene: Moving, repeats: int) -> tuple[list[Contacts], float]:
    """Contacts of each frame by the BVH, and milliseconds per frame."""
    found: list[Contacts] = []
    best = np.inf
    for _ in range(repeats):
        found, spent = follow(BvhDetector(*scene.sides, within=scene.within), scene)
        best = min(best, spent)
    return found, best


def quality_table(
    moving: Sequence[Moving], *, repeats: int, qualities: Sequence[float] = QUALITIES, progress: Progress
) -> Table:
    """Recall of the stochastic BVH traversal against its quality; mean and deviation over frames."""
    rows = []
    with timing.threads(1):
        for scene in moving:
            truth, exact_ms = exact_of(scene, repeats)
            for quality in qualities:
                progress(f"{scene.name}: quality {quality:g}")
                options: dict[str, Any] = {"within": scene.within, "quality": quality}
                row = _followed(StochasticBvhDetector, options, scene, truth, repeats, 0)
                rows.append(_named(scene, exact_ms) | {"quality": quality} | row)
    columns = (*_NAMES, Column("quality", show="{:g}"), *_RECALL)
    return Table("stochastic-tree", "A BVH traversed by probability: recall over quality, one thread", columns, rows)


def pairs_table(
    moving: Sequence[Moving],
    *,
    repeats: int,
    fresh: Sequence[int] = FRESH,
    spread: Sequence[int | None] = SPREAD,
    progress: Progress,
) -> Table:
    """Recall of active pairs after some frames, against the number of random pairs per frame and the spread."""
    rows = []
    with timing.threads(1):
        for scene in moving:
            truth, exact_ms = exact_of(scene, repeats)
            for most in spread:
                for count in fresh:
                    progress(f"{scene.name}: {count} guesses")
                    options: dict[str, Any] = {"within": scene.within, "fresh": count, "spread": most}
                    settled = min(SETTLED, len(scene.frames) - 1)
                    row = _followed(ActivePairsDetector, options, scene, truth, repeats, settled)
                    rows.append(_named(scene, exact_ms) | {"fresh": count, "spread": most or "all"} | row)
    columns = (*_NAMES, Column("fresh", show="{}"), Column("spread"), *_RECALL)
    title = f"Active pairs: recall after {SETTLED} frames against the number of random pairs, one thread"
    return Table("active-pairs", title, columns, rows)


def budget_table(moving: Sequence[Moving], *, budget_ms: float, frames: int, progress: Progress) -> Table:
    """Compliance with a time budget: CPU time on one thread."""
    rows = []
    with timing.threads(1):
        for scene in moving:
            progress(f"{scene.name}: {budget_ms:g} ms a frame")
            detector = StochasticBvhDetector(
                *scene.sides, within=scene.within, budget_ms=budget_ms, clock=time.process_time
            )
            spent = []
            gc.collect()
            gc.freeze()  # a collection of everything that was imported takes 20 ms
            for k in range(frames):
                state = State.at(scene.frames[k % len(scene.frames)])
                begin = time.process_time()
                detector.update(state).find(state)
                spent.append(1e3 * (time.process_time() - begin))
            gc.unfreeze()
            told = np.percentile(spent, [0.0, 50.0, 95.0, 99.0, 100.0])
            late = float(np.mean(np.array(spent) > 1.1 * budget_ms))
            keys = ("least", "median", "p95", "p99", "most")
            row = dict(zip(keys, told.tolist(), strict=True)) | {"late": late, "frames": frames}
            rows.append({"scene": scene.name, "triangles": scene.triangles, "budget": budget_ms} | row)
    shown = [Column(key, f"{key}-ms", "{:.2f}") for key in ("least", "median", "p95", "p99", "most")]
    columns = (Column("scene"), Column("triangles", show="{:,}"), Column("budget", "budget-ms", "{:g}"), *shown)
    more = (Column("late", "over-by-10%", "{:.1%}"), Column("frames", show="{}"))
    return Table("stochastic-budget", "A time budget: milliseconds of a frame, one thread", (*columns, *more), rows)


def survey_rows(*, quick: bool, repeats: int, folder: pathlib.Path | None, progress: Progress) -> list[dict[str, Any]]:
    """Section 2.3: refit against rebuild, [vdB97]. Section 7.4: the intestine of [RGF*04] in real time."""
    progress("refitting and rebuilding")
    scene, small = folded_cloth(40 if quick else 224, 2), gut(14 if quick else 20, 12)
    faces = scene.sides[0].mesh.faces.astype(np.int32)
    tree = tree_of(scene.frames[0], faces)
    with timing.threads(1):
        fit = min(_spent(lambda: refit(tree, scene.frames[1], faces)) for _ in range(repeats + 1))
        build = min(_spent(lambda: tree_of(scene.frames[1], faces)) for _ in range(repeats + 1))
        found, spent = follow(ActivePairsDetector(*small.sides, within=small.within), small)
    return [
        {
            "what": "refit of a BVH of AABBs",
            "case": f"{len(faces):,} triangles",
            "paper": "about 10 times faster than a rebuild",
            "one_ms": 1e3 * fit,
            "answer": f"rebuild {1e3 * build:.1f} ms: {build / fit:.0f} times as long",
        },
        {
            "what": "active pairs, gut on itself",
            "case": f"{small.triangles:,} triangles",
            "paper": "300 segments, a few hundred collisions in real time",
            "one_ms": spent,
            "answer": f"{len(found[-1]):,} contacts",
        },
    ]


def _spent(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


_NAMES = (
    Column("scene"),
    Column("triangles", show="{:,}"),
    Column("contacts", show="{:,.0f}"),
    Column("n_regions", "regions", "{:.0f}"),
    Column("exact_ms", "exact-ms", "{:.2f}"),
)
_RECALL = (
    Column("ms", show="{:.2f}"),
    Column("cost", "of-exact", "{:.3f}"),
    Column("recall", show="{:.4f}"),
    Column("deviation", show="{:.4f}", detail=True),
    Column("regions_found", "of-regions", "{:.3f}"),
    Column("estimated", show="{:.3f}"),
    Column("extra", show="{:.1f}", detail=True),
)


def _named(scene: Moving, exact_ms: float) -> dict[str, Any]:
    return {"scene": scene.name, "triangles": scene.triangles, "exact_ms": exact_ms}


def _followed(
    kind: Any, options: dict[str, Any], scene: Moving, truth: Sequence[Contacts], repeats: int, first: int
) -> dict[str, Any]:
    """Recall over the frames from `first` on, and milliseconds per frame, the least of several runs."""
    best = np.inf
    for _ in range(repeats):
        guessed: list[float] = []
        found, spent = follow(kind(*scene.sides, **options), scene, guessed)
        best = min(best, spent)
    told = [measured_recall(*both) for both in zip(found[first:], truth[first:], strict=True)]
    guessed = guessed[first:]
    recall = np.array([r.contacts for r in told])
    return {
        "contacts": float(np.mean([r.n_contacts for r in told])),
        "n_regions": float(np.mean([r.n_regions for r in told])),
        "ms": best,
        "recall": float(recall.mean()),
        "deviation": float(recall.std()),
        "regions_found": float(np.mean([r.regions for r in told])),
        "estimated": float(np.nanmean(guessed)) if np.isfinite(guessed).any() else None,
        "extra": float(np.mean([r.extra for r in told])),
    }


def follow(detector: Any, scene: Moving, guessed: list[float] | None = None) -> tuple[list[Contacts], float]:
    """Contacts of all frames, and mean CPU time per frame in milliseconds, without the first two."""
    found, spent = [], []
    for x in scene.frames:
        state = State.at(x)
        begin = time.process_time()
        made = detector.update(state).find(state)
        spent.append(time.process_time() - begin)
        found.append(made.copy())
        if guessed is not None:
            guessed.append(detector.estimated_recall)
    return found, 1e3 * float(np.mean(spent[2:]))


def with_cost(table: Table) -> Table:
    """Add the share of the exact cost to every row."""
    for row in table.rows:
        row["cost"] = row["ms"] / row["exact_ms"]
    return table


def quality_chart(table: Table) -> Chart:
    """Recall against quality."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        curves.setdefault(row["scene"], []).append((row["quality"], row["recall"]))
    label = "Recall of contacts against the requested quality"
    return Chart("stochastic-tree", label, plain_svg(curves, ("quality", "found"), label))


def cost_chart(table: Table, name: str) -> Chart:
    """Regions found against the share of the exact cost, with a curve for each scene and spread."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        who = row["scene"] if "spread" not in row else f"{row['scene']}, spread {row['spread']}"
        curves.setdefault(who, []).append((row["cost"], row["regions_found"]))
    label = "Share of the contact regions found against the share of the exact cost"
    return Chart(name, label, plain_svg({k: sorted(v) for k, v in curves.items()}, ("of exact", "regions"), label))


def findings(quality: Table, pairs: Table, budget: Table) -> list[str]:
    """Recall and cost in sentences."""
    said = []
    for scene in dict.fromkeys(row["scene"] for row in quality.rows):
        rows = [row for row in quality.rows if row["scene"] == scene]
        half = min(rows, key=lambda row: abs(row["quality"] - 0.5))
        said.append(
            f"{scene}: quality {half['quality']:g} finds {half['recall']:.1%} of the contacts and "
            f"{half['regions_found']:.1%} of the regions in {half['ms']:.3g} ms; quality 1 all ({rows[-1]['recall']:g})"
        )
        good = [row for row in pairs.rows if row["scene"] == scene and row["regions_found"] >= 0.9]
        if good:
            best = min(good, key=lambda row: row["cost"])
            said.append(
                f"{scene}: active pairs find {best['regions_found']:.1%} of the regions after {SETTLED} frames at "
                f"{best['cost']:.3f} of the exact cost ({best['fresh']} random pairs, spread {best['spread']})"
            )
    for row in budget.rows:
        said.append(
            f"{row['scene']}: {row['budget']:g} ms per frame, at most {row['most']:.2f} ms; {row['late']:.1%} of "
            f"{row['frames']} frames exceed it by more than 10 %"
        )
    return said


def _torus(n: int, m: int) -> Mesh:
    """A torus with radii of 0.3 m and 0.1 m."""
    u, v = np.meshgrid(np.arange(n) * 2.0 * np.pi / n, np.arange(m) * 2.0 * np.pi / m, indexing="ij")
    r = 0.3 + 0.1 * np.cos(v)
    x = np.stack([r * np.cos(u), 0.1 * np.sin(v), r * np.sin(u)], -1).reshape(-1, 3)
    i, j = np.arange(n)[:, None], np.arange(m)[None]
    a, b = i * m + j, (i + 1) % n * m + j
    c, d = (i + 1) % n * m + (j + 1) % m, i * m + (j + 1) % m
    faces = np.concatenate([np.stack([a, c, b], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])
    return Mesh(x, faces, name="torus")


def _loops(radius: float, apart: float, length: float, runs: int, around: int) -> Mesh:
    """An open tube along straight runs joined by half circles, in the plane y = 0."""
    h = 2.0 * np.pi * radius / around
    bend = 0.5 * np.pi * apart
    s = np.arange(0.0, runs * length + (runs - 1) * bend, h)
    run, along = np.divmod(s, length + bend)
    side = np.where(run % 2 == 0, 1.0, -1.0)
    angle = np.clip((along - length) / (0.5 * apart), 0.0, np.pi)
    x = side * (np.minimum(along, length) - 0.5 * length + 0.5 * apart * np.sin(angle))
    z = apart * (run - 0.5 * (runs - 1)) + 0.5 * apart * (1.0 - np.cos(angle))
    middle = np.stack([x, 0.0 * x, z], 1)
    left = np.stack([-side * np.sin(angle), 0.0 * x, np.cos(angle)], 1)
    turn = 2.0 * np.pi * np.arange(around) / around
    ring = np.cos(turn)[:, None] * left[:, None] + np.sin(turn)[:, None] * np.array([0.0, 1.0, 0.0])
    n, i, j = len(s), np.arange(len(s) - 1)[:, None], np.arange(around)[None]
    a, b, c, d = (
        i * around + j,
        (i + 1) * around + j,
        (i + 1) * around + (j + 1) % around,
        i * around + (j + 1) % around,
    )
    faces = np.concatenate([np.stack([a, d, c], -1).reshape(-1, 3), np.stack([a, c, b], -1).reshape(-1, 3)])
    return Mesh((middle[:, None] + radius * ring).reshape(n * around, 3), faces, name="gut")
