"""Random folds of a sheet, and how well the stochastic BVH knows which share of their contacts it has found."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from pliant import shapes
from pliant.detect.base import Side
from pliant.detect.detectors.bvh import BvhDetector
from pliant.detect.detectors.stochastic import StochasticBvhDetector, measured_recall
from pliant.report.tables import Column, Table
from pliant.state import State

from .stochastic import Moving

Floats = NDArray[np.float64]
NEAR = 0.05  # largest difference of estimated and true recall that counts as calibrated
COLUMNS = (
    Column("quality", show="{:g}"),
    Column("folds", show="{:d}"),
    Column("near", f"within-{NEAR:g}", "{:.0%}"),
    Column("true", "true-recall", "{:.3f}"),
    Column("estimated", show="{:.3f}"),
    Column("low", "error-5%", "{:+.3f}"),
    Column("high", "error-95%", "{:+.3f}"),
    Column("tested", "leaves-tested", "{:.0%}"),
)


def random_fold(seed: int, count: int = 64) -> Moving:
    """A square sheet that is folded two to five times along random lines, with dents and noise; about as many
    intersections as near pairs, from none to tens of thousands of contacts."""
    rng = np.random.default_rng(seed)
    sheet, edge = shapes.cloth(1.0, 1.0, count), 1.0 / count
    x = sheet.vertices.copy()
    for _ in range(int(rng.integers(2, 6))):
        x = _folded(x, rng, rng.uniform(0.4, 2.0) * edge)
    waves = np.sin(rng.uniform(5, 30) * x[:, 0] + rng.uniform(0, 6)) * np.sin(rng.uniform(5, 30) * x[:, 2])
    x[:, 1] += rng.uniform(0.0, 1.0) * edge * waves
    x += rng.normal(0.0, 0.05 * edge, x.shape)
    return Moving(f"fold {seed}", (Side(sheet, 0, 0),), [x], float(rng.uniform(0.3, 1.0)) * edge)


def _folded(x: Floats, rng: np.random.Generator, radius: float) -> Floats:
    """Fold all layers beyond a random line up or down, around a cylinder above them."""
    angle, turn = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(0.85, 1.0) * np.pi
    across, side = np.array([np.cos(angle), 0.0, np.sin(angle)]), rng.choice([-1.0, 1.0])
    along, height = x @ across, side * x[:, 1]
    along = along - np.quantile(along, rng.uniform(0.25, 0.75))
    top = height.max()
    bend, rest = np.clip(along / radius, 0.0, turn), np.maximum(along - turn * radius, 0.0)
    r = radius + top - height
    moved = np.where(along > 0.0, r * np.sin(bend) + rest * np.cos(turn), along)
    out = x + (moved - along)[:, None] * across
    out[:, 1] = side * np.where(along > 0.0, top + radius - r * np.cos(bend) + rest * np.sin(turn), height)
    return out


def calibration(folds: Sequence[Moving], quality: float) -> Floats:
    """(n,3) true recall, estimated recall, and share of the pairs of leaves that were tested."""
    rows = []
    for fold in folds:
        state = State.at(fold.frames[0])
        exact = BvhDetector(*fold.sides, within=fold.within).update(state).find(state).copy()
        mine = StochasticBvhDetector(*fold.sides, within=fold.within, quality=quality)
        every = StochasticBvhDetector(*fold.sides, within=fold.within).update(state).tested
        recall = measured_recall(mine.update(state).find(state), exact).contacts
        rows.append((recall, mine.estimated_recall, mine.tested / max(every, 1)))
    return np.array(rows)


def calibration_table(folds: Sequence[Moving], qualities: Sequence[float], progress: Callable[[str], None]) -> Table:
    """Estimated against true recall of random folds."""
    rows = []
    for quality in qualities:
        progress(f"quality {quality:g}")
        found = calibration(folds, quality)
        error = found[:, 1] - found[:, 0]
        low, high = np.quantile(error, [0.05, 0.95])
        row = {"quality": quality, "folds": len(folds), "near": float((np.abs(error) <= NEAR).mean())}
        means = dict(zip(("true", "estimated", "tested"), found.mean(0).tolist()))
        rows.append(row | means | {"low": float(low), "high": float(high)})
    return Table("stochastic-folds", "Recall of the stochastic BVH on random folds", COLUMNS, rows)
