"""Drag constraint: a position constraint with bounded force on a patch of a deformable body, solved before contacts."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..scene import Scene
from ..state import State

Floats = NDArray[np.float64]
GRAVITIES = 8.0  # largest force, over the weight of the whole body
FASTEST, SLOWEST = 4.0, 1.0  # m/s: bounds on the speed of `at`, used where step / dt is outside them
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
        self._w = scene.inverse_masses[self.rows]
        self._pull = self.weights * self._w
        self._mobility = float(self.weights @ self._pull)
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
        offset = self.to - self.at
        far, most = float(np.linalg.norm(offset)), min(max(self.step, SLOWEST * dt), FASTEST * dt)
        self.at = self.to.copy() if far <= most else self.at + offset * (most / far)
        gap = self.at - self.point(state)
        far, most = float(np.linalg.norm(gap)), self._force * self._mobility * dt * dt
        if far > most:
            gap *= most / far
        state.x[self.rows] += (self._pull / self._mobility)[:, None] * gap


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
