"""Strands: polylines that resist stretch and bending, by implicit Euler steps whose systems are solved directly."""

import numpy as np
from numpy.typing import NDArray

from ..kernels.dynamics import strands as _kernels
from ..materials import Strands
from ..mesh.polylines import polylines
from ..scene import Scene
from ..state import State

Floats = NDArray[np.float64]
DRAG = 1.2  # drag coefficient of a cylinder across the flow, at Reynolds numbers of some 100 to 1e5
STRAIGHT = 1e-6  # change of the tangent at rest below which a bend is straight
_WORTH_THREADS = 500  # points


class StrandDynamics:
    """All strands of a scene, on the same rows as `ClothDynamics`."""

    def __init__(self, scene: Scene) -> None:
        self.rows = scene.deformable_rows
        self.w = scene.inverse_masses[self.rows]
        self.wind = scene.wind
        parts: list[list[NDArray[np.float64]]] = []
        rows, starts, total = [], [np.zeros(1, np.int64)], 0
        for b in scene.strands:
            mesh, stuff = scene.bodies[b].mesh.welded, scene.bodies[b].material
            assert isinstance(stuff, Strands)
            order, start = polylines(mesh)
            rows.append(order.astype(np.int64) + int(scene.first[b]) - self.rows.start)
            starts.append(start[1:] + total)
            total += len(order)
            parts.append(_points(mesh.vertices[order], start, stuff, self.w[rows[-1]] > 0.0))
        own = np.concatenate(rows)
        mass = np.where(self.w[own] > 0.0, scene.masses[self.rows][own], 0.0)
        arrays = (np.ascontiguousarray(np.concatenate(part)) for part in zip(*parts, strict=True))
        self.chains = _kernels.Chains(np.concatenate(starts), own, mass, *arrays)
        self._predicted = np.zeros((len(self.w), 3))
        many = len(own) >= _WORTH_THREADS
        self._relax = _kernels.relax_strands_parallel if many else _kernels.relax_strands_serial

    def apply_damping(self, state: State, dt: float) -> None:
        """Apply air drag to the velocities; the viscosity of strands is part of their solve."""
        if self.chains.drag.any():
            _kernels.drag_strands(self.chains, state.x[self.rows], state.v[self.rows], self.wind, dt)

    def relax(self, state: State, dt: float) -> None:
        """Move x from the prediction to the end of an implicit step of dt."""
        x = state.x[self.rows]
        self._predicted[:] = x
        count = len(self.chains.start) - 1
        self._relax(self.chains, 0, count, x, state.x_start[self.rows], self._predicted, dt)

    def elastic(self, state: State) -> float:
        """Return the elastic energy of the strands, joules."""
        return float(_kernels.strands_energy(self.chains, state.x[self.rows]))


def _points(x: Floats, start: NDArray[np.int64], stuff: Strands, free: NDArray[np.bool_]) -> list[Floats]:
    """Return the arrays of `Chains` from `length` on, of the points x (v,3) of strands in order, which `free` (v,) move
    or have a prescribed motion. A segment between two of the latter does not bend: a strand that is clamped by its
    first two points has the length from the second one on."""
    length = np.zeros(len(x))
    span = x[1:] - x[:-1]
    length[:-1] = np.linalg.norm(span, axis=1)
    length[start[1:] - 1] = 0.0
    before = np.concatenate([[0.0], length[:-1]])
    inner = (length > 0.0) & (before > 0.0)
    bend, curl, half = np.zeros(len(x)), np.zeros(len(x)), 0.5 * (length + before)
    bends = length * (free | np.roll(free, -1))
    bending = 0.5 * (bends + np.concatenate([[0.0], bends[:-1]]))
    inner &= bending > 0.0
    bend[inner] = stuff.bend / bending[inner]
    at = np.flatnonzero(inner)
    turn = span[at] / length[at, None] - span[at - 1] / length[at - 1, None]
    curl[at] = np.linalg.norm(turn, axis=1)
    curl[curl < STRAIGHT] = 0.0
    one = np.where(length > 0.0, length, 1.0)
    on = length > 0.0
    viscous = np.where(on, stuff.damping * stuff.density / one, 0.0)
    return [length, np.where(on, stuff.stretch / one, 0.0), bend, curl, viscous, stuff.air * stuff.radius * half * DRAG]
