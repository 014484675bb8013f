"""DrapeTape: the frames of a run, and its derivatives, with records in memory that checkpoints bound."""

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
Ints = NDArray[np.int32]


class DrapeTape:
    """The frames of a run: positions x and velocities v (frames+1,n,3), the first of which are those of the start.

    `backward` returns gradients, as often as it is asked. `given` are the inputs of the run. `checkpoints` are the
    frames from which `backward` computes substeps again; (0,) if the records of the whole run are in memory.
    """

    def __init__(
        self, drape: "DifferentiableDrape", frames: int, given: DrapeValues, *, pins_follow: bool = False
    ) -> None:
        """pins_follow: pins stay where x has them at the start, so that their derivatives are those of x."""
        self.drape, self.given, self._pins_follow = drape, given, pins_follow
        self._constants = drape.constants(given)
        self._obstacles = drape.obstacles()
        n = len(given.x)
        self._every = _frames_in_memory(frames, drape.bytes_per_frame, drape.memory)
        self.checkpoints = tuple(range(0, frames, self._every))
        self.x, self.v = np.empty((2, frames + 1, n, 3))
        self.x[0], self.v[0] = given.x, given.v
        self._last: _Records | None = None  # of a run whose records all fit into memory
        for begin in self.checkpoints:
            end = min(begin + self._every, frames)
            whole = self._every >= frames
            self._last = self._advance(begin, end, recorded=whole)
        for array in (self.x, self.v):
            array.flags.writeable = False

    @property
    def frames(self) -> int:
        return len(self.x) - 1

    def __repr__(self) -> str:
        kept = "records of all substeps" if len(self.checkpoints) == 1 else f"{len(self.checkpoints)} checkpoints"
        return f"<DrapeTape: {self.frames} frames of {self.x.shape[1]:,} vertices, {kept}>"

    def _advance(self, begin: int, end: int, *, recorded: bool) -> "_Records | None":
        """Advance from frame `begin` to frame `end`; return the records of all substeps, if asked for."""
        count = self.drape.substeps
        records = _Records((end - begin) * count, self._constants, self.x.shape[1]) if recorded else None
        x, v = self.x[begin], self.v[begin]
        for obstacle in self._obstacles:
            obstacle.forget()
        for k in range((end - begin) * count):
            frame, part = begin + k // count, k % count
            one = None if records is None else records.record(k)
            given = self._given(frame, part)
            y, u, contacts = _substep.advance(self._constants, given, self._obstacles, x, v, one)
            if records is not None:
                records.keep(k, x, v, contacts)
            x, v = y, u
            if part == count - 1:
                if not (np.isfinite(x).all() and np.abs(x).max() < validate.LARGEST):
                    raise ValueError(
                        f"the run diverges in frame {frame + 1}; expected a softer material or more substeps"
                    )
                if self.x.flags.writeable:
                    self.x[frame + 1], self.v[frame + 1] = x, v
        if records is not None:
            records.end(x)
        return records

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
        whole = len(self.checkpoints) == 1
        for begin in reversed(self.checkpoints):
            end = min(begin + self._every, self.frames)
            records = self._last if whole else self._advance(begin, end, recorded=True)
            assert records is not None
            for k in reversed(range((end - begin) * count)):
                frame, part = begin + k // count, k % count
                if part == count - 1:
                    out.x[:] += dx[frame + 1]
                    out.v[:] += dv[frame + 1]
                share = (part + 1) / count, part / count
                after, before = (np.zeros(body.shape[-2:]), np.zeros(body.shape[-2:])) if moving else (body, body)
                of_body = ContactAdjoint(before, after, out.friction)
                of_held = self._step_back(records, k, frame, part, out, of_body)
                pins[frame + 1] += share[0] * of_held
                pins[frame] += (1.0 - share[0]) * of_held
                if moving and before.any() | after.any():
                    body[frame + 1] += share[0] * after + share[1] * before
                    body[frame] += (1.0 - share[0]) * after + (1.0 - share[1]) * before
        return self._gradients(out, dx[0], dv[0], pins, body)

    def _step_back(
        self, records: "_Records", k: int, frame: int, part: int, out: Adjoints, of_body: ContactAdjoint
    ) -> Floats:
        states = records.x[k], records.v[k], records.x[k + 1]
        recorded = records.record(k), records.contacts[k]
        return _substep.adjoint(self._constants, self._given(frame, part), states, recorded, out, of_body)

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
    """States and records of consecutive substeps."""

    def __init__(self, count: int, constants: _substep.Constants, n: int) -> None:
        e = constants.elements
        self.x, self.v = np.empty((count + 1, n, 3)), np.empty((count, n, 3))
        self._strain = np.empty((count, len(e.membrane.faces), 6))
        self._bend = np.empty((count, len(e.hinges.vertices), 3))
        self.contacts: list[list[Contact]] = []

    def record(self, k: int) -> Record:
        return Record(self._strain[k], self._bend[k])

    def keep(self, k: int, x: Floats, v: Floats, contacts: list[Contact]) -> None:
        self.x[k], self.v[k] = x, v
        self.contacts.append(contacts)

    def end(self, x: Floats) -> None:
        self.x[-1] = x


def _between(a: Floats, b: Floats, share: float) -> Floats:
    return b if share == 1.0 else (1.0 - share) * a + share * b


def _frames_in_memory(frames: int, needed: int, memory: float) -> int:
    """Return the number of frames whose records, each of `needed` bytes, fit into the memory."""
    validate.budget("a frame of a differentiable drape", needed, "pass a larger memory", memory)
    return min(int(memory / needed), frames)
