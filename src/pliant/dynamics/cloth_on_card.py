"""Cloth on a graphics card: the constraints of several scenes as one system, and the launches of a substep of XPBD.

Elements of one colour share no vertex, whatever their scene; each colour is one launch. Stitches, which the processor
solves one after the other, are divided into levels: each is in a later one than those before it that share a vertex
with it, so that levels give the same result.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..kernels import device
from ..kernels.dynamics.cloth import LAST, Hinges, Membrane
from ..kernels.dynamics.damping import Air, Viscosity
from ..kernels.dynamics.springs import Springs
from .cloth import ClothDynamics

Floats = NDArray[np.float64]
Ints = NDArray[Any]
Parts = list[tuple[Ints, ...]]  # arrays of each scene


class ClothOnCard:
    """The cloths of scenes whose vertices begin at rows `first` (s+1,) of the arrays on the card."""

    def __init__(self, cloths: Sequence[ClothDynamics], first: Ints) -> None:
        from ..kernels.gpu import substep

        self._kernels, self._cloths, self._first = substep, list(cloths), first
        membrane: Parts = [(c.membrane.faces, c.membrane.rest, c.membrane.compliance) for c in cloths]
        hinges: Parts = [(c.hinges.vertices, c.hinges.weights, c.hinges.rest, c.hinges.compliance) for c in cloths]
        faces, starts, self._face_tail = _by_colour(membrane, [c.membrane.start for c in cloths], first)
        bends, bend_starts, self._bend_tail = _by_colour(hinges, [c.hinges.start for c in cloths], first)
        none = np.zeros(0, np.int64)
        self._membrane = device.upload(Membrane(_of_four(faces[0]), faces[1], _of_four(faces[2]), none))
        self._hinges = device.upload(Hinges(bends[0], bends[1], bends[2], bends[3], none))
        self._faces, self._bends = _ranges(starts), _ranges(bend_starts)
        self._face_order = device.upload(self._face_tail)
        self._bend_order = device.upload(self._bend_tail)
        self._air = device.upload(_joined_air([c.air for c in cloths], first))
        self._pairs = device.upload(_joined_rows([c.viscous_pairs[:2] for c in cloths], first))
        self._shares: dict[float, Any] = {}
        order, self.levels = _levels([c.seams.springs.vertices for c in cloths], first)
        springs = [np.concatenate(parts) for parts in zip(*(c.seams.springs for c in cloths), strict=True)]
        springs[0] = np.concatenate([c.seams.springs.vertices + at for c, at in zip(cloths, first[:-1], strict=True)])
        self._springs = device.upload(Springs(*(part[order] for part in springs)))
        self._order = order

    def begin(self) -> None:
        """Begin a frame: copy the rest shapes again if they change with time."""
        if any(c.scaled for c in self._cloths):
            parts: Parts = [(c.membrane.rest,) for c in self._cloths]
            rest = _by_colour(parts, [c.membrane.start for c in self._cloths], np.zeros_like(self._first))[0][0]
            self._membrane.rest.copy_to_device(rest)

    def rest_at(self, times: Floats) -> Floats:
        """Return the rest lengths (t,k) of stitches at `times` (t,) seconds, in the order of their levels."""
        if not len(self._order):
            return np.zeros((len(times), 0))
        lengths = [np.concatenate([c.seams.rest_at(time) for c in self._cloths]) for time in times.tolist()]
        return np.stack(lengths)[:, self._order]

    def weights_at(self, time: float) -> Floats:
        """Return the factor of gravity (s,) of each scene at `time`."""
        if not len(self._order):
            return np.ones(len(self._cloths))
        return np.array([c.seams.weight_at(time) for c in self._cloths])

    def prepare(self, dt: float) -> None:
        """Upload what depends on the length of a substep."""
        if dt not in self._shares:
            self._shares[dt] = device.upload(np.concatenate([c.viscous_share(dt) for c in self._cloths]))

    def predict(self, moving: Any, rules: Any, gravity: Any, tally: Any, dt: float) -> None:
        """Apply damping, drag of air and gravity; advance x by v."""
        k, n = self._kernels, len(moving.x)
        device.launch(k.begin_substep, n, moving)
        if len(self._shares[dt]):
            device.launch(k.smooth, n, Viscosity(self._pairs[0], self._pairs[1], self._shares[dt]), moving)
        if len(self._air.faces):
            device.launch(k.drag_faces, len(self._air.faces), self._air, moving, rules)
        device.launch(k.advance, n, self._air, moving, rules, gravity, dt, tally)

    def relax(self, moving: Any, rest: Any, tally: Any, dt: float) -> None:
        """Sweep once over all constraints."""
        k, place = self._kernels, (moving.x, moving.w, dt)
        for a, b in self._faces:
            device.launch(k.relax_faces, b - a, self._membrane, a, b, moving.x, dt)
        if self._face_tail[-1] > self._face_tail[0]:
            device.launch(k.relax_faces_in_order, len(self._face_tail) - 1, self._membrane, self._face_order, *place)
        for a, b in self._bends:
            device.launch(k.relax_bends, b - a, self._hinges, a, b, moving.x, dt)
        if self._bend_tail[-1] > self._bend_tail[0]:
            device.launch(k.relax_bends_in_order, len(self._bend_tail) - 1, self._hinges, self._bend_order, *place)
        self.close_seams(moving, rest, tally, dt)

    def close_seams(self, moving: Any, rest: Any, tally: Any, dt: float) -> None:
        """Project the stitches that are longer than their rest length."""
        for a, b in itertools.pairwise(self.levels):
            args = self._springs, a, b, rest, moving.x, moving.w, dt, tally
            device.launch(self._kernels.relax_stitches, b - a, *args)

    def finish(self, moving: Any, tally: Any, dt: float) -> None:
        """Compute velocities from positions."""
        device.launch(self._kernels.finish, len(moving.x), moving, dt, validate.LARGEST, tally)


def _ranges(starts: list[int]) -> list[tuple[int, int]]:
    """Return the ranges between `starts` that are not empty."""
    return [(a, b) for a, b in itertools.pairwise(starts) if b > a]


def _by_colour(parts: Parts, starts: list[Ints], first: Ints) -> tuple[list[Ints], list[int], Ints]:
    """Join the elements of scenes colour by colour. `parts`: of each scene the vertices of elements and their other
    arrays, ordered by colour from `starts` (colours+1,) on. Return the arrays, where colours start, and where the
    elements without a colour of each scene start (s+1,)."""
    moved = [
        (vertices + int(at) if at else vertices, *rest) for (vertices, *rest), at in zip(parts, first[:-1], strict=True)
    ]
    colours = min(max(len(start) for start in starts) - 1, LAST)
    pieces: list[tuple[Ints, ...]] = []
    counts = np.zeros(colours, np.int64)
    for c in range(colours):
        for scene, start in zip(moved, starts, strict=True):
            if c + 1 < len(start):
                pieces.append(tuple(array[start[c] : start[c + 1]] for array in scene))
                counts[c] += start[c + 1] - start[c]
    tails = [np.int64(0)]
    for scene, start in zip(moved, starts, strict=True):
        end = start[min(LAST, len(start) - 1)]
        pieces.append(tuple(array[end:] for array in scene))
        tails.append(tails[-1] + len(scene[0]) - end)
    joined = [np.concatenate(arrays) for arrays in zip(*pieces, strict=True)]
    begin = [0, *np.cumsum(counts).tolist()]
    return joined, begin, np.array(tails, np.int64) + begin[-1]


def _joined_rows(parts: list[tuple[Ints, Ints]], first: Ints) -> tuple[Ints, Ints]:
    """Join (start, entries) of the rows of scenes; entries are rows themselves."""
    starts, entries, total = [np.zeros(1, np.int64)], [], 0
    for (start, beside), at in zip(parts, first[:-1], strict=True):
        starts.append(start[1:] + total)
        entries.append(beside + int(at))
        total += len(beside)
    kind = np.int32 if total < 2**31 else np.int64
    return np.concatenate(starts).astype(kind), np.concatenate(entries).astype(np.int32)


def _joined_air(parts: list[Air], first: Ints) -> Air:
    faces = np.concatenate([air.faces + int(at) for air, at in zip(parts, first[:-1], strict=True)]).astype(np.int32)
    of_faces = np.concatenate([[0], np.cumsum([len(air.faces) for air in parts])])
    start, beside = _joined_rows([(air.start, air.beside) for air in parts], of_faces)
    density = np.concatenate([air.density for air in parts])
    return Air(_of_four(faces), density, start, beside, np.zeros((len(faces), 4)))


def _of_four(rows: Ints) -> Ints:
    """Rows of three with a zero more, which the card reads at once."""
    return np.pad(rows, ((0, 0), (0, 1)))


def _levels(parts: list[Ints], first: Ints) -> tuple[Ints, list[int]]:
    """Return the order of stitches by level, and where levels start."""
    level: list[int] = []
    for vertices in parts:
        reached: dict[int, int] = {}
        for row in vertices.tolist():
            at = max(reached.get(v, 0) for v in row)
            level.append(at)
            reached.update(dict.fromkeys(row, at + 1))
    order = np.argsort(level, kind="stable") if level else np.zeros(0, np.int64)
    counts = np.bincount(np.array(level, np.int64)) if level else np.zeros(0, np.int64)
    return order, [0, *np.cumsum(counts).tolist()]
