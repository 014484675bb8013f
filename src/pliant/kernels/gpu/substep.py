"""The loops of a substep of XPBD on the card: prediction, constraints colour by colour, velocities; those of contacts
are in `field_contacts`. What is computed per element are the functions of the processor (`twin`); here are loads and
stores.

Several scenes may run together: `scene_of` is that of each vertex, and `Rules` hold what differs between them. What
differs between the substeps of a frame stands in tables; `now` counts the substeps.
"""

from typing import NamedTuple

import numpy as np
from numba import cuda

from .jit import kernel, prange
from .sources import twin

_cloth, _damping, _deformable = twin("dynamics.cloth"), twin("dynamics.damping"), twin("dynamics.deformable")
pull = twin("simulation.drag").pull
_springs, _kinematics, vec = twin("dynamics.springs"), twin("simulation.kinematics"), twin("vec")
smooth_range, face_drag, drag_vertices = _damping.smooth_range, _damping.face_drag, _damping.drag_vertices
advance_serial, relax_triangles, relax_hinges = _deformable.advance_serial, _cloth.relax_triangles, _cloth.relax_hinges
Springs, relax_springs, move_gripped = _springs.Springs, _springs.relax_springs, _kinematics.move_gripped
LISTED = 4096  # contacts without a normal that are listed


class Moving(NamedTuple):
    """The vertices of all deformable bodies."""

    x: np.ndarray  # (n,4), of which the last number is the inverse mass
    x_start: np.ndarray  # (n,3)
    v: np.ndarray  # (n,4), of which the last number is padding
    v_start: np.ndarray  # (n,4)
    w: np.ndarray  # (n,) inverse masses, a view of x
    scene_of: np.ndarray  # (n,) i4


class Rules(NamedTuple):
    """What differs between scenes."""

    eps: np.ndarray  # (s,) metres
    friction: np.ndarray  # (s,)
    simple: np.ndarray  # (s,) whether friction is that of eq. 3
    restitution: np.ndarray  # (s,)
    slow: np.ndarray  # (s,) m/s
    per_second: np.ndarray  # (s,) 1 / duration of the motion from one pose to the next
    wind: np.ndarray  # (s,3)


class Tally(NamedTuple):
    """What the host reads at the end of a frame."""

    now: np.ndarray  # (1,) substeps since the beginning of the frame
    lost: np.ndarray  # (s,) vertex moves undone
    vanished: np.ndarray  # (1,) contacts without a normal
    rows: np.ndarray  # (LISTED,) of them: vertices of the detector, or -1 - edge
    which: np.ndarray  # (LISTED,) detectors


@kernel(parallel=True)
def begin_substep(moving):
    """Store the velocities before the substep."""
    for i in prange(len(moving.v)):
        vec.store(moving.v_start, i, vec.load(moving.v, i))


@kernel(parallel=True)
def smooth(viscosity, moving):
    for i in prange(len(moving.v)):
        smooth_range(viscosity, moving.v, moving.v_start, i, i + 1)


@kernel(parallel=True)
def drag_faces(air, moving, rules):
    for f in prange(len(air.faces)):
        face_drag(air, f, f + 1, moving.x, moving.v, vec.load(rules.wind, moving.scene_of[air.faces[f, 0]]))


@kernel(parallel=True)
def advance(air, moving, rules, gravity, dt, tally):
    """Drag of air, gravity (t,s,3), and motion."""
    for i in prange(len(moving.v)):
        s = moving.scene_of[i]
        drag_vertices(air, i, i + 1, moving.v, vec.load(rules.wind, s), dt, moving.w)
        own = gravity[tally.now[0], s]
        x, x_start, v = moving.x[i : i + 1], moving.x_start[i : i + 1], moving.v[i : i + 1]
        advance_serial(x, x_start, v, moving.w[i : i + 1], (own[0], own[1], own[2]), dt)


@kernel(parallel=True)
def place_gripped(rows, attached, table, by, x, tally):
    """Move gripped vertices to their places at the end of the substep; table (t+1,k,3)."""
    for r in prange(len(rows)):
        now = tally.now[0]
        before, after = table[now, r : r + 1], table[now + 1, r : r + 1]
        move_gripped(rows[r : r + 1], attached[r : r + 1], before, after, by, x)


@kernel(parallel=True)
def relax_faces(membrane, first, last, x, w, dt):
    """Triangles of one colour."""
    for e in prange(last - first):
        relax_triangles(membrane, first + e, first + e + 1, x, w, dt)


@kernel(parallel=True)
def relax_bends(hinges, first, last, x, w, dt):
    """Hinges of one colour."""
    for e in prange(last - first):
        relax_hinges(hinges, first + e, first + e + 1, x, w, dt)


@kernel(parallel=True)
def relax_faces_in_order(membrane, start, x, w, dt):
    """Triangles that have no colour: those of each scene, start (s+1,), one after the other."""
    for s in prange(len(start) - 1):
        relax_triangles(membrane, start[s], start[s + 1], x, w, dt)


@kernel(parallel=True)
def relax_bends_in_order(hinges, start, x, w, dt):
    for s in prange(len(start) - 1):
        relax_hinges(hinges, start[s], start[s + 1], x, w, dt)


@kernel(parallel=True)
def relax_stitches(springs, first, last, rest, x, w, dt, tally):
    """Stitches first..last-1, which share no vertex; rest (t,k): lengths."""
    for e in prange(last - first):
        k = first + e
        one = Springs(springs.vertices[k : k + 1], springs.weights[k : k + 1], springs.stiffness[k : k + 1])
        relax_springs(one, rest[tally.now[0], k : k + 1], x, w, dt)


@kernel
def is_lost(a, largest):
    """Written so that nan is lost."""
    return not (abs(a[0]) < largest and abs(a[1]) < largest and abs(a[2]) < largest)


@kernel(parallel=True)
def reset_lost(moving, largest, tally):
    """Reset vertices whose position is not finite, or beyond +-largest."""
    for i in prange(len(moving.x)):
        if is_lost(vec.load(moving.x, i), largest):
            vec.store(moving.x, i, vec.load(moving.x_start, i))
            cuda.atomic.add(tally.lost, moving.scene_of[i], 1)


@kernel(parallel=True)
def pull_drag(rows, weights, shares, at, to, limits, x, dt):
    """One drag constraint."""
    for _ in prange(1):
        pull(rows, weights, shares, at, to, limits, x, dt)


@kernel(parallel=True)
def finish(moving, dt, largest, tally):
    """Reset lost vertices; velocities from displacements."""
    for i in prange(len(moving.x)):
        to, start = vec.load(moving.x, i), vec.load(moving.x_start, i)
        if is_lost(to, largest):
            to = start
            vec.store(moving.x, i, to)
            cuda.atomic.add(tally.lost, moving.scene_of[i], 1)
        vec.store(moving.v, i, ((to[0] - start[0]) / dt, (to[1] - start[1]) / dt, (to[2] - start[2]) / dt))


@kernel(parallel=True)
def end_substep(tally):
    """Count the substep."""
    for k in prange(1):
        tally.now[k] += 1


@kernel(parallel=True)
def clear(counts):
    for k in prange(len(counts)):
        counts[k] = 0


@kernel(parallel=True)
def copy_rows(x, out):
    """Copy the first three numbers of rows."""
    for i in prange(len(x)):
        vec.store(out, i, vec.load(x, i))


@kernel(parallel=True)
def remember(x, out, last, tally):
    """Copy x (n,3) to `out` in substep `last[0]` of the frame."""
    for i in prange(len(x)):
        if tally.now[0] == last[0]:
            vec.store(out, i, vec.load(x, i))
