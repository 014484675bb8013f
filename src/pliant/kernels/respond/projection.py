"""Projection response: move points out, apply friction, limit their velocity (Fuhrmann et al. 2003, 4.2 to 4.4).

One loop handles every kind of contact: the weights of the record determine which vertices move, and by how much.
Contacts are handled one after the other, in the order of their `batches`; those of an independent batch share no
vertex, so that threads may share them.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import anchor_of, anchor_velocity_of, normal_of
from ..dynamics.cloth import part
from ..jit import kernel, prange

PARTS = 16  # ranges of a batch that threads share
WORTH_THREADS = 3000  # contacts of a batch
FARTHEST = 4.0  # times the displacement of the weighted point: limit for each vertex


class Substep(NamedTuple):
    """The vertices in a substep."""

    x: np.ndarray  # (n,3) positions, which the response changes
    x_start: np.ndarray  # (n,3) positions at the start of the substep
    w: np.ndarray  # (n,) inverse masses; 0 for vertices that the response must not move
    dt: float  # seconds


class Restitution(NamedTuple):
    restitution: float
    slow: float  # m/s: contacts that approach no faster have none
    repelled: bool  # whether contacts that were not projected have been repelled by springs


class Friction(NamedTuple):
    coefficient: float
    simple: bool  # eq. 3 of Fuhrmann et al. 2003, proportional to the displacement; otherwise Coulomb friction
    printed: bool = False  # limited by the whole normal displacement, as the paper prints it; otherwise by the push
    bounce: float = 0.0  # printed: share by which the normal component is scaled up, for elastic collisions


@kernel
def weighted(contact, x):
    """sum(weights * x[vertices])"""
    total = (0.0, 0.0, 0.0)
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0:
            total = vec.madd(total, vec.load(x, i), contact["weights"][c])
    return total


@kernel
def spread(contact, x, w, r, total):
    """Move the weighted point by `r`, distributed by inverse mass; the momenta of the two sides cancel exactly.

    For an edge with one fixed end, the free end would move by r divided by its weight, which vanishes near the fixed
    end: so no vertex moves farther than `FARTHEST` times r, and the point moves less.
    """
    most = 0.0
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0:
            most = max(most, w[i] * abs(contact["weights"][c]))
    total = max(total, most / FARTHEST)
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0:
            vec.store(x, i, vec.madd(vec.load(x, i), r, w[i] * contact["weights"][c] / total))


@kernel
def mobility(contact, w):
    total = 0.0
    for c in range(4):
        i = contact["vertices"][c]
        if i >= 0:
            total += w[i] * contact["weights"][c] ** 2
    return total


@kernel
def friction_displacement(slide, push, friction):
    """Tangential correction for a tangential displacement `slide` under a normal correction of length `push`.

    simple: r_t = -c_f dx_t (eq. 3). Otherwise r_t = (beta - 1) dx_t with beta = max(|dx_t| - c_f |dx_n|, 0) / |dx_t|
    (eqs. 5 and 6; the printed minus of eq. 5 contradicts its text: 0 is stick, 1 is free). `push` stands for |dx_n|:
    the required correction, which for a particle that starts on the surface is its normal displacement, or, as
    printed, the normal displacement itself.
    """
    if friction.simple:
        return vec.scale(slide, -friction.coefficient)
    length = vec.norm(slide)
    if length == 0.0:
        return (0.0, 0.0, 0.0)
    return vec.scale(slide, -min(friction.coefficient * push / length, 1.0))


@kernel
def missing(at, n, anchor, eps):
    """How much the gap of a point `at` is smaller than `eps`, metres."""
    return eps - vec.dot(vec.sub(at, anchor), n)


@kernel
def correction(push, move, n, farthest, friction, again):
    """The push along `n` and the friction displacement of a contact whose gap misses `push`.

    move: displacement in the substep relative to the surface. Penetration of this substep is reversed at once; older
    penetration, or one that came past a boundary edge, only by `farthest`. again: whether the contact was corrected
    before in this substep. The push is 0 if there is nothing to correct.
    """
    inward = -vec.dot(move, n)
    slide = vec.madd(move, n, inward)
    push = min(push, inward + farthest)
    r = (0.0, 0.0, 0.0)
    if push <= 0.0:
        return 0.0, r
    # eq. 3 scales the displacement of a substep, so it is applied once; eqs. 5 and 6 scale with the push
    if not friction.simple or not again:
        r = friction_displacement(slide, abs(inward) if friction.printed else push, friction)
    return push * (1.0 + friction.bounce), r


@kernel
def project_range(contacts, order, substep, eps, friction, recovery, normal_correction, friction_correction):
    """Perform one pass over the contacts `order` (k,), and add the relative displacements to `normal_correction` (c,)
    and `friction_correction` (c,3). Older penetration is resolved at the speed `recovery` (m/s), so that vertices are
    not ejected.
    """
    x, x_start, w, dt = substep
    for k in range(len(order)):
        c = order[k]
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n, at = normal_of(contact), weighted(contact, x)
        push = missing(at, n, anchor_of(contact), eps)
        if push <= 0.0:
            continue
        drift = vec.scale(anchor_velocity_of(contact), dt)
        move = vec.sub(vec.sub(at, weighted(contact, x_start)), drift)
        push, r = correction(push, move, n, recovery * dt, friction, normal_correction[c] != 0.0)
        if push <= 0.0:
            continue
        normal_correction[c] += push
        vec.store(friction_correction, c, vec.add(vec.load(friction_correction, c), r))
        spread(contact, x, w, vec.madd(r, n, push), total)


@kernel(parallel=True)
def project(contacts, batches, substep, eps, friction, recovery, normal_correction, friction_correction):
    """Perform one pass over all contacts, batch after batch, as `project_range`."""
    order, start, independent = batches
    for b in range(len(independent)):
        first, last = start[b], start[b + 1]
        if independent[b] and last - first >= WORTH_THREADS:
            for p in prange(PARTS):
                i, j = part(first, last, p, PARTS)
                project_range(
                    contacts, order[i:j], substep, eps, friction, recovery, normal_correction, friction_correction
                )
        else:
            rows = order[first:last]
            project_range(contacts, rows, substep, eps, friction, recovery, normal_correction, friction_correction)


@kernel
def copy_velocities(contacts, v, out):
    """Copy the velocities (n,3) of the vertices of contacts to `out`."""
    for c in range(len(contacts)):
        contact = contacts[c]
        for k in range(4):
            i = contact["vertices"][k]
            if i >= 0:
                vec.store(out, i, vec.load(v, i))


@kernel
def change_of_speed(leaving, arriving, restitution, slow, pushed):
    """The change of the separating velocity `leaving` of a contact that approached at the speed `arriving`.

    It becomes the restitution times the approach speed if this exceeds `slow`. Slower contacts have no restitution, so
    that bodies come to rest: their separating velocity is limited to zero, because projection must not eject vertices.
    pushed: whether the contact was projected. Others have been repelled by springs, which must not eject vertices,
    either: they separate no faster than before, or than `slow` / 4.
    """
    wanted = restitution * arriving if arriving > slow else 0.0
    if not pushed:
        wanted = max(-arriving, 0.25 * slow)
    return wanted - leaving if leaving > wanted or (wanted > 0.0 and pushed) else 0.0


@kernel
def restitution_range(contacts, order, v, v_before, w, rule, normal_correction):
    """Change the velocities of the contacts `order` (k,) by `change_of_speed`; those that were not projected only if
    springs repelled them (rule.repelled)."""
    for k in range(len(order)):
        c = order[k]
        if normal_correction[c] == 0.0 and not rule.repelled:
            continue
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n, wall = normal_of(contact), anchor_velocity_of(contact)
        leaving = vec.dot(vec.sub(weighted(contact, v), wall), n)
        arriving = -vec.dot(vec.sub(weighted(contact, v_before), wall), n)
        change = change_of_speed(leaving, arriving, rule.restitution, rule.slow, normal_correction[c] != 0.0)
        if change != 0.0:
            spread(contact, v, w, vec.scale(n, change), total)


@kernel(parallel=True)
def apply_restitution(contacts, batches, v, v_before, w, rule, normal_correction):
    """Change the velocities of all contacts, batch after batch, as `restitution_range`."""
    order, start, independent = batches
    for b in range(len(independent)):
        first, last = start[b], start[b + 1]
        if independent[b] and last - first >= WORTH_THREADS:
            for p in prange(PARTS):
                i, j = part(first, last, p, PARTS)
                restitution_range(contacts, order[i:j], v, v_before, w, rule, normal_correction)
        else:
            restitution_range(contacts, order[first:last], v, v_before, w, rule, normal_correction)
