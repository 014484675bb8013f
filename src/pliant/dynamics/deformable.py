"""All deformable bodies of a scene, cloths, solids and strands, as one system: predict, relax, finish."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..contacts import Contacts
from ..kernels.dynamics import deformable as _kernels
from ..scene import Scene
from ..state import State
from .cloth import ClothDynamics
from .strain_limit import Points
from .strands import StrandDynamics
from .tets import TetDynamics

Floats = NDArray[np.float64]

# XPBD makes one sweep per substep, so its accuracy comes from short ones
SUBSTEP = {"implicit": 0.0025, "xpbd": 0.000625}  # s: default upper bound of a substep
MOST_SUBSTEPS = 1000
_WORTH_THREADS = 20_000  # vertices


def default_substeps(scene: Scene, dt: float, solver: str) -> int:
    """Return the number of substeps of a frame of `dt` seconds: for dt = 0.01 s, 4 with the implicit solver and 16 with
    XPBD, which also integrates soft bodies."""
    if not scene.deformable:
        return 1
    longest = SUBSTEP["xpbd" if scene.solids else solver]
    return min(max(math.ceil(dt / longest * (1.0 - 1e-9)), 1), MOST_SUBSTEPS)


class DeformableDynamics:
    """Advances the `rows` of the positions from the first to the last deformable body by the dynamics of each
    material; `solver` integrates the cloths (`cloth.SOLVERS`)."""

    def __init__(self, scene: Scene, solver: str = "implicit") -> None:
        self.rows = scene.deformable_rows
        self.w = scene.inverse_masses[self.rows]
        self.masses = scene.masses[self.rows]
        self.gravity = scene.gravity
        self.cloths = ClothDynamics(scene, solver) if scene.cloths else None
        self.solids = TetDynamics(scene) if scene.solids else None
        self.strands = StrandDynamics(scene) if scene.strands else None
        self.lost = 0  # total number of vertex moves undone because the new position was not finite or out of range
        self.may_yield = bool((scene.yielding_inverse_masses != scene.inverse_masses).any())  # attachments to skin
        self._on_threads = len(self.w) >= _WORTH_THREADS
        self._parts = [part for part in (self.cloths, self.solids, self.strands) if part is not None]

    def begin(self, state: State, dt: float) -> None:
        """Begin a frame of substeps of dt."""
        if self.cloths is not None:
            self.cloths.begin(state, dt)

    def predict(self, state: State, dt: float) -> None:
        """Store x and v in x_start and v_start; apply damping, air drag and gravity (no gravity while stitches close)
        to v; advance x by v."""
        state.v_start[self.rows] = state.v[self.rows]
        weight = 1.0 if self.cloths is None else self.cloths.seams.weight_at(state.time)
        gravity = (weight * self.gravity[0], weight * self.gravity[1], weight * self.gravity[2])
        if self.cloths is not None and len(self._parts) == 1:
            self.cloths.predict(state, gravity, dt)  # in one launch
            return
        for part in self._parts:
            part.apply_damping(state, dt)
        x, x_start, v = state.x[self.rows], state.x_start[self.rows], state.v[self.rows]
        advance = _kernels.advance_parallel if self._on_threads else _kernels.advance_serial
        advance(x, x_start, v, self.w, gravity, dt)

    def relax(self, state: State, dt: float) -> None:
        """Solve the constraints of all materials once: cloths by the solver, soft bodies by one sweep, strands by
        Newton's method."""
        for part in self._parts:
            part.relax(state, dt)
        self.reset_lost_vertices(state)

    @property
    def may_repel(self) -> bool:
        """Whether contacts with obstacles can repel cloth inside its solve (`relax_with`): not in scenes with soft
        bodies or strands, whose contacts are projected to the whole offset."""
        return self.cloths is not None and self.cloths.may_repel and len(self._parts) == 1

    def begin_solve(self, state: State, dt: float) -> None:
        """Begin a substep in which cloths are solved once, with their contacts, by `relax_with`; x is the prediction,
        which drag constraints and self-contact may move before contacts are detected."""
        self.reset_lost_vertices(state)
        if self.cloths is not None:
            self.cloths.begin_solve(state, dt)

    def guess(self, state: State, dt: float) -> None:
        """Move x from the positions at which contacts were detected to the first guess of `relax_with`."""
        if self.cloths is not None:
            self.cloths.guess(state, dt)

    def relax_with(self, state: State, contacts: Contacts, pushed: Floats, supports: Contacts, dt: float) -> None:
        """Solve cloths once, with `contacts`, which repel them and some of which have moved vertices (pushed > 0), and
        with `supports`, which only repel them."""
        if self.cloths is not None:
            self.cloths.relax_with(state, contacts, pushed, supports, dt)
        self.reset_lost_vertices(state)

    def relax_in_contact(self, state: State, contacts: Contacts, pushed: Floats, dt: float) -> bool:
        """Solve cloths again if anything has moved their vertices since the first solve; return whether they were
        solved."""
        if self.cloths is None or not self.cloths.relax_in_contact(state, contacts, pushed, dt):
            return False
        self.reset_lost_vertices(state)
        return True

    def limit_strain(
        self,
        state: State,
        keeping_open: Callable[[State], Contacts] | None,
        *,
        yielding: bool = False,
        points: Points | None = None,
    ) -> bool:
        """Shorten edges of cloth beyond the strain limit, without closing the gaps of the contacts that `keeping_open`
        returns; return whether any was longer. yielding: attached vertices move like all others."""
        return self.cloths is not None and self.cloths.limit_strain(
            state, keeping_open, yielding=yielding, points=points
        )

    def yield_to_tension(self, state: State, keeping_open: Callable[[State], Contacts]) -> None:
        """Move attached vertices of cloth to where it pulls them, if it pulls hard."""
        if self.cloths is not None:
            self.cloths.yield_to_tension(state, keeping_open)

    def stretched_edges(self, state: State) -> NDArray[np.int32]:
        """Return the edges (k,2) of cloth beyond the strain limit, as rows of x."""
        return np.zeros((0, 2), np.int32) if self.cloths is None else self.cloths.stretched_edges(state)

    def longest(self, state: State) -> float:
        """Return the length of the longest edge of cloth over the largest that its strain limit allows."""
        return 0.0 if self.cloths is None else self.cloths.longest(state)

    def let_into_surface(self, rows: NDArray[np.int32]) -> None:
        """From now on in this substep, let the strain limit move these rows of x into the surfaces that they touch."""
        if self.cloths is not None:
            self.cloths.let_into_surface(rows)

    def close_seams(self, state: State, dt: float) -> None:
        """Project the stitches of cloths, after contacts may have opened them."""
        if self.cloths is not None:
            self.cloths.close_seams(state, dt)

    def finish(self, state: State, dt: float) -> None:
        """Compute velocities from positions, and advance the time of the state."""
        x, x_start, v = state.x[self.rows], state.x_start[self.rows], state.v[self.rows]
        finish = _kernels.finish_parallel if self._on_threads else _kernels.finish_serial
        self.lost += finish(x, x_start, v, dt, validate.LARGEST)
        state.time += dt

    def reset_lost_vertices(self, state: State) -> None:
        """Reset vertices whose position is not finite or out of range to the start of the substep, at rest."""
        reset_lost = _kernels.reset_lost_parallel if self._on_threads else _kernels.reset_lost_serial
        self.lost += reset_lost(state.x[self.rows], state.x_start[self.rows], validate.LARGEST)

    def energy(self, state: State) -> dict[str, float]:
        """Return the kinetic, elastic and gravitational energy in joules; gravitational energy is 0 at the origin."""
        x, v, m = state.x[self.rows], state.v[self.rows], self.masses[:, None]
        return {
            "kinetic": float(0.5 * (m * v**2).sum()),
            "elastic": float(sum(part.elastic(state) for part in self._parts)),
            "gravity": float(-(m * x * np.asarray(self.gravity)).sum()),
        }
