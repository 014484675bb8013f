"""`pliant drape GARMENT BODY`, where the body is a sequence of meshes: a post that sways, without its bones."""

import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest

import pliant
from characters import post, sleeve
from pliant import cli
from pliant.io.pc2 import GrowingCache
from pliant.motion.clip import Clip
from pliant.scenes.recorded_body import recorded_scene
from time_limit import started

pytestmark = pytest.mark.compiled
FPS, FRAMES = 30.0, 6
SHORT = ["--substeps", "4", "--dt", str(1 / FPS)]


def swaying() -> Clip:
    character = post()
    motion = pliant.Skinned(character, next(iter(character.clips)))
    shapes = [motion.shape(sample) for sample in motion.sample(np.arange(FRAMES) / FPS)]
    return Clip(character.mesh.moved(shapes[0]), np.stack(shapes))


@pytest.fixture(scope="module")
def body() -> Clip:
    return swaying()


@pytest.fixture
def here(body, tmp_path, monkeypatch) -> pathlib.Path:
    """A folder with the files, to stand in."""
    monkeypatch.chdir(tmp_path)
    pliant.save_animation("body.npz", [body], FPS)
    pliant.save("sleeve.obj", sleeve())
    return tmp_path


def caches(path: str) -> np.ndarray:
    """The frames of a PC2 file, read byte by byte."""
    data = pathlib.Path(path).read_bytes()
    points, count = np.frombuffer(data, "<i4", 1, 16)[0], np.frombuffer(data, "<i4", 1, 28)[0]
    return np.frombuffer(data, "<f4", 3 * points * count, 32).reshape(count, points, 3)


def test_a_sequence_of_meshes_wears_a_garment_as_the_library_does(here, body, capsys):
    assert cli.run(["drape", "sleeve.obj", "body.npz", *SHORT, "--live", "live.pc2", "-o", "worn.npz", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["penetration_m"] == 0.0
    scene = recorded_scene([sleeve()], body, FPS)
    assert len(scene.bodies[0].grips[0].rows)  # its cuffs are attached to the skin
    result = pliant.simulation.record.record(pliant.Simulation(scene, 1 / FPS, substeps=4, method="bvh"), FRAMES - 1)
    ours = result.clips[0].frames
    assert np.array_equal(np.load("worn.npz")["frames_0"], ours)
    assert np.array_equal(caches("live.pc2"), ours)
    assert np.abs(np.load("worn.npz")["frames_1"] - body.frames).max() < 1e-6  # the body moved as recorded


def test_the_body_stands_still_during_the_lead_in(here, body):
    words = ["drape", "sleeve.obj", "body.npz", *SHORT, "--lead-in", str(2 / FPS), "-o", "worn.npz"]
    assert cli.run(words) == 0
    seen = np.load("worn.npz")["frames_1"]
    assert len(seen) == FRAMES + 2
    assert np.array_equal(seen[0], seen[2])
    assert np.abs(seen[2:] - body.frames).max() < 1e-6


def test_pins_follow_the_frames_of_the_garment_and_others_hang(here, body):
    garment, standing = sleeve(), Clip(body.mesh, body.frames[:1].repeat(FRAMES, 0))
    frames = np.stack([garment.vertices + np.array([0.0, 0.002 * t, 0.0]) for t in range(FRAMES)])
    pliant.save_animation("body.npz", [standing], FPS)
    pliant.save_animation("moving.npz", [Clip(garment.moved(frames[0]), frames)], FPS)
    assert cli.run(["drape", "moving.npz", "body.npz", *SHORT, "--pin", "top 1cm", "-o", "worn.npz"]) == 0
    worn, rows = np.load("worn.npz")["frames_0"], pliant.select(garment, "top 1cm")
    assert np.abs(worn[:, rows] - frames[:, rows]).max() < 1e-6
    others = np.setdiff1d(np.arange(garment.n_vertices), rows)
    assert (worn[-1, others, 1] < frames[-1, others, 1] - 1e-4).any()


def test_pins_yield_to_a_body_that_is_in_their_way(here, body):
    """The garment stands still, and the post sways into it."""
    garment = sleeve()
    pliant.save_animation("still.npz", [Clip(garment, np.stack([garment.vertices] * FRAMES))], FPS)
    assert cli.run(["drape", "still.npz", "body.npz", *SHORT, "--pin", "top 1cm", "-o", "worn.npz"]) == 0
    rows = pliant.select(garment, "top 1cm")
    assert np.abs(np.load("worn.npz")["frames_0"][:, rows] - garment.vertices[rows]).max() > 1e-3


def test_pins_of_one_garment_leave_the_cuffs_of_another_attached(body):
    coat = sleeve(0.33, 0.72, top=0.113, bottom=0.22, name="coat")
    scene = recorded_scene([sleeve(), coat], body, FPS, pins="coat/top 1cm")
    assert len(scene.bodies[0].grips)
    assert np.array_equal(scene.bodies[1].pins, pliant.select(coat, "top 1cm"))


@pytest.mark.parametrize("kind", ["points", "pattern", "folder"])
def test_every_kind_of_sequence_gives_the_same_cloth(here, body, kind):
    (here / "frames").mkdir()
    for t in range(FRAMES):
        pliant.save(f"frames/body_{t:04}.obj", body.mesh.moved(body.frames[t]))
    pliant.save("body.obj", body.mesh)
    pliant.save_animation("body.pc2", [body], FPS)
    where = {
        "points": ["body.obj", "--body-points", "body.pc2"],
        "pattern": ["frames/body_*.obj"],
        "folder": ["frames"],
    }[kind]
    assert cli.run(["drape", "sleeve.obj", *where, *SHORT, "--fps", str(FPS), "--live", "a.pc2"]) == 0
    assert cli.run(["drape", "sleeve.obj", "body.npz", *SHORT, "--live", "b.pc2"]) == 0
    assert np.abs(caches("a.pc2") - caches("b.pc2")).max() < 1e-5


def test_layers_have_materials_of_their_own(here, body):
    pliant.save("coat.obj", sleeve(0.33, 0.72, top=0.113, bottom=0.22, name="coat"))
    words = ["--material", "silk", "--layer", "coat.obj", "--layer-material", "denim", "--live", "live.pc2"]
    assert cli.run(["drape", "sleeve.obj", "body.npz", *SHORT, *words, "-o", "worn.npz"]) == 0
    for name, key in (("sleeve", "frames_0"), ("coat", "frames_1")):
        assert np.array_equal(caches(f"live-{name}.pc2"), np.load("worn.npz")[key])
    assert cli.run(["drape", "sleeve.obj", "body.npz", "--layer-material", "denim", "-o", "worn.npz"]) == 2


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["body.npz", "--clip", "walk"], "body.npz: has no clip 'walk'; one of: post"),
        (["body.obj", "--body-points", "body.npz", "--clip", "walk"], "--clip is for a character"),
        (["body.npz", "--place", "above"], "--place above is for bodies without frames"),
        (["body.obj", "--fps", "30"], "--fps is for a body that is a sequence of meshes"),
    ],
)
def test_what_a_sequence_cannot_have_is_refused(here, body, words, error, capsys):
    pliant.save("body.obj", body.mesh)
    assert cli.run(["drape", "sleeve.obj", *words, "-o", "worn.npz"]) == 2
    assert error in capsys.readouterr().err


def test_a_garment_with_another_number_of_frames_is_refused(body):
    garment = sleeve()
    with pytest.raises(ValueError, match="has 2 frames and the body 6"):
        recorded_scene([Clip(garment, np.stack([garment.vertices] * 2))], body, FPS)


def test_a_growing_cache_holds_whole_frames_at_any_time(tmp_path):
    mesh = sleeve()
    pliant.save(tmp_path / "mesh.obj", mesh)
    cache = GrowingCache(tmp_path / "live.pc2", mesh.n_vertices)
    assert caches(str(tmp_path / "live.pc2")).shape[0] == 0
    for t in range(3):
        cache.add(mesh.vertices + t)
        seen, _ = pliant.load_clip(tmp_path / "mesh.obj", points=tmp_path / "live.pc2")
        assert len(seen) == t + 1
        assert np.array_equal(seen.frames[t], (mesh.vertices + t).astype(np.float32))
    cache.close()


@pytest.mark.skipif(os.name != "posix", reason="a process is killed by a signal of POSIX")
def test_a_command_ends_with_the_program_that_started_it(here, body):
    """Also where that program is killed: the system closes its pipe."""
    words = [str(pathlib.Path(sys.executable).with_name("pliant")), "drape", "sleeve.obj", "body.npz", *SHORT]
    words += ["--frames", "5000", "--live", "live.pc2"]
    start = "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); "
    start += "print(p.pid, flush=True); time.sleep(300)"
    known = os.environ | {"PLIANT_END_WITH_INPUT": "1"}
    with started([sys.executable, "-c", start, *words], stdout=subprocess.PIPE, env=known) as starter:
        pid = int(starter.stdout.readline())
        limit = time.monotonic() + 120.0
        while not pathlib.Path("live.pc2").is_file() and time.monotonic() < limit:
            time.sleep(0.05)
        assert _runs(pid)
    while _runs(pid) and time.monotonic() < limit:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process is there, and more than an entry that nobody has asked about."""
    try:
        os.kill(pid, 0)
        status = pathlib.Path(f"/proc/{pid}/stat")
        return not status.is_file() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
