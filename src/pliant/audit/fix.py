"""Fix: remove a garment's intersections with a body and with itself, in one mesh or in every frame."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..arguments import check_arguments
from ..detect.queries.intersections import Intersections
from ..detect.queries.penetration import DeformingClosestPoints
from ..detect.queries.transversal import crossing
from ..mesh import Mesh
from ..motion.clip import Clip
from ..respond.project_out import Projector
from .check import as_clip, check, turned_outward
from .findings import Report
from .fix_result import FixResult
from .layers import Layer, Layers
from .untangle import Untangler

Floats = NDArray[np.float64]
CLEARANCE = 0.001  # m
DEPTH_TOLERANCE = 1e-4  # m, tolerance of the penetration depth when frames are compared
NEGLIGIBLE = 1e-3  # relative to the edge length; smaller displacements are dropped
MOST_ROUNDS = 4  # most rounds of untangling and projecting out of the body
WEIGHTS = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0  # temporal filter of displacements


@check_arguments
def fix(
    garment: Mesh | Clip,
    body: Mesh | Clip | None = None,
    *,
    clearance: float = CLEARANCE,
    inner: Sequence[Mesh | Clip] = (),
    untangle: bool = True,
    max_strain: float | None = None,
    fps: float = 30.0,
    progress: Callable[[float], None] | None = None,
) -> FixResult:
    """Project `garment` out of `body`, to `clearance` metres from it, then remove its self-intersections.

    Both may be animated (`Clip`s of equal length) or static. `inner`: garments worn below, already fixed; this one
    keeps the same clearance outside of them. `max_strain`: largest relative change of edge lengths; penetrations that
    cannot be resolved within it remain and are reported. A frame is replaced only by a better one.
    """
    one, two = as_clip("garment", garment), None if body is None else as_clip("body", body)
    clearance = validate.number("clearance", clearance, low=0.0, high=validate.LARGEST)
    if max_strain is not None:
        max_strain = validate.number("max_strain", max_strain, above=0.0)
    below = [as_clip("inner", each) for each in inner]
    count = max(len(each) for each in (one, two) if each is not None)
    for each in below:
        if not each.still and len(each) != count:
            raise ValueError(f"inner garment {each.mesh.name!r} has {len(each)} frames; expected {count}, or one")
    if below and two is None:
        raise ValueError("inner garments need a body from which their height is measured; give a body, too")
    report_progress = progress or (lambda share: None)
    before = check(one, two, fps=fps, progress=lambda share: report_progress(0.1 * share))
    work = _Repair(one, two, below, clearance, untangle, max_strain, before)
    layering = work.layering(None)
    frames, unchanged = work.run(lambda share: report_progress(0.1 + 0.8 * share))
    done = Clip(one.mesh.moved(frames[0]), frames, one.color)
    after = check(done, two, fps=fps, progress=lambda share: report_progress(0.9 + 0.1 * share))
    moved, strain, bend = work.changes(frames)
    return FixResult(
        garment=done,
        before=before,
        after=after,
        moved=moved,
        strain=strain,
        bend=bend,
        unchanged=tuple(unchanged),
        steps=work.untangler.steps,
        layers_before=layering,
        layers_after=work.layering(frames),
    )


class _Repair:
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
        self.garment, self.body, self.below, self.clearance = garment, body, below, clearance
        self.before, self.max_strain = before, max_strain
        mesh = garment.mesh.welded
        if len(mesh.tets):
            mesh = Mesh(mesh.vertices, mesh.faces, name=mesh.name, groups=mesh.groups)  # only its surface
        self.mesh, self.first = mesh, np.unique(garment.mesh.weld_index, return_index=True)[1]
        self.untangler = Untangler(mesh)
        self.untangle = untangle
        self.projector = Projector(mesh, self.untangler.links, self.untangler.degree)
        self.depths = None if body is None else DeformingClosestPoints(turned_outward(body.mesh))
        self.cross = None if body is None else Intersections(mesh, body.mesh)
        self._body_x = np.zeros((0, 3))
        self.count = len(before.frames)
        self.layers = Layers(garment.mesh, below, self._move_body, lambda x: self._query(x)[0])

    def run(self, report_progress: Callable[[float], None]) -> tuple[Floats, list[int]]:
        """(T,n,3) positions of the unwelded vertices, and the frames that were left unchanged."""
        given = np.stack([np.asarray(self.garment.at(t), np.float64) for t in range(self.count)])
        x = given[:, self.first]
        u, steps = np.zeros_like(x), 2 * self.count * bool(self.depths) + self.count * self.untangle
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            report_progress(done / max(steps, 1))

        if self.depths is not None:
            for t in range(self.count):
                u[t] = self._projected_out(t, x[t], None)
                advance()
            even = _smoothed_in_time(u)
            for t in range(self.count):
                u[t] = self._projected_out(t, x[t], even[t]) if self.count > 2 else u[t]
                advance()
        plain = u.copy()
        if self.untangle:
            last = np.zeros_like(x[0])
            for t in range(self.count):
                u[t], last = self._untangled(t, x[t], u[t], last)
                u[t] = self._limit_strain(x[t], u[t])
                advance()
        out, unchanged = given.copy(), []
        for t in range(self.count):
            best = self._best(t, x[t], [self._without_negligible(each[t]) for each in (u, plain)] + [u[t], plain[t]])
            if best is not None:
                # seams may open in later frames, so each copy of a vertex gets the same displacement
                out[t] += best[self.garment.mesh.weld_index]
            elif any(self._evaluate(t, x[t])[:4]):
                unchanged.append(t)
        return out, unchanged

    def _projected_out(self, t: int, x: Floats, u: Floats | None) -> Floats:
        self._move_body(t)
        required = self._required(t, x)
        u = self.projector.project(x, required, self._query, u)
        u = self.projector.uncross(x, u, required, self._query, self._crossing_faces)
        for _ in range(10 if self.max_strain is not None else 0):
            u = self.projector.project(x, required, self._query, self._limit_strain(x, u), rounds=1)
        return self._limit_strain(x, u)

    def _crossing_faces(self, x: Floats) -> NDArray[np.int32]:
        """Faces of the garment that cross the body at its current position."""
        assert self.cross is not None
        assert self.body is not None
        pairs = self.cross.update(x, self._body_x).pairs()
        crosses = crossing(x, self.mesh.faces, self._body_x, self.body.mesh.faces, pairs)
        return np.unique(pairs[crosses, 0])

    def _move_body(self, t: int) -> None:
        if self.depths is not None and self.body is not None:
            x = np.asarray(self.body.at(t), np.float64)
            self.depths.update(x)
            self._body_x = x

    def _query(self, points: Floats) -> tuple[Floats, Floats]:
        assert self.depths is not None
        away, _, _, out = self.depths.query(points)
        return away, out

    def _required(self, t: int, x: Floats) -> Floats:
        """(n,) required distance of each vertex from the body: outside of the inner garments."""
        required = np.full(len(x), self.clearance)
        for clip in self.below:
            from scipy.spatial import cKDTree

            y = np.asarray(clip.at(t), np.float64)
            height = np.maximum(self._query(y)[0], 0.0)
            edges = clip.mesh.topology.edges
            longest = float(np.linalg.norm(y[edges[:, 1]] - y[edges[:, 0]], axis=1).max(initial=0.0))
            around = cKDTree(y).query_ball_point(x, max(1.5 * self.untangler.edge, longest))
            top = np.array([height[rows].max() if rows else -np.inf for rows in around])
            required = np.maximum(required, top + self.clearance)
        return required

    def _limit_strain(self, x: Floats, u: Floats) -> Floats:
        """Displacements limited so that no edge exceeds `max_strain`, where it is given."""
        if self.max_strain is None:
            return u
        edges, y = self.mesh.topology.edges, x + u
        length = np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1)
        for _ in range(20):
            edge = y[edges[:, 1]] - y[edges[:, 0]]
            now = np.linalg.norm(edge, axis=1)
            wanted = np.clip(now, (1.0 - self.max_strain) * length, (1.0 + self.max_strain) * length)
            pull = (0.5 * (now - wanted) / np.maximum(now, 1e-300))[:, None] * edge
            total = np.zeros_like(y)
            np.add.at(total, edges[:, 0], pull)
            np.add.at(total, edges[:, 1], -pull)
            y += 1.5 * total / np.maximum(self.untangler.degree, 1.0)[:, None]
        # if the sweeps leave edges beyond the bound, all displacements are scaled down
        u = y - x
        if _strain(x, x + u, edges).max(initial=0.0) <= self.max_strain:
            return np.asarray(u)
        low, high = 0.0, 1.0
        for _ in range(10):
            half = 0.5 * (low + high)
            within = _strain(x, x + half * u, edges).max(initial=0.0) <= self.max_strain
            low, high = (half, high) if within else (low, half)
        return np.asarray(low * u)

    def _untangled(self, t: int, x: Floats, u: Floats, last: Floats) -> tuple[Floats, Floats]:
        """Displacements without self-intersections, and their difference from u as initial guess for the next frame."""
        aim, work = x + u, self.untangler
        if not len(work.pairs(aim)):
            return u, np.zeros_like(u)
        begin = aim + last if last.any() else aim
        free = begin if last.any() and not len(work.pairs(begin)) else work.smoothed_free(aim)
        self._move_body(t)
        bend = self._outside(t, x) if self.depths is not None else None
        best, left = u, np.inf
        for _ in range(MOST_ROUNDS):
            if free is None:
                break
            y = work.move_back(free, aim, bend=bend)
            out = self._projected(t, x, y - x)
            pairs = len(work.pairs(x + out))
            if pairs < left:
                best, left = out, pairs
            if not pairs:
                break
            # intersections that the projection created are smoothed out again
            free = work.smoothed_free(x + out)
        return best, best - u

    def _projected(self, t: int, x: Floats, u: Floats) -> Floats:
        """Displacements projected out of the body, with as much clearance as there is room."""
        if self.depths is None:
            return u
        return self.projector.project(x, self._required(t, x) - 0.9 * self.clearance, self._query, u, rounds=0)

    def _outside(self, t: int, x: Floats) -> Callable[[Floats, int], Floats]:
        required = self._required(t, x)

        def bend(aim: Floats, k: int) -> Floats:
            away, out = self._query(aim)
            missing = np.maximum(required - away, 0.0)
            return aim + missing[:, None] * out

        return bend

    def _without_negligible(self, u: Floats) -> Floats:
        """Displacements with negligible ones set to zero."""
        small = np.linalg.norm(u, axis=1) < NEGLIGIBLE * self.untangler.edge
        return np.where(small[:, None], 0.0, u)

    def _best(self, t: int, x: Floats, tried: list[Floats]) -> Floats | None:
        """The best of the displacements `tried` that improves the frame and is worse in nothing; None without one. Ties
        are broken by fewer intersections with the body and inner garments, then by clearance."""
        self._move_body(t)
        given = self._evaluate(t, x)
        best, least = None, (*given.rank, 0.0)
        for u in tried:
            if not np.isfinite(u).all():
                continue
            found = self._evaluate(t, x + u, x)
            score = (*found.rank, float(np.abs(u).sum()))
            if not found.worse(given) and score < least:
                best, least = u, score
        return best

    def _evaluate(self, t: int, x: Floats, given: Floats | None = None) -> "_Score":
        """Evaluate positions x in frame t; the required distances are taken at the positions `given`."""
        pairs = len(self.untangler.pairs(x))
        if self.depths is None or self.cross is None:
            return _Score(inside=0, self_pairs=pairs, body_pairs=0, layer_problems=0, too_close=0, deepest=0.0)
        body_pairs = self.cross.update(x, self._body_x).count
        away = self._query(x)[0]
        required = self._required(t, x if given is None else given)
        every = x[self.garment.mesh.weld_index]
        layer_problems = sum(sum(self.layers.counts(k, t, every)) for k in range(len(self.below)))
        too_close = int((away < 0.5 * required).sum())
        inside = int((away < -DEPTH_TOLERANCE).sum())
        return _Score(
            inside=inside,
            self_pairs=pairs,
            body_pairs=body_pairs,
            layer_problems=layer_problems,
            too_close=too_close,
            deepest=-float(away.min()),
        )

    def layering(self, frames: Floats | None) -> tuple[Layer, ...]:
        """The layering over the inner garments: as given, or with other frames (T,n,3)."""
        if not self.below:
            return ()
        if frames is None:
            frames = np.stack([np.asarray(self.garment.at(t), np.float64) for t in range(self.count)])
        return self.layers.measure(frames)

    def changes(self, frames: Floats) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        """The arrays `moved`, `strain` and `bend` of `FixResult`, over all frames."""
        moved, strain, bend = [], [], []
        edges, hinges = self.mesh.topology.edges, self.mesh.topology.hinges
        for t in range(self.count):
            x, y = np.asarray(self.garment.at(t), np.float64), frames[t]
            moved.append(np.linalg.norm(y - x, axis=1))
            x, y = x[self.first], y[self.first]
            strain.append(_strain(x, y, edges))
            a, b = (_angles(p, hinges) for p in (x, y))
            bend.append(np.abs((b - a + np.pi) % (2.0 * np.pi) - np.pi))
        return tuple(np.stack(part).astype(np.float32) for part in (moved, strain, bend))  # type: ignore


class _Score(NamedTuple):
    """Numbers of problems of the garment in one frame."""

    inside: int  # vertices inside the body
    self_pairs: int  # self-intersecting face pairs
    body_pairs: int  # intersecting face pairs with the body
    layer_problems: int  # vertices below inner garments, and intersecting face pairs with them
    too_close: int  # vertices nearer to the body than half the required distance
    deepest: float  # m

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.inside + self.self_pairs, self.body_pairs + self.layer_problems, self.too_close

    def worse(self, given: "_Score") -> bool:
        """True if worse than `given`. Cloth that is moved out may create intersections with the body or inner garments,
        so their number may grow, but by no more than the number of resolved problems."""
        deeper = self.deepest > max(given.deepest, DEPTH_TOLERANCE)
        return (
            self.inside > given.inside or self.self_pairs > given.self_pairs or deeper or self.problems > given.problems
        )

    @property
    def problems(self) -> int:
        return self.inside + self.self_pairs + self.body_pairs + self.layer_problems


def _strain(x: Floats, y: Floats, edges: NDArray[np.int32]) -> Floats:
    """(k,) relative change of edge lengths from x to y."""
    one, two = (np.linalg.norm(p[edges[:, 1]] - p[edges[:, 0]], axis=1) for p in (x, y))
    # strain of an edge of zero length is defined as 0
    return np.asarray(np.where(one > 0.0, np.abs(two / np.where(one > 0.0, one, 1.0) - 1.0), 0.0))


def _smoothed_in_time(u: Floats) -> Floats:
    """Displacements (T,n,3) smoothed over time."""
    if len(u) < 3:
        return u
    reach = len(WEIGHTS) // 2
    padded = np.concatenate([u[:1].repeat(reach, 0), u, u[-1:].repeat(reach, 0)])
    return np.asarray(sum(w * padded[k : k + len(u)] for k, w in enumerate(WEIGHTS)))


def _angles(x: Floats, hinges: NDArray[np.int32]) -> Floats:
    a, b, c, d = (x[hinges[:, k]] for k in range(4))
    n, m, e = np.cross(b - a, c - a), np.cross(d - a, b - a), b - a
    length = np.maximum(np.linalg.norm(e, axis=1), 1e-300)
    return np.arctan2(np.einsum("ij,ij->i", np.cross(n, m), e) / length, np.einsum("ij,ij->i", n, m))
