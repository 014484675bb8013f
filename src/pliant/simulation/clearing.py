"""Clearing: at the end of a frame, cloth that crosses bodies where they leave it room comes out of them.

Where limbs close on cloth and part again, some of its edges leave a limb beside the crease instead of in it, vertices
are drawn below a surface on which their neighbours lie, and corners of bodies poke through triangles. When a frame has
ended, points of such triangles are moved out of the bodies, which stand still meanwhile, under the strain limit and the
guard. What does not make the exposed crossings shorter, or leaves longer edges, is undone: a frame only gains by it.
Velocities stay as they are.
"""

import numpy as np
from numpy.typing import NDArray

from ..detect.queries.solid_boundary import barycentrics
from ..dynamics import DeformableDynamics
from ..dynamics.strain_limit import Points
from ..kernels.simulation import ridges as _kernels
from ..scene import Scene
from ..state import State
from .guard import Guard
from .guard.exposed import Exposed
from .self_contact_interface import SelfContact

Floats = NDArray[np.float64]
ROUNDS = 6  # in a frame, each with new crossings
MARGINS = 0.1, 0.3  # of eps, above the surface: that of a round, and that after a round which was undone
MANY = 8  # crossings: where the first round is undone, that of so many is the last
SWEEPS = 4  # over the points, before the strain is limited
SHORTENINGS = 4  # of strain limit and guard in a round
GAIN = 0.95  # largest ratio of the length of all crossings after a round and before it
LONG = 1.005  # times the largest length that the strain limit allows: no round leaves longer edges
PARTS = 5  # of the edges of a triangle, between the points that are tested
_WEIGHTS = np.array([(i, j, PARTS - i - j) for i in range(PARTS + 1) for j in range(PARTS + 1 - i)]) / PARTS


class Clearing:
    """Moves cloth of a scene out of the closed shells of its obstacles."""

    def __init__(self, scene: Scene, dynamics: DeformableDynamics, guard: Guard) -> None:
        self._dynamics, self._guard, self._eps = dynamics, guard, scene.eps
        self._free, self._rows = scene.inverse_masses > 0.0, scene.deformable_rows

    def apply(self, state: State, dt: float) -> Exposed:
        """Move cloth at the end of a frame with substeps of dt; return the exposed crossings that are left."""
        found, margins, first = self._guard.exposed(state.x), list(MARGINS), True
        for _ in range(ROUNDS):
            if not len(found.cloth) or not margins or self._guard.degraded:
                break
            before, side, longest = state.x[self._rows].copy(), state.side.copy(), self._dynamics.longest(state)
            tried = self._move_out(state, dt, found, margins[0] * self._eps)
            after = self._guard.exposed(state.x) if tried else found
            if after.length <= GAIN * found.length and self._dynamics.longest(state) <= max(longest, LONG):
                found = after
            else:
                state.x[self._rows], state.side = before, side
                margins = margins[1:] if tried and (len(found.cloth) <= MANY or not first) else []
            first = False
        return found

    def _move_out(self, state: State, dt: float, found: Exposed, margin: float) -> bool:
        """Move the cloth of the exposed crossings `margin` metres above the bodies, as far as strain limit and guard
        allow; return whether any may leave them there."""
        self._guard.begin_again(state, dt)
        points = self._points(state, found, margin)
        if not len(points.rows):
            return False
        _kernels.move_points(*points, self._free, state.x, SWEEPS)
        for _ in range(1 + SHORTENINGS):
            stretched = self._dynamics.limit_strain(state, self._guard.to_keep_open, points=points)
            self._guard.limit_motion(state, dt)
            if not stretched or not self._guard.hindered:
                break
        return True

    def _points(self, state: State, found: Exposed, margin: float) -> Points:
        """Return the points of crossing triangles that are inside of bodies and have room, and the ends of their
        crossings, with the planes `margin` metres above the surface. Triangles that belong to another surface, on which
        they lay when they had room, are left out: they would leave the body on its wrong side."""
        x, (space, elsewhere) = state.x, self._guard.space(state.x)
        own = self._guard.belong(found.cloth, state, space, found.body[:, 0])
        found = found.take(own & ~np.isin(found.cloth, elsewhere).any(1))
        cloth, number = np.unique(found.cloth, axis=0, return_inverse=True)
        ends, of = found.ends.reshape(-1, 3), np.repeat(number.ravel(), 2)
        middle: Floats = np.stack([np.bincount(of, ends[:, k], len(cloth)) for k in range(3)], 1).astype(np.float64)
        middle = middle / np.bincount(of, minlength=len(cloth))[:, None]
        # a grid on each triangle, the middle of its crossings, and the points halfway from there to their ends
        rows = np.concatenate([np.repeat(cloth, len(_WEIGHTS), 0), cloth, cloth[of]])
        weights = np.concatenate(
            [
                np.tile(_WEIGHTS, (len(cloth), 1)),
                barycentrics(x[cloth], middle),
                barycentrics(x[cloth[of]], 0.5 * (ends + middle[of])),
            ]
        )
        inside = space.inside_of_bodies((weights[:, :, None] * x[rows]).sum(1))
        own = inside.room & self._guard.belong(rows[inside.which], state, space, inside.corners)
        kept = inside.which[own]
        places = np.concatenate([inside.places[own], ends])
        ways = np.concatenate([inside.ways[own], np.repeat(found.normals, 2, 0)])
        return Points(
            np.concatenate([rows[kept], cloth[of]]),
            np.concatenate([weights[kept], barycentrics(x[cloth[of]], ends)]),
            ways,
            (places * ways).sum(1) + margin,
        )


def clearing(
    scene: Scene, dynamics: DeformableDynamics, self_contact: SelfContact, *, iterates: bool
) -> Clearing | None:
    """Return the clearing of scenes of cloth that the implicit solver and the guard of safe mode move; None for others,
    and with responses that separate contacts iteratively (`iterates`)."""
    if iterates or not isinstance(self_contact, Guard) or not self_contact.safe or not dynamics.may_repel:
        return None
    return Clearing(scene, dynamics, self_contact)
