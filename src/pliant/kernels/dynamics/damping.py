"""Viscous damping of cloth, the drag of air and the prediction of positions, in one launch (`team`)."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel, prange
from ..team import BATCHES, barrier, claim, clear, complete
from .cloth import TINY, part
from .deformable import advance_serial

LOOPS = 3


class Air(NamedTuple):
    """The faces that air acts on."""

    faces: np.ndarray  # (m,3)
    density: np.ndarray  # (m,) kg/m3 of the air at each: cloths may move through different air
    start: np.ndarray  # (n+1,)
    beside: np.ndarray  # faces at every vertex, by rows
    force: np.ndarray  # (m,3) scratch


class Viscosity(NamedTuple):
    """The neighbours with which every vertex exchanges velocity."""

    start: np.ndarray  # (n+1,)
    beside: np.ndarray  # neighbours of every vertex, by rows
    share: np.ndarray  # fraction of each velocity difference that is exchanged; empty: none


class Moving(NamedTuple):
    """The vertices at the start of a substep."""

    x: np.ndarray  # (n,3) positions
    x_start: np.ndarray  # (n,3) where the positions before the prediction are stored
    v: np.ndarray  # (n,3) velocities, which damping changes
    v_start: np.ndarray  # (n,3) before
    w: np.ndarray  # (n,) inverse masses


@kernel(parallel=True)
def damp(viscosity, air, moving, wind, dt, team):
    """Smooth the velocities of neighbours and add air drag; either may have no elements."""
    clear(team)
    for t in prange(0, team.shape[1]):
        smooth_velocities(viscosity, moving, team, t)
        face_drags(air, moving, wind, team, t)
        b = claim(team, 2, t, BATCHES)
        while b >= 0:
            first, last = part(0, len(moving.v), b, BATCHES)
            drag_vertices(air, first, last, moving.v, wind, dt, moving.w)
            complete(team, 2, b, BATCHES)
            b = claim(team, 2, t, BATCHES)


@kernel(parallel=True)
def damp_and_advance(viscosity, air, moving, wind, gravity, dt, team):
    """As `damp`, and as `deformable.advance_serial` after it."""
    clear(team)
    for t in prange(0, team.shape[1]):
        smooth_velocities(viscosity, moving, team, t)
        face_drags(air, moving, wind, team, t)
        b = claim(team, 2, t, BATCHES)
        while b >= 0:
            first, last = part(0, len(moving.v), b, BATCHES)
            drag_vertices(air, first, last, moving.v, wind, dt, moving.w)
            x, x_start, v = moving.x[first:last], moving.x_start[first:last], moving.v[first:last]
            advance_serial(x, x_start, v, moving.w[first:last], gravity, dt)
            complete(team, 2, b, BATCHES)
            b = claim(team, 2, t, BATCHES)


@kernel
def smooth_velocities(viscosity, moving, team, t):
    """Loop 0: v_i += sum share (v_j - v_i), from the velocities v_start.

    If share times m_i is the same in both directions of an edge, momentum is conserved; a uniform motion is not damped.
    """
    if len(viscosity.share) == 0:
        return
    b = claim(team, 0, t, BATCHES)
    while b >= 0:
        first, last = part(0, len(moving.v), b, BATCHES)
        smooth_range(viscosity, moving.v, moving.v_start, first, last)
        complete(team, 0, b, BATCHES)
        b = claim(team, 0, t, BATCHES)
    barrier(team, 0, BATCHES)


@kernel
def smooth_range(viscosity, v, before, first, last):
    """As `smooth_velocities`, for vertices first..last-1."""
    start, beside, share = viscosity
    for i in range(first, last):
        own = vec.load(before, i)
        total = own
        for at in range(start[i], start[i + 1]):
            total = vec.madd(total, vec.sub(vec.load(before, beside[at]), own), share[at])
        vec.store(v, i, total)


@kernel
def face_drags(air, moving, wind, team, t):
    """Loop 1: the aerodynamic drag on each face, along its normal, by the wind relative to it. Loop 2 gathers it per
    vertex, so that the order of additions is fixed."""
    if len(air.faces) == 0:
        return
    b = claim(team, 1, t, BATCHES)
    while b >= 0:
        first, last = part(0, len(air.faces), b, BATCHES)
        face_drag(air, first, last, moving.x, moving.v, wind)
        complete(team, 1, b, BATCHES)
        b = claim(team, 1, t, BATCHES)
    barrier(team, 1, BATCHES)


@kernel
def pressure(a, b, c, speeds, wind, density):
    """Force on a face: pressure 1/2 rho c v^2 with c = 2 for a plate normal to the flow, on |n| / 2."""
    u, v, w = speeds
    n = vec.cross(vec.sub(b, a), vec.sub(c, a))
    mean = vec.scale(vec.add(u, vec.add(v, w)), 1.0 / 3.0)
    across = vec.dot(vec.sub(wind, mean), n) / max(math.sqrt(vec.norm2(n)), TINY * TINY)
    return vec.scale(n, 0.5 * density * across * abs(across))


@kernel
def face_drag(air, first, last, x, v, wind):
    """The forces on faces first..last-1."""
    for f in range(first, last):
        i, j, k = air.faces[f, 0], air.faces[f, 1], air.faces[f, 2]
        speeds = (vec.load(v, i), vec.load(v, j), vec.load(v, k))
        force = pressure(vec.load(x, i), vec.load(x, j), vec.load(x, k), speeds, wind, air.density[f])
        vec.store(air.force, f, force)


@kernel
def dragged(v, force, wind, dt, w):
    """A velocity after the forces of air on the faces around it, which change it by its speed relative to the air at
    most."""
    change = vec.scale(force, w * dt / 3.0)
    most = vec.norm(vec.sub(wind, v))
    size = vec.norm(change)
    if size > most and size > 0.0:
        change = vec.scale(change, most / size)
    return vec.add(v, change)


@kernel
def drag_vertices(air, first, last, v, wind, dt, w):
    """Add the forces on their faces to the velocities of vertices first..last-1."""
    if len(air.faces) == 0:
        return
    for i in range(first, last):
        if w[i] == 0.0:
            continue
        total = (0.0, 0.0, 0.0)
        for at in range(air.start[i], air.start[i + 1]):
            total = vec.add(total, vec.load(air.force, air.beside[at]))
        vec.store(v, i, dragged(vec.load(v, i), total, wind, dt, w[i]))
