"""Simulations on a graphics card: the arrays of one or of several scenes stay there from substep to substep.

A substep is a fixed sequence of launches, recorded as one CUDA graph; what differs between the substeps of a frame
stands in tables that are copied once per frame. The host reads a few numbers at the end of a frame, and positions only
where they are asked for.
"""

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..dynamics.cloth_on_card import ClothOnCard
from ..errors import CardLostError
from ..kernels import device
from ..kernels.simulation.kinematics import CHUNKS
from ..motion.rigid import IDENTITY_POSE
from ..respond.projection import Projection
from ..state import State
from .card_frame import CardFrame, pose_at, poses_of
from .card_tables import Division, bytes_of, gripped_places, moved_bodies, per_second
from .contacts_on_card import grouped
from .kinematics import RETURN, Target

if TYPE_CHECKING:
    from .step import Simulation

Floats = NDArray[np.float64]
KEPT_SHARE = 0.01  # of the time of a run: copies of the state to the host, from which a run goes on without the card


class CardRun:
    """The simulations `sims`, of the same dt and substeps, on the card."""

    def __init__(self, sims: Sequence["Simulation"]) -> None:
        from ..kernels.gpu import field_contacts, substep

        self._kernels, self._contact_kernels, self.sims = substep, field_contacts, list(sims)
        rows = [sim.scene.deformable_rows for sim in sims]
        self.first = np.concatenate([[0], np.cumsum([each.stop - each.start for each in rows])]).astype(np.int64)
        n, bodies = int(self.first[-1]), max(len(sim.scene.bodies) for sim in sims)
        cloths = [sim.dynamics.cloths for sim in sims]
        scene = f"scene {sims[0].scene.name!r}" if len(sims) == 1 else f"a batch of {len(sims)} scenes"
        device.check_room(bytes_of(sims), f"{scene} of {n:,} particles")
        self._shape = len(sims), bodies
        of = np.repeat(np.arange(len(sims), dtype=np.int32), np.diff(self.first))
        w = np.concatenate([sim.dynamics.w for sim in sims])
        # rows of four numbers, which are a sector of memory: gathering rows of three reads two sectors
        x, v, v_start = (
            device.upload(np.column_stack([np.zeros((n, 3)), w])),
            device.zeros((n, 4)),
            device.zeros((n, 4)),
        )
        self._moving: Any = substep.Moving(x, device.empty((n, 3)), v, v_start, x[:, 3], device.upload(of))
        self._begin_x, self._begin_v, self._seen = device.empty((n, 4)), device.empty((n, 4)), device.empty((n, 3))
        self._cloth = ClothOnCard([cloth for cloth in cloths if cloth is not None], self.first)
        self._contacts = grouped(sims, self.first)
        # scenes in which nothing has a prescribed motion
        self._still = [not sim.scene.moving and not len(sim.scene.gripped_rows) for sim in sims]
        gripped = [sim.scene.gripped_rows - each.start + at for sim, each, at in zip(sims, rows, self.first)]
        self._gripped = device.upload(np.concatenate(gripped).astype(np.int32))
        self._attached = device.upload(np.concatenate([sim.scene.is_attached for sim in sims]))
        zeros = device.zeros
        lists = zeros(substep.LISTED, np.int64), zeros(substep.LISTED, np.int64)
        self._tally: Any = substep.Tally(zeros(1, np.int64), zeros(len(sims), np.int64), zeros(1, np.int64), *lists)
        self._last = zeros(1, np.int64)
        self._drags: dict[int, tuple[Any, tuple[float, ...]]] = {}
        self._first = device.upload(self.first)
        self._extents = device.empty((len(sims), CHUNKS, 9)) if any(sim.scene.moving for sim in sims) else None
        self._divisions: dict[tuple[float, int], Division] = {}
        self._handed_out = set(range(len(sims)))  # scenes whose state on the host is the newer one
        self._kept: list[tuple[int, State]] = [(sim.index, sim.host_state.copy()) for sim in sims]
        self._kept_at, self._kept_took = time.perf_counter(), 0.0

    def state_of(self, sim: "Simulation") -> State:
        """Return the state of one of the simulations, which the caller may change."""
        s = next(s for s, each in enumerate(self.sims) if each is sim)
        if s not in self._handed_out:
            with self._restored_if_lost():
                self._download(s)
            self._handed_out.add(s)
        return sim.host_state

    def step_one(self, sim: "Simulation", divided: bool) -> CardFrame:
        """Advance the only simulation."""
        if len(self.sims) > 1:
            raise ValueError(f"scene {sim.scene.name!r} runs in a batch of {len(self.sims)}; step the batch")
        return self.step(divided)[0]

    def step(self, divided: bool) -> list[CardFrame]:
        """Advance all simulations by a frame."""
        began = time.perf_counter()
        with self._restored_if_lost():
            for s in sorted(self._handed_out):
                self._upload(s)
            self._handed_out.clear()
            return self._step(divided, began)

    def _step(self, divided: bool, began: float) -> list[CardFrame]:
        first = self.sims[0]
        substeps = first.substeps * (self._division() if divided else 1)
        dt = first.dt / substeps
        targets = self._targets(dt, substeps)
        for sim in self.sims:
            sim.dynamics.begin(sim.host_state, dt)
        self._cloth.begin()
        division = self._prepared(dt, substeps, targets)
        self._begin_x.copy_to_device(self._moving.x)
        self._begin_v.copy_to_device(self._moving.v)
        self._last.copy_to_device(np.array([substeps - 1]))
        self._zero()
        self._begin_drags()
        # allocated first: where there is no room, nothing has moved
        x, seen = device.empty(self._seen.shape), device.empty(self._seen.shape)
        self._run(division, substeps)
        if int(self._tally.vanished.copy_to_host()[0]):
            self._moving.x.copy_to_device(self._begin_x)
            self._moving.v.copy_to_device(self._begin_v)
            self._zero()
            self._begin_drags()
            self._run_completing(division, targets, substeps)
        lost = self._tally.lost.copy_to_host()
        device.launch(self._kernels.copy_rows, len(x), self._moving.x, x)
        seen.copy_to_device(self._seen)
        device.synchronize()
        self._read_gripped()
        for sim in self.sims:
            for drag in sim.drags:
                drag.at = self._drags[id(drag)][0][3].copy_to_host()
        frames = []
        for s, sim in enumerate(self.sims):
            pose_at(sim.host_state, sim.scene, targets[s], substeps - 1, dt)
            sim.host_state.time = targets[s][-1].time
            sim.dynamics.lost += int(lost[s])
            sim.index += 1
            own = slice(int(self.first[s]), int(self.first[s + 1]))
            frames.append(CardFrame(sim, x, seen, own, int(lost[s]), substeps, time.perf_counter() - began))
        self._keep()
        return frames

    def _targets(self, dt: float, substeps: int) -> list[list[Target]]:
        """Return the targets of all substeps, by scene; scenes in which nothing is moved share them."""
        known: dict[float, list[Target]] = {}
        found = []
        for sim, still in zip(self.sims, self._still, strict=True):
            made = known.get(sim.host_state.time) if still else None
            if made is None:
                made = sim.kinematics.begin_frame(sim.host_state, dt, substeps, sim.self_contact.is_inside)
            if still:
                known[sim.host_state.time] = made
            found.append(made)
        return found

    def _division(self) -> int:
        """Return into how many parts substeps are divided: as the fastest body of all scenes needs."""
        parts = np.zeros((len(self.sims), 0, 9))
        if self._extents is not None:
            x, v = self._moving.x, self._moving.v
            extents = device.twin("simulation.kinematics").extents
            device.launch(extents, len(self.sims) * CHUNKS, x, v, self._first, self._extents)
            parts = self._extents.copy_to_host()
        return max(
            (
                sim.kinematics.division(sim.host_state, sim.dt, sim.substeps, parts[s])
                for s, sim in enumerate(self.sims)
                if not self._still[s]
            ),
            default=1,
        )

    def _prepared(self, dt: float, substeps: int, targets: list[list[Target]]) -> Division:
        """Return the launches of substeps of dt with the tables of this frame."""
        key = dt, substeps
        if key not in self._divisions:
            self._divisions[key] = Division(dt)
            self._divisions[key].rules = self._rules(dt)
            self._cloth.prepare(dt)
        division = self._divisions[key]
        scenes, bodies = self._shape
        ends = np.array([target.time for target in targets[0]])
        starts = [self.sims[0].host_state.time, *ends[:-1].tolist()]
        gravity = np.zeros((substeps, scenes, 3))
        pose = np.broadcast_to(IDENTITY_POSE, (substeps + 1, scenes, bodies, 3, 4)).copy()
        moved = np.zeros((substeps, scenes, bodies), np.bool_)
        own = np.array([sim.scene.gravity for sim in self.sims])
        for k, start in enumerate(starts):
            gravity[k] = self._cloth.weights_at(start)[:, None] * own
        for s, sim in enumerate(self.sims):
            if sim.scene.moving:
                pose[:, s, : len(sim.scene.bodies)] = poses_of(sim.scene, sim.host_state.pose, targets[s])
                moved[:, s] = moved_bodies(pose[:, s])
        moved_ones = [each for each, still in zip(targets, self._still, strict=True) if not still] or targets[:1]
        gripped = np.concatenate([gripped_places(each) for each in moved_ones], axis=1)
        rest = self._cloth.rest_at(ends)
        division.tables.put(gravity=gravity, pose=pose, moved=moved, gripped=gripped, rest=rest)
        return division

    def _rules(self, dt: float) -> Any:
        """Return the parameters of contacts with obstacles, by scene."""
        responses = [sim.response for sim in self.sims]
        assert all(isinstance(each, Projection) for each in responses)
        columns = [[each.eps, each.friction, each.restitution, each.slow(dt)] for each in responses]  # type: ignore[attr-defined]
        eps, friction, restitution, slow = np.array(columns).T
        simple = np.array([each.simple for each in responses])  # type: ignore[attr-defined]
        rate = np.array([1.0 / dt if sim.scene.moving else per_second(sim) for sim in self.sims])
        wind = np.array([sim.scene.wind for sim in self.sims])
        return device.upload(self._kernels.Rules(eps, friction, simple, restitution, slow, rate, wind))

    def _zero(self) -> None:
        for counts in (self._tally.now, self._tally.lost, self._tally.vanished):
            device.launch(self._kernels.clear, len(counts), counts)

    def _run(self, division: Division, substeps: int) -> None:
        """Launch the substeps of a frame."""

        def substep() -> None:
            self._move(division)
            self._detect(division)
            self._respond(division)

        dragged = any(sim.drags for sim in self.sims)
        for _ in range(substeps):
            if dragged:
                substep()
            elif division.graph is not None:
                division.graph()
            else:
                substep()
                division.graph = device.recorded(substep)

    def _run_completing(self, division: Division, targets: list[list[Target]], substeps: int) -> None:
        """As `_run`, where the host completes contacts without a normal, which are on the medial axis of a body."""
        for k in range(substeps):
            self._move(division)
            self._detect(division)
            count = int(self._tally.vanished.copy_to_host()[0])
            if count:
                self._complete(targets, k, count)
            self._respond(division)

    def _complete(self, targets: list[list[Target]], k: int, count: int) -> None:
        if count > self._kernels.LISTED:
            raise ValueError(
                f"{count} contacts are on the medial axis of a body, where a field has no normal; at most "
                f"{self._kernels.LISTED} of them run on a graphics card; use device='cpu'"
            )
        x = self._moving.x.copy_to_host()[:, :3]
        rows, which = self._tally.rows.copy_to_host()[:count], self._tally.which.copy_to_host()[:count]
        states = []
        for s, sim in enumerate(self.sims):
            state = sim.host_state.copy()
            state.x[sim.scene.deformable_rows] = x[self.first[s] : self.first[s + 1]]
            pose_at(state, sim.scene, targets[s], k, sim.dt / len(targets[s]))
            states.append(state)
        for number in np.unique(which):
            contacts = self._contacts[number]
            contacts.complete(rows[which == number], [states[s] for s in contacts.scenes])
        device.launch(self._kernels.clear, 1, self._tally.vanished)

    def _move(self, division: Division) -> None:
        """Prediction, gripped vertices and constraints."""
        moving, tally, tables, dt = self._moving, self._tally, division.tables, division.dt
        self._cloth.predict(moving, division.rules, tables["gravity"], tally, dt)
        if len(self._gripped):
            args = self._gripped, self._attached, tables["gripped"], RETURN * dt, moving.x, tally
            device.launch(self._kernels.place_gripped, len(self._gripped), *args)
        self._cloth.relax(moving, tables["rest"], tally, dt)
        device.launch(self._kernels.reset_lost, len(moving.x), moving, validate.LARGEST, tally)
        for arrays, limits in self._drags.values():
            device.launch(self._kernels.pull_drag, 1, *arrays, limits, moving.x, dt)

    def _detect(self, division: Division) -> None:
        places = self._contact_kernels.Places(division.tables["pose"], division.tables["moved"])
        scenes = self._contact_kernels.Scenes(self._moving, division.rules, places)
        device.launch(self._kernels.remember, len(self._seen), self._moving.x, self._seen, self._last, self._tally)
        for contacts in self._contacts:
            contacts.detect(scenes, self._tally)

    def _respond(self, division: Division) -> None:
        """Contacts, velocities."""
        moving, tally, dt = self._moving, self._tally, division.dt
        for contacts in self._contacts:
            contacts.project(moving, division.rules, dt)
        self._cloth.close_seams(moving, division.tables["rest"], tally, dt)
        self._cloth.finish(moving, tally, dt)
        for contacts in self._contacts:
            contacts.restitute(moving, division.rules)
        device.launch(self._kernels.end_substep, 1, tally)

    def _begin_drags(self) -> None:
        """Copy the drag constraints, which callers change between frames."""
        self._drags = {}
        for sim, first in zip(self.sims, self.first, strict=False):
            for drag in sim.drags:
                rows, *arrays = drag.arrays
                own = rows - sim.scene.deformable_rows.start + int(first)
                self._drags[id(drag)] = tuple(device.upload(each) for each in (own, *arrays)), drag.limits

    def _read_gripped(self) -> None:
        """Copy attached vertices to the host, whose slip a frame reports."""
        if len(self._gripped) and any(sim.scene.is_attached.any() for sim in self.sims):
            from ..kernels.gpu import rows

            there = device.empty((len(self._gripped), 4))
            device.launch(rows.take, len(self._gripped), self._gripped, self._moving.x, there)
            x, at = there.copy_to_host()[:, :3], 0
            for sim in self.sims:
                own = sim.scene.gripped_rows
                sim.host_state.x[own] = x[at : at + len(own)]
                at += len(own)

    def _arrays(self) -> tuple[tuple[str, Any], ...]:
        moving = self._moving
        return ("x", moving.x), ("v", moving.v), ("x_start", moving.x_start), ("v_start", moving.v_start)

    def _upload(self, s: int) -> None:
        sim, a, b = self.sims[s], int(self.first[s]), int(self.first[s + 1])
        for name, array in self._arrays():
            own = np.zeros((b - a, array.shape[1]))
            own[:, :3] = getattr(sim.host_state, name)[sim.scene.deformable_rows]
            if name == "x":
                own[:, 3] = sim.dynamics.w
            array[a:b].copy_to_device(own)

    def _download(self, s: int) -> None:
        sim, a, b = self.sims[s], int(self.first[s]), int(self.first[s + 1])
        state = sim.host_state
        for name, array in self._arrays():
            getattr(state, name)[sim.scene.deformable_rows] = array[a:b].copy_to_host()[:, :3]
        sim.kinematics.end_frame(state)

    def _keep(self) -> None:
        """Copy the states to the host if that takes a small share of the time since the last copy."""
        now = time.perf_counter()
        if KEPT_SHARE * (now - self._kept_at) < self._kept_took:
            return
        arrays = {name: array.copy_to_host()[:, :3] for name, array in self._arrays()}
        for s, sim in enumerate(self.sims):
            state = sim.host_state.copy()
            for name, array in arrays.items():
                getattr(state, name)[sim.scene.deformable_rows] = array[self.first[s] : self.first[s + 1]]
            sim.kinematics.end_frame(state)
            self._kept[s] = sim.index, state
        self._kept_at = time.perf_counter()
        self._kept_took = self._kept_at - now

    @contextlib.contextmanager
    def _restored_if_lost(self) -> Iterator[None]:
        """Within this block, an error of the card or its driver ends the run there: the simulations go on on threads
        from the states that the host has."""
        try:
            yield
        except Exception as error:
            if not device.is_driver_error(error):
                raise
            whole = len(self._handed_out) == len(self.sims)  # the host has what the card has
            kept = [(sim.index, sim.host_state) for sim in self.sims] if whole else self._kept
            at, last, why = kept[0][0], self.sims[0].index, " ".join(str(error).split())
            for sim, (index, state) in zip(self.sims, kept, strict=True):
                sim.leave_card(index, state)
            raise CardLostError(
                f"the graphics card was lost after frame {last} ({why[:200]}); the simulation is at frame {at}, of "
                "which the host has a copy: save a checkpoint, or go on on threads"
            ) from error
