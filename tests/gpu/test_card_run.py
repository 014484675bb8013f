"""Runs on the card around their substeps: states that are handed out, drags, batches, errors."""

import numpy as np
import pytest

from card_scenes import FRAMES, SUBSTEPS, assert_same, ball, cloth_at, scenes, spin
from pliant import DistanceField, shapes
from pliant.errors import CardLostError
from pliant.kernels import device
from pliant.scene import Body, Scene
from pliant.simulation import Simulation
from pliant.simulation.contacts_on_card import FieldContacts
from pliant.simulation.on_card import CardRun

PLAIN = {"self_contact": "off", "eps": 0.03}


def simulation(scene: Scene, where: str = "cuda") -> Simulation:
    return Simulation(scene, 0.01, substeps=SUBSTEPS, solver="xpbd", device=where)


def first_scene() -> Scene:
    return Scene([cloth_at(0.152, velocity=(1.0, -3.0, 0.0)), ball()], **PLAIN)


def test_a_state_that_was_handed_out_may_be_changed_and_a_run_may_change_its_place() -> None:
    scene = first_scene()
    one, other = simulation(scene, "cpu"), simulation(scene)
    for sim in (one, other):
        sim.step()
        sim.state.v[:5] += [0.0, 1.0, 0.0]
        sim.step()
    other.to("cpu").step()
    one.step()
    assert_same(one, other)
    other.to("cuda").step()
    one.step()
    assert_same(one, other)


def test_drags_pull_as_on_threads() -> None:
    scene = first_scene()
    sims = simulation(scene, "cpu"), simulation(scene)
    for sim in sims:
        drag = sim.grab((0.02, 1.0, 0.03), (0.0, -1.0, 0.0))
        assert drag is not None
        drag.to = [0.1, 0.4, 0.0]
        for _ in range(FRAMES):
            sim.step()
    assert_same(*sims)
    np.testing.assert_array_equal(sims[1].drags[0].at, sims[0].drags[0].at)
    assert sims[0].drags[0].at[1] > 0.16


def test_a_batch_has_the_bits_of_its_scenes_alone() -> None:
    body = ball()
    few = [
        Scene([cloth_at(0.152, velocity=(0.0, -2.0, 0.0)), body], friction=friction, gravity=(0.0, -g, 0.0), **PLAIN)
        for friction, g in ((0.0, 9.81), (0.7, 1.6), (0.3, 20.0))
    ]
    few.append(scenes()["two cloths sewn together"])  # another garment, another body
    batch = Simulation.batch(few, 0.01, substeps=SUBSTEPS, solver="xpbd", device="cuda")
    assert (len(batch), batch.device) == (4, "cuda")
    frames = list(batch.run(FRAMES))[-1]
    for scene, sim, frame in zip(few, batch.sims, frames, strict=True):
        alone = simulation(scene, "cpu")
        for _ in range(FRAMES):
            last = alone.step()
        assert_same(alone, sim)
        np.testing.assert_array_equal(frame.x, last.x)
        assert frame.contacts.tobytes() == last.contacts.tobytes()
    with pytest.raises(ValueError, match=r"runs in a batch of 4; step the batch"):
        batch.sims[0].step()


def test_a_batch_on_threads_runs_one_scene_after_the_other() -> None:
    few = [first_scene(), first_scene()]
    batch = Simulation.batch(few, 0.01, substeps=SUBSTEPS, solver="xpbd", device="cpu")
    one, other = batch.step()
    np.testing.assert_array_equal(one.x, other.x)
    with pytest.raises(ValueError, match="scenes is empty"):
        Simulation.batch([])


def test_contacts_on_the_medial_axis_have_the_normal_of_the_nearest_triangle(monkeypatch) -> None:
    completed, complete = [], FieldContacts.complete

    def noting(contacts, rows, states) -> None:
        completed.extend(rows.tolist())
        complete(contacts, rows, states)

    monkeypatch.setattr(FieldContacts, "complete", noting)
    box = shapes.box(0.05, 3)
    field, middle = DistanceField.bake(box, 9, band=9.0), box.bounds.mean(0)
    distance, gradient = np.empty(1), np.empty((1, 3))
    field.probe(middle[None], distance, gradient)
    assert np.linalg.norm(gradient) < 1e-3  # no normal
    # coarse on a card, too: finer cloth would pull its vertices off the axis before they are detected
    sheet = Body(shapes.cloth(0.3, 0.3, resolution=6))
    scene = Scene([sheet, Body(box, obstacle=True, motion=spin())], **PLAIN)
    edge = scene.bodies[0].mesh.topology.edges[0]
    sims = []
    for where in ("cpu", "cuda"):
        sim = Simulation(scene, 1e-5, substeps=2, solver="xpbd", device=where, options={"field": field})
        sim.state.x[:] += [0.0, 0.5, 0.0]
        sim.state.x[edge[0]], sim.state.x[edge[1]] = middle - 1e-3, middle + 1e-3  # their midpoint has none
        sim.state.x[20] = middle
        frame = sim.step()
        sims.append(sim)
        kinds, count = np.unique(frame.contacts["kind"], return_counts=True)
        assert len(kinds) == 2
        assert count.sum() < 20
    assert sorted(completed) == [-1, -1, 0, 0, 1, 1, 20, 20]  # edge 0 and three vertices, in both substeps
    assert_same(*sims)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"solver": "implicit"}, r"the solver 'implicit' \(solver='xpbd' does\)"),
        ({"response": "penalty"}, r"the response 'penalty' \(response='projection' does\)"),
        ({"method": "bvh"}, r"the detector 'bvh' \(the method 'distance-field'"),
        ({"options": {"field": "adaptive"}}, r"a field of class AdaptiveField \(the fields 'bricks' and 'dense' do\)"),
    ],
)
def test_what_does_not_run_there_is_refused_by_name(change: dict, message: str) -> None:
    given = {"solver": "xpbd", "substeps": 2} | change
    with pytest.raises(ValueError, match=r"device = 'cuda': a graphics card does not run .*" + message):
        Simulation(first_scene(), device="cuda", **given)
    assert Simulation(first_scene(), device="auto", **given).device == "cpu"


def test_contact_among_cloth_is_refused_by_name() -> None:
    scene = Scene([cloth_at(0.2), ball()])
    with pytest.raises(ValueError, match=r"self_contact='safe' \(self_contact='off' does\); or use device='cpu'"):
        Simulation(scene, solver="xpbd", device="cuda")


def test_a_lost_card_ends_a_run_that_goes_on_on_threads_with_the_same_bits(monkeypatch, tmp_path) -> None:
    class CudaAPIError(Exception):
        pass

    scene = first_scene()
    sim, alone = simulation(scene), simulation(scene, "cpu")
    for _ in range(2):
        sim.step()

    def lost(*_args, **_options) -> None:
        raise CudaAPIError("[719] Call to cuLaunchKernel results in CUDA_ERROR_LAUNCH_FAILED")

    with monkeypatch.context() as broken:
        broken.setattr(device, "launch", lost)
        with pytest.raises(CardLostError, match=r"lost after frame 2 .*LAUNCH_FAILED.*; the simulation is at frame"):
            sim.step()
    assert sim.device == "cpu"
    sim.save(tmp_path / "run.npz")
    resumed = Simulation.load(tmp_path / "run.npz", scene)
    for run in (resumed, sim, alone):
        while run.index < 4:
            run.step()
    assert_same(alone, resumed)
    assert_same(alone, sim)


def test_a_card_lost_while_it_is_read_or_written_ends_the_run_at_what_the_host_has(monkeypatch) -> None:
    class CudaAPIError(Exception):
        pass

    def lost(*_args, **_options) -> None:
        raise CudaAPIError("[719] Call to cuMemcpy results in CUDA_ERROR_LAUNCH_FAILED")

    scene = first_scene()
    read, written, alone = simulation(scene), simulation(scene), simulation(scene, "cpu")
    frame, _, _ = (sim.step() for sim in (read, written, alone))
    with monkeypatch.context() as broken:
        broken.setattr(CardRun, "_download", lost)
        with pytest.raises(CardLostError, match=r"lost after frame 1 .*; the simulation is at frame [01],"):
            read.state.x  # noqa: B018
        broken.setattr(type(frame.on_card), "copy_to_host", lost)
        with pytest.raises(CardLostError, match="the positions of frame 1 were lost with the graphics card"):
            frame.x  # noqa: B018
    written.state.v *= 0.5  # only the host has it
    alone.state.v *= 0.5
    with monkeypatch.context() as broken:
        broken.setattr(CardRun, "_upload", lost)
        with pytest.raises(CardLostError, match=r"lost after frame 1 .*; the simulation is at frame 1,"):
            written.step()
    while read.index < 1:
        read.step()
    read.state.v *= 0.5
    for sim in (read, written, alone):
        assert sim.device == "cpu"
        sim.step()
    assert_same(alone, written)
    assert_same(alone, read)


def test_too_little_memory_in_a_run_leaves_it_where_it_was(monkeypatch) -> None:
    scene = first_scene()
    sim, alone = simulation(scene), simulation(scene, "cpu")
    sim.step()

    def full(*_args, **_options) -> None:
        raise MemoryError("the graphics card has 0.1 GiB free; 2 GiB are needed")

    with monkeypatch.context() as small:
        small.setattr(device, "empty", full)
        with pytest.raises(MemoryError, match="2 GiB are needed"):
            sim.step()
    assert (sim.device, sim.index) == ("cuda", 1)
    for run in (sim, alone):
        while run.index < 3:
            run.step()
    assert_same(alone, sim)


def test_what_a_scene_needs_is_said_before_anything_is_allocated(monkeypatch) -> None:
    scene = first_scene()
    particles = scene.bodies[0].mesh.n_vertices
    monkeypatch.setattr(device, "empty", None)

    def check(size: int, what: str) -> None:
        assert 200 * particles < size < 5_000 * particles
        raise MemoryError(f"{what} needs {size} bytes")

    monkeypatch.setattr(device, "check_room", check)

    with pytest.raises(MemoryError, match=r"scene 'scene' of [\d,]+ particles needs \d+ bytes"):
        simulation(scene)


def test_too_little_memory_leaves_the_simulation_on_threads(monkeypatch) -> None:
    scene = first_scene()
    sim, alone = simulation(scene, "cpu"), simulation(scene, "cpu")
    sim.step()

    def full(*_args, **_options) -> None:
        raise MemoryError("the graphics card has 0.1 GiB free; 2 GiB are needed")

    with monkeypatch.context() as small:
        small.setattr(device, "empty", full)
        with pytest.raises(MemoryError, match="free"):
            sim.to("cuda")
    assert sim.device == "cpu"
    sim.step()
    for _ in range(2):
        alone.step()
    assert_same(alone, sim)
