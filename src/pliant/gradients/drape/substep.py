"""A substep of a differentiable drape, and its adjoint."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels.dynamics import damping as _damping
from ...kernels.dynamics.cloth import relax_serial
from ...kernels.dynamics.damping import Moving
from ...kernels.gradients import smooth_contacts as _contacts
from ...kernels.gradients import xpbd as _xpbd
from ...kernels.gradients.prediction import PredictionAdjoint, prediction_adjoint
from ...kernels.gradients.smooth_contacts import Body, ContactAdjoint, ContactRecord, Rule
from ...kernels.gradients.xpbd import Record, SweepAdjoint
from ...kernels.team import COUNTERS
from .contacts import Contact, Obstacle
from .elements import Elements

Floats = NDArray[np.float64]


class Constants(NamedTuple):
    """What all substeps have in common."""

    elements: Elements
    rule: Rule
    wind: tuple[float, float, float]
    gravity: tuple[float, float, float]
    held: NDArray[np.int32]  # (k,) rows of the held vertices


class Given(NamedTuple):
    """What is prescribed for one substep."""

    held: Floats  # (k,3) positions of the held vertices at its end
    body: Body  # vertices of all obstacles


class Adjoints(NamedTuple):
    """Derivatives with respect to the state, and to what is constant; those of each substep are added to the latter."""

    x: Floats  # (n,3)
    v: Floats  # (n,3)
    sweep: SweepAdjoint
    start: PredictionAdjoint
    friction: Floats  # (1,)


def advance(
    c: Constants, given: Given, obstacles: Sequence[Obstacle], x: Floats, v: Floats, record: Record | None
) -> tuple[Floats, Floats, list[Contact]]:
    """Return positions and velocities after a substep, and its contacts. record: what the adjoint needs, or None."""
    e, dt = c.elements, c.rule.dt
    y, speed = x.copy(), v.copy()
    team = np.zeros((_damping.LOOPS, 1, COUNTERS), np.int64)
    moving = Moving(y, np.empty_like(x), speed, v, e.w)
    _damping.damp_and_advance.serial(e.viscosity, e.air, moving, c.wind, c.gravity, dt, team)
    y[c.held] = given.held
    if record is None:
        relax_serial(e.membrane, e.hinges, y, e.w, dt)
    else:
        _xpbd.sweep(e.membrane, e.hinges, y, e.w, dt, record)
    contacts = []
    for obstacle in obstacles:
        body = _body(given, obstacle)
        touching = obstacle.find(y, body)
        if len(touching.vertex):
            contact = Contact(obstacle.rows, touching, ContactRecord(*np.empty((3, len(touching.vertex), 3))))
            _contacts.project_smoothly(touching, body, x, c.rule, contact.record, y)
            contacts.append(contact)
    speed = (y - x) / dt
    for contact in contacts:
        _contacts.slow_separation(contact.touching, _body(given, contact), c.rule, contact.record, speed)
    return y, speed, contacts


def adjoint(
    c: Constants,
    given: Given,
    states: tuple[Floats, Floats, Floats],
    recorded: tuple[Record, Sequence[Contact]],
    out: Adjoints,
    of_body: ContactAdjoint,
) -> Floats:
    """Turn the derivatives out.x and out.v with respect to the state after a substep into those before, add those with
    respect to the obstacles to `of_body`, and return those with respect to the held positions (k,3).

    states: x and v before the substep, and x after it. recorded: what `advance` has recorded.
    """
    e, dt, (x, v, after), (record, contacts) = c.elements, c.rule.dt, states, recorded
    for contact in reversed(contacts):
        own = _own(of_body, contact)
        _contacts.separation_adjoint(contact.touching, _body(given, contact), c.rule, contact.record, out.v, own)
    out.x[:] += out.v / dt
    of_start, relaxed = -out.v / dt, after.copy()
    for contact in reversed(contacts):
        body, own = _body(given, contact), _own(of_body, contact)
        arrays = of_start, out.x
        _contacts.projection_adjoint(contact.touching, body, x, c.rule, contact.record, *arrays, own)
        relaxed[contact.touching.vertex] = contact.record.x
    _xpbd.sweep_adjoint(e.membrane, e.hinges, relaxed, e.w, dt, record, out.sweep)
    of_held = out.x[c.held].copy()
    of_predicted = out.x.copy()
    out.x[:] = of_start
    out.v[:] = 0.0
    moving = Moving(x, x, v, v, e.w)
    prediction_adjoint(e.viscosity, e.air, moving, c.wind, dt, of_predicted, out.start)
    return of_held


def _body(given: Given, one: Contact | Obstacle) -> Body:
    """Return the vertices of one obstacle; the same array twice if it does not move."""
    after = given.body.after[one.rows]
    return Body(after if given.body.before is given.body.after else given.body.before[one.rows], after)


def _own(of_body: ContactAdjoint, contact: Contact) -> ContactAdjoint:
    return ContactAdjoint(of_body.before[contact.rows], of_body.after[contact.rows], of_body.friction)


def zero_adjoints(n: int, e: Elements) -> Adjoints:
    """Return derivatives of nothing."""
    x, v, w = np.zeros((n, 3)), np.zeros((n, 3)), np.zeros(n)
    m, h = e.membrane, e.hinges
    parts = (m.rest, m.compliance, h.weights, h.rest, h.compliance)
    sweep = SweepAdjoint(x, w, *(np.zeros_like(part) for part in parts))
    scratch = np.zeros((3, n, 3))
    share, air = np.zeros_like(e.viscosity.share), np.zeros_like(e.air.density)
    return Adjoints(x, v, sweep, PredictionAdjoint(x, v, np.zeros(n), share, air, *scratch), np.zeros(1))
