"""Even motion: the whole clip of a repaired garment is made as even over time as it was given, within its constraints.

A least-squares problem over all frames: the third differences of the motion of every vertex relative to the skin, with
bounds of the edge lengths and half-spaces outside of the body as inequalities. It is solved by accelerated descent and
an augmented Lagrangian, in rounds. A round counts if it leaves no more intersections in any frame; what it would bring
back is prevented in the next one by constraints of its own.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .even_descent import LAST, STEPS, Problem, descended
from .motion_constraints import BESIDE, MotionConstraints
from .score import NEARLY
from .skin_frames import SkinFrames
from .surroundings import Surroundings
from .untangle import Untangler

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
LEAST = 8  # frames, fewer of which have hardly any third differences
WINDOW, OVERLAP, HELD = 256, 32, 3  # most frames at a time, those shared with the next, and those held at either end
AROUND = 4  # rings of edges around corrected vertices, which move, too
MOVED = 1e-3  # of an edge: least correction of a vertex that counts
LIMIT = 0.029  # of the rest length: largest strain that a round may leave
PULL, WEAK = 30.0, 2.0  # stiffness of edges and half-spaces, relative to the jitter in edges; the least
ROUNDS, REFUSALS = 5, 3  # most rounds, and refused ones in a row after which no more are made
FEWER, WORK = 2, 3.5e8  # rounds of all steps: beyond this many only while vertices, frames and steps are fewer
ENOUGH = 0.97  # of the unevenness before a round, above which no other follows
RINGS = (4, 8, 16)  # rings of edges around what a refused round would bring back, which return to where they were
NEARLY_EVEN = 1.05  # of the jitter given, up to which frames are left as they are
QUANTILE, LOST = 0.99, 5e-3  # of the vertices, whose jitter is to be as given, or less than this of an edge


class EvenMotion:
    """Makes frames of a garment even that were corrected from x (T,n,3); rest: (k,) lengths of its edges."""

    def __init__(self, untangler: Untangler, around: Surroundings, skin: SkinFrames, x: Floats, rest: Floats) -> None:
        assert around.worn is not None
        self._untangler, self._around, self._worn, self._x, self._rest = untangler, around, around.worn, x, rest
        self._skin, self._edge = skin, untangler.edge
        self._faces, self._edges = untangler.mesh.faces, untangler.mesh.topology.edges
        self._wanted = max(self._jitter(x), LOST * self._edge)

    def smoothed(self, z: Floats, report_progress: Callable[[float], None] = lambda share: None) -> Floats:
        """Frames (T,n,3) near z that are more even, with no more intersections in any frame."""
        free = self._grown(np.any(np.abs(z - self._x).max(2) > MOVED * self._edge, 0), AROUND)
        if len(z) < LEAST or not free.any() or self._jitter(z) <= NEARLY_EVEN * self._wanted:
            return z
        z, start = z.copy(), 0
        while True:
            end = min(start + WINDOW, len(z))
            z[start:end] = self._window(z, free, range(start, end), report_progress)
            if end == len(z):
                return z
            start = end - OVERLAP

    def _window(self, z: Floats, free: Flags, frames: range, report_progress: Callable[[float], None]) -> Floats:
        """The `frames` of z, more even."""
        total, held = len(z), (HELD if frames.start else 0, len(frames) - (HELD if frames.stop < len(z) else 0))
        z = begin = z[frames.start : frames.stop]
        before, refused, constraints = self._problems(z, frames), 0, self._constraints(frames)
        limit = max(LIMIT, self._largest_strain(z, frames))
        long = int(np.clip(WORK // (free.sum() * len(z) * (STEPS + LAST)), FEWER, ROUNDS))
        for k in range(ROUNDS):
            report_progress((frames.start + len(frames) * k / ROUNDS) / total)
            if not free.any() or (jitter := self._jitter(z, frames)) <= self._wanted:
                break
            pull: float | None = max(WEAK, PULL * min(1.0, jitter / self._edge))
            # what is even enough already, and only has to leave no problems, takes no more than the firm steps
            if refused and self._jitter(begin, frames) <= self._wanted:
                pull = None
            elif (long := long - 1) < 0:
                break
            rows = np.flatnonzero(free)
            lengths, ends, degree = constraints.lengths(z, rows)
            room, skin = constraints.room(z, rows), constraints.skin(self._skin, rows)
            problem = Problem(skin, room, lengths, rows, ends, degree, held)
            y = descended(problem, begin, pull, lambda y: self._largest_strain(y, frames) <= limit)
            found = self._pushed_out(y, self._problems(y, frames), before, frames)
            strained, crossing, tangled = self._worse(found, before, y, frames, limit)
            if strained.any() or crossing.any() or tangled.any():
                refused += 1
                if refused > REFUSALS:
                    break
                rings = RINGS[min(refused, len(RINGS)) - 1]
                still = self._fading(np.asarray(strained.any(0)), rings)
                back = np.maximum(still, self._around_in_time(crossing | tangled, rings))
                free, begin = free & (still < 1.0), y + back[:, :, None] * (z - y)
                constraints.keep_outside(crossing)
                constraints.keep_apart([now.pairs if at.any() else now.pairs[:0] for now, at in zip(found, tangled)])
                continue
            z, begin, before, refused = y, y, found, 0
            if self._jitter(z, frames) > ENOUGH * jitter:
                break
        return z

    def _constraints(self, frames: range) -> MotionConstraints:
        return MotionConstraints(self._untangler, self._around, self._x, self._rest, frames)

    def _problems(self, y: Floats, frames: range) -> "list[_Problems]":
        return [self._problems_of(x, t) for t, x in zip(frames, y, strict=True)]

    def _problems_of(self, x: Floats, t: int) -> "_Problems":
        self._worn.move(t)
        required = self._around.required(t, self._x[t])
        near = self._worn.distances(t, x, required) < NEARLY * required
        return _Problems(self._untangler.pairs(x), self._worn.crossing_faces(x), near)

    def _pushed_out(
        self, y: Floats, found: "list[_Problems]", before: "list[_Problems]", frames: range
    ) -> "list[_Problems]":
        """Move the few vertices of y that came too near to the body out of it, in place; the problems then."""
        out = list(found)
        for k, t in enumerate(frames):
            rows = np.flatnonzero(found[k].near & ~before[k].near)
            if len(rows):
                self._worn.move(t)
                away, direction = self._around.query(y[k, rows])
                required = self._around.required(t, self._x[t])[rows]
                y[k, rows] += (required - away)[:, None] * direction
                out[k] = self._problems_of(y[k], t)
        return out

    def _worse(
        self, found: "list[_Problems]", before: "list[_Problems]", y: Floats, frames: range, limit: float
    ) -> tuple[Flags, Flags, Flags]:
        """(T,n) the vertices of problems of y that were `found` and were not there `before`: of strained edges, with
        the body, and of intersections with itself."""
        strained, crossing, tangled = (np.zeros(y.shape[:2], np.bool_) for _ in range(3))
        for k, (t, x, now, then) in enumerate(zip(frames, y, found, before, strict=True)):
            if len(now.pairs) > len(then.pairs):
                tangled[k, self._faces[now.pairs]] = True
            if len(now.crossing) > len(then.crossing):
                crossing[k, self._faces[now.crossing]] = True
            crossing[k] |= now.near & ~then.near
            strained[k, self._edges[self._strain(x, t) > limit]] = True
        return strained, crossing, tangled

    def _strain(self, y: Floats, t: int) -> Floats:
        """(k,) added strain of each edge of frame t."""
        length, given = (np.linalg.norm(x[self._edges[:, 1]] - x[self._edges[:, 0]], axis=1) for x in (y, self._x[t]))
        beyond = np.maximum(np.minimum(self._rest, given) - length, length - np.maximum(self._rest, given))
        return np.divide(np.maximum(beyond, 0.0), self._rest, out=np.zeros_like(beyond), where=self._rest > 0.0)

    def _largest_strain(self, y: Floats, frames: range) -> float:
        return max(float(self._strain(x, t).max(initial=0.0)) for t, x in zip(frames, y, strict=True))

    def _jitter(self, x: Floats, frames: range = range(1)) -> float:
        """The jitter of the least even vertices of x, metres."""
        return float(np.quantile(self._skin.jitter(x, frames.start), QUANTILE))

    def _grown(self, chosen: Flags, rings: int) -> Flags:
        for _ in range(rings):
            chosen = chosen | (self._untangler.links @ chosen > 0)
        return chosen

    def _fading(self, chosen: Flags, rings: int) -> Floats:
        """(n,) 1 within `rings` of the vertices `chosen`, falling to 0 over as many more."""
        weights = np.zeros(len(chosen))
        for k in range(2 * rings if chosen.any() else 0):
            weights = np.maximum(weights, chosen * min(1.0, 2.0 - k / rings))
            chosen = self._grown(chosen, 1)
        return weights

    def _around_in_time(self, chosen: Flags, rings: int) -> Floats:
        """(T,n) 1 within `rings` of the vertices `chosen` (T,n), falling to 0 over as many more, and over frames."""
        near = np.stack([self._fading(at, rings) for at in chosen])
        weights = near.copy()
        for k in range(1, 2 * BESIDE):
            for to, at in ((slice(k, None), slice(None, -k)), (slice(None, -k), slice(k, None))):
                weights[to] = np.maximum(weights[to], min(1.0, 2.0 - k / BESIDE) * near[at])
        return weights


class _Problems(NamedTuple):
    """What is wrong in a frame: intersecting pairs of faces, faces that cross the body, vertices too near to it."""

    pairs: NDArray[np.int32]
    crossing: NDArray[np.int32]
    near: Flags
