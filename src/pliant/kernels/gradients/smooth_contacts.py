"""Contact of vertices with a body, with friction, smoothed over a width, and its adjoint.

As `respond/projection.py` in each substep, but every case distinction is blended over an interval by a function with
three continuous derivatives. Names that begin with of_ are derivatives with respect to what follows.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..jit import kernel
from .stencils import ON_EDGE, ON_FACE, ON_VERTEX

LIMIT = 0.2  # width of the blend at the largest speed of recovery, relative to it
SLIP = 0.5  # width of the blend between sticking and sliding, relative to the force at which a vertex slips
TINY = 1e-300


class Touching(NamedTuple):
    """The nearest features of the vertices (k,) that may touch a body, as `Stencils` has them."""

    vertex: np.ndarray  # (k,)
    kind: np.ndarray  # (k,) u1
    rows: np.ndarray  # (k,3) vertices of the body
    sign: np.ndarray  # (k,)
    weights: np.ndarray  # (k,3)
    direction: np.ndarray  # (k,3)
    distance: np.ndarray  # (k,)


class Body(NamedTuple):
    """The vertices of a body at the start and at the end of a substep."""

    before: np.ndarray  # (b,3)
    after: np.ndarray  # (b,3)


class Rule(NamedTuple):
    """Constants of contact."""

    eps: float  # m: contact offset
    width: float  # m: interval of gaps around it over which contact sets in
    slow: float  # m/s: interval of separating speeds around 0 over which they are taken away
    friction: float
    recovery: float  # m/s: largest speed at which penetration from before the substep is resolved
    dt: float  # s


class ContactRecord(NamedTuple):
    """Of the vertices (k,) in `Touching`."""

    x: np.ndarray  # (k,3) positions before the projection
    v: np.ndarray  # (k,3) velocities before separation is slowed down
    of_x: np.ndarray  # (k,3) derivatives with respect to x of the velocities afterwards


class ContactAdjoint(NamedTuple):
    """Derivatives with respect to a body, and to friction, to which those of each substep are added."""

    before: np.ndarray  # (b,3)
    after: np.ndarray  # (b,3)
    friction: np.ndarray  # (1,)


@kernel
def ramp(t):
    """max(t, 0) with three continuous derivatives, equal to it outside of +-1/2; its first and second derivative."""
    if t <= -0.5:
        return 0.0, 0.0, 0.0
    if t >= 0.5:
        return t, 1.0, 0.0
    s = t + 0.5
    c = 1.0 - 4.0 * t * t
    s3 = s * s * s
    return s3 * s * (2.5 - s * (3.0 - s)), s3 * (10.0 - s * (15.0 - 6.0 * s)), 1.875 * c * c


@kernel
def limited(p, most):
    """min(p, most) of a length p and a limit, both at least 0; derivatives with respect to both."""
    if p <= (1.0 - 0.5 * LIMIT) * most:
        return p, 1.0, 0.0
    if p >= (1.0 + 0.5 * LIMIT) * most:
        return most, 0.0, 1.0
    ratio = p / most
    value, slope, _ = ramp((ratio - 1.0) / LIMIT)
    return p - most * LIMIT * value, 1.0 - slope, ratio * slope - LIMIT * value


@kernel
def stuck(a):
    """min(a, 1), the share of sliding that friction takes away, and its derivative."""
    if a >= 1.0 + 0.5 * SLIP:
        return 1.0, 0.0
    value, slope, _ = ramp((a - 1.0) / SLIP)
    return a - SLIP * value, 1.0 - slope


@kernel
def gap_of(feature, at, p):
    """Signed distance, direction from the body and weights of the nearest point, of a point p whose nearest feature is
    known; at: the corners of its face. Features that are not differentiated have constant direction and weights."""
    kind, sign, direction, weights = feature
    a, b, c = at
    q, e = vec.sub(p, a), vec.sub(b, a)
    if kind == ON_FACE:
        f = vec.sub(c, a)
        n = vec.cross(e, f)
        size = vec.norm(n)
        n2 = vec.scale(n, 1.0 / (size * size))
        n = vec.scale(n, sign / size)
        u, v = vec.dot(q, vec.cross(f, n2)), vec.dot(q, vec.cross(n2, e))
        return vec.dot(n, q), n, (1.0 - u - v, u, v)
    if kind == ON_EDGE:
        u = vec.dot(q, e) / vec.norm2(e)
        q = vec.madd(q, e, -u)
        size = vec.norm(q)
        return sign * size, vec.scale(q, sign / size), (1.0 - u, u, 0.0)
    if kind == ON_VERTEX:
        size = vec.norm(q)
        return sign * size, vec.scale(q, sign / size), (1.0, 0.0, 0.0)
    near = vec.madd(vec.madd(vec.scale(a, weights[0]), b, weights[1]), c, weights[2])
    return vec.dot(direction, vec.sub(p, near)), direction, weights


@kernel
def gap_adjoint(feature, at, p, of_gap, of_n, of_weights):
    """Derivatives with respect to the point and the three corners, given those of the results of `gap_of`; feature: its
    first four arguments."""
    kind, sign, direction, weights = feature
    a, b, c = at
    q, e = vec.sub(p, a), vec.sub(b, a)
    zero = (0.0, 0.0, 0.0)
    if kind == ON_FACE:
        f = vec.sub(c, a)
        n = vec.cross(e, f)
        size = vec.norm(n)
        n2 = vec.scale(n, 1.0 / (size * size))
        n = vec.scale(n, sign / size)
        of_u, of_v = of_weights[1] - of_weights[0], of_weights[2] - of_weights[0]
        of_n = vec.madd(of_n, q, of_gap)
        of_q = vec.madd(vec.madd(vec.scale(n, of_gap), vec.cross(f, n2), of_u), vec.cross(n2, e), of_v)
        of_f, of_e = vec.scale(vec.cross(n2, q), of_u), vec.scale(vec.cross(q, n2), of_v)
        of_n2 = vec.add(vec.scale(vec.cross(q, f), of_u), vec.scale(vec.cross(e, q), of_v))
        across = vec.scale(vec.madd(of_n, n, -vec.dot(n, of_n)), sign / size)
        of_cross = vec.madd(across, vec.madd(of_n2, n, -2.0 * vec.dot(n, of_n2)), 1.0 / (size * size))
        of_e = vec.add(of_e, vec.cross(f, of_cross))
        of_f = vec.add(of_f, vec.cross(of_cross, e))
        return of_q, vec.sub(zero, vec.add(of_q, vec.add(of_e, of_f))), of_e, of_f
    if kind == ON_EDGE:
        per = 1.0 / vec.norm2(e)
        u = vec.dot(q, e) * per
        h = vec.madd(q, e, -u)
        size = vec.norm(h)
        n = vec.scale(h, 1.0 / size)
        of_h = vec.madd(vec.scale(vec.madd(of_n, n, -vec.dot(n, of_n)), sign / size), n, sign * of_gap)
        of_u = (of_weights[1] - of_weights[0] - vec.dot(of_h, e)) * per
        of_q = vec.madd(of_h, e, of_u)
        of_e = vec.madd(vec.madd(vec.scale(of_h, -u), q, of_u), e, -2.0 * u * of_u)
        return of_q, vec.sub(zero, vec.add(of_q, of_e)), of_e, zero
    if kind == ON_VERTEX:
        size = vec.norm(q)
        n = vec.scale(q, 1.0 / size)
        of_q = vec.madd(vec.scale(vec.madd(of_n, n, -vec.dot(n, of_n)), sign / size), n, sign * of_gap)
        return of_q, vec.scale(of_q, -1.0), zero, zero
    of_q = vec.scale(direction, of_gap)
    return of_q, vec.scale(of_q, -weights[0]), vec.scale(of_q, -weights[1]), vec.scale(of_q, -weights[2])


@kernel
def feature_of(touching, c):
    """Kind, sign, constant direction and constant weights of a nearest feature."""
    return touching.kind[c], touching.sign[c], vec.load(touching.direction, c), vec.load(touching.weights, c)


@kernel
def rows_of(touching, c):
    return touching.rows[c, 0], touching.rows[c, 1], touching.rows[c, 2]


@kernel
def corners_of(x, rows):
    return vec.load(x, rows[0]), vec.load(x, rows[1]), vec.load(x, rows[2])


@kernel
def drifts(body, rows):
    """How far three vertices of a body move in the substep."""
    to, start = corners_of(body.after, rows), corners_of(body.before, rows)
    return vec.sub(to[0], start[0]), vec.sub(to[1], start[1]), vec.sub(to[2], start[2])


@kernel
def drift_of(moves, weights):
    return vec.madd(vec.madd(vec.scale(moves[0], weights[0]), moves[1], weights[1]), moves[2], weights[2])


@kernel
def push_of(gap, n, move, rule):
    """Push along the normal and the share of sliding that friction takes away; `move`: of the vertex relative to the
    surface in this substep."""
    t = (gap - rule.eps) / rule.width
    push = rule.width * (ramp(t)[0] - t)
    inward = -vec.dot(move, n)
    most = rule.width * ramp((inward + rule.recovery * rule.dt) / rule.width)[0]
    push = limited(push, most)[0]
    slide = vec.norm(vec.madd(move, n, inward))
    share = stuck(rule.friction * push / max(slide, TINY))[0] if push > 0.0 else 0.0
    return push, share


@kernel
def push_adjoint(gap, n, move, rule, given):
    """Derivatives with respect to gap, n, move and friction, given those of p + push n - share slide."""
    t = (gap - rule.eps) / rule.width
    value, slope, _ = ramp(t)
    inward = -vec.dot(move, n)
    reach, reach_slope, _ = ramp((inward + rule.recovery * rule.dt) / rule.width)
    push, by_push, by_most = limited(rule.width * (value - t), rule.width * reach)
    of_push, of_friction = vec.dot(given, n), 0.0
    of_n, of_slide = vec.scale(given, push), (0.0, 0.0, 0.0)
    slide = vec.madd(move, n, inward)
    length = vec.norm(slide)
    if push > 0.0:
        share, by_ratio = stuck(rule.friction * push / max(length, TINY))
        of_slide = vec.scale(given, -share)
        if by_ratio > 0.0 and length > 0.0:  # it sticks otherwise
            of_ratio = -vec.dot(given, slide) * by_ratio / length
            of_friction = of_ratio * push
            of_push += of_ratio * rule.friction
            of_slide = vec.madd(of_slide, slide, -of_ratio * rule.friction * push / (length * length))
    of_inward = of_push * by_most * reach_slope + vec.dot(of_slide, n)
    of_n = vec.madd(vec.madd(of_n, of_slide, inward), move, -of_inward)
    return of_push * by_push * (slope - 1.0), of_n, vec.madd(of_slide, n, -of_inward), of_friction


@kernel
def project_smoothly(touching, body, x_start, rule, record, x):
    """Project x (n,3) out of the body, and record where the vertices were before."""
    for c in range(len(touching.vertex)):
        i, rows = touching.vertex[c], rows_of(touching, c)
        p = vec.load(x, i)
        vec.store(record.x, c, p)
        gap, n, weights = gap_of(feature_of(touching, c), corners_of(body.after, rows), p)
        if gap >= rule.eps + 0.5 * rule.width:
            continue
        move = vec.sub(vec.sub(p, vec.load(x_start, i)), drift_of(drifts(body, rows), weights))
        push, share = push_of(gap, n, move, rule)
        slide = vec.madd(move, n, -vec.dot(move, n))
        vec.store(x, i, vec.madd(vec.madd(p, n, push), slide, -share))


@kernel
def projection_adjoint(touching, body, x_start, rule, record, of_start, of_x, out):
    """Turn of_x (n,3), the derivatives with respect to the positions after `project_smoothly`, into those before, and
    add those with respect to x_start to of_start (n,3); record.of_x is added to of_x."""
    for c in range(len(touching.vertex)):
        i, rows = touching.vertex[c], rows_of(touching, c)
        p, given, feature = vec.load(record.x, c), vec.load(of_x, i), feature_of(touching, c)
        at, moves = corners_of(body.after, rows), drifts(body, rows)
        gap, n, weights = gap_of(feature, at, p)
        if gap >= rule.eps + 0.5 * rule.width:
            continue
        move = vec.sub(vec.sub(p, vec.load(x_start, i)), drift_of(moves, weights))
        of_gap, of_n, of_move, of_friction = push_adjoint(gap, n, move, rule, given)
        out.friction[0] += of_friction
        vec.store(of_start, i, vec.sub(vec.load(of_start, i), of_move))
        of_p = surface_adjoint(feature, at, p, (of_gap, of_n, vec.scale(of_move, -1.0)), moves, weights, rows, out)
        of_p = vec.add(of_p, vec.add(of_move, vec.load(record.of_x, c)))
        vec.store(of_x, i, vec.add(given, of_p))


@kernel
def surface_adjoint(feature, at, p, given, moves, weights, rows, out):
    """Add the derivatives with respect to the corners of a feature to `out`, and return that with respect to the point,
    given those with respect to its gap, normal and the drift of its nearest point."""
    of_gap, of_n, of_drift = given
    by_weight = (vec.dot(of_drift, moves[0]), vec.dot(of_drift, moves[1]), vec.dot(of_drift, moves[2]))
    of_p, of_a, of_b, of_c = gap_adjoint(feature, at, p, of_gap, of_n, by_weight)
    add_drifted(out, rows[0], of_a, vec.scale(of_drift, weights[0]))
    add_drifted(out, rows[1], of_b, vec.scale(of_drift, weights[1]))
    add_drifted(out, rows[2], of_c, vec.scale(of_drift, weights[2]))
    return of_p


@kernel
def add_drifted(out, i, of_after, of_move):
    vec.store(out.after, i, vec.add(vec.load(out.after, i), vec.add(of_after, of_move)))
    vec.store(out.before, i, vec.sub(vec.load(out.before, i), of_move))


@kernel
def slow_separation(touching, body, rule, record, v):
    """Take away the speed at which projected vertices separate from the body: projection must not eject them. Record
    the velocities before."""
    for c in range(len(touching.vertex)):
        i, rows = touching.vertex[c], rows_of(touching, c)
        p, speed = vec.load(record.x, c), vec.load(v, i)
        vec.store(record.v, c, speed)
        gap, n, weights = gap_of(feature_of(touching, c), corners_of(body.after, rows), p)
        if gap >= rule.eps + 0.5 * rule.width:
            continue
        held = 1.0 - ramp((gap - rule.eps) / rule.width)[1]
        relative = vec.madd(speed, drift_of(drifts(body, rows), weights), -1.0 / rule.dt)
        leaving = rule.slow * ramp(vec.dot(relative, n) / rule.slow)[0]
        vec.store(v, i, vec.madd(speed, n, -held * leaving))


@kernel
def separation_adjoint(touching, body, rule, record, of_v, out):
    """Turn of_v (n,3), the derivatives with respect to the velocities after `slow_separation`, into those before, and
    set record.of_x to those with respect to the positions before the projection."""
    for c in range(len(touching.vertex)):
        i, rows = touching.vertex[c], rows_of(touching, c)
        p, given, feature = vec.load(record.x, c), vec.load(of_v, i), feature_of(touching, c)
        vec.store(record.of_x, c, (0.0, 0.0, 0.0))
        at, moves = corners_of(body.after, rows), drifts(body, rows)
        gap, n, weights = gap_of(feature, at, p)
        if gap >= rule.eps + 0.5 * rule.width:
            continue
        _, slope, bend = ramp((gap - rule.eps) / rule.width)
        held = 1.0 - slope
        relative = vec.madd(vec.load(record.v, c), drift_of(moves, weights), -1.0 / rule.dt)
        value, by_speed, _ = ramp(vec.dot(relative, n) / rule.slow)
        along = vec.dot(n, given)
        of_speed = -held * along * by_speed
        of_gap = rule.slow * value * along * bend / rule.width
        of_n = vec.madd(vec.scale(given, -held * rule.slow * value), relative, of_speed)
        of_drift = vec.scale(n, -of_speed / rule.dt)
        of_p = surface_adjoint(feature, at, p, (of_gap, of_n, of_drift), moves, weights, rows, out)
        vec.store(record.of_x, c, of_p)
        vec.store(of_v, i, vec.madd(given, n, of_speed))
