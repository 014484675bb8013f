"""Contacts of cloth with obstacles as springs of an implicit step, which define the normal force, with friction.

A contact whose gap is below the offset repels like a spring that is far softer than the cloth. Its force varies
smoothly with the positions, so that the few iterations of a substep determine it.
"""

import math
from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import anchor_of, anchor_velocity_of, normal_of
from ..jit import kernel
from .stiffness import inverse

STIFFNESS = 4.0  # times mass / dt^2: the weight of a vertex compresses its spring by g dt^2 / 4
PENETRATES = 1.5  # times the largest compression, at the start of a substep: such contacts are left to the response


class Repulsion(NamedTuple):
    """How contacts repel cloth."""

    offset: float  # gap at which their springs are at rest, metres
    soft: float  # fraction of it by which springs are compressed at most
    friction: float  # coefficient of Coulomb friction
    still: float  # smallest sliding displacement of a substep, metres
    fall: tuple[float, float, float]  # displacement by gravity in a substep, metres, which the first guess leaves out


class LastSubstep(NamedTuple):
    """Results of the springs of the last substep, for all vertices of the scene."""

    slid: np.ndarray  # (n,) how far each vertex is expected to slide now, metres; 0: without contact
    pressed: np.ndarray  # (n,) by how much its springs were compressed, metres


class SpringArrays(NamedTuple):
    """Springs of up to c contacts, and sums over the springs of up to n vertices; rows are those of the cloth."""

    vertices: np.ndarray  # (c,4) or -1
    weights: np.ndarray  # (c,4)
    normals: np.ndarray  # (c,3)
    origins: np.ndarray  # (c,3) where the weighted point would be if it stuck to its surface
    levels: np.ndarray  # (c,) normal . point at which the spring is at rest, metres
    stiffness: np.ndarray  # (c,2) along the normal, and of friction along the surface, N/m
    beside: np.ndarray  # (4c,) springs of each vertex, by rows: 4 * spring + which of its vertices
    start: np.ndarray  # (n+1,) first of them, by place
    rows: np.ndarray  # (n,) of the vertices that have springs
    place: np.ndarray  # (n,) of each vertex in `rows`, or -1
    axes: np.ndarray  # (n,3) sum of the normals of each
    totals: np.ndarray  # (n,2) stiffness of all springs of each
    factors: np.ndarray  # (n,6) symmetric matrices that scale the preconditioner: xx, yy, zz, xy, xz, yz
    held: np.ndarray  # (n,6) stiffness of each against a translation of all vertices of its springs, N/m
    slides: np.ndarray  # (n,) how far each vertex slides, metres
    supports: np.ndarray  # (n,) stiffness by which each vertex is supported, N/m


@kernel
def point_of(s, c, x):
    """The weighted point of spring `c` at positions x."""
    total = (0.0, 0.0, 0.0)
    for a in range(4):
        i = s.vertices[c, a]
        if i >= 0:
            total = vec.madd(total, vec.load(x, i), s.weights[c, a])
    return total


@kernel
def tangential(a, n):
    """The part of `a` perpendicular to the unit vector n."""
    return vec.madd(a, n, -vec.dot(a, n))


@kernel
def mobility_of(contact, w, first, n_rows):
    """Inverse mass of the weighted point of a contact; 0 if the contact involves a movable vertex outside the rows
    first..first+n_rows-1."""
    total = 0.0
    for a in range(4):
        i = contact["vertices"][a]
        if i >= 0 and w[i] > 0.0:
            if i < first or i >= first + n_rows:
                return 0.0
            total += w[i] * contact["weights"][a] ** 2
    return total


@kernel
def both_sides(contact, first, n_rows, x):
    """The weighted sums of the rows of x of a contact: those of cloth, n_rows from `first` on, and the others."""
    own, other = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for a in range(4):
        i, share = contact["vertices"][a], contact["weights"][a]
        if first <= i < first + n_rows:
            own = vec.madd(own, vec.load(x, i), share)
        elif i >= 0:
            other = vec.madd(other, vec.load(x, i), share)
    return own, other


@kernel
def collect_springs(contacts, substep, last, first, repulsion, s):
    """Store the springs of contacts of cloth with obstacles in `s`; return their number, and that of their vertices.

    Cloth has the rows from `first` on, as many as s.place; x, the first guess, and x_start have those of obstacles as
    well. A spring acts if it is compressed at the start of the substep or at the guess, and is still compressed when
    gravity is added to the guess: cloth that rests on a surface is held in every substep, and cloth that lifts off is
    not held down. Friction acts like a spring to where the point would stick to its surface. At the expected sliding
    displacement, or at the present one if the point was not in contact in the `last` substep, that spring exerts the
    coefficient of friction times the normal force of the last substep. So a point within the friction cone comes to
    rest, one beyond it accelerates, and friction never reverses a motion.
    """
    x, x_start, w, dt = substep
    s.place[:] = -1
    count, touched = 0, 0
    for c in range(len(contacts)):
        contact = contacts[c]
        mobility = mobility_of(contact, w, first, len(s.place))
        if mobility == 0.0:
            continue
        start, other_start = both_sides(contact, first, len(s.place), x_start)
        at, other = both_sides(contact, first, len(s.place), x)
        n, wall = normal_of(contact), vec.scale(anchor_velocity_of(contact), dt)
        level = vec.dot(anchor_of(contact), n) + repulsion.offset
        stiffness = STIFFNESS / (mobility * dt * dt)
        level -= vec.dot(other, n)
        wall = vec.sub(wall, vec.sub(other, other_start))
        pressed = level - vec.dot(vec.add(start, wall), n)
        deep, guessed = repulsion.soft * repulsion.offset, level - vec.dot(at, n)
        if pressed > PENETRATES * deep or max(pressed, guessed) <= 0.0 or guessed <= vec.dot(repulsion.fall, n):
            continue
        level = min(level, vec.dot(at, n) + deep)
        for a in range(4):
            i = contact["vertices"][a]
            own = first <= i < first + len(s.place)
            s.vertices[count, a], s.weights[count, a] = i - first if own else -1, contact["weights"][a] if own else 0.0
        hold = repulsion.friction * stiffness * compression_before(s, count, last.pressed, first)
        slide = vec.norm(tangential(vec.sub(vec.sub(at, start), wall), n))
        expected = expected_slide(s, count, last.slid, first)
        s.stiffness[count, 0] = stiffness
        s.stiffness[count, 1] = hold / max(expected if expected > 0.0 else slide, repulsion.still)
        s.levels[count] = level
        vec.store(s.normals, count, n)
        vec.store(s.origins, count, vec.add(start, wall))
        touched = add_to_vertices(s, count, w, first, touched)
        count += 1
    share_stiffness(s, count, touched)
    link_springs(s, count, touched)
    return count, touched


@kernel
def compression_before(s, c, pressed, first):
    """Weighted mean of how far the springs of the vertices of spring `c` were compressed in the last substep."""
    total = 0.0
    for a in range(4):
        if s.vertices[c, a] >= 0:
            total += abs(s.weights[c, a]) * pressed[s.vertices[c, a] + first]
    return total


@kernel
def expected_slide(s, c, slid, first):
    """Weighted mean of how far the vertices of spring `c` are expected to slide in this substep; 0 if any of them was
    not in contact in the last one."""
    total = 0.0
    for a in range(4):
        if s.vertices[c, a] >= 0:
            far = slid[s.vertices[c, a] + first]
            if far == 0.0:
                return 0.0
            total += abs(s.weights[c, a]) * far
    return total


@kernel
def store_slides(s, count, x, still, most, out, pressed):
    """Store how far the vertices of springs slide along their surfaces at positions x, at least `still`, in out (n,),
    and by how much their springs are compressed in `pressed` (n,); 0 for others.

    A slide longer than before, the former `out`, is expected to grow by the same ratio again, at most by the factor
    `most` (1: not at all): friction holds vertices back while they begin to slide.
    """
    s.slides[:], s.supports[:], pressed[:] = 0.0, 0.0, 0.0
    for c in range(count):
        at = point_of(s, c, x)
        force = s.stiffness[c, 0] * max(s.levels[c] - vec.dot(at, vec.load(s.normals, c)), 0.0)
        for a in range(4):
            i, share = s.vertices[c, a], abs(s.weights[c, a])
            if i >= 0:
                pressed[i] += share * force
                s.supports[i] += share * s.stiffness[c, 0]
        slide = vec.norm(tangential(vec.sub(at, vec.load(s.origins, c)), vec.load(s.normals, c)))
        for a in range(4):
            i = s.vertices[c, a]
            if i >= 0:
                s.slides[i] = max(s.slides[i], slide, still)
    for i in range(len(out)):
        pressed[i] = pressed[i] / s.supports[i] if s.supports[i] > 0.0 else 0.0
        growth = s.slides[i] / out[i] if out[i] > 0.0 else 1.0
        out[i] = s.slides[i] * min(max(growth, 1.0), most)


@kernel
def add_to_vertices(s, c, w, first, touched):
    """Add spring `c` to the axes of its vertices, of which `touched` have springs already, and its squared weights to
    their totals; return how many vertices have springs now."""
    for a in range(4):
        i, share = s.vertices[c, a], s.weights[c, a] ** 2
        if i < 0 or w[i + first] == 0.0:
            continue
        k = s.place[i]
        if k < 0:
            k = touched
            touched += 1
            s.place[i], s.rows[k] = k, i
            vec.store(s.axes, k, (0.0, 0.0, 0.0))
            s.totals[k, 0] = 0.0
        vec.store(s.axes, k, vec.madd(vec.load(s.axes, k), vec.load(s.normals, c), share))
        s.totals[k, 0] += share
    return touched


@kernel
def share_stiffness(s, count, touched):
    """Divide the stiffness of springs by the number of springs that support the same vertices, where that exceeds 1,
    and sum the stiffness at each vertex.

    Otherwise pairs of edges that come and go while cloth slides would change the stiffness of its support, and with it
    the normal force of friction, which is this stiffness times the compression of the last substep.
    """
    for c in range(count):
        total, crowd = 0.0, 0.0
        for a in range(4):
            i, share = s.vertices[c, a], s.weights[c, a] ** 2
            if i >= 0 and s.place[i] >= 0:
                total += share
                crowd += share * s.totals[s.place[i], 0]
        less = total / max(crowd, total)
        s.stiffness[c, 0] *= less
        s.stiffness[c, 1] *= less
    s.totals[:touched] = 0.0
    for c in range(count):
        for a in range(4):
            i, share = s.vertices[c, a], s.weights[c, a] ** 2
            if i >= 0 and s.place[i] >= 0:
                s.totals[s.place[i], 0] += share * s.stiffness[c, 0]
                s.totals[s.place[i], 1] += share * s.stiffness[c, 1]


@kernel
def link_springs(s, count, touched):
    """Store which springs each vertex has, ascending."""
    s.start[: touched + 1] = 0
    for c in range(count):
        for a in range(4):
            i = s.vertices[c, a]
            if i >= 0 and s.place[i] >= 0:
                s.start[s.place[i] + 1] += 1
    for k in range(touched):
        s.start[k + 1] += s.start[k]
    for c in range(count):
        for a in range(4):
            i = s.vertices[c, a]
            if i >= 0 and s.place[i] >= 0:
                s.beside[s.start[s.place[i]]] = 4 * c + a
                s.start[s.place[i]] += 1
    for k in range(touched, 0, -1):
        s.start[k] = s.start[k - 1]
    s.start[0] = 0


@kernel
def add_spring_forces(s, first, last, x, out):
    """Add the forces of springs at positions x to the rows first..last-1 of `out` of their vertices."""
    for i in range(first, last):
        k = s.place[i]
        if k < 0:
            continue
        for at in range(s.start[k], s.start[k + 1]):
            c, a = s.beside[at] >> 2, s.beside[at] & 3
            n, point = vec.load(s.normals, c), point_of(s, c, x)
            slide = tangential(vec.sub(point, vec.load(s.origins, c)), n)
            force = vec.scale(n, s.stiffness[c, 0] * (s.levels[c] - vec.dot(point, n)))
            force = vec.madd(force, slide, -s.stiffness[c, 1])
            vec.store(out, i, vec.madd(vec.load(out, i), force, s.weights[c, a]))


@kernel
def add_spring_stiffness(s, m, first, last):
    """Add the stiffness of springs to the rows first..last-1 of the matrix `m` (`stiffness`) of their vertices.

    Products with it are computed from differences of displacements, and weights w of vertices with a total of W: for a
    spring of stiffness K, row a has w_a w_b K beside the diagonal, where all vertices of a spring have edges, and
    w_a W K is what remains if all of them move alike: s.held.
    """
    for i in range(first, last):
        k = s.place[i]
        if k < 0:
            continue
        for j in range(6):
            s.held[k, j] = 0.0
        for at in range(s.start[k], s.start[k + 1]):
            c, a = s.beside[at] >> 2, s.beside[at] & 3
            stiff = with_axis(vec.load(s.normals, c), s.stiffness[c, 0], s.stiffness[c, 1])
            own, total = s.weights[c, a], 0.0
            for b in range(4):
                j = s.vertices[c, b]
                if j >= 0:
                    total += s.weights[c, b]
                    if j != i:
                        add_to_block(m, i, j, stiff, own * s.weights[c, b])
            for j in range(6):
                s.held[k, j] += own * total * stiff[j]


@kernel
def add_to_block(m, i, j, stiff, share):
    """Add `share` times a symmetric block to that of vertices i and j, if the matrix has one."""
    for at in range(m.start[i], m.start[i + 1]):
        if m.place[at] == j:
            m.blocks[at, 0, 0] += share * stiff[0]
            m.blocks[at, 1, 1] += share * stiff[1]
            m.blocks[at, 2, 2] += share * stiff[2]
            m.blocks[at, 0, 1] += share * stiff[3]
            m.blocks[at, 1, 0] += share * stiff[3]
            m.blocks[at, 0, 2] += share * stiff[4]
            m.blocks[at, 2, 0] += share * stiff[4]
            m.blocks[at, 1, 2] += share * stiff[5]
            m.blocks[at, 2, 1] += share * stiff[5]
            return


@kernel
def stiffen(s, first, last, blocks):
    """Add the stiffness of the springs of vertices first..last-1 to their inverse diagonal blocks (n,6), and compute
    the factors that scale the other part of the preconditioner, which does not include the springs."""
    for i in range(first, last):
        k = s.place[i]
        if k < 0:
            continue
        n = vec.load(s.axes, k)
        length = vec.norm(n)
        n = vec.scale(n, 1.0 / length) if length > 0.0 else (0.0, 1.0, 0.0)
        c = 1.0  # converts the blocks to double precision
        b = (c * blocks[i, 0], c * blocks[i, 1], c * blocks[i, 2], c * blocks[i, 3], c * blocks[i, 4], c * blocks[i, 5])
        across = n[0] * n[0] * b[0] + n[1] * n[1] * b[1] + n[2] * n[2] * b[2]
        across += 2.0 * (n[0] * n[1] * b[3] + n[0] * n[2] * b[4] + n[1] * n[2] * b[5])
        along = 0.5 * (b[0] + b[1] + b[2] - across)
        f_n, f_t = 1.0 / (1.0 + s.totals[k, 0] * across), 1.0 / (1.0 + s.totals[k, 1] * along)
        factor = with_axis(n, math.sqrt(f_n), math.sqrt(f_t))
        old, own = inverse(b), with_axis(n, s.totals[k, 0], s.totals[k, 1])
        sums = (old[0] + own[0], old[1] + own[1], old[2] + own[2], old[3] + own[3], old[4] + own[4], old[5] + own[5])
        new = inverse(sums)
        for j in range(6):
            s.factors[k, j], blocks[i, j] = factor[j], new[j]


@kernel
def with_axis(n, across, along):
    """The symmetric matrix with the eigenvalue `across` along the unit vector n and `along` perpendicular to it."""
    d = across - along
    return (
        along + d * n[0] * n[0],
        along + d * n[1] * n[1],
        along + d * n[2] * n[2],
        d * n[0] * n[1],
        d * n[0] * n[2],
        d * n[1] * n[2],
    )


@kernel
def scaled(s, i, a):
    """The row `a` of vertex `i` times its factor, if it has springs."""
    k = s.place[i]
    if k < 0:
        return (1.0 * a[0], 1.0 * a[1], 1.0 * a[2])
    x, y, z = a
    f0, f1, f2 = s.factors[k, 0], s.factors[k, 1], s.factors[k, 2]
    f3, f4, f5 = s.factors[k, 3], s.factors[k, 4], s.factors[k, 5]
    return (f0 * x + f3 * y + f4 * z, f3 * x + f1 * y + f5 * z, f4 * x + f5 * y + f2 * z)
