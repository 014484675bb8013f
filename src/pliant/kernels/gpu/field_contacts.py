"""The loops of contacts with distance fields on the card: detection, projection with friction, restitution. `Moving`,
`Rules` and `Tally` are those of `substep`."""

import math
from typing import NamedTuple

import numpy as np

from .card import cuda
from .jit import kernel, prange
from .scratch import scratch
from .sources import twin
from .substep import LISTED, position
from .wide import load_row

_rigid, _projection, vec = twin("motion.rigid"), twin("respond.projection"), twin("vec")
_bricks, _dense = twin("fields.bricks_at"), twin("fields.dense")
Friction, missing, correction = _projection.Friction, _projection.missing, _projection.correction
change_of_speed, FARTHEST = _projection.change_of_speed, _projection.FARTHEST
pose_rows, rotate, rotate_back, sample_at = _rigid.rows, _rigid.rotate, _rigid.rotate_back, _bricks.sample_at
sample_range, VANISHED = _dense.sample_range, _dense.VANISHED


class Places(NamedTuple):
    """Where bodies are, of each scene, at the beginning and at the end of every substep."""

    pose: np.ndarray  # (t+1,s,bodies,3,4)
    moved: np.ndarray  # (t,s,bodies) whether either is not the place at which fields were baked


class Reach(NamedTuple):
    """What a detector finds."""

    number: int  # of the detector
    body: int  # the obstacle
    first: int  # its first vertex
    within: np.ndarray  # (s,) metres
    offset: np.ndarray  # (s,) metres, of the layer
    slack: float  # see kernels.fields.edges.Reach
    known: float


class Scenes(NamedTuple):
    """What detectors read of scenes."""

    moving: tuple  # `substep.Moving`
    rules: tuple  # `substep.Rules`
    places: Places


class Touching(NamedTuple):
    """The contacts of elements with a field: vertices whose distance is at most `within`, and listed edges."""

    distance: np.ndarray  # (k,) metres; of vertices only
    normal: np.ndarray  # (k,3)
    anchor: np.ndarray  # (k,3)
    wall: np.ndarray  # (k,3) velocity of the anchor
    pushed: np.ndarray  # (k,) metres
    arriving: np.ndarray  # (k,) approach speed before the response


class Listed(NamedTuple):
    """The edges whose midpoints touch, by colour."""

    edges: np.ndarray  # (m,2) vertices
    colour: np.ndarray  # (m,)
    start: np.ndarray  # (colours+1,) first place of each
    rows: np.ndarray  # (m,) edges
    counts: np.ndarray  # (colours,)


@kernel
def dense_at(field, x, y, z):
    """Signed distance and gradient of a dense field, as `bricks_at.sample_at`."""
    p, d, g = scratch((1, 3), np.float64), scratch(1, np.float64), scratch((1, 3), np.float64)
    p[0, 0], p[0, 1], p[0, 2] = x, y, z
    sample_range(field, p, 0, 1, d, g)
    return d[0], (g[0, 0], g[0, 1], g[0, 2])


@kernel
def to_body(p, place):
    a, b, c, t = pose_rows(place)
    return rotate_back(a, b, c, vec.sub(p, t))


@kernel
def store_contact(scenes, reach, s, now, touching, k, found):
    """Store contact `k`: `found` are its distance and gradient, and the point in the coordinates of the body. Return
    whether it has a normal."""
    (d, g, q), places = found, scenes.places
    length = math.sqrt(vec.norm2(g))
    n = (0.0, 0.0, 0.0)
    if not length < VANISHED:
        n = vec.scale(g, 1.0 / length)
    anchor = (q[0] - d * n[0], q[1] - d * n[1], q[2] - d * n[2])
    wall = (0.0, 0.0, 0.0)
    if places.moved[now, s, reach.body]:
        a, b, c, t = pose_rows(places.pose[now + 1, s, reach.body])
        a_0, b_0, c_0, t_0 = pose_rows(places.pose[now, s, reach.body])
        n = rotate(a, b, c, n)
        before = vec.add(rotate(a_0, b_0, c_0, anchor), t_0)
        anchor = vec.add(rotate(a, b, c, anchor), t)
        wall = vec.scale(vec.sub(anchor, before), scenes.rules.per_second[s])
    offset = reach.offset[s]
    if offset != 0.0:
        anchor = (anchor[0] + offset * n[0], anchor[1] + offset * n[1], anchor[2] + offset * n[2])
    vec.store(touching.normal, k, n)
    vec.store(touching.anchor, k, anchor)
    vec.store(touching.wall, k, wall)
    return not length < VANISHED


@kernel
def list_vanished(tally, row, which):
    at = cuda.atomic.add(tally.vanished, 0, 1)
    if at < LISTED:
        tally.rows[at], tally.which[at] = row, which


@kernel
def may_touch(d_i, d_j, far, reach):
    """Whether the midpoint of an edge may be within the distance, by the distances of its ends, nan beyond the band;
    far: the distance and half the length of the edge. As `fields.edges.collect_in_reach`."""
    beyond = math.isnan(d_i) and math.isnan(d_j)
    return not (d_i > far + reach.slack or d_j > far + reach.slack or (beyond and far <= reach.known))


def _detection(sample):
    """The loops that find contacts with fields of one kind, by their function `sample`."""

    @kernel(parallel=True)
    def touch_vertices(field, reach, scenes, touching, tally):
        """Find the contacts of the vertices from reach.first on."""
        moving, places = scenes.moving, scenes.places
        for k in prange(len(touching.distance)):
            i, now = reach.first + k, tally.now[0]
            s, q = moving.scene_of[i], position(load_row(moving.x, i))
            if places.moved[now, s, reach.body]:
                q = to_body(q, places.pose[now + 1, s, reach.body])
            d, g = sample(field, q[0], q[1], q[2])
            touching.distance[k] = d
            if d <= reach.within[s] and not store_contact(scenes, reach, s, now, touching, k, (d, g, q)):
                list_vanished(tally, k, reach.number)

    @kernel(parallel=True)
    def touch_midpoints(field, reach, scenes, vertices, listed, touching, tally):
        """Find the contacts of midpoints of edges."""
        moving, places = scenes.moving, scenes.places
        for e in prange(len(listed.edges)):
            i, j, now = listed.edges[e, 0], listed.edges[e, 1], tally.now[0]
            d_i, d_j = vertices.distance[i - reach.first], vertices.distance[j - reach.first]
            s, a, b = moving.scene_of[i], position(load_row(moving.x, i)), position(load_row(moving.x, j))
            if places.moved[now, s, reach.body]:
                place = places.pose[now + 1, s, reach.body]
                a, b = to_body(a, place), to_body(b, place)
            far = reach.within[s] + 0.5 * math.sqrt(vec.norm2(vec.sub(a, b)))
            if may_touch(d_i, d_j, far, reach):
                q = vec.mix(a, b, 0.5)
                d, g = sample(field, q[0], q[1], q[2])
                if d <= reach.within[s]:
                    if not store_contact(scenes, reach, s, now, touching, e, (d, g, q)):
                        list_vanished(tally, -1 - e, reach.number)
                    colour = listed.colour[e]
                    listed.rows[listed.start[colour] + cuda.atomic.add(listed.counts, colour, 1)] = e

    return touch_vertices, touch_midpoints


DETECTION = {"Bricks": _detection(sample_at), "Dense": _detection(dense_at)}


@kernel
def friction_of(rules, s):
    return Friction(rules.friction[s], rules.simple[s], False, 0.0)


@kernel(parallel=True)
def project_vertices(reach, moving, rules, touching, farthest, dt):
    """Push vertices out, with friction, as `respond.projection.project_range`; farthest: metres."""
    for k in prange(len(touching.distance)):
        i = reach.first + k
        s = moving.scene_of[i]
        if not touching.distance[k] <= reach.within[s]:
            continue
        touching.pushed[k] = 0.0
        if moving.w[i] == 0.0:
            continue
        n, wall = vec.load(touching.normal, k), vec.load(touching.wall, k)
        at = vec.madd((0.0, 0.0, 0.0), vec.load(moving.x, i), 1.0)
        push = missing(at, n, vec.load(touching.anchor, k), rules.eps[s])
        if push <= 0.0:
            continue
        start = vec.madd((0.0, 0.0, 0.0), vec.load(moving.x_start, i), 1.0)
        move = vec.sub(vec.sub(at, start), vec.scale(wall, dt))
        push, r = correction(push, move, n, farthest, friction_of(rules, s), False)
        if push <= 0.0:
            continue
        touching.pushed[k] = push
        touching.arriving[k] = -vec.dot(vec.sub(vec.madd((0.0, 0.0, 0.0), vec.load(moving.v, i), 1.0), wall), n)
        vec.store(moving.x, i, vec.madd(vec.load(moving.x, i), vec.madd(r, n, push), 1.0))


@kernel
def mean(x, i, j):
    """The midpoint of rows i and j, as `respond.projection.weighted`."""
    return vec.madd(vec.madd((0.0, 0.0, 0.0), vec.load(x, i), 0.5), vec.load(x, j), 0.5)


@kernel
def spread_over_ends(x, i, j, w, r):
    """Move the midpoint of rows i and j by `r`, as `respond.projection.spread`."""
    total = max(w[i] * 0.25 + w[j] * 0.25, max(w[i] * 0.5, w[j] * 0.5) / FARTHEST)
    vec.store(x, i, vec.madd(vec.load(x, i), r, w[i] * 0.5 / total))
    vec.store(x, j, vec.madd(vec.load(x, j), r, w[j] * 0.5 / total))


@kernel(parallel=True)
def project_midpoints(listed, colour, moving, rules, touching, farthest, dt):
    """As `project_vertices`, for the edges of one colour."""
    for q in prange(listed.counts[colour]):
        e = listed.rows[listed.start[colour] + q]
        i, j = listed.edges[e, 0], listed.edges[e, 1]
        touching.pushed[e] = 0.0
        if moving.w[i] * 0.25 + moving.w[j] * 0.25 == 0.0:
            continue
        s = moving.scene_of[i]
        n, wall = vec.load(touching.normal, e), vec.load(touching.wall, e)
        at = mean(moving.x, i, j)
        push = missing(at, n, vec.load(touching.anchor, e), rules.eps[s])
        if push <= 0.0:
            continue
        move = vec.sub(vec.sub(at, mean(moving.x_start, i, j)), vec.scale(wall, dt))
        push, r = correction(push, move, n, farthest, friction_of(rules, s), False)
        if push <= 0.0:
            continue
        touching.pushed[e] = push
        touching.arriving[e] = -vec.dot(vec.sub(mean(moving.v, i, j), wall), n)
        spread_over_ends(moving.x, i, j, moving.w, vec.madd(r, n, push))


@kernel(parallel=True)
def restitute_vertices(reach, moving, rules, touching):
    """Change velocities of vertices that were pushed, as `respond.projection.restitution_range`."""
    for k in prange(len(touching.distance)):
        i = reach.first + k
        s = moving.scene_of[i]
        if touching.distance[k] <= reach.within[s] and touching.pushed[k] != 0.0:
            n, wall = vec.load(touching.normal, k), vec.load(touching.wall, k)
            leaving = vec.dot(vec.sub(vec.madd((0.0, 0.0, 0.0), vec.load(moving.v, i), 1.0), wall), n)
            change = change_of_speed(leaving, touching.arriving[k], rules.restitution[s], rules.slow[s], True)
            if change != 0.0:
                vec.store(moving.v, i, vec.madd(vec.load(moving.v, i), vec.scale(n, change), 1.0))


@kernel(parallel=True)
def restitute_midpoints(listed, colour, moving, rules, touching):
    for q in prange(listed.counts[colour]):
        e = listed.rows[listed.start[colour] + q]
        if touching.pushed[e] != 0.0:
            i, j = listed.edges[e, 0], listed.edges[e, 1]
            s = moving.scene_of[i]
            n, wall = vec.load(touching.normal, e), vec.load(touching.wall, e)
            leaving = vec.dot(vec.sub(mean(moving.v, i, j), wall), n)
            change = change_of_speed(leaving, touching.arriving[e], rules.restitution[s], rules.slow[s], True)
            if change != 0.0:
                spread_over_ends(moving.v, i, j, moving.w, vec.scale(n, change))
