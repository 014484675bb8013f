"""A run that is saved and goes on, in this process or another, is the run that never stopped, to the bit."""

import gc
import hashlib
import pathlib
import subprocess
import sys
import warnings

import numpy as np
import pytest

from pliant.contacts import CONTACT
from pliant.detect.base import Side
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.errors import MeshFileError
from pliant.kernels import jit
from pliant.motion.rigid import Motion
from pliant.scene import Body, Cloth, Grip, Scene, Solid
from pliant.scenes import SCENES
from pliant.shapes import ball, bar, cloth
from pliant.simulation import Simulation, checkpoint
from pliant.simulation.checkpoint import Checkpoint
from pliant.state import State

# resolution, frames to the checkpoint
RUNS = {"ribbon": (16, 40), "spinning-ball": (12, 50), "curtain": (12, 16), "twist": (8, 20)}
AFTER = 12  # frames from there on, in which cloth touches something


def made(name: str) -> Scene:
    return SCENES[name](resolution=RUNS[name][0], self_contact="safe")


def digest(sim: Simulation, frames: int) -> str:
    total = hashlib.sha256()
    for frame in sim.run(frames):
        total.update(frame.x.tobytes() + frame.contacts.tobytes() + sim.state.v.tobytes())
        total.update(f"{frame.index} {frame.time}".encode())
    return total.hexdigest()


def resumed(path: str, name: str) -> str:
    return digest(Simulation.load(path, made(name)), AFTER)


@pytest.mark.compiled
@pytest.mark.parametrize("name", RUNS)
def test_a_run_from_a_checkpoint_has_the_bits_of_one_that_never_stopped(name, tmp_path):
    sim = Simulation(made(name), substeps=4)
    digest(sim, RUNS[name][1])
    sim.save(tmp_path / "run.npz")
    whole = digest(sim, AFTER)
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            found.append(resumed(tmp_path / "run.npz", name))
    finally:
        jit.set_threads(before)
    assert found == [whole, whole]


@pytest.mark.compiled
def test_another_process_goes_on_with_the_same_bits(tmp_path):
    sim = Simulation(made("ribbon"), substeps=4)
    digest(sim, RUNS["ribbon"][1])
    sim.save(tmp_path / "run.npz")
    code = f"import test_checkpoint as t; print(t.resumed({str(tmp_path / 'run.npz')!r}, 'ribbon'))"
    here = str(pathlib.Path(__file__).parent)
    run = [sys.executable, "-c", f"import sys; sys.path[:0] = [{here!r}]; {code}"]
    said = subprocess.run(run, capture_output=True, text=True, check=True, timeout=300).stdout
    assert said == digest(sim, AFTER) + "\n"


def little(**options) -> Scene:
    return Scene([Body(cloth(0.2, 0.2, 4, centre=(0.0, 0.12, 0.0))), Body(ball(0.1, 1), obstacle=True)], **options)


def test_what_is_saved_is_what_is_loaded(tmp_path):
    sim = Simulation(little(), 0.02, substeps=2, method="brute-force")
    sim.step()
    sim.save(tmp_path / "a.npz")
    back = Simulation.load(tmp_path / "a.npz", little())
    assert (back.index, back.dt, back.substeps, back.method) == (1, 0.02, 2, "brute-force")
    for name in ("x", "v", "x_start", "v_start", "pose"):
        assert (getattr(back.state, name) == getattr(sim.state, name)).all()
    assert back.step().index == 2


def test_what_safe_mode_could_not_hold_stays_counted(tmp_path):
    scene = Scene([Body(cloth(0.2, 0.2, 4))], self_contact="safe")
    sim = Simulation(scene, substeps=1)
    sim.self_contact.failed_substeps, sim.self_contact.given_up_pairs = 3, 17
    sim.save(tmp_path / "a.npz")
    back = Simulation.load(tmp_path / "a.npz", scene)
    assert (back.self_contact.failed_substeps, back.self_contact.given_up_pairs) == (3, 17)


def crossed() -> Scene:
    """Two bars of foam, one right through the other."""
    foam = Solid(young=1e3, poisson=0.3, density=100.0)
    bars = bar((0.06, 0.06, 0.16), (3, 3, 8)), bar((0.2, 0.045, 0.045), (9, 2, 2), centre=(0.003, 0.004, 0.002))
    moving = Body(bars[0], material=foam), Body(bars[1], material=foam, velocity=(0.0, 0.3, 0.1))
    return Scene(moving, gravity=(0, 0, 0), self_contact="push")


@pytest.mark.compiled
def test_what_a_detector_remembers_goes_on_too(tmp_path):
    sim = Simulation(crossed(), substeps=4, self_method="spatial-hash", self_response="separate")
    digest(sim, 4)
    sim.save(tmp_path / "a.npz")
    back = Simulation.load(tmp_path / "a.npz", crossed())
    kept, known = (run.self_contact.detectors[0].state() for run in (back, sim))
    assert len(kept) > 20
    assert kept.tobytes() == known.tobytes()
    assert digest(back, 4) == digest(sim, 4)


def turn(angle: float) -> Motion:
    return Motion.hinge((0, 1, 0), (0, 0, 0), (0.0, 1.0), (0.0, angle))


def test_everything_a_run_depends_on_is_in_the_fingerprint_and_names_and_colours_are_not():
    sheet, stone = cloth(0.2, 0.2, 4), ball(0.1, 1)
    marks = [
        checkpoint.fingerprint(Scene([Body(sheet, **soft), Body(stone, obstacle=True, **fixed)], **options))
        for soft, fixed, options in (
            ({}, {}, {}),
            ({"material": Cloth(bend=1e-4)}, {}, {}),
            ({"pins": [0]}, {}, {}),
            ({"pins": [1]}, {}, {}),
            ({"flat": True}, {}, {}),
            ({"layer": 1}, {}, {}),
            ({"velocity": (0, 1, 0)}, {}, {}),
            ({"grips": [Grip([0], turn(1.0))]}, {}, {}),
            ({"grips": [Grip([0], turn(2.0))]}, {}, {}),
            ({}, {"motion": turn(1.0)}, {}),
            ({}, {"group": "stones"}, {}),
            ({}, {}, {"eps": 0.004}),
            ({}, {}, {"friction": 0.5}),
            ({}, {}, {"thickness": 0.001}),
            ({}, {}, {"self_contact": "off"}),
            ({}, {}, {"gravity": (0, -1, 0)}),
        )
    ]
    moved = Scene([Body(sheet.moved(sheet.vertices + 1e-9)), Body(stone, obstacle=True)])
    marks.append(checkpoint.fingerprint(moved))
    assert len({*marks}) == len(marks)
    named = Scene([Body(sheet, name="a", color=(1, 0, 0)), Body(stone, obstacle=True)], name="b")
    assert checkpoint.fingerprint(named) == marks[0]


def test_a_checkpoint_of_another_scene_is_refused(tmp_path):
    Simulation(little(), substeps=2, method="brute-force").save(tmp_path / "a.npz")
    with pytest.raises(MeshFileError, match=r"a\.npz: a checkpoint of another scene than 'scene'"):
        Simulation.load(tmp_path / "a.npz", little(eps=0.004))


def test_detectors_made_by_hand_have_to_be_given_again(tmp_path):
    scene = little()
    sides = Side(scene.bodies[0].mesh, 0, 0), Side(scene.bodies[1].mesh, 16, 1)
    hand = [BruteForceDetector(*sides, within=scene.eps)]
    sim = Simulation(scene, substeps=2, detectors=hand)
    sim.save(tmp_path / "a.npz")
    with pytest.raises(MeshFileError, match="pass detectors= again"):
        Simulation.load(tmp_path / "a.npz", scene)
    assert Simulation.load(tmp_path / "a.npz", scene, detectors=hand).detectors == hand


def test_a_damaged_or_foreign_checkpoint_is_one_clear_error(tmp_path):
    path, scene = tmp_path / "run.npz", little()
    sim = Simulation(scene, substeps=2, method="brute-force")
    sim.save(path)
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a zip", whole[:100] + bytes(50) + whole[150:]):
        path.write_bytes(damaged)
        with pytest.raises(MeshFileError, match=r"run\.npz: not a pliant checkpoint, or damaged"):
            Simulation.load(path, scene)
    sim.state.save(path)
    with pytest.raises(MeshFileError, match="it has no array 'checkpoint'"):
        Simulation.load(path, scene)
    with pytest.raises(MeshFileError, match="no such file"):
        Simulation.load(tmp_path / "none.npz", scene)


@pytest.mark.parametrize("load", [Checkpoint.load, State.load])
@pytest.mark.parametrize("content", [b"PK\x03\x04 no zip", b"not a zip", b""])
def test_a_damaged_file_is_not_left_open(frozen, tmp_path, load, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        with pytest.raises(MeshFileError):
            load(path)
        gc.collect()
    assert [str(w.message) for w in said if w.category is ResourceWarning] == []


def remembered(vertex: int, **more: float) -> np.ndarray:
    """The bytes of one contact of a response's memory."""
    one = np.zeros(1, CONTACT)
    one["vertices"] = (vertex, -1, -1, -1)
    for name, value in more.items():
        one[name] = value
    return np.frombuffer(one.tobytes(), np.uint8)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("checkpoint", 1, "version 1; this pliant reads 10"),
        ("times", np.array([0.0, 0.0, 0.0]), "dt = 0"),
        ("counts", np.array([0, 0, 0, 0]), "substeps = 0"),
        ("counts", np.array([0, 1, 0, -1]), "counts"),
        ("x", np.full((58, 3), np.nan), r"x\[0, 0\] is not finite"),
        ("between", np.array(["", "none"]), "cannot be resumed in scene 'scene': unknown self_response 'none'"),
        ("ways", np.zeros((1, 3)), "ways"),
        ("memory", remembered(58), "memory has vertex indices out of range; the state has 58 vertices"),
        ("memory", remembered(0, normal=np.nan), "memory contains values that are not finite"),
    ],
)
def test_a_figure_that_cannot_be_is_named(tmp_path, name, value, said):
    path, scene = tmp_path / "run.npz", little()
    Simulation(scene, substeps=2, method="brute-force").save(path)
    with np.load(path) as saved:
        parts = {**saved, name: value}
    np.savez(path, **parts)
    with pytest.raises(MeshFileError, match=said):
        Simulation.load(path, scene)
