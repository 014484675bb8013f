"""The adjoint of the prediction of a substep: viscous damping, the drag of air, gravity, and motion by the velocity."""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..dynamics.cloth import TINY
from ..dynamics.damping import face_drag, smooth_range
from ..dynamics.triangle_batches import BATCH, set_three, three
from ..jit import kernel

ROWS = 13  # of a batch of faces (`gather_faces`)


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
        faces_adjoint(air, moving, wind, out)
    smoothing_adjoint(viscosity, moving.v_start, out)


@kernel
def drag_adjoint(air, moving, wind, dt, out):
    """Set `of_force` to the derivatives with respect to the force of the air on each vertex (`drag_vertices`), and add
    to `of_smoothed` where the speed of the air limits it."""
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
        most, size = math.sqrt(vec.norm2(against)), math.sqrt(vec.norm2(change))
        given = vec.load(of_v, i)
        of_change = given
        if size > most and size > 0.0:
            along = vec.scale(change, 1.0 / size)
            of_most = vec.dot(along, given)
            of_change = vec.scale(vec.madd(given, along, -of_most), most / size)
            vec.store(of_v, i, vec.madd(given, against, -of_most / max(most, TINY)))
        out.w[i] += vec.dot(of_change, total) * dt / 3.0
        vec.store(out.of_force, i, vec.scale(of_change, w[i] * dt / 3.0))


@kernel(inline=True)
def drag_terms(edges, mean, wind, half, given):
    """Derivatives with respect to the edges from the first corner of a face, to the mean of the speeds of its corners,
    and to half of the density of air, given those of the drag on the face (`face_drag`)."""
    e, g = edges
    n = vec.cross(e, g)
    flow, per = vec.sub(wind, mean), 1.0 / max(math.sqrt(vec.norm2(n)), TINY * TINY)
    across = vec.dot(flow, n) * per
    along, pressure = vec.dot(n, given), across * abs(across)
    of_across = 2.0 * half * along * abs(across) * per
    of_n = vec.madd(vec.madd(vec.scale(given, half * pressure), flow, of_across), n, -of_across * across * per)
    return vec.cross(g, of_n), vec.cross(of_n, e), vec.scale(n, -of_across), along * pressure


@kernel
def faces_adjoint(air, moving, wind, out):
    """Add the derivatives of the forces on all faces, given those of the forces on vertices, `of_force`."""
    batch = np.ones(ROWS * BATCH)
    for first in range(0, len(air.faces), BATCH):
        last = min(first + BATCH, len(air.faces))
        gather_faces(air, moving, out, first, last, batch)
        drags_adjoint(batch, wind)
        scatter_faces(air, first, last, batch, out)


@kernel
def gather_faces(air, moving, out, first, last, batch):
    """Edges of faces first..last-1 from their first corner (rows 0..5), sums of the speeds of their corners (6..8) and
    of the derivatives of the forces on them (9..11), and half of the density of air (12)."""
    x, v, of_force = moving.x, out.smoothed, out.of_force
    for f in range(first, last):
        i, j, k = air.faces[f, 0], air.faces[f, 1], air.faces[f, 2]
        a, at = vec.load(x, i), f - first
        set_three(batch, 0, at, vec.sub(vec.load(x, j), a))
        set_three(batch, 3, at, vec.sub(vec.load(x, k), a))
        set_three(batch, 6, at, vec.add(vec.load(v, i), vec.add(vec.load(v, j), vec.load(v, k))))
        given = vec.add(vec.load(of_force, i), vec.add(vec.load(of_force, j), vec.load(of_force, k)))
        set_three(batch, 9, at, given)
        batch[12 * BATCH + at] = 0.5 * air.density[f]


@kernel
def drags_adjoint(batch, wind):
    """`drag_terms` of a batch: rows 0..5 become derivatives with respect to the edges, 6..8 with respect to the mean of
    the speeds, 12 with respect to half of the density."""
    for k in range(BATCH):
        mean = vec.scale(three(batch, 6, k), 1.0 / 3.0)
        edges, given = (three(batch, 0, k), three(batch, 3, k)), three(batch, 9, k)
        of_e, of_g, of_mean, of_half = drag_terms(edges, mean, wind, batch[12 * BATCH + k], given)
        set_three(batch, 0, k, of_e)
        set_three(batch, 3, k, of_g)
        set_three(batch, 6, k, of_mean)
        batch[12 * BATCH + k] = of_half


@kernel
def scatter_faces(air, first, last, batch, out):
    """Add the derivatives of faces first..last-1 to those of their corners, face by face."""
    of_x, of_v = out.x, out.of_smoothed
    for f in range(first, last):
        i, j, k = air.faces[f, 0], air.faces[f, 1], air.faces[f, 2]
        at = f - first
        of_e, of_g, of_mean = three(batch, 0, at), three(batch, 3, at), three(batch, 6, at)
        out.air[f] += 0.5 * batch[12 * BATCH + at]
        vec.store(of_x, i, vec.sub(vec.load(of_x, i), vec.add(of_e, of_g)))
        vec.store(of_x, j, vec.add(vec.load(of_x, j), of_e))
        vec.store(of_x, k, vec.add(vec.load(of_x, k), of_g))
        for corner in (i, j, k):
            vec.store(of_v, corner, vec.madd(vec.load(of_v, corner), of_mean, 1.0 / 3.0))


@kernel
def smoothing_adjoint(viscosity, before, out):
    """Add to `v` and `share` what `smooth_range` makes of them."""
    start, beside, share = viscosity
    of_v, of_smoothed, of_share = out.v, out.of_smoothed, out.share
    if len(share) == 0:
        of_v += of_smoothed
        return
    for i in range(len(before)):
        given, own, kept = vec.load(of_smoothed, i), vec.load(before, i), 1.0
        for at in range(start[i], start[i + 1]):
            j = beside[at]
            of_share[at] += vec.dot(given, vec.sub(vec.load(before, j), own))
            kept -= share[at]
            vec.store(of_v, j, vec.madd(vec.load(of_v, j), given, share[at]))
        vec.store(of_v, i, vec.madd(vec.load(of_v, i), given, kept))
