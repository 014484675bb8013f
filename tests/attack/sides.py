"""Attack: inside is where the winding number exceeds 1/2, in `closest_point` and in the signs of detectors.

The depth is the distance to the body's outer boundary. "Unknown" is accepted where a body is open or the winding
number is near 1/2; a wrong side never is.
"""

import numpy as np

import pliant
from attack import bodies, meshes, referees
from pliant.contacts import VERTEX_FACE
from pliant.detect.queries.closest_point import ClosestPoints

POINTS = 60
DOUBT = 0.1  # tolerance of the winding number around 1/2, where any answer is accepted
SOLID = ("brute-force", "tree", "continuous", "spatial-hash", "stochastic-tree", "image-space")


def attack(trial):
    rng = trial.rng
    kind, name, x, faces = bodies.any_body(rng)
    scale, far = meshes.scale_and_offset(rng)
    points = around(rng, x, faces)
    x, points = scale * x + far, scale * points + far
    body = pliant.Mesh(x, faces)
    size = float(np.ptp(x, axis=0).max())
    truth = Sides(x, faces, points, size)
    trial.note(kind)
    given = {"x": x, "faces": faces, "points": points}
    distance, nearest = pliant.closest_point(body, points)
    exact = ClosestPoints(body)
    side = exact.signs(points) if hasattr(exact, "signs") else np.where(distance < 0.0, -1, 1)
    fits = (distance < 0.0) == (side < 0)
    trial.check((fits | (distance == 0.0)).all(), f"closest_point, {name}: distance and side differ", **given)
    truth.judge(trial, f"closest_point, {name}", np.where(side == 0, np.nan, distance), **given)
    truth.judge_depth(trial, f"closest_point, {name}", distance, nearest, rng, **given)
    if rng.random() < 0.5:
        detector_signs(trial, name, body, points, truth, given)


def around(rng, x, faces):
    """Points in and slightly beyond the bounding box of a body, and some near its faces."""
    low, high = x.min(0), x.max(0)
    far = rng.uniform(low - 0.1, high + 0.1, (POINTS // 2, 3))
    f = rng.integers(len(faces), size=POINTS - len(far))
    on = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), len(f)), x[faces[f]])
    return np.concatenate([far, on + 10.0 ** rng.uniform(-4, -1, (len(f), 1)) * rng.normal(size=on.shape)])


class Sides:
    """The winding numbers of points, and their distances from the nearest face."""

    def __init__(self, x, faces, points, size):
        self.x, self.faces, self.points, self.size = x, faces, points, size
        self.closed = bodies.is_closed(x, faces)
        self.number = referees.winding(x, faces, points)
        self.away = referees.unsigned(x, faces, points)
        largest = max(float(np.abs(x).max()), float(np.abs(points).max()))
        clear = (self.away > 1e-6 * size + 1e3 * referees.EPS * largest) & (np.abs(self.number - 0.5) > DOUBT)
        self.clear, self.inside = clear, self.number > 0.5
        self.slack = 1e-9 * size + 64 * referees.EPS * largest

    def judge(self, trial, what, distance, **given):
        unknown = np.isnan(distance)
        wrong = self.clear & ~unknown & ((distance < 0.0) != self.inside)
        k = int(np.argmax(wrong))
        told = f"{what}: {wrong.sum()} of {self.clear.sum()} wrong; point {k}, winding number {self.number[k]:.2f}"
        trial.check(not wrong.any(), told, int(self.clear.sum()), **given)
        if self.closed:
            mute = self.clear & unknown
            trial.check(not mute.any(), f"{what}: {mute.sum()} points unknown at a closed body", **given)
        else:
            trial.note("unknown at open bodies", int((self.clear & unknown).sum()))

    def judge_depth(self, trial, what, distance, nearest, rng, **given):
        """The ball with the depth as radius is on one side, and for a point inside, the side changes at its nearest
        point. For a point outside, a face with the outside on both sides counts as well."""
        chosen = np.flatnonzero(self.clear & np.isfinite(distance) & ((distance < 0.0) == self.inside))[:12]
        if not self.closed:
            chosen = chosen[:0]
        for k in chosen:
            r = abs(float(distance[k]))
            p = self.points[k]
            trial.check(
                r >= self.away[k] - self.slack and abs(np.linalg.norm(nearest[k] - p) - r) <= 1e-9 * r + self.slack,
                f"{what}: point {k}: distance {r:.4g}, nearest point {np.linalg.norm(nearest[k] - p):.4g} away, "
                f"nearest face {self.away[k]:.4g}",
                **given,
            )
            way = rng.normal(size=(24, 3))
            way /= np.linalg.norm(way, axis=1, keepdims=True)
            ball = p + (0.999 * r) * rng.uniform(0, 1, (24, 1)) ** 0.2 * way
            close = self._beside(nearest[k], way)
            number = referees.winding(self.x, self.faces, np.concatenate([ball, close]))
            other = (number > 0.5) != self.inside[k]
            sure = np.abs(number - 0.5) > DOUBT
            trial.check(
                not (other & sure)[:24].any(),
                f"{what}: point {k} at {distance[k]:.4g}: the boundary is nearer",
                **given,
            )
            trial.check(
                not self.inside[k] or other[24:].any() or self._cleft(nearest[k], rng),
                f"{what}: point {k} at {distance[k]:.4g}: the side does not change at its nearest point",
                **given,
            )

    def _cleft(self, q, rng):
        """Whether any point around q is outside, even in a narrow gap."""
        reach = max(1e-5 * self.size, 1e3 * self.slack)
        for count in (4_000, 400_000):
            way = rng.normal(size=(count, 3))
            way *= reach / np.linalg.norm(way, axis=1, keepdims=True)
            if (referees.winding(self.x, self.faces, q + way) < 0.5).any():
                return True
        return False

    def _beside(self, q, way):
        """Points around q and on both sides of every face there, as random points miss sharp corners."""
        reach = max(1e-4 * self.size, 1e3 * self.slack)
        corners = self.x[self.faces]
        near = corners[referees.vertex_face(q[None], corners)[1][0] <= 0.01 * reach]
        way_in = near.mean(1) - q
        far = np.linalg.norm(way_in, axis=1, keepdims=True)
        there = q + way_in * np.minimum(1.0, reach / np.maximum(far, 1e-300))
        normal = np.cross(near[:, 1] - near[:, 0], near[:, 2] - near[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        off = [there + step * reach * normal for step in (-0.02, 0.02, -0.002, 0.002)]
        return np.concatenate([q + reach * way, *off])


def detector_signs(trial, name, body, points, truth, given):
    """A vertex inside a closed body is found at any depth, with a negative distance; one outside never is. By layered
    depth images, one nearer to a face than the bound of the detector may be missed."""
    method = SOLID[int(trial.rng.integers(len(SOLID)))]
    layered = method == "image-space" and trial.rng.random() < 0.5
    options = {"resolution": int(trial.rng.integers(1, 200))} if layered else {}
    if not body.issues.closed or body.issues.inward:
        return
    cloud = pliant.Mesh(points, np.zeros((0, 3), int))
    try:
        detector = pliant.detector(method, cloud, body, within=0.05 * truth.size, **options)
        hits = detector.find()
    except ValueError:
        trial.note(f"{method} refused")
        return
    trial.note("image-space by layers" if layered else method)
    own = hits[(hits["kind"] == VERTEX_FACE) & (hits["bodies"][:, 0] == 0)]
    inside = np.zeros(len(points), bool)
    inside[own["elements"][own["distance"] < 0.0, 0]] = True
    outside = np.zeros(len(points), bool)
    outside[own["elements"][own["distance"] > 0.0, 0]] = True
    lost = truth.clear & truth.inside & ~inside
    if layered:
        lost &= truth.away > detector._detector.bounds[0]
    false = truth.clear & ~truth.inside & inside
    both = truth.clear & inside & outside
    what = f"{method}, {name}"
    trial.check(not lost.any(), f"{what}: misses {lost.sum()} of {truth.inside.sum()} vertices inside", **given)
    trial.check(not false.any(), f"{what}: {false.sum()} outer vertices reported inside", len(points), **given)
    trial.check(not both.any(), f"{what}: {both.sum()} vertices reported on both sides", **given)
