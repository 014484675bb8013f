"""The adjoint of the prediction of a substep: viscous damping, the drag of air, gravity, and motion by the velocity."""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..dynamics.cloth import TINY
from ..dynamics.damping import face_drag, smooth_range
from ..jit import kernel


class PredictionAdjoint(NamedTuple):
    """Derivatives with respect to the start of a substep, and to constants, to which each substep adds its own."""

    x: np.ndarray  # (n,3)
    v: np.ndarray  # (n,3)
    w: np.ndarray  # (n,)
    share: np.ndarray  # as Viscosity.share
    air: np.ndarray  # (m,) as Air.density
    smoothed: np.ndarray  # (n,3) scratch: velocities after damping
    of_smoothed: np.ndarray  # (n,3) scratch: derivatives with respect to them
    of_force: np.ndarray  # (n,3) scratch: derivatives with respect to the force of the air on each vertex


@kernel
def prediction_adjoint(viscosity, air, moving, wind, dt, of_predicted, out):
    """Add the derivatives of the prediction from moving.x and moving.v_start, given those with respect to the predicted
    positions, `of_predicted` (n,3)."""
    w, smoothed, of_smoothed = moving.w, out.smoothed, out.of_smoothed
    smoothed[:] = moving.v_start
    if len(viscosity.share) > 0:
        smooth_range(viscosity, smoothed, moving.v_start, 0, len(w))
    for i in range(len(w)):
        given = vec.load(of_predicted, i)
        if w[i] > 0.0:  # others are where they are told to be
            vec.store(out.x, i, vec.add(vec.load(out.x, i), given))
            vec.store(of_smoothed, i, vec.scale(given, dt))
        else:
            vec.store(of_smoothed, i, (0.0, 0.0, 0.0))
    if len(air.faces) > 0:
        face_drag(air, 0, len(air.faces), moving.x, smoothed, wind)
        drag_adjoint(air, moving, wind, dt, out)
    smoothing_adjoint(viscosity, moving.v_start, out)


@kernel
def drag_adjoint(air, moving, wind, dt, out):
    """Add to `of_smoothed` and `x` what they contribute to the velocities after `drag_vertices`."""
    w, v, of_v, force = moving.w, out.smoothed, out.of_smoothed, air.force
    for i in range(len(w)):
        vec.store(out.of_force, i, (0.0, 0.0, 0.0))
        if w[i] == 0.0:
            continue
        total = (0.0, 0.0, 0.0)
        for at in range(air.start[i], air.start[i + 1]):
            total = vec.add(total, vec.load(force, air.beside[at]))
        change = vec.scale(total, w[i] * dt / 3.0)
        against = vec.sub(wind, vec.load(v, i))
        most, size = vec.norm(against), vec.norm(change)
        given = vec.load(of_v, i)
        of_change = given
        if size > most and size > 0.0:
            along = vec.scale(change, 1.0 / size)
            of_most = vec.dot(along, given)
            of_change = vec.scale(vec.madd(given, along, -of_most), most / size)
            vec.store(of_v, i, vec.madd(given, against, -of_most / max(most, TINY)))
        out.w[i] += vec.dot(of_change, total) * dt / 3.0
        vec.store(out.of_force, i, vec.scale(of_change, w[i] * dt / 3.0))
    for f in range(len(air.faces)):
        face_drag_adjoint(air, f, moving, wind, out)


@kernel
def face_drag_adjoint(air, f, moving, wind, out):
    """Add the derivatives of the force on face `f`, given those of its corners, `of_force`."""
    i, j, k = air.faces[f, 0], air.faces[f, 1], air.faces[f, 2]
    given = vec.add(vec.load(out.of_force, i), vec.add(vec.load(out.of_force, j), vec.load(out.of_force, k)))
    a, x, v = vec.load(moving.x, i), moving.x, out.smoothed
    e, g = vec.sub(vec.load(x, j), a), vec.sub(vec.load(x, k), a)
    n = vec.cross(e, g)
    mean = vec.scale(vec.add(vec.load(v, i), vec.add(vec.load(v, j), vec.load(v, k))), 1.0 / 3.0)
    flow, size = vec.sub(wind, mean), max(vec.norm(n), TINY * TINY)
    across = vec.dot(flow, n) / size
    along = vec.dot(n, given)
    out.air[f] += 0.5 * along * across * abs(across)
    half = 0.5 * air.density[f]
    of_across = 2.0 * half * along * abs(across) / size
    of_n = vec.scale(given, half * across * abs(across))
    of_n = vec.madd(vec.madd(of_n, flow, of_across), n, -of_across * across / size)
    of_e, of_g, of_mean = vec.cross(g, of_n), vec.cross(of_n, e), vec.scale(n, -of_across / 3.0)
    vec.store(out.x, i, vec.sub(vec.load(out.x, i), vec.add(of_e, of_g)))
    vec.store(out.x, j, vec.add(vec.load(out.x, j), of_e))
    vec.store(out.x, k, vec.add(vec.load(out.x, k), of_g))
    for corner in (i, j, k):
        vec.store(out.of_smoothed, corner, vec.add(vec.load(out.of_smoothed, corner), of_mean))


@kernel
def smoothing_adjoint(viscosity, before, out):
    """Add to `v` and `share` what `smooth_range` makes of them."""
    start, beside, share = viscosity
    for i in range(len(before)):
        given, own = vec.load(out.of_smoothed, i), vec.load(before, i)
        vec.store(out.v, i, vec.add(vec.load(out.v, i), given))
        if len(share) == 0:
            continue
        for at in range(start[i], start[i + 1]):
            j = beside[at]
            out.share[at] += vec.dot(given, vec.sub(vec.load(before, j), own))
            vec.store(out.v, i, vec.madd(vec.load(out.v, i), given, -share[at]))
            vec.store(out.v, j, vec.madd(vec.load(out.v, j), given, share[at]))
