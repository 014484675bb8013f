"""BVH traversal by collision probability: likely contacts first, up to a quality or a time budget."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from .... import renamed, validate
from ....arguments import check_arguments
from ....contacts import Contacts
from ....kernels.bvh.tree import Tree
from ....kernels.detectors.stochastic import traversal as _kernels
from ....kernels.detectors.stochastic.features import FacetQuery, add_features
from ....kernels.detectors.stochastic.traversal import (
    DONE,
    ENOUGH,
    FOUND,
    FULL,
    IN_BATCH,
    IN_QUEUE,
    NUMBER,
    SIZE,
    STATUS,
    TESTS,
    VISITED,
    Queue,
    StochasticBvh,
    Traversal,
)
from ....state import State
from ...base import BaseDetector, Finds, MaxBytes, Side
from ...bvh.leaf_mesh import with_isolated_vertices
from ...bvh.tree import refit, tree_of
from ...bvh.tree_options import Arity, Split
from ...queries.contact_records import PosedSide, WeldedSide, contacts_of, with_rounding_margin
from ...queries.penetration import DeformingClosestPoints
from ...queries.welding import Seams
from .facets import joined
from .records import Recorder, sorted_pairs
from .sampled import LeafPairs
from .time_budget import TimeBudget

if TYPE_CHECKING:
    from ...structure import Structure

Floats = NDArray[np.float64]
LEAF = 8  # triangles per leaf
WORK = 4000  # tests between two readings of the clock: about 0.1 ms and some hundred contacts
LITTLE = 500  # the same when less than SHORT remains
SHORT = 5e-4  # seconds
LARGEST = np.iinfo(np.int64).max
CALIBRATION = 3  # steps on the rest positions that a time budget begins with
_BYTES = 260  # peak memory per contact during detection


@check_arguments
class StochasticBvhDetector(BaseDetector):
    """Find contacts at a distance of at most `within`, the most probable ones first; `other=None` finds self-contact.

    `quality` 0 to 1: stop when about this share of the contacts is found; 1 finds all, as method "bvh". `budget_ms`:
    stop so that `update` and `find` together take this many milliseconds by `clock`; then the number of contacts
    depends on the machine. `budget_tests`: stop after this many tests of pairs of bounding boxes, on any machine at
    the same one. Without `budget_ms` the result is deterministic and independent of earlier queries.
    """

    name = "stochastic-bvh"
    finds = Finds.OBSTACLE | Finds.PAIR | Finds.SELF
    guarantee = "C"
    needs = "any triangle meshes"
    gives = "distance, normal, depth (closed obstacle)"
    source = "Teschner et al. 2005, section 3.1"
    obstacle_may_deform = True
    variants = ({"quality": 0.9},)  # the default finds all contacts

    def __init__(
        self,
        one: Side,
        other: Side | None = None,
        *,
        within: float,
        quality: float = 1.0,
        budget_ms: float | None = None,
        budget_tests: int | None = None,
        clock: Callable[[], float] = time.perf_counter,
        max_bytes: MaxBytes = None,
        arity: Arity = 4,
        split: Split = "longest-sah",
    ) -> None:
        self.within = validate.number("within", within, low=0.0, high=validate.LARGEST)
        self.quality = validate.number("quality", quality, low=0.0, high=1.0)
        self.budget_ms = None if budget_ms is None else validate.number("budget_ms", budget_ms, above=0.0)
        self.budget_tests = None if budget_tests is None else validate.whole("budget_tests", budget_tests, low=0)
        self.max_bytes = max_bytes
        self._time = None if self.budget_ms is None else TimeBudget(1e-3 * self.budget_ms, clock)
        self._queued = self.budget_ms is not None or self.budget_tests is not None
        sides = [one] if other is None else [one, other]
        self.same = other is None
        self._seams = Seams(one, other)
        self._exact = self.quality == 1.0 and not self._queued
        self._reweld()
        elements_of = (with_isolated_vertices(side.mesh.faces, side.mesh.n_vertices) for side in sides)
        self._elements = [validate.read_only(elements) for elements in elements_of]
        self._bvhs: list[StochasticBvh] = []
        self._trees: list[Tree] = []
        for k, (side, elements) in enumerate(zip(sides, self._elements)):
            mesh = side.mesh
            made = tree_of(mesh.vertices, elements, leaf=LEAF, arity=arity, split=split)
            fill = np.empty(len(made.nodes))
            _kernels.fill_cells(made.nodes, made.order, mesh.vertices, elements, fill)
            self._trees.append(made)
            rest = np.ascontiguousarray(made.nodes["bounds"])
            self._bvhs.append(StochasticBvh(made.nodes, made.items, made.order, fill, rest, k * self._whole.faces))
        self._queue = _queue(1 << 10)
        self._out = np.empty((1 << 14, 3), np.int32)
        self._batch = np.empty((LEAF * LEAF + _kernels.BATCH + 64, 2), np.int32)
        self._leaf_pairs = LeafPairs(self._bvhs[0], self._bvhs[-1], self._batch, self._check_memory)
        self._found = self._out[:0]
        self._recall = float("nan")
        self.enqueued = 0  # pairs of nodes visited in the last update; with a budget those that entered the queue
        self.tested = 0  # pairs of leaves tested in the last update; 0 with a budget
        self.n_tests = 0  # tests of pairs of bounding boxes in the last update with a budget
        self.leaf_pairs = np.zeros((0, 2), np.int32)  # those, as nodes; with a budget what was left in the queue
        if self._time is not None:
            self._calibrate(sides)

    opened = renamed.attribute("opened", "enqueued")

    def _reweld(self) -> None:
        """Rebuild all data that depend on the welding."""
        self._parts = [WeldedSide.of(side) for side in self._seams.sides]
        self._whole = joined(self._parts, isolated=True)
        self._recorder = Recorder(self._parts)
        signed = self._exact and not self.same
        self._distance_queries = [
            DeformingClosestPoints(part.side.mesh) if part.solid and signed else None for part in self._parts
        ]

    def update(self, state: State) -> Self:
        """Refit to the positions and traverse."""
        if self._time is not None:
            self._time.begin()
        if self._seams.update(state.x):
            self._reweld()
        for part, tree, elements in zip(self._parts, self._trees, self._elements, strict=True):
            refit(tree, state.x[part.side.rows], elements)
        for part, query in zip(self._parts, self._distance_queries, strict=True):
            if query is not None:
                query.update(state.x[part.side.rows])
        self._traverse(state.x)
        if self._time is not None:
            self._time.updated()
        return self

    def find(self, state: State) -> Contacts:
        if self._exact:
            x = [state.x[part.side.rows] for part in self._parts]
            poses = [PosedSide(*given) for given in zip(self._parts, x, self._distance_queries, strict=True)]
            pairs = sorted_pairs(self._found, self._whole, self.same)
            return contacts_of(poses[0], poses[-1], *pairs, self._recorder.pool)
        if self._time is None:
            return self._recorder.make(state, self._found, self._whole)
        rounds = self._time.timed_rounds(len(self._found))
        made = self._recorder.make(state, self._found, self._whole, rounds)
        rounds.close()
        return made

    def _calibrate(self, sides: list[Side]) -> None:
        """Make what later steps need, and measure what they cost, on the rest positions."""
        x = np.zeros((max(side.rows.stop for side in sides), 3))
        for side in sides:
            x[side.rows] = side.mesh.vertices
        state = State.at(x)
        pairs = np.array([[0, len(self._whole.facets.corners) - 1]], np.int32)
        if len(self._elements[0]) and len(self._elements[-1]):
            # records of features at any distance, so that the first contacts find all in place
            far = FacetQuery(self._whole.facets, x, self.same, np.inf, np.inf)
            some = np.empty((32, 3), np.int32)
            self._recorder.make(state, some[: add_features(far, pairs, 0, 1, some, 0)], self._whole)
        for _ in range(CALIBRATION):
            self.update(state).find(state)

    @property
    def trees(self) -> list[Tree]:
        """The BVHs of the sides."""
        return self._trees

    def structure(self, state: State, level: int | None = None) -> "Structure":
        from ..structures.pairs import structure_of_leaf_pairs

        return structure_of_leaf_pairs(self, level)

    @property
    def estimated_recall(self) -> float:
        return self._recall

    def _traverse(self, x: Floats) -> None:
        query = FacetQuery(self._whole.facets, x, self.same, with_rounding_margin(self.within, x), self.within)
        if self._queued:
            self._within_budget(query)
            return
        found = self._leaf_pairs.find(query, self.quality)
        self._found, self._recall = found.contacts, found.recall
        if self.max_bytes is not None:
            self._check_memory(len(self._found))
        self.enqueued, self.tested, self.leaf_pairs = found.visited, found.tested, self._leaf_pairs.tested

    def _within_budget(self, query: FacetQuery) -> None:
        """Traverse by a queue, the most probable pairs of nodes first, until a budget is spent or the quality is
        reached."""
        a, b = self._bvhs[0], self._bvhs[-1]
        progress, expected = np.zeros(7, np.int64), np.zeros(2)
        if all(len(bvh.nodes) for bvh in (a, b)):
            expected[IN_QUEUE] = float(min(len(a.order), len(b.order)))
            _kernels.push(self._queue, 0, 0, 0, 0, 1.0, expected[IN_QUEUE])
            progress[SIZE] = progress[NUMBER] = 1
        while (work := self._next(progress)) > 0:
            traversal = Traversal(self._queue, progress, expected, self._batch, self._out)
            _kernels.advance(a, b, query, self.quality, work, traversal)
            if progress[STATUS] == DONE:
                break
            if progress[STATUS] == FULL:
                self._grow(int(progress[SIZE]), int(progress[FOUND]))
                progress[STATUS] = 0
        if self._time is not None:
            self._time.searched()
        if progress[IN_BATCH]:
            # the time is up: process the pairs that are still in the batch
            self._grow(int(progress[SIZE]), int(progress[FOUND]))
            progress[FOUND] = add_features(query, self._batch, 0, progress[IN_BATCH], self._out, progress[FOUND])
        self._found = self._out[: progress[FOUND]]
        if self.max_bytes is not None:
            self._check_memory(len(self._found))
        self.enqueued, self.n_tests = int(progress[NUMBER]), int(progress[TESTS])
        self.leaf_pairs = self._queue.pair[: progress[SIZE]].copy()
        count = progress[FOUND] + 1.0
        rate = count / (expected[VISITED] + 1.0)
        self._recall = float(count / (count + rate * max(expected[IN_QUEUE], 0.0)))
        if not progress[SIZE]:
            self._recall = 1.0

    def _next(self, progress: NDArray[np.int64]) -> int:
        """Return the number of tests until the clock is read again, and set the number of contacts; 0: a budget is
        spent."""
        work = WORK if self.budget_tests is None else self.budget_tests - int(progress[TESTS])
        progress[ENOUGH] = LARGEST
        if self._time is None:
            return work
        found = int(progress[FOUND] + progress[IN_BATCH])  # about one contact for each pair in the batch
        left = self._time.left(found)
        progress[ENOUGH] = progress[FOUND] + self._time.affordable(left)
        return min(work, WORK if left > SHORT else LITTLE) if left > 0.0 else 0

    def _grow(self, size: int, found: int) -> None:
        """Double the capacity of the buffers that are nearly full."""
        if size + _kernels.OPENED > len(self._queue.key):
            more = _queue(2 * len(self._queue.key))
            for old, new in zip(self._queue, more, strict=True):
                new[:size] = old[:size]
            self._queue = more
        if found + 16 * len(self._batch) > len(self._out):
            self._check_memory(found)
            self._out = np.concatenate([self._out[:found], np.empty((len(self._out) + found, 3), np.int32)])

    def _check_memory(self, found: int) -> None:
        advice = "reduce the detection distance or raise max_bytes"
        validate.budget(f"{found} contacts", 2 * _BYTES * found, advice, self.max_bytes)


def _queue(size: int) -> Queue:
    return Queue(np.empty(size, np.int64), np.empty((size, 2), np.int32), np.empty(size))
