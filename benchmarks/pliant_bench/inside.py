"""T7: all vertices in tetrahedra of two bodies, mutual and self."""

import dataclasses
import importlib
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pliant.detect.queries.tet_hash import TetHash
from pliant.kernels.queries.tet_hash import every_pair
from pliant.report.tables import Column, Table

from . import contest
from .contest import Entry
from .peers import PACKAGES, present

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Rows = NDArray[np.int64]
UNIT = "ms"
COLUMNS = contest.columns(
    UNIT,
    Column("pairs", show="{:,}"),
    Column("true_pairs", "true-pairs", "{:,}"),
    Column("missing", show="{:,}"),
    Column("extra", show="{:,}"),
)
# four tets at the corners of a cube and one in its centre; neighbouring cubes are mirrored along x
_FIVE = np.array(
    [
        [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)],
        [(1, 1, 0), (0, 1, 0), (1, 0, 0), (1, 1, 1)],
        [(1, 0, 1), (1, 0, 0), (0, 0, 1), (1, 1, 1)],
        [(0, 1, 1), (0, 0, 1), (0, 1, 0), (1, 1, 1)],
        [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)],
    ]
)


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    """Vertices (n,3) and tets (m,4) of two bodies, the sizes of the first body, and the true pairs (k,2)."""

    x: Floats
    tets: Ints
    vertices: int
    first: int
    truth: Rows


def block(n: int, bend: float = 0.0, shift: Any = (0.0, 0.0, 0.0), seed: int = 0) -> tuple[Floats, Ints]:
    """A cube of n^3 cells of five tets with perturbed vertices; `bend` (radians) rolls it until its ends overlap."""
    corner = np.stack(np.meshgrid(*[np.arange(n + 1)] * 3, indexing="ij"), -1).reshape(-1, 3)
    x = (corner + np.random.default_rng(seed).uniform(-0.15, 0.15, corner.shape)) / n
    cell = np.stack(np.meshgrid(*[np.arange(n)] * 3, indexing="ij"), -1).reshape(-1, 3)
    odd = (cell.sum(1) % 2 == 1)[:, None, None]
    at = cell[:, None] + np.where(odd, (_FIVE ^ np.array([1, 0, 0]))[:, None], _FIVE[:, None])
    tets = ((at[..., 0] * (n + 1) + at[..., 1]) * (n + 1) + at[..., 2]).reshape(-1, 4)
    if bend:
        turn, r = (x[:, 0] - 0.5) * bend, 0.35 + x[:, 2]
        x = np.stack([r * np.sin(turn), x[:, 1], r * np.cos(turn)], 1)
    a, b, c, d = (x[tets[:, k]] for k in range(4))
    out = np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) < 0.0
    tets[out] = tets[out][:, [0, 1, 3, 2]]
    return x + np.asarray(shift, float), tets.astype(np.int32)


def truth_of(x: Floats, tets: Ints) -> Rows:
    """Pairs (k,2), by exact tests of all vertices against all tets."""
    found = []
    for first in range(0, len(tets), 512):
        held = np.empty((min(512, len(tets) - first), len(x)), np.bool_)
        every_pair(x, tets[first : first + 512], held)
        t, v = np.nonzero(held)
        found.append(np.stack([v, t + first], 1))
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *found])
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def inside_table(
    *,
    quick: bool = False,
    repeats: int = 5,
    folder: pathlib.Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Table:
    """Update to the positions and find all pairs."""
    n = 5 if quick else 13
    (x, tets), (y, others) = block(n, bend=7.0), block(n, shift=(0.6, 0.3, 0.5), seed=1)
    z, both = np.concatenate([x, y]), np.concatenate([tets, others + np.int32(len(x))])
    name = f"{len(z):,} vertices, {len(both):,} tets"
    progress(f"{name}: the truth")
    case = Case(z, both, len(x), len(tets), truth_of(z, both))
    entries = contest.gather(case, _ours, PEERS, present)
    rows = contest.compare(name, entries, UNIT, repeats, progress)
    return Table("t7-inside", "T7: vertices in tetrahedra of two bodies, self and mutual, ms", COLUMNS, rows)


def _judge(case: Case, pairs: Any, truth: Rows | None = None) -> dict[str, Any]:
    wanted = case.truth if truth is None else truth
    one, two = ({tuple(row) for row in np.asarray(rows).tolist()} for rows in (pairs, wanted))
    return {"pairs": len(one), "true_pairs": len(two), "missing": len(two - one), "extra": len(one - two)}


def _ours(case: Case) -> list[Entry]:
    found = TetHash(case.x, case.tets)

    def check(pairs: Any) -> dict[str, Any]:
        return _judge(case, pairs)

    return [
        Entry(contest.OWN, lambda: found.update(case.x).pairs(), check, note="rehashed, exact pairs"),
        Entry(f"{contest.OWN}, brute force", lambda: truth_of(case.x, case.tets), check, note="all pairs, exact"),
    ]


def _warp(case: Case) -> list[Entry]:
    from .warp_kernels import Inside, vectors

    theirs, x = Inside(case.x, case.tets), vectors(case.x)

    def work() -> Any:
        return theirs.update(x).find()

    def check(found: Any) -> dict[str, Any]:
        return _judge(case, found)

    note = "boxes, refit of a Bvh over tets and point query, float32"
    return [Entry(PACKAGES["warp"][0], work, check, runs_on="one", note=note)]


def _igl(case: Case) -> list[Entry]:
    module = importlib.import_module("igl")
    asked, held = (np.ascontiguousarray(part) for part in (case.x[: case.vertices], case.x[case.vertices :]))
    tets = (case.tets[case.first :] - case.vertices).astype(np.int64)
    there = (case.truth[:, 0] < case.vertices) & (case.truth[:, 1] >= case.first)
    truth = np.unique(case.truth[there, 0])

    def work() -> Any:
        tree = module.AABB()
        tree.init(held, tets)
        return module.in_element(held, tets, asked, tree)

    def check(found: Any) -> dict[str, Any]:
        return _judge(case, np.flatnonzero(np.asarray(found) >= 0)[:, None], truth[:, None])

    note = "AABB built, in_element: vertices of one body in the other, one tet each"
    return [Entry(PACKAGES["igl"][0], work, check, runs_on="all", note=note)]


PEERS: dict[str, contest.Maker] = {"warp": _warp, "igl": _igl}
TASK = contest.Task(
    inside_table,
    UNIT,
    "Milliseconds to find all vertices in tetrahedra",
    "T7: a cube of tets that is rolled until its ends overlap, and another one through it; update, and all pairs of a "
    "vertex and a tet that contains it, self and mutual. true-pairs: all pairs by exact predicates. libigl reports the "
    "vertices of one body in the other, with one tet per vertex.",
)
