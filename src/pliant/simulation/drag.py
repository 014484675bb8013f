"""Drag constraint: a position constraint with bounded force on a patch of a deformable body, solved before contacts."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels.simulation import drag as _kernels
from ..materials import Strands
from ..scene import Scene
from ..state import State

Floats = NDArray[np.float64]
GRAVITIES = 8.0  # largest force, over the weight of the whole body
FASTEST, SLOWEST = 4.0, 1.0  # m/s: bounds on the speed of `at`, used where step / dt is outside them
PICKED = 1.2  # times the radius of a strand: distance of a ray that hits it
SPREAD = 2.5  # edge lengths: radius of the patch that shares the force, so that no single triangle is distorted


class DragConstraint:
    """Drag constraint that pulls the mean of vertices `rows` (k,) of one body, by `weights` (k,), to `to` (3,), metres.

    Its force is bounded and contacts are resolved after it, so the vertices cannot be dragged through an obstacle. Its
    position `at` approaches `to` no faster than the substeps allow.
    """

    def __init__(self, scene: Scene, rows: Any, weights: Any, to: Any) -> None:
        self.rows = validate.rows("rows", rows, int(scene.first[-1]))
        share = validate.floats("weights", weights, (len(self.rows),))
        if not len(self.rows) or not share.sum() > 0.0 or not scene.inverse_masses[self.rows].any():
            raise ValueError("a drag constraint needs rows with a movable vertex, and weights with a positive sum")
        self.weights = share / share.sum()
        self.to = to
        self.at = self.to.copy()  # present position on the way to the target
        self.step = 0.5 * scene.eps  # largest displacement per substep, metres
        pull = self.weights * scene.inverse_masses[self.rows]
        self._mobility = float(self.weights @ pull)
        self._shares = pull / self._mobility
        body = int(np.searchsorted(scene.first, self.rows[0], side="right")) - 1
        self._force = GRAVITIES * 9.81 * float(scene.masses[scene.rows(body)].sum())

    @classmethod
    def at_point(cls, scene: Scene, state: State, body: int, face: int, where: Any) -> Self:
        """Make one at barycentric coordinates `where` (3,) of a face of a deformable body's welded mesh, with the
        vertices around it."""
        mesh, first = scene.bodies[body].mesh.welded, int(scene.first[body])
        corners = mesh.faces[face]
        share = validate.floats("where", where, (3,))
        ends = mesh.vertices[corners]
        reach = SPREAD * float(np.linalg.norm(ends - np.roll(ends, 1, 0), axis=1).max())
        # distances in the rest shape: in a pile, a vertex near at present may belong to another fold
        apart = np.linalg.norm(mesh.vertices - share @ ends, axis=1)
        near = np.flatnonzero((apart < reach) & (scene.inverse_masses[scene.rows(body)] > 0.0))
        rows = (first + near).astype(np.int32)
        if not len(rows):
            raise ValueError(
                f"face {face} of body {scene.bodies[body].label!r} cannot be dragged: all vertices around it are pinned"
            )
        weights = (1.0 - (apart[near] / reach) ** 2) ** 2 + 1e-6
        made = cls(scene, rows, weights, np.zeros(3))
        made.put(made.point(state))
        return made

    @property
    def to(self) -> Floats:
        """(3,) target position, metres."""
        return self._to

    @to.setter
    def to(self, to: Any) -> None:
        self._to = validate.floats("to", to, (3,)).copy()

    def point(self, state: State) -> Floats:
        """Return the weighted mean (3,) of the dragged vertices."""
        return np.asarray(self.weights @ state.x[self.rows])

    def put(self, to: Any) -> None:
        """Set both the target and the present position to `to` (3,)."""
        self.to = to
        self.at = self.to.copy()

    def pull(self, state: State, dt: float) -> None:
        """Apply one substep: advance towards `to`, and pull the vertices."""
        self.at = self.at.copy()
        _kernels.pull(*self.arrays, self.limits, state.x, dt)

    @property
    def arrays(self) -> tuple[NDArray[Any], Floats, Floats, Floats, Floats]:
        """Rows, weights and shares of the vertices, present and target position."""
        return self.rows, self.weights, self._shares, self.at, self.to

    @property
    def limits(self) -> tuple[float, float, float, float]:
        """The bounds of `kernels.simulation.drag.pull`."""
        return self.step, SLOWEST, FASTEST, self._force * self._mobility


def grab(scene: Scene, state: State, origin: Any, along: Any) -> DragConstraint | None:
    """Return a drag constraint at the first hit of a ray from `origin` (3,) in the direction `along` (3,); None if it
    hits nothing, or an obstacle."""
    hit = _first_hit(scene, state, validate.floats("origin", origin, (3,)), validate.floats("along", along, (3,)))
    if hit is None or scene.bodies[hit[0]].obstacle:
        return None
    return DragConstraint.at_point(scene, state, *hit)


def _first_hit(scene: Scene, state: State, origin: Floats, along: Floats) -> tuple[int, int, Floats] | None:
    """Return the index of the body, the index of the face of its welded mesh, and the barycentric coordinates (3,) of
    the first hit of a ray; None if it hits nothing."""
    best: tuple[float, int, int, Floats] | None = None
    for b, body in enumerate(scene.bodies):
        x = state.x[scene.rows(b)]
        if isinstance(body.material, Strands) and not body.obstacle:
            near = _nearest_line(x, body.mesh.welded.lines, PICKED * body.material.radius, origin, along)
            if near is not None and (best is None or near[0] < best[0]):
                best = near[0], b, near[1], near[2]
            continue
        faces = body.mesh.welded.faces
        a = x[faces[:, 0]] - origin
        u, v = x[faces[:, 1]] - origin - a, x[faces[:, 2]] - origin - a
        cross = np.cross(along, v)
        det = (u * cross).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            s = -(a * cross).sum(1) / det
            q = np.cross(-a, u)
            t = (q @ along) / det
            far = (v * q).sum(1) / det
            hit = (s >= 0.0) & (t >= 0.0) & (s + t <= 1.0) & (far > 0.0)
        if not hit.any():
            continue
        f = int(np.argmin(np.where(hit, far, np.inf)))
        if best is None or far[f] < best[0]:
            best = float(far[f]), b, f, np.array([1.0 - s[f] - t[f], s[f], t[f]])
    return None if best is None else best[1:]


def _nearest_line(
    x: Floats, lines: NDArray[np.int32], radius: float, origin: Floats, along: Floats
) -> tuple[float, int, Floats] | None:
    """Return how far along a ray it first comes within `radius` of one of the lines (k,2) of x, the line, and the
    weights (3,) of its ends as a face (a, b, b); None if it comes near none."""
    size = max(float(np.linalg.norm(along)), 1e-300)
    ray = along / size
    p, d = x[lines[:, 0]] - origin, x[lines[:, 1]] - x[lines[:, 0]]
    aside, turn = (a - (a @ ray)[:, None] * ray for a in (p, d))
    t = np.clip(-(aside * turn).sum(1) / np.maximum((turn * turn).sum(1), 1e-300), 0.0, 1.0)
    far = (p + t[:, None] * d) @ ray / size
    hit = (np.linalg.norm(aside + t[:, None] * turn, axis=1) <= radius) & (far > 0.0)
    if not hit.any():
        return None
    k = int(np.argmin(np.where(hit, far, np.inf)))
    return float(far[k]), k, np.array([1.0 - t[k], t[k], 0.0])
