"""DrapeTape: the frames of a run, and its derivatives, with records in memory that checkpoints bound."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ... import validate
from ...kernels.gradients.smooth_contacts import Body, ContactAdjoint
from ...kernels.gradients.xpbd import Record
from . import substep as _substep
from .contacts import Contact
from .substep import Adjoints, Given
from .values import DrapeValues

if TYPE_CHECKING:
    from .model import DifferentiableDrape

Floats = NDArray[np.float64]
SHARE = 0.25  # of the free memory that records take by default


class DrapeTape:
    """The frames of a run: positions x and velocities v (frames+1,n,3), the first of which are those of the start.

    `backward` returns gradients, as often as it is asked. `given` are the inputs of the run. `checkpoints` are the
    frames from which `backward` computes the substeps of one frame again; () if the records of all are in memory.
    """

    def __init__(
        self, drape: "DifferentiableDrape", frames: int, given: DrapeValues, *, pins_follow: bool = False
    ) -> None:
        """pins_follow: pins stay where x has them at the start, so that their derivatives are those of x."""
        self.drape, self.given, self._pins_follow = drape, given, pins_follow
        self._constants = drape.constants(given)
        self._obstacles = drape.obstacles()
        self.x, self.v = np.empty((2, frames + 1, len(given.x), 3))
        self.x[0], self.v[0] = given.x, given.v
        self._kept: dict[int, _Records] = {}  # of the last frames, as many as fit into the memory
        self._memory = _memory(drape.memory, drape.bytes_per_frame)
        self._forget()
        for frame in range(frames):
            spare = self._make_room(min)
            self.x[frame + 1], self.v[frame + 1], self._kept[frame] = self._advance(frame, spare)
        for array in (self.x, self.v):
            array.flags.writeable = False

    @property
    def frames(self) -> int:
        return len(self.x) - 1

    @property
    def checkpoints(self) -> tuple[int, ...]:
        return tuple(frame for frame in range(self.frames) if frame not in self._kept)

    def __repr__(self) -> str:
        count = len(self.checkpoints)
        kept = f"{count} checkpoints" if count else "records of all substeps"
        return f"<DrapeTape: {self.frames} frames of {self.x.shape[1]:,} vertices, {kept}>"

    def _forget(self) -> None:
        """Let the obstacles query all vertices next: these have moved by an unknown distance."""
        for obstacle in self._obstacles:
            obstacle.forget()

    def _advance(self, frame: int, spare: "_Records | None") -> tuple[Floats, Floats, "_Records"]:
        """Return the state after a frame, and the records of its substeps, in the arrays of `spare` if there is one."""
        records = spare or _Records(self.drape.substeps, self._constants, self.x.shape[1])
        records.clear()
        x, v = self.x[frame], self.v[frame]
        for k in range(self.drape.substeps):
            given, states = self._given(frame, k), (x, v)
            x, v, contacts = _substep.advance(self._constants, given, self._obstacles, x, v, records.record(k))
            records.keep(k, *states, contacts)
        records.x[-1] = x
        if not (np.isfinite(x).all() and np.abs(x).max() < validate.LARGEST):
            raise ValueError(f"the run diverges in frame {frame + 1}; expected a softer material or more substeps")
        return x, v, records

    def _given(self, frame: int, part: int) -> Given:
        """Return what is prescribed for a substep: held vertices and obstacles move linearly between frames."""
        count, given = self.drape.substeps, self.given
        share, before = (part + 1) / count, part / count
        held = _between(given.pins[frame], given.pins[frame + 1], share)
        if given.body.ndim == 2:
            return Given(held, Body(given.body, given.body))
        ends = given.body[frame], given.body[frame + 1]
        return Given(held, Body(_between(*ends, before), _between(*ends, share)))

    def backward(self, of_x: Any, of_v: Any = None) -> DrapeValues:
        """Return the gradients of a loss, given its derivatives of_x (frames+1,n,3) with respect to the positions `x`
        and, if it depends on them, of_v with respect to the velocities `v`; (n,3) stands for the last frame."""
        dx, dv = self._checked("of_x", of_x), self._checked("of_v", of_v)
        given, c, count = self.given, self._constants, self.drape.substeps
        out = _substep.zero_adjoints(self.x.shape[1], c.elements)
        moving = given.body.ndim == 3
        pins, body = np.zeros_like(given.pins), np.zeros_like(given.body)
        for frame in reversed(range(self.frames)):
            records = self._kept.get(frame) or self._again(frame)
            out.x[:] += dx[frame + 1]
            out.v[:] += dv[frame + 1]
            for k in reversed(range(count)):
                share = (k + 1) / count, k / count
                after, before = (np.zeros(body.shape[-2:]), np.zeros(body.shape[-2:])) if moving else (body, body)
                of_body = ContactAdjoint(before, after, out.friction)
                of_held = self._step_back(records, frame, k, out, of_body)
                pins[frame + 1] += share[0] * of_held
                pins[frame] += (1.0 - share[0]) * of_held
                if moving and before.any() | after.any():
                    body[frame + 1] += share[0] * after + share[1] * before
                    body[frame] += (1.0 - share[0]) * after + (1.0 - share[1]) * before
        return self._gradients(out, dx[0], dv[0], pins, body)

    def _again(self, frame: int) -> "_Records":
        """Return the records of a frame that are no longer in memory, in place of those of the latest one that are."""
        self._forget()
        _, _, self._kept[frame] = self._advance(frame, self._make_room(max))
        return self._kept[frame]

    def _make_room(self, first: Callable[[Iterable[int]], int]) -> "_Records | None":
        """Remove records until those of one more frame fit, those of the earliest or the latest frames first; return
        one of them."""
        spare = None
        used = sum(records.nbytes for records in self._kept.values())
        while used + self.drape.bytes_per_frame > self._memory:
            spare = self._kept.pop(first(self._kept))
            used -= spare.nbytes
        return spare

    def _step_back(self, records: "_Records", frame: int, k: int, out: Adjoints, of_body: ContactAdjoint) -> Floats:
        states = records.x[k], records.v[k], records.x[k + 1]
        recorded = records.record(k), records.contacts[k]
        return _substep.adjoint(self._constants, self._given(frame, k), states, recorded, out, of_body)

    def _gradients(self, out: Adjoints, dx: Floats, dv: Floats, pins: Floats, body: Floats) -> DrapeValues:
        """Return the gradients with respect to the inputs, given those with respect to the state at the start."""
        found: dict[str, Any] = dict(
            self.drape.model.adjoint(self.given, self._constants.elements, out.sweep, out.start)
        )
        held = self._constants.held
        x, v = out.x + dx, out.v + dv
        pins[0] += x[held]
        x[held] = 0.0
        if self._pins_follow:
            count = len(held) - len(self.drape.scene.gripped_rows)
            x[held[:count]] = pins[:, :count].sum(0)
        return DrapeValues(**found, x=x, v=v, pins=pins, body=body, friction=float(out.friction[0]))

    def _checked(self, name: str, value: Any) -> Floats:
        if value is None:
            return np.zeros(self.x.shape)
        array = validate.numbers(name, value)
        if array.shape == self.x.shape[1:]:
            out = np.zeros(self.x.shape)
            out[-1] = validate.floats(name, array, array.shape)
            return out
        if array.shape != self.x.shape:
            raise ValueError(
                f"{name} has shape {array.shape}; expected {self.x.shape}, or {self.x.shape[1:]} for the last frame"
            )
        return validate.floats(name, array, self.x.shape)


class _Records:
    """States and records of the substeps of a frame."""

    def __init__(self, count: int, constants: _substep.Constants, n: int) -> None:
        e = constants.elements
        self.x, self.v = np.empty((count + 1, n, 3)), np.empty((count, n, 3))
        self._strain = np.empty((count, len(e.membrane.faces), 6))
        self._bend = np.empty((count, len(e.hinges.vertices), 3))
        self.clear()

    def clear(self) -> None:
        self.contacts: list[list[Contact]] = []
        self.nbytes = sum(array.nbytes for array in (self.x, self.v, self._strain, self._bend))

    def record(self, k: int) -> Record:
        return Record(self._strain[k], self._bend[k])

    def keep(self, k: int, x: Floats, v: Floats, contacts: list[Contact]) -> None:
        self.x[k], self.v[k] = x, v
        self.contacts.append(contacts)
        self.nbytes += sum(array.nbytes for one in contacts for array in (*one.touching, *one.record))


def _between(a: Floats, b: Floats, share: float) -> Floats:
    return b if share == 1.0 else (1.0 - share) * a + share * b


def _memory(given: float | None, frame: int) -> float:
    """The bytes of all records: those given, or a share of what is free; one frame of them has to fit."""
    limit = SHARE * validate.free_memory() if given is None else given
    validate.budget("a frame of a differentiable drape", frame, "pass a larger memory", limit)
    return limit
