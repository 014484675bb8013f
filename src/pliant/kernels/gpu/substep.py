"""The loops of a substep of XPBD on the card: prediction, constraints colour by colour, velocities; those of contacts
are in `field_contacts`. What is computed per element are the functions of the processor (`twin`); here are loads and
stores.

Several scenes may run together: `scene_of` is that of each vertex, and `Rules` hold what differs between them. What
differs between the substeps of a frame stands in tables; `now` counts the substeps.
"""

from typing import NamedTuple

import numpy as np

from .card import cuda
from .jit import kernel, prange
from .sources import twin
from .wide import load_indices, load_row, store_row

_cloth, _damping = twin("dynamics.cloth"), twin("dynamics.damping")
pull = twin("simulation.drag").pull
_springs, _kinematics, vec = twin("dynamics.springs"), twin("simulation.kinematics"), twin("vec")
strain_pushes, moved_by, unbent = _cloth.strain_pushes, _cloth.moved_by, _cloth.unbent
pressure, dragged = _damping.pressure, _damping.dragged
relax_triangles, relax_hinges = _cloth.relax_triangles, _cloth.relax_hinges
Springs, relax_springs, move_gripped = _springs.Springs, _springs.relax_springs, _kinematics.move_gripped
LISTED = 4096  # contacts without a normal that are listed


class Moving(NamedTuple):
    """The vertices of all deformable bodies."""

    x: np.ndarray  # (n,4) C-ordered, of which the last number is the inverse mass
    x_start: np.ndarray  # (n,3)
    v: np.ndarray  # (n,4), of which the last number is padding, zero
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


@kernel
def position(row):
    return row[0], row[1], row[2]


@kernel(parallel=True)
def begin_substep(moving):
    """Store the velocities before the substep."""
    for i in prange(len(moving.v)):
        store_row(moving.v_start, i, position(load_row(moving.v, i)), 0.0)


@kernel(parallel=True)
def smooth(viscosity, moving):
    """As `damping.smooth_range`."""
    for i in prange(len(moving.v)):
        own = position(load_row(moving.v_start, i))
        total = own
        for at in range(viscosity.start[i], viscosity.start[i + 1]):
            beside = position(load_row(moving.v_start, viscosity.beside[at]))
            total = vec.madd(total, vec.sub(beside, own), viscosity.share[at])
        store_row(moving.v, i, total, 0.0)


@kernel(parallel=True)
def drag_faces(air, moving, rules):
    """As `damping.face_drag`."""
    for f in prange(len(air.faces)):
        i, j, k, _ = load_indices(air.faces, f)
        a, b, c = load_row(moving.x, i), load_row(moving.x, j), load_row(moving.x, k)
        u, v, w = load_row(moving.v, i), load_row(moving.v, j), load_row(moving.v, k)
        wind, speeds = vec.load(rules.wind, moving.scene_of[i]), (position(u), position(v), position(w))
        force = pressure(position(a), position(b), position(c), speeds, wind, air.density[f])
        store_row(air.force, f, force, 0.0)


@kernel(parallel=True)
def advance(air, moving, rules, gravity, dt, tally):
    """Drag of air, gravity (t,s,3), and motion, as `damping.drag_vertices` and `deformable.advance_serial`."""
    for i in prange(len(moving.v)):
        row, s = load_row(moving.x, i), moving.scene_of[i]
        at, w = position(row), row[3]
        vec.store(moving.x_start, i, at)
        if w > 0.0:
            v = position(load_row(moving.v, i))
            if len(air.faces) > 0:
                total = (0.0, 0.0, 0.0)
                for k in range(air.start[i], air.start[i + 1]):
                    total = vec.add(total, position(load_row(air.force, air.beside[k])))
                v = dragged(v, total, vec.load(rules.wind, s), dt, w)
            own = gravity[tally.now[0], s]
            v = vec.madd(v, (own[0], own[1], own[2]), dt)
            store_row(moving.v, i, v, 0.0)
            store_row(moving.x, i, vec.madd(at, v, dt), w)


@kernel(parallel=True)
def place_gripped(rows, attached, table, by, x, tally):
    """Move gripped vertices to their places at the end of the substep; table (t+1,k,3)."""
    for r in prange(len(rows)):
        now = tally.now[0]
        before, after = table[now, r : r + 1], table[now + 1, r : r + 1]
        move_gripped(rows[r : r + 1], attached[r : r + 1], before, after, by, x)


@kernel(parallel=True)
def relax_faces(membrane, first, last, x, dt):
    """Triangles of one colour; the last number of rows of x is the inverse mass."""
    for e in prange(last - first):
        per_dt2 = 1.0 / (dt * dt)
        i, j, k, _ = load_indices(membrane.faces, first + e)
        r, soft = load_row(membrane.rest, first + e), load_row(membrane.compliance, first + e)
        p, q, s = load_row(x, i), load_row(x, j), load_row(x, k)
        a, b, c, masses = position(p), position(q), position(s), (p[3], q[3], s[3])
        soft = (soft[0] * per_dt2, soft[1] * per_dt2, soft[2] * per_dt2)
        along_u, along_v = strain_pushes(a, b, c, masses, r, soft)
        a, b, c = moved_by(a, b, c, masses, r, along_u, along_v)
        store_row(x, i, a, p[3])
        store_row(x, j, b, q[3])
        store_row(x, k, c, s[3])


@kernel(parallel=True)
def relax_bends(hinges, first, last, x, dt):
    """Hinges of one colour."""
    for e in prange(last - first):
        h, per_dt2 = first + e, 1.0 / (dt * dt)
        i, j, k, o = load_indices(hinges.vertices, h)
        p, q, r, s = load_row(x, i), load_row(x, j), load_row(x, k), load_row(x, o)
        corners, masses = (position(p), position(q), position(r), position(s)), (p[3], q[3], r[3], s[3])
        soft = hinges.compliance[h] * per_dt2
        a, b, c, d = unbent(corners, masses, load_row(hinges.weights, h), hinges.rest[h], soft)
        store_row(x, i, a, p[3])
        store_row(x, j, b, q[3])
        store_row(x, k, c, r[3])
        store_row(x, o, d, s[3])


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
        row, start = load_row(moving.x, i), vec.load(moving.x_start, i)
        to = position(row)
        if is_lost(to, largest):
            to = start
            store_row(moving.x, i, to, row[3])
            cuda.atomic.add(tally.lost, moving.scene_of[i], 1)
        speed = ((to[0] - start[0]) / dt, (to[1] - start[1]) / dt, (to[2] - start[2]) / dt)
        store_row(moving.v, i, speed, 0.0)


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
