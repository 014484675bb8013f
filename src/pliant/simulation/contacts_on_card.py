"""Contacts with distance fields on a graphics card: found, projected with friction, and their velocities corrected."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from .. import contacts as _contacts
from ..detect.detectors.distance_field import DistanceFieldDetector, reach_of
from ..detect.detectors.offset import OffsetDetector
from ..kernels import device
from ..kernels.dynamics.cloth import LAST
from ..respond.batches import edge_colours
from ..respond.projection import RECOVERY
from ..state import State

if TYPE_CHECKING:
    from .step import Simulation

Ints = NDArray[Any]


def field_detector(detector: Any) -> DistanceFieldDetector | None:
    """Return the detector that samples the field, itself or inside of that of an outer garment; None for others."""
    inner = detector.detector if isinstance(detector, OffsetDetector) else detector
    return inner if isinstance(inner, DistanceFieldDetector) else None


class FieldContacts:
    """The contacts of one detector, or of those of several scenes that share a field and whose vertices follow one
    another. scenes: their indices; place: of the detector in each simulation."""

    def __init__(
        self, sims: Sequence["Simulation"], scenes: Sequence[int], place: int, first: Ints, number: int, known: "Known"
    ) -> None:
        from ..kernels.gpu import field_contacts, substep

        self._kernels, self._clear = field_contacts, substep.clear
        self.scenes, self.place = list(scenes), place
        self._sims = [sims[s] for s in scenes]
        detectors = [sim.detectors[place] for sim in self._sims]
        inner = [cast(DistanceFieldDetector, field_detector(each)) for each in detectors]
        grid: Any = inner[0].field.grid
        if id(grid) not in known.fields:
            known.fields[id(grid)] = device.upload(grid)
        self._field, self._detection = known.fields[id(grid)], field_contacts.DETECTION[type(grid).__name__]
        within, offset = np.zeros(len(sims)), np.zeros(len(sims))
        for s, one, outer in zip(scenes, inner, detectors, strict=True):
            within[s] = one.within
            offset[s] = outer.layer_offset if isinstance(outer, OffsetDetector) else 0.0
        own = [
            one.deformable.first - sims[s].scene.deformable_rows.start + first[s]
            for s, one in zip(scenes, inner, strict=True)
        ]
        self.count = sum(one.deformable.mesh.n_vertices for one in inner)
        self.first = int(own[0])
        least, slack, _ = reach_of(inner[0].field, inner[0].obstacle.mesh, inner[0].within)
        self._reach = field_contacts.Reach(
            number,
            inner[0].obstacle.body,
            self.first,
            device.upload(within),
            device.upload(offset),
            float(slack),
            float(least),
        )
        self._vertices = _touching(field_contacts, self.count, self.count)
        edges = np.concatenate([one.edges + at for one, at in zip(inner, own, strict=True)]).astype(np.int32)
        colour = np.concatenate([_colours(one, known) for one in inner])
        counts = np.bincount(colour, minlength=1)
        self._colours = [c for c in range(len(counts)) if counts[c]]
        self._listed = field_contacts.Listed(
            device.upload(edges),
            device.upload(colour),
            device.upload(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)),
            device.empty(len(edges), np.int32),
            device.zeros(len(counts), np.int64),
        )
        self._most = counts
        self._edge_start = np.cumsum([0, *(len(one.edges) for one in inner)])
        self._midpoints = _touching(field_contacts, len(edges), 0)

    def detect(self, scenes: Any, tally: Any) -> None:
        """Find the contacts of vertices and of midpoints."""
        vertices, midpoints = self._detection
        device.launch(self._clear, len(self._listed.counts), self._listed.counts)
        there = self._field, self._reach, scenes, self._vertices
        device.launch(vertices, self.count, *there, tally)
        device.launch(midpoints, len(self._listed.edges), *there, self._listed, self._midpoints, tally)

    def project(self, moving: Any, rules: Any, dt: float) -> None:
        """Push out what is too near, with friction."""
        k, by = self._kernels, RECOVERY * dt
        device.launch(k.project_vertices, self.count, self._reach, moving, rules, self._vertices, by, dt)
        for c in self._colours:
            args = self._listed, c, moving, rules, self._midpoints, by, dt
            device.launch(k.project_midpoints, self._threads(c), *args)

    def restitute(self, moving: Any, rules: Any) -> None:
        """Correct the velocities of what was pushed."""
        k = self._kernels
        device.launch(k.restitute_vertices, self.count, self._reach, moving, rules, self._vertices)
        for c in self._colours:
            args = self._listed, c, moving, rules, self._midpoints
            device.launch(k.restitute_midpoints, self._threads(c), *args)

    def _threads(self, colour: int) -> int:
        """The number of threads for the edges of a colour, of which few touch: each takes several if all of them do."""
        return max(1, min(int(self._most[colour]), 128 * 1024))

    def complete(self, rows: Ints, states: Sequence[State]) -> None:
        """Give the contacts `rows` that have no normal those that the detectors on the host find at `states`, one for
        each of the scenes."""
        found = [sim.detectors[self.place].find(state) for sim, state in zip(self._sims, states, strict=True)]
        counts = [sim.scene.bodies[one.deformable.body].mesh.surface.n_vertices for sim, one in self._inner()]
        start = np.cumsum([0, *counts])
        for row in rows.tolist():
            edge = row < 0
            at, begin, into = (-1 - row, self._edge_start, self._midpoints) if edge else (row, start, self._vertices)
            s = int(np.searchsorted(begin, at, side="right")) - 1
            kind = _contacts.MIDPOINT_FIELD if edge else _contacts.VERTEX_FIELD
            same = (found[s]["kind"] == kind) & (found[s]["elements"][:, 0] == at - begin[s])
            contact = found[s][np.flatnonzero(same)[0]]
            for array, name in ((into.normal, "normal"), (into.anchor, "anchor"), (into.wall, "anchor_velocity")):
                array[at : at + 1].copy_to_device(np.ascontiguousarray(contact[name])[None])

    def _inner(self) -> list[tuple["Simulation", DistanceFieldDetector]]:
        return [(sim, cast(DistanceFieldDetector, field_detector(sim.detectors[self.place]))) for sim in self._sims]


def _touching(kernels: Any, count: int, vertices: int) -> Any:
    arrays = [device.empty(vertices), *(device.empty((count, 3)) for _ in range(3))]
    return kernels.Touching(*arrays, device.empty(count), device.empty(count))


def _colours(detector: DistanceFieldDetector, known: "Known") -> Ints:
    """Return the colour of each edge; those for which none was left, which are handled in order, have one of their
    own."""
    mesh = detector.deformable.mesh
    if not len(detector.edges):
        return np.zeros(0, np.int32)
    if id(mesh) not in known.colours:
        colours = edge_colours(mesh).astype(np.int32)
        left = np.flatnonzero(colours == LAST)
        colours[left] += np.arange(len(left), dtype=np.int32)
        known.colours[id(mesh)] = colours
    return known.colours[id(mesh)]


class Known:
    """What detectors of several scenes share: fields on the card by grid, and colours of edges by mesh."""

    def __init__(self) -> None:
        self.fields: dict[int, Any] = {}
        self.colours: dict[int, Ints] = {}


def grouped(sims: Sequence["Simulation"], first: Ints) -> list[FieldContacts]:
    """Return the contacts of all detectors of `sims`, in their order; scenes in a row that share a field, and whose
    vertices are all those of one cloth, share a launch."""
    made: list[FieldContacts] = []
    known = Known()
    for place in range(max(len(sim.detectors) for sim in sims)):
        runs: list[list[int]] = []
        for s, sim in enumerate(sims):
            if place < len(sim.detectors):
                if runs and runs[-1][-1] == s - 1 and _joins(sims[s - 1], sim, place):
                    runs[-1].append(s)
                else:
                    runs.append([s])
        made += [FieldContacts(sims, run, place, first, len(made) + k, known) for k, run in enumerate(runs)]
    return made


def _joins(before: "Simulation", after: "Simulation", place: int) -> bool:
    one, two = (field_detector(sim.detectors[place]) for sim in (before, after))
    if one is None or two is None or one.obstacle.body != two.obstacle.body:
        return False
    whole = all(each.deformable.mesh.n_vertices == len(sim.dynamics.w) for each, sim in ((one, before), (two, after)))
    return whole and one.field is two.field
