"""The repair of a garment in all frames: out of the body, out of itself, evenly over time, never worse than given."""

import functools
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..mesh import Mesh
from ..motion.clip import Clip
from ..respond.edge_lengths import EdgeLengths
from ..respond.project_out import Projector
from .acceptance import Acceptance
from .edge_solver import EdgeSolver
from .even_motion import LEAST as EVEN_FRAMES
from .even_motion import EvenMotion
from .findings import Report
from .marching import March
from .one_side import one_sided
from .patches import Patch, patches
from .ranking import Choice, Ranking
from .score import DEPTH_TOLERANCE
from .shape_changes import rest_lengths, within_strain
from .skin_frames import SkinFrames
from .spread_strain import StrainSpreader
from .surroundings import Surroundings
from .temporal import TemporalFilter
from .untangle import Untangler
from .work import PAIR, SMOOTHING, STEP, Work, report_stage
from .worn_body import WornBody

Floats = NDArray[np.float64]
# most guarded steps back from a smoothed shape, and from the correction of the last frame
STEPS, CARRIED_STEPS = 40, 10
MOST_ROUNDS = 4  # most rounds of untangling and projecting out of the body
AGAIN = 8  # rounds of projecting displacements that were smoothed over time
AROUND = 8  # rings of edges around contacts with the body within which edges keep their lengths
STRAIN, STRAIN_ROUNDS = 0.029, 16  # added strain at which projection ends, and most times that it is repeated
PROGRESS = 0.98  # of the strain of the time before, above which there is no room to repeat it
TANGLED = "self-intersections were not followed further"
WHOLE_ATTEMPTS = 3  # frames in which the whole garment is untangled where its patches were not enough
LEAST = 0.01  # of an edge: clearance with which faces that still cross the body move once more, if less is asked for
MARCHED = 0.25  # share of the frames with problems left, from which on the garment is marched from the rest pose


class Repair:
    """All frames of one garment."""

    def __init__(
        self,
        garment: Clip,
        body: Clip | None,
        below: list[Clip],
        clearance: float,
        untangle: bool,
        max_strain: float | None,
        before: Report,
    ) -> None:
        self.garment, self.below, self.clearance = garment, below, clearance
        self.before, self.max_strain = before, max_strain
        mesh = garment.mesh.welded
        if len(mesh.tets):
            mesh = Mesh(mesh.vertices, mesh.faces, name=mesh.name, groups=mesh.groups)  # only its surface
        self.mesh, self.first = mesh, np.unique(garment.mesh.weld_index, return_index=True)[1]
        self.untangler = Untangler(mesh)
        self.untangle = untangle
        self.projector = Projector(mesh, self.untangler.links, self.untangler.degree)
        self.count = len(before.frames)
        self.all_given = np.stack([np.asarray(garment.at(t), np.float64) for t in range(self.count)])
        self.given = self.all_given[:, self.first]
        self.worn = None if body is None else WornBody(body, mesh, before, self.first, self.given)
        self.work = Work(mesh.n_vertices, self.count)
        self.around = Surroundings(
            garment.mesh, self.worn, below, clearance, self.untangler.edge, self.first, self.work
        )
        self.marched: tuple[int, ...] = ()  # frames in which the garment was marched from its rest pose
        self._patches: list[Patch] = []
        self._attempts = WHOLE_ATTEMPTS
        self._rest_lengths, self._has_rest = rest_lengths(mesh, self.given)
        self._filter = TemporalFilter(mesh, self.given) if self.count > 2 else None
        animated, weld_index = self._filter is not None, garment.mesh.weld_index
        self.ranking = Ranking(mesh, weld_index, self.untangler, self.around, untangle=untangle, animated=animated)

    @property
    def steps(self) -> int:
        """Guarded steps of all patches."""
        return self.untangler.steps + sum(p.untangler.steps for p in self._patches if p.untangler is not self.untangler)

    def run(self, report_progress: Callable[[float], None]) -> tuple[Floats, list[int]]:
        """(T,n,3) positions of the unwelded vertices, and the frames that were left unchanged."""
        x = self.given
        smooth = self._smoothed(x)
        report_progress(0.0)  # frames one by one from here
        tried = [smooth - x]
        stages = [self._out_of_body, self._out_of_itself] if self.untangle else [self._out_of_body]
        u = np.zeros_like(x)
        for k, stage in enumerate(stages):
            u = stage(smooth, u, functools.partial(report_stage, report_progress, k, len(stages)))
            tried.append(smooth - x + u)
        if self._filter is not None:
            tried = [self.ranking.without_negligible(u) for u in tried]
        chosen = []
        for t in range(self.count):
            chosen.append(self.ranking.best(t, x[t], [u[t] for u in tried[::-1]]))
            report_progress(0.9 + 0.05 * (t + 1) / self.count)
        chosen, wanted = self._marched(smooth, chosen, tried[-1])
        u = np.stack([np.zeros_like(x[t]) if best is None else best for t, (best, _) in enumerate(chosen)])
        if self._filter is not None:
            refused = np.array([best is None for best, _ in chosen])
            u[refused] = np.nan_to_num(wanted[refused], posinf=0.0, neginf=0.0)
            carried = self._filter.carried
            accept = Acceptance(self.ranking, x, self.untangler.links, carried, self._limit_strain)
            u = accept.accepted(u, ~refused)
            even = self._evened(u, report_progress)
            u = accept.accepted(even, (even == u).all((1, 2)))
        unchanged = [t for t in range(self.count) if not u[t].any() and self._has_problems(t)]
        # seams may open in later frames, so each copy of a vertex gets the same displacement
        return self.all_given + u[:, self.garment.mesh.weld_index], unchanged

    def _evened(self, u: Floats, report_progress: Callable[[float], None]) -> Floats:
        """Displacements (T,n,3) near u with which the garment moves about as evenly relative to the skin as given."""
        plain = self._filter is not None and self._has_rest and self.untangle and self.max_strain is None
        if self.count < EVEN_FRAMES or self.worn is None or self.below or not plain or not u.any():
            return u
        skin = SkinFrames(self.mesh, self.worn, self.given)
        even = EvenMotion(self.untangler, self.around, skin, self.given, self._rest_lengths)
        z = even.smoothed(self.given + u, lambda share: report_progress(0.95 + 0.05 * share))
        report_progress(1.0)
        return np.where((z == self.given + u).all((0, 2))[:, None], u, z - self.given)

    def _marched(self, smooth: Floats, chosen: list[Choice], wanted: Floats) -> tuple[list[Choice], Floats]:
        """What was chosen for each frame, and the displacements `wanted` (T,n,3) of frames that refused all; where
        problems are left in many frames of an animation of a garment that is outside the body in the rest pose, the
        garment that was marched from there instead, if fewer are left then."""
        left, many = [sum(rank[:2]) for _, rank in chosen], MARCHED * self.count
        plain = self._filter is not None and self._has_rest and self.untangle and self.max_strain is None
        if self.worn is None or self.below or not plain or np.count_nonzero(left) < many:
            return chosen, wanted
        lengths = EdgeSolver(self.mesh, self._rest_lengths, self.untangler.stiffness)
        march = March(self.mesh, self.worn, self.projector, lengths, self.clearance)
        if not march.begins_outside:
            return chosen, wanted
        u = smooth - self.given + self._out_of_itself(smooth, march.displacements(smooth), lambda share: None)
        none = np.zeros_like(u[0])
        tried = [[u[t], none if best is None else best] for t, (best, _) in enumerate(chosen)]
        again = [self.ranking.best(t, self.given[t], some) for t, some in enumerate(tried)]
        if sum(sum(rank[:2]) for _, rank in again) >= sum(left):
            return chosen, wanted
        self.marched = tuple(t for t, (best, _) in enumerate(again) if best is not None and best is not chosen[t][0])
        return again, u

    def _smoothed(self, x: Floats) -> Floats:
        """The frames x, with smoothed transforms around self-intersections if it is an animation."""
        self._moved_frames = np.zeros(self.count, np.bool_)
        if self._filter is None or not self.untangle or self.max_strain is not None:
            return x
        pairs = [self.untangler.pairs(frame) for frame in x]
        if not any(len(some) for some in pairs) or not self._has_rest:
            return x
        near = None if self.worn is None else np.any(self.worn.all_distances(x, self.clearance) < self.clearance, 0)
        y = StrainSpreader(self.untangler, self._rest_lengths, x).freed(pairs, near)
        if self.worn is not None:
            inside = [int((self.worn.all_distances(z, self.clearance) < -DEPTH_TOLERANCE).sum()) for z in (x, y)]
            if inside[1] - inside[0] > sum(len(some) for some in pairs):
                return x  # limbs that the cloth followed would go through it
        self._moved_frames = (x != y).any((1, 2))
        return y

    def _has_problems(self, t: int) -> bool:
        found = self.before.frames[t]
        return found.penetrating or found.self_pairs > 0 or bool(self.below)

    def _out_of_body(self, x: Floats, u: Floats, progress: Callable[[float], None]) -> Floats:
        """Displacements (T,n,3) out of the body: of each frame by itself, then smoothed over time."""
        u = u.copy()
        if self.worn is None:
            return u
        near = self._near_body(x)
        self._lengths = self._edge_lengths(near)
        for t in range(self.count):
            self.work.begin(t)
            if near[t].any():
                u[t] = self._projected_out(t, x[t], None)
            progress(0.7 * (t + 1) / self.count)
        if self._filter is None:
            return u
        even = self._filter.held_and_smoothed(u)
        for t in range(self.count):
            self.work.begin(self.count + t)
            if even[t].any():
                u[t] = self._projected_out(t, x[t], even[t])
            progress(0.7 + 0.3 * (t + 1) / self.count)
        return u

    def _near_body(self, x: Floats) -> NDArray[np.bool_]:
        """(T,n) vertices that are nearer to the body than required, and those of faces that cross it."""
        near = np.zeros(x.shape[:2], np.bool_)
        for t, frame in enumerate(x):
            found = self.before.frames[t]
            known = not self._moved_frames[t] and not self.below
            if known and not found.crossings and found.clearance >= self.clearance:
                continue
            assert self.worn is not None
            self.worn.move(t)
            required = self.around.required(t, frame)
            near[t] = self.worn.distances(t, frame, required) < required
            near[t, self.mesh.faces[self.worn.crossing_faces(frame)]] = True
        return near

    def _edge_lengths(self, near: NDArray[np.bool_]) -> EdgeLengths:
        """The edges that keep their lengths: a single shape moves where it has to and nowhere else; in an animation
        strain is spread around the vertices that are `near` (T,n) the body in some frame."""
        if self.count < 3:
            return EdgeLengths(self.mesh, self._rest_lengths)
        free = np.asarray(near.any(0))
        for _ in range(AROUND):
            free = free | (self.untangler.links @ free > 0)
        return EdgeSolver(self.mesh, self._rest_lengths, self.untangler.stiffness, free=free)

    def _out_of_itself(self, x: Floats, u: Floats, progress: Callable[[float], None]) -> Floats:
        """Displacements (T,n,3) without self-intersections; a frame starts from the correction of the last."""
        u = u.copy()
        self._patches = patches(self.untangler, [self.untangler.pairs(x[t] + u[t]) for t in range(self.count)])
        for t in range(self.count):
            self.work.begin(2 * self.count + t)
            last = np.zeros_like(x[t]) if t == 0 or self._filter is None else self._filter.carried(u[t - 1], t - 1, t)
            u[t] = self._untangled(t, x[t], u[t], last)
            u[t] = self._limit_strain(x[t], u[t])
            progress((t + 1) / self.count)
        return u

    def _projected_out(self, t: int, x: Floats, u: Floats | None) -> Floats:
        """Displacements (n,3) of frame t out of the body; those that start from u, smooth already, stay close to it."""
        assert self.worn is not None
        self.worn.move(t)
        required = self.around.required(t, x)
        self._lengths.set(self.given[t])
        again = u is not None
        how = {"rounds": 0, "settling": AGAIN} if again else {}
        bounds = self.worn.bounds(t, x)
        u = self.projector.project(x, required, self.around.query, u, lengths=self._lengths, bounds=bounds, **how)
        if again:
            u = self._within_edge_lengths(t, x, u, required, bounds)
        u = self._uncrossed(t, x, u, required)
        for _ in range(10 if self.max_strain is not None else 0):
            u = self.projector.project(x, required, self.around.query, self._limit_strain(x, u), rounds=1)
        return self._limit_strain(x, u)

    def _uncrossed(self, t: int, x: Floats, u: Floats, required: Floats) -> Floats:
        """Displacements near u with fewer faces that cross the body; of a single shape that goes right through it
        those to one side of it, if then fewer are left, or as few and less strain."""
        crossing = functools.partial(self._crossing_with_room, t)
        uncross = functools.partial(self.projector.uncross, x, query=self.around.query, crossing_faces=crossing)
        u, least = uncross(u, required), LEAST * self.untangler.edge
        if self.clearance < least and len(crossing(x + u)):
            u = uncross(u, np.where(required > -np.inf, np.maximum(required, least), required))
        aside = one_sided(self.mesh, x, required, self.around.query) if self._filter is None else None
        if aside is None:
            return u
        v = self.projector.project(x, required, self.around.query, aside, lengths=self._lengths)
        v = uncross(v, required)
        return min(u, v, key=lambda w: (len(crossing(x + w)), self._lengths.added_strain(x + w).max(initial=0.0)))

    def _within_edge_lengths(self, t: int, x: Floats, u: Floats, required: Floats, bounds: Floats) -> Floats:
        """Displacements near u that keep the distances and leave less strain: those of the least strain found."""
        best, least = u, self._lengths.added_strain(x + u).max(initial=0.0)
        again = functools.partial(self.projector.project, x, required, self.around.query, rounds=0, settling=AGAIN)
        for _ in range(STRAIN_ROUNDS):
            if least <= STRAIN or self.work.is_spent(t, "strain at the body was not reduced further"):
                break
            u = again(u, lengths=self._lengths, bounds=bounds)
            strain = self._lengths.added_strain(x + u).max(initial=0.0)
            if strain > PROGRESS * least:
                break
            best, least = u, strain
        return best

    def _crossing_with_room(self, t: int, x: Floats) -> NDArray[np.int32]:
        """Faces of the garment that cross the body and whose vertices all have room in frame t."""
        assert self.worn is not None
        rows = self.worn.crossing_faces(x)
        return rows[self.around.room(t)[self.mesh.faces[rows]].all(1)]

    def _limit_strain(self, x: Floats, u: Floats) -> Floats:
        """Displacements limited so that no edge exceeds `max_strain`, where it is given."""
        if self.max_strain is None:
            return u
        return within_strain(self.mesh, self.untangler.degree, x, u, self.max_strain)

    def _untangled(self, t: int, x: Floats, u: Floats, last: Floats) -> Floats:
        """Displacements without self-intersections; those of the last frame, if they are free of them, are a start from
        which fewer steps are enough than from a smoothed shape."""
        out, found = u, self.untangler.pairs(x + u)
        if not len(found):
            return u
        for patch in self._patches:
            if patch.faces[found].any():
                out = self._untangled_patch(patch, t, x, out, last)
        in_parts = not any(patch.untangler is self.untangler for patch in self._patches)
        left = in_parts and self._attempts and len(self.untangler.pairs(x + out))
        if left and not self.work.is_spent(t, TANGLED):
            self._attempts -= 1
            whole = Patch(np.arange(len(x)), np.ones(self.mesh.n_faces, np.bool_), self.untangler)
            out = self._untangled_patch(whole, t, x, out, np.zeros_like(last))
        return out

    def _untangled_patch(self, patch: Patch, t: int, x: Floats, u: Floats, last: Floats) -> Floats:
        if self.work.is_spent(t, TANGLED):
            return u
        rows, own = patch.rows, patch.untangler
        aim, begin = (x + u)[rows], np.where(own.pinned[:, None], u[rows], last[rows]) + x[rows]
        free = begin if last.any() and not len(own.pairs(begin)) else own.smoothed_free(aim)
        self.around.move(t)
        outside = self._outside(t, x, rows) if self.worn is not None else None
        best, left = u, len(self.untangler.pairs(x + u))
        for _ in range(MOST_ROUNDS):
            if free is None or self.work.is_spent(t, TANGLED):
                break
            moved = u.copy()
            steps, taken, measured = CARRIED_STEPS if free is begin else STEPS, own.steps, own.measured
            moved[rows] = own.move_back(free, aim, steps=steps, bend=outside) - x[rows]
            stepped = max(STEP * (own.steps - taken) * len(rows), int(PAIR * (own.measured - measured)))
            self.work.spend(SMOOTHING * len(rows) + stepped)
            out = self._projected(t, x, moved)
            pairs = len(self.untangler.pairs(x + out))
            if pairs < left:
                best, left = out, pairs
            if not len(own.pairs((x + out)[rows])):
                break
            # intersections that the projection created are smoothed out again
            free = own.smoothed_free((x + out)[rows])
        return best

    def _projected(self, t: int, x: Floats, u: Floats) -> Floats:
        """Displacements projected out of the body, with as much clearance as there is room."""
        if self.worn is None:
            return u
        self.around.move(t)
        return self.projector.project(
            x, self.around.required(t, x) - 0.9 * self.clearance, self.around.query, u, rounds=0
        )

    def _outside(self, t: int, x: Floats, rows: NDArray[np.int64]) -> Callable[[Floats, int], Floats]:
        required = self.around.required(t, x)[rows]

        def outside(aim: Floats, k: int) -> Floats:
            away, out = self.around.query(aim)
            missing = np.maximum(required - away, 0.0)
            return np.asarray(aim + missing[:, None] * out)

        return outside
