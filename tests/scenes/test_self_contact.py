"""Cloth that meets itself, other cloth and bodies: in safe mode no two triangles ever meet, by exact count."""

import functools
import hashlib
from typing import NamedTuple

import numpy as np
import pytest

from pliant.kernels import jit
from pliant.respond import Projection
from pliant.scene import Body, Cloth, Scene
from pliant.scenes import SCENES
from pliant.shapes import cloth
from pliant.simulation import Frame, Simulation
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

pytestmark = pytest.mark.compiled

# resolution, dt, substeps, frames: small, and long enough for cloth to meet cloth
SMALL = {
    "ribbon": (20, 0.01, 4, 90),
    "twist": (14, 0.02, 4, 66),
    "stack": (8, 0.01, 4, 45),
    "pinch": (14, 0.02, 8, 100),
    "curtain": (18, 0.01, 4, 34),
    "spinning-ball": (16, 0.02, 4, 40),
}
ON_BODIES = ("pinch", "curtain")  # whose cloth need not meet itself


def small(name: str, mode: str = "safe") -> Simulation:
    resolution, dt, substeps, _ = SMALL[name]
    return Simulation(SCENES[name](resolution=resolution, self_contact=mode), dt, substeps=substeps)


class Seen(NamedTuple):
    """What a run shows: exact counts of the start and of every frame, and bits."""

    counts: list[tuple[int, int]]
    most: int  # contacts of cloth with cloth (or with bodies) in any frame
    failed_substeps: int
    finite: bool
    digest: str  # of the first frames


def seen(sim: Simulation, frames: int, hashed: int = 0) -> Seen:
    """Run, count exactly in every frame, and digest the first `hashed` ones."""
    count, soft, most = IntersectionStatistics(sim.scene, sim.state.x), {*sim.scene.deformable}, 0
    counts, total = [count.at(sim.state.x)], hashlib.sha256()
    for frame in sim.run(frames):
        counts.append(count.at(frame.x))
        own = np.isin(frame.contacts["bodies"], [*soft]).all(1)
        most = max(most, int((own | (sim.scene.name in ON_BODIES)).sum()))
        if frame.index <= hashed:
            total.update(bits(frame, sim))
    finite = bool(np.isfinite(sim.state.x).all())
    return Seen(counts, most, sim.self_contact.failed_substeps, finite, total.hexdigest())


def bits(frame: Frame, sim: Simulation) -> bytes:
    return frame.x.tobytes() + frame.contacts.tobytes() + sim.state.v.tobytes()


def digest(sim: Simulation, frames: int) -> str:
    total = hashlib.sha256()
    for frame in sim.run(frames):
        total.update(bits(frame, sim))
    return total.hexdigest()


HASHED = 34  # frames whose bits are compared; cloth meets something in the last 12 at least


@functools.cache
def on_two_threads(name: str) -> Seen:
    """The run of safe mode that several tests judge."""
    before = jit.threads()
    try:
        jit.set_threads(2)
        return seen(small(name), SMALL[name][3], HASHED)
    finally:
        jit.set_threads(before)


def stays_free(run: Seen) -> int:
    """Nothing meets in any frame; the most contacts."""
    assert [k for k, count in enumerate(run.counts) if count != (0, 0)] == []
    assert run.failed_substeps == 0
    assert run.finite
    return run.most


@pytest.mark.parametrize("name", SMALL)
def test_no_two_triangles_meet_in_any_frame_of_safe_mode(name):
    assert stays_free(on_two_threads(name)) > 10


@pytest.mark.parametrize("name", ["ribbon", "stack"])
def test_without_self_contact_the_same_cloth_passes_through_itself(name):
    sim = small(name, "off")
    count = IntersectionStatistics(sim.scene, sim.state.x)
    assert max(count.at(frame.x)[0] for frame in sim.run(SMALL[name][3])) > 10


@pytest.mark.parametrize("name", ["ribbon", "stack", "curtain"])
def test_one_and_two_threads_give_the_same_bits(name):
    before = jit.threads()
    try:
        jit.set_threads(1)
        found = digest(small(name), HASHED)
    finally:
        jit.set_threads(before)
    assert found == on_two_threads(name).digest


class Watched(Projection):
    """A response that keeps account of the momentum it gives and of the cone of friction."""

    def __init__(self, scene: Scene, eps: float) -> None:
        super().__init__(scene, eps=eps)
        self.masses = scene.masses * (scene.inverse_masses > 0.0)
        self.worst_sum = self.worst_slip = self.given = 0.0

    def apply(self, contacts, state, dt):
        before = state.x.copy()
        super().apply(contacts, state, dt)
        self._account(before, state.x)
        slip = np.linalg.norm(self.friction_correction, axis=1) - self.friction * self.normal_correction
        self.worst_slip = max(
            self.worst_slip, float((slip / np.maximum(self.normal_correction, 1e-300)).max(initial=0.0))
        )

    def finish(self, contacts, state, dt):
        before = state.v.copy()
        super().finish(contacts, state, dt)
        self._account(before, state.v)

    def _account(self, before, after):
        given = self.masses[:, None] * (after - before)
        total = np.abs(given).sum()
        # what is left over, less what the last digits of the sums cannot hold; a vertex is moved by many contacts
        rounding = 32 * np.finfo(float).eps * (self.masses[:, None] * np.abs(after) * (given != 0.0)).sum()
        self.given += float(total)
        if total > 0.0:
            self.worst_sum = max(self.worst_sum, float((np.abs(given.sum(0)).max() - rounding) / total))


def watched(sim: Simulation, frames: int) -> Watched:
    sim.self_contact._cloth_response = watch = Watched(sim.scene, sim.self_contact.thickness)
    for _ in sim.run(frames):
        pass
    assert watch.given > 0.0
    return watch


@pytest.mark.parametrize("name", ["ribbon", "stack"])
def test_what_cloth_gives_cloth_it_takes_itself_and_friction_stays_in_its_cone(name):
    watch = watched(small(name), SMALL[name][3])
    assert watch.worst_sum < 1e-12
    assert watch.worst_slip < 1e-12


@pytest.mark.parametrize("mode", ["push", "safe"])
def test_two_sheets_that_meet_in_empty_space_part_with_the_momentum_they_had(mode):
    bodies = [
        Body(cloth(0.2, 0.2, 8, centre=(0.01 * k, 0.02 * k, 0.007 * k)), material=Cloth(air=0.0), velocity=(0, v, 0))
        for k, v in ((0, 0.5), (1, -0.5))
    ]
    sim = Simulation(Scene(bodies, gravity=(0, 0, 0), eps=0.003, self_contact=mode, restitution=0.0))
    most = max(len(frame.contacts) for frame in sim.run(20))
    assert most > 5
    assert np.abs(sim.scene.masses @ sim.state.v).max() < 1e-3 * sim.scene.masses.sum() * 0.5
    assert (sim.state.x[sim.scene.rows(0), 1] < sim.state.x[sim.scene.rows(1), 1]).all()


FULL = {"ribbon": 100, "twist": 36, "stack": 24, "pinch": 36, "curtain": 36, "spinning-ball": 36}


def full(name: str) -> Simulation:
    return Simulation(SCENES[name](resolution=FULL[name], self_contact="safe"))


@pytest.mark.long
@pytest.mark.parametrize("name", FULL)
def test_600_frames_at_full_size_never_meet(name):
    assert stays_free(seen(full(name), 600)) > 10


@pytest.mark.long
@pytest.mark.parametrize("name", FULL)
def test_at_full_size_threads_and_a_restart_at_frame_150_change_no_bit(name, tmp_path):
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            sim = full(name)
            begin = digest(sim, 150)
            sim.save(tmp_path / f"{threads}.npz")
            found.append((begin, digest(sim, 150)))
        resumed = Simulation.load(tmp_path / "1.npz", full(name).scene)
        found.append((found[0][0], digest(resumed, 150)))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.long
@pytest.mark.parametrize("name", ["ribbon", "stack", "spinning-ball"])
def test_at_full_size_momentum_cancels_and_friction_stays_in_its_cone(name):
    watch = watched(full(name), 300)
    assert watch.worst_sum < 1e-12
    assert watch.worst_slip < 1e-12
