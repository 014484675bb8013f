"""`pliant drape --lead-in 0` on a post whose clip begins bent: the way to its first pose is simulated, and not kept."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from characters import post, sleeve
from pliant import cli
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.simulation.step import Simulation

pytestmark = pytest.mark.compiled


def bent(degrees, away=(0.0, 0.0, 0.0)):
    """A post whose only clip keeps its upper part bent, and the whole post `away` from its rest pose."""
    who, times = post(), np.array([0.0, 0.2])
    turns = Rotation.from_euler("z", [[degrees], [degrees + 3.0]], degrees=True).as_quat()
    root, upper = (int(who.nodes[k]) for k in (0, 1))
    at = Skeleton.column(root, "translation")
    place = who.skeleton.rest[at : at + 3] + np.array(away)
    tracks = (
        Track(Skeleton.column(upper, "rotation"), times, turns, rotation=True),
        Track(at, times, np.stack([place, place])),
    )
    return dataclasses.replace(who, clips={"bent": Animation(tracks)})


@pytest.fixture
def draped(tmp_path, monkeypatch, capsys):
    """Runs `pliant drape` on a character; returns the exit code, the summary, the files' frames and what was said."""
    monkeypatch.chdir(tmp_path)
    pliant.save("sleeve.obj", sleeve(rings=5, around=12))

    def run(who, *words):
        pliant.save_character("post.glb", who)
        code = cli.run(["drape", "sleeve.obj", "post.glb", "--substeps", "2", *words, "--json", "-o", "a.npz"])
        out, talk = capsys.readouterr()
        return code, json.loads(out), np.load("a.npz"), talk

    return run


def test_the_first_frame_wears_the_garment_in_the_first_pose(draped):
    who = bent(60.0)
    code, found, frames, talk = draped(who, "--lead-in", "0")
    assert code == 0
    assert "are simulated before the first frame" in talk
    assert (found["frames"], found["lead_in_s"]) == (20, 0.0)
    assert found["preroll_s"] >= 0.5
    assert np.abs(frames["frames_1"][0] - who.shape("bent", 0.0)).max() < 1e-6
    assert np.abs(frames["frames_1"][-1] - who.shape("bent", 0.2)).max() < 1e-6
    assert found["strain_most"] < 0.1  # without it, one edge is stretched to many times its length
    assert (found["penetration_m"], found["crossing_pairs_bodies_most"], found["given_up_pairs"]) == (0.0, 0, 0)
    assert np.linalg.norm(frames["frames_0"][0] - pliant.load("sleeve.obj").vertices, axis=1).max() > 0.05


def test_a_character_that_begins_in_its_rest_pose_needs_none(draped):
    code, found, frames, talk = draped(bent(0.0), "--lead-in", "0")
    assert (code, found["preroll_s"], "before the first frame" in talk) == (0, 0.0, False)
    assert np.abs(frames["frames_0"][0] - pliant.load("sleeve.obj").vertices).max() < 1e-6


def test_the_skinned_body_in_a_file_begins_with_the_clip(draped):
    who = bent(60.0)
    pliant.save_character("post.glb", who)
    assert cli.run(["drape", "sleeve.obj", "post.glb", "--lead-in", "0", "--frames", "4", "-o", "a.glb"]) == 0
    back = pliant.load_character("a.glb")
    (played,) = back.clips
    assert np.abs(back.shape(played, 0.0)[-who.mesh.n_vertices :] - who.shape("bent", 0.0)).max() < 1e-6


def test_a_first_pose_far_away_is_carried_to_or_told(draped):
    who = bent(20.0, away=(30.0, 0.0, 0.0))
    code, found, frames, _ = draped(who, "--lead-in", "0")
    assert (code, found["lead_in_travels"], found["crossing_pairs_bodies_most"]) == (0, True, 0)
    assert np.abs(frames["frames_0"][0].mean(0) - frames["frames_1"][0].mean(0)).max() < 0.5
    _, found, _, talk = draped(who, "--lead-in", "0", "--teleports", "keep", "--frames", "2")
    assert found["preroll_s"] == 0.0
    assert "the body jumps there, and the cloth may be left behind" in talk
    assert "leave out --teleports keep" in talk


def test_a_proxy_and_another_frame_time_are_prerolled_too(draped):
    code, found, frames, _ = draped(bent(60.0), "--lead-in", "0", "--dt", "0.001", "--frames", "3", "--proxy", "100")
    assert found["preroll_s"] >= 0.5
    assert np.abs(frames["frames_1"][0] - bent(60.0).shape("bent", 0.0)).max() < 1e-6
    assert (code, found["penetration_m"]) == (0, 0.0)


def test_where_the_body_is_fast_frames_of_the_preroll_are_divided_instead_of_substeps(draped, monkeypatch):
    found, step = [], Simulation.step

    def watched(self, **how):
        frame = step(self, **how)
        found.append((self.dt, frame.substeps))
        return frame

    monkeypatch.setattr(Simulation, "step", watched)
    options = "--eps", "1mm", "--frames", "2", "--lead-in"
    _, summary, frames, _ = draped(bent(80.0), *options, "0")
    durations, substeps = np.array(found[:-2]).T
    assert substeps.max() == 4  # the default for 0.01 s
    assert durations.min() <= 0.01 / 4
    assert durations.sum() == pytest.approx(summary["preroll_s"])
    assert np.abs(frames["frames_1"][0] - bent(80.0).shape("bent", 0.0)).max() < 1e-6
    assert (summary["penetration_m"], summary["crossing_pairs_bodies_most"]) == (0.0, 0)
    found.clear()
    draped(bent(80.0), *options[:2], "--dt", "0.01", "--lead-in", str(summary["preroll_s"]))
    assert max(taken for _, taken in found) >= 2 * 4  # the same motion, as frames that are kept
