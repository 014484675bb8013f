"""Projection response: move points out, apply friction, limit their velocity (Fuhrmann et al. 2003, 4.2 to 4.4).

One loop handles every kind of contact: the weights of the record determine which vertices move, and by how much.
"""

from typing import NamedTuple

import numpy as np

from .. import vec
from ..accessors import anchor_of, anchor_velocity_of, normal_of
from ..jit import kernel

FARTHEST = 4.0  # times the displacement of the weighted point: limit for each vertex


class Substep(NamedTuple):
    """The vertices in a substep."""

    x: np.ndarray  # (n,3) positions, which the response changes
    x_start: np.ndarray  # (n,3) positions at the start of the substep
    w: np.ndarray  # (n,) inverse masses; 0 for vertices that the response must not move
    dt: float  # seconds


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
def project(contacts, substep, eps, friction, recovery, normal_correction, friction_correction):
    """Perform one pass over all contacts in order, and add the relative displacements to `normal_correction` (c,) and
    `friction_correction` (c,3).

    Penetration of this substep is reversed at once. Older penetration, or one that came past a boundary edge, is
    resolved at the speed `recovery` (m/s), so that vertices are not ejected.
    """
    x, x_start, w, dt = substep
    for c in range(len(contacts)):
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n, anchor = normal_of(contact), anchor_of(contact)
        at = weighted(contact, x)
        push = eps - vec.dot(vec.sub(at, anchor), n)
        if push <= 0.0:
            continue
        drift = vec.scale(anchor_velocity_of(contact), dt)
        move = vec.sub(vec.sub(at, weighted(contact, x_start)), drift)
        inward = -vec.dot(move, n)
        slide = vec.madd(move, n, inward)
        push = min(push, inward + recovery * dt)
        if push <= 0.0:
            continue
        r = (0.0, 0.0, 0.0)
        # eq. 3 scales the displacement of a substep, so it is applied once; eqs. 5 and 6 scale with the push
        if not friction.simple or normal_correction[c] == 0.0:
            r = friction_displacement(slide, abs(inward) if friction.printed else push, friction)
        push *= 1.0 + friction.bounce
        normal_correction[c] += push
        vec.store(friction_correction, c, vec.add(vec.load(friction_correction, c), r))
        spread(contact, x, w, vec.madd(r, n, push), total)


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
def apply_restitution(contacts, v, v_before, w, restitution, slow, normal_correction, repelled):
    """Set the separating velocity to the restitution times the approach velocity where pairs approach faster than
    `slow`.

    Slower contacts have no restitution, so that bodies come to rest: their separating velocity is limited to zero,
    because projection must not eject vertices. repelled: whether contacts that were not projected have been repelled by
    springs; these must not eject vertices, either: they separate no faster than before, or than `slow` / 4.
    """
    for c in range(len(contacts)):
        if normal_correction[c] == 0.0 and not repelled:
            continue
        contact = contacts[c]
        total = mobility(contact, w)
        if total == 0.0:
            continue
        n, wall = normal_of(contact), anchor_velocity_of(contact)
        leaving = vec.dot(vec.sub(weighted(contact, v), wall), n)
        arriving = -vec.dot(vec.sub(weighted(contact, v_before), wall), n)
        wanted = restitution * arriving if arriving > slow else 0.0
        if normal_correction[c] == 0.0:
            wanted = max(-arriving, 0.25 * slow)
        if leaving > wanted or (wanted > 0.0 and normal_correction[c] > 0.0):
            spread(contact, v, w, vec.scale(n, wanted - leaving), total)
