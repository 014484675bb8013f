"""Cloth on characters that teleport, start far away, run, or shrink: as on the same character that does not."""

import dataclasses
import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from characters import along_arm, post, sleeve, striker
from pliant import cli
from pliant.detect.queries.intersections import Intersections
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.scenes.dressing import dress_scene
from pliant.simulation.kinematics import GUARDED_PARTS
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled
FRAMES, DT = 14, 1.0 / 30.0
TIMES = np.arange(13) / 30.0


def swaying(places=None, turns=None, more=()):
    """A post that sways, with its root at places (13,3), turned by degrees (13,)."""
    tracks = list(post(clips=("sway",)).clips["sway"].tracks)
    if places is not None:
        tracks.append(Track(Skeleton.column(0, "translation"), TIMES, np.asarray(places, float)))
    if turns is not None:
        quaternions = Rotation.from_euler("y", np.asarray(turns, float)[:, None], degrees=True).as_quat()
        tracks.append(Track(Skeleton.column(0, "rotation"), TIMES, quaternions, rotation=True))
    return dataclasses.replace(post(rings=7, around=8), clips={"go": Animation((*tracks, *more))})


def jumping():
    """The post jumps by 8 m and a quarter turn after its seventh keyframe."""
    late = np.arange(13) > 6
    return swaying(np.where(late[:, None], [8.0, 0.0, 1.0], 0.0), np.where(late, 90.0, 0.0))


def run(character, frames=FRAMES, **options):
    options = {"self_contact": "push"} | options
    scene = dress_scene([sleeve(rings=5, around=12)], character, lead_in=0.1, **options)
    return record(pliant.Simulation(scene, DT, substeps=3, method="bvh"), frames)


@pytest.fixture(scope="module")
def plain():
    return run(swaying())


def worst_strain(result):
    return max(float(np.abs(result.edge_strain(k)).max()) for k in range(len(result.seconds)))


def in_frame(result, character):
    """Positions (T,n,3) of the garment relative to the root of the character."""
    out = []
    for k, x in enumerate(result.x[0]):
        poses = character.skeleton.poses(character.clips["go"], np.array([max(k * DT - 0.1, 0.0)]))
        root = character.skeleton.world_matrices(poses)[0, 0]
        out.append((x - root[:, 3]) @ root[:, :3])
    return np.stack(out)


def test_after_a_teleport_the_cloth_is_as_without_it(plain):
    character = jumping()
    result = run(character)
    (jump,) = result.summary["teleports"]
    assert jump["distance_m"] == pytest.approx(np.hypot(8.0, 1.0), abs=1e-2)  # it sways meanwhile
    assert jump["turn_degrees"] == pytest.approx(90.0, abs=1.0)
    assert "carried along" in result.facts["teleports"]
    assert np.ptp(result.x[0][:, 0, 0]) > 7.0  # it is put back
    # rounding grows in contact, so that the runs agree to less than the wool of a garment is thick
    assert np.abs(in_frame(result, character)[-1] - plain.x[0][-1]).max() < 1e-3
    assert worst_strain(result) == pytest.approx(worst_strain(plain), abs=2e-3)
    assert result.summary["penetration_m"] == plain.summary["penetration_m"] == 0.0
    assert result.summary["crossing_pairs_bodies_most"] == 0
    for k in range(len(result.seconds)):
        body = character.shape("go", max(k * DT - 0.1, 0.0)) if k * DT >= 0.1 else character.shape(None, 0.0)
        assert np.abs(result.clips[1].frames[k] - body).max() < 2e-6


def test_without_carrying_a_teleport_strains_the_cloth(plain):
    result = run(jumping(), 11, teleports="keep", self_contact="off")
    assert result.summary["teleports"] == []
    assert worst_strain(result) > 5.0 * worst_strain(plain) or result.penetrates or result.crosses_bodies


def test_a_run_with_a_teleport_continues_bitwise_from_a_checkpoint(tmp_path):
    scene = dress_scene([sleeve(rings=5, around=12)], jumping(), lead_in=0.1)
    whole = pliant.Simulation(scene, DT, substeps=3, method="bvh")
    list(whole.run(9))
    whole.save(tmp_path / "half.npz")
    list(whole.run(4))
    again = pliant.Simulation.load(tmp_path / "half.npz", scene)
    list(again.run(4))
    assert np.array_equal(whole.state.x, again.state.x)


def test_without_root_motion_a_run_is_that_of_the_character_in_place(plain):
    places = np.stack([10.0 * TIMES, 0.0 * TIMES, 0.0 * TIMES], 1)
    character = swaying(places)
    removed, kept = run(character, root_motion="remove"), run(character, self_contact="off")
    assert removed.summary["root_motion"] == "remove"
    assert "put back" in removed.facts["root motion"]
    assert np.abs(in_frame(removed, character)[-1] - plain.x[0][-1]).max() < 2e-3
    assert np.abs(in_frame(kept, character)[-1] - plain.x[0][-1]).max() > 1e-2  # the cloth lags behind
    body = removed.clips[1].frames[-1]
    assert np.abs(body - character.shape("go", FRAMES * DT - 0.1)).max() < 2e-6


def test_a_first_pose_far_away_is_reached_without_strain(plain):
    character = swaying(np.tile([40.0, 0.0, -5.0], (13, 1)), np.full(13, 150.0))
    result = run(character)
    assert result.summary["lead_in_travels"]
    assert worst_strain(result) == pytest.approx(worst_strain(plain), abs=2e-3)
    assert result.summary["penetration_m"] == 0.0
    assert np.abs(result.x[0][0] - plain.x[0][0]).max() == 0.0  # it begins as given
    assert np.abs(result.x[0][-1].mean(0) - [40.0, 0.5, -5.0]).max() < 0.1


def test_a_bone_that_shrinks_to_nothing_leaves_finite_cloth():
    scale = Track(
        Skeleton.column(1, "scale"), np.array([0.0, 0.08, 0.3]), np.array([[1.0, 1, 1], [0, 0, 0], [1, 1, 1]])
    )
    result = run(swaying(more=(scale,)), 6, self_contact="safe")
    assert np.isfinite(result.x[0]).all()


def test_a_frame_of_its_own_and_another_obstacle_are_an_error():
    scene = dress_scene([sleeve()], jumping(), lead_in=0.1)
    floor = pliant.Body(pliant.shapes.box((1.0, 0.1, 1.0)), obstacle=True)
    sim = pliant.Simulation(dataclasses.replace(scene, bodies=[*scene.bodies, floor]), DT, method="bvh")
    with pytest.raises(ValueError, match="frame of its own"):
        record(sim, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"teleports": "drop"}, "teleports 'drop'; one of: carry"), ({"root_motion": "none"}, "root_motion 'none'")],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        dress_scene([sleeve()], post(), **options)


def test_the_command_tells_lead_in_teleports_and_root_motion(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pliant.save_character("jumper.glb", jumping())
    pliant.save("sleeve.obj", sleeve(rings=5, around=12))
    words = ["drape", "sleeve.obj", "jumper.glb", "--dt", str(DT), "--substeps", "2", "--frames", "2", "-o", "a.npz"]
    assert cli.run([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["lead_in_s"], said["root_motion"], len(said["teleports"])) == (0.5, "keep", 1)
    assert cli.run([*words, "--teleports", "keep", "--root-motion", "remove", "--lead-in", "0.2", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["lead_in_s"], said["root_motion"], said["teleports"]) == (0.2, "remove", [])
    assert cli.run(words) == 0
    printed = capsys.readouterr().out
    assert "lead-in" in printed
    assert "8.06 m, 90 degrees" in printed


class Watched(pliant.Simulation):
    """Counts the intersecting pairs of cloth and body after every substep: within a frame a hand may pass cloth."""

    def watch(self, garment, character):
        self.pairs, self.substeps_taken = Intersections(garment, character.mesh), []
        self.queries = []  # detection passes and repredictions of each frame
        self.crossings, self.rows = [], (self.scene.rows(0), self.scene.rows(1))
        return self

    def _finish(self, found, dt_substep):
        super()._finish(found, dt_substep)
        cloth, body = self.rows
        self.crossings.append(self.pairs.update(self.state.x[cloth], self.state.x[body]).count)

    def step(self):
        guard = self.self_contact
        before = guard.passes + guard.repredictions
        frame = super().step()
        self.substeps_taken.append(frame.substeps)
        self.queries.append(guard.passes + guard.repredictions - before)
        return frame


def worn_by_striker(kind):
    """A sleeve on the arm of the striker, or a cape beside it, in the way of its hand, and what holds it."""
    if kind == "sleeve":
        tube = sleeve(0.15, 0.6, bottom=0.046, top=0.075, rings=8, around=10)
        return pliant.Mesh(*along_arm(tube), name="sleeve"), {}
    sheet = pliant.shapes.cloth(0.7, 0.7, 11)
    x = sheet.vertices - sheet.vertices.mean(0)
    return pliant.Mesh(np.stack([x[:, 0] + 0.1, 0.65 - x[:, 2], 0.0 * x[:, 0] - 0.35], 1), sheet.faces), {
        "pins": "top 1cm"
    }


@pytest.mark.parametrize("kind", ["sleeve", "cape"])
def test_a_hand_at_60_metres_per_second_does_not_pass_through_cloth(kind):
    who = striker(60.0)
    times = np.linspace(0.0, 0.03, 31)
    path = np.stack([who.shape("strike", t) for t in times])
    assert np.linalg.norm(np.diff(path, axis=0), axis=2).max() / 1e-3 == pytest.approx(60.0, rel=0.02)
    garment, held = worn_by_striker(kind)
    scene = dress_scene([garment], who, lead_in=0.2, **held)
    sim = Watched(scene, 0.01, method="bvh").watch(garment, who)
    result = record(sim, 32)
    x = result.x[0]
    assert np.isfinite(x).all()
    assert max(sim.crossings) == 0
    s = result.summary
    assert (s["penetration_m"], s["intersecting_pairs_cloth_most"], s["given_up_pairs"]) == (0.0, 0, 0)
    assert np.linalg.norm(np.diff(x, axis=0), axis=2).max() > 0.2  # 20 m/s: the hand takes cloth along
    # the time step divides itself, up to the bound, and only while the hand is near
    assert max(sim.substeps_taken) == GUARDED_PARTS * sim.substeps
    assert sim.substeps_taken[-1] == sim.substeps
    # the work of a frame is bounded: with 16 parts and without bounds of repredictions and rounds after carrying
    # there were 223 queries in a frame for the cape, and 438 for the sleeve
    assert max(sim.queries) < 350
