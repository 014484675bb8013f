"""A sequence of meshes that moves from a rest pose to its first frame, with a garment that was made for that pose."""

import numpy as np
import pytest

import pliant
from pliant import cli
from pliant.motion.clip import Clip
from pliant.motion.deforming import Recorded

REST = pliant.shapes.box((0.2, 0.6, 0.2), (2, 6, 2))


def leaning(share: float) -> np.ndarray:
    """The box sheared by `share` of its height, as a body that leans."""
    return REST.vertices + np.outer(REST.vertices[:, 1], (share, 0.0, 0.0))


def ring() -> pliant.Mesh:
    """A tube around the box at rest that touches nothing."""
    around = pliant.shapes.box((0.24, 0.2, 0.24), (4, 4, 4))
    sides = np.abs(around.face_normals[:, 1]) < 0.5
    return pliant.Mesh(around.vertices, around.faces[sides], name="ring")


BODY = Clip(REST, np.stack([leaning(0.5), leaning(0.6)]))


def test_the_body_moves_from_rest_to_its_first_frame() -> None:
    scene = pliant.recorded_scene([ring()], BODY, 30.0, rest=REST, lead_in=0.4)
    motion = scene.bodies[1].motion
    assert isinstance(motion, Recorded)
    at = [motion.shape(motion.sample(np.array([t]))[0]) for t in (0.0, 0.2, 0.4, 0.4 + 1 / 30)]
    expected = [REST.vertices, leaning(0.25), leaning(0.5), leaning(0.6)]
    for got, wanted in zip(at, expected, strict=True):
        assert got == pytest.approx(wanted, abs=1e-12)
    assert scene.bodies[1].mesh.vertices == pytest.approx(REST.vertices)


def test_the_lead_in_is_as_long_as_the_way_needs() -> None:
    slow = pliant.recorded_scene([ring()], BODY, 30.0, rest=REST).bodies[1].motion
    assert slow.times[-2] == 0.5
    lean = Clip(REST, np.stack([leaning(5.0), leaning(5.0)]))
    motion = pliant.recorded_scene([ring()], lean, 30.0, rest=REST).bodies[1].motion
    assert motion.times[-2] * 30.0 == pytest.approx(round(motion.times[-2] * 30.0))
    shapes = np.stack([motion.shape(motion.sample(np.array([t]))[0]) for t in motion.times[:-1]])
    speed = np.linalg.norm(np.diff(shapes, axis=0), axis=2).max(1) / np.diff(motion.times[:-1])
    assert 2.4 < speed.max() <= 3.0


def test_a_first_frame_elsewhere_takes_rest_pose_and_garment_there() -> None:
    turned = BODY.frames @ np.array([[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]]) + np.array([3.0, 0.2, -1.0])
    scene = pliant.recorded_scene([ring()], Clip(REST, turned), 30.0, rest=REST, lead_in=0.5)
    start, worn = scene.bodies[1].mesh.vertices, scene.bodies[0].mesh.vertices
    assert np.linalg.norm(start.mean(0) - turned[0].mean(0)) < 1e-9
    assert (
        np.linalg.norm(start - turned[0], axis=1).max()
        <= np.linalg.norm(REST.vertices - leaning(0.5), axis=1).max() + 1e-9
    )
    both = [np.linalg.norm(a[:, None] - b[None], axis=2) for a, b in ((REST.vertices, ring().vertices), (start, worn))]
    assert both[0] == pytest.approx(both[1], abs=1e-9)  # moved together, rigidly


def test_wrong_rest_poses_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rest 'mesh' has 4 vertices and the body \d+; expected the same"):
        pliant.recorded_scene([ring()], BODY, 30.0, rest=pliant.Mesh(np.eye(4)[:, :3], [[0, 1, 2]]))
    with pytest.raises(ValueError, match="are both in the same unit"):
        pliant.recorded_scene([ring()], BODY, 30.0, rest=REST.moved(0.01 * REST.vertices))
    moving = Clip(ring(), np.stack([ring().vertices] * 2))
    with pytest.raises(ValueError, match="has frames of its own"):
        pliant.recorded_scene([moving], BODY, 30.0, rest=REST)


def test_the_command_reads_it_and_whole_numbers_of_frames_per_second(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("body.npz", frames=BODY.frames, faces=REST.faces, fps=30)
    pliant.save("rest.obj", REST)
    pliant.save("ring.obj", ring())
    words = ["drape", "ring.obj", "body.npz", "--body-rest", "rest.obj", "--lead-in", "0.1", "--dt", "0.05"]
    assert cli.run([*words, "-o", "worn.npz"]) == 0
    found = np.load("worn.npz")
    assert found["frames_1"][0] == pytest.approx(REST.vertices, abs=1e-6)
    assert found["frames_1"][2] == pytest.approx(leaning(0.5), abs=1e-6)
    capsys.readouterr()
    assert cli.run(["drape", "ring.obj", "rest.obj", "--body-rest", "rest.obj"]) == 2
    assert "--body-rest is for a" in capsys.readouterr().err
