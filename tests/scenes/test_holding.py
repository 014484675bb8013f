"""Cloth that is held: pins, attachments to skin, bones and regions, stitches, rest scale."""

import dataclasses
import logging

import numpy as np
import pytest

from characters import human, post, sleeve
from pliant import Simulation, closest_point, select, shapes
from pliant.motion.animation import Skeleton
from pliant.motion.bones import bone_segments, region_segments
from pliant.scenes import drape_scene
from pliant.scenes.dressing import dress_scene
from pliant.scenes.holding import Holding, hold_cloths, split_target
from pliant.scenes.regions import rows_near_region


def gripped(scene) -> list[int]:
    return sorted(row for body in scene.bodies for grip in body.grips for row in grip.rows.tolist())


def ran(scene, frames, dt=0.02):
    sim = Simulation(scene, dt, substeps=2, method="bvh")
    for _ in sim.run(frames):
        pass
    return sim


def test_what_is_given_replaces_what_is_held_automatically():
    garment = sleeve()
    scene = dress_scene([garment], post(), attach="ids:3,4")
    assert gripped(scene) == [3, 4]
    assert dress_scene([garment], post(), pins="ids:5").bodies[0].pins.tolist() == [5]


def test_attached_vertices_keep_their_distance_from_the_skin():
    character = post()
    scene = dress_scene([sleeve()], character, clip="sway", lead_in=0.1, attach="boundary top")
    rows = np.array(gripped(scene))
    sim = ran(scene, 10)
    skin = character.mesh.moved(sim.state.x[scene.rows(1)])
    now, start = (closest_point(m, x[rows])[0] for m, x in ((skin, sim.state.x), (character.mesh, scene.start().x)))
    assert np.abs(sim.state.x[rows] - scene.start().x[rows]).max() > 1e-3
    np.testing.assert_allclose(now, start, atol=2e-3)


def test_vertices_attached_to_a_bone_move_rigidly_with_it():
    character = post()
    name = character.names[-1]
    scene = dress_scene([sleeve()], character, clip="sway", lead_in=0.1, attach=f"boundary top={name}")
    rows = np.array(gripped(scene))
    sim = ran(scene, 15)
    x, rest = sim.state.x[rows], scene.start().x[rows]
    apart = [np.linalg.norm(a[:, None] - a[None], axis=2) for a in (x, rest)]
    np.testing.assert_allclose(apart[0], apart[1], atol=1e-9)
    matrices = [scene.bodies[1].motion.sample(np.array([t]))[0, -1] for t in (0.0, sim.state.time)]
    whole = [np.vstack([m, [0, 0, 0, 1]]) for m in matrices]
    moved = whole[1] @ np.linalg.inv(whole[0])
    np.testing.assert_allclose(x, rest @ moved[:3, :3].T + moved[:3, 3], atol=1e-9)


def test_on_a_static_body_attached_vertices_are_pinned():
    cloth = shapes.cloth(0.4, 0.4, 5, centre=(0.0, 0.3, 0.0))
    scene = drape_scene(cloth, shapes.ball(0.2, 2), attach="left 1mm", place="as-is")
    assert scene.bodies[0].pins.tolist() == select(cloth, "left 1mm").tolist()


def test_selections_see_the_cloth_where_it_is_placed():
    cloth = shapes.cloth(0.4, 0.4, 5)
    scene = drape_scene(cloth, shapes.ball(0.2, 2), place="above", pins="box:-1,0.2,-1,1,1,1 & left 1mm")
    assert len(scene.bodies[0].pins) == 5


def test_vertices_held_inside_the_body_or_near_it_are_counted_and_told(caplog):
    garment = sleeve()
    x = garment.vertices.copy()
    x[0, [0, 2]] *= 0.3
    caplog.set_level(logging.INFO, "pliant.scenes")
    scene = dress_scene([garment.moved(x)], post(), attach="ids:0")
    assert "1 vertex of 'sleeve' is attached" in caplog.text
    assert "1 of them inside the body" in caplog.text
    sim = ran(scene, 3)
    assert np.isfinite(sim.state.x).all()
    assert (sim.state.x[0] == scene.gripped_at(np.array([sim.state.time]))[0, 0]).all()


def cape_and_walker():
    return shapes.cape(spacing=0.06), shapes.walking_mannequin(0.7)


def test_shoulders_choose_the_neck_edge_of_a_cape_and_not_its_hem():
    cape, walker = cape_and_walker()
    rows, names = rows_near_region(cape, walker, "shoulders")
    assert set(names) == {"shoulder.left", "shoulder.right"}
    neck = select(cape, "top 1mm")
    assert np.isin(neck, rows).all()
    assert (cape.vertices[rows, 1] > 1.4).all()
    assert np.isin(rows, select(cape, "boundary")).all()


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("hips", "spine", "LeftShoulder", "LeftArm", "LeftForeArm"), ["LeftShoulder"]),
        (("root", "torso_joint_3", "arm_joint_L_1", "arm_joint_L_2", "arm_joint_L_3"), ["arm_joint_L_1"]),
        (("root", "chest", "upperarm.l", "lowerarm.l", "hand.l"), ["upperarm.l"]),
        (("root", "clavicle.L", "shoulder01.L", "upperarm01.L", "lowerarm01.L"), ["clavicle.L", "shoulder01.L"]),
    ],
)
def test_shoulders_are_found_in_the_names_of_many_rigs(names, wanted):
    """A chain of five bones along the post."""
    character = post()
    chain = Skeleton.of_heads([-1, 0, 1, 2, 3], [(0.0, 0.2 * k, 0.0) for k in range(5)])
    rig = {"parents": [-1, 0, 1, 2, 3], "nodes": range(5), "inverse": np.tile(np.eye(3, 4), (5, 1, 1))}
    joints = np.tile(np.arange(5), (character.mesh.n_vertices, 1))
    weights = np.full(joints.shape, 0.2)
    skin = {"joints": joints, "weights": weights, "clips": {}, "skeleton": chain}
    found = region_segments(dataclasses.replace(character, names=names, **rig, **skin), "shoulders")
    assert list(found) == wanted


def test_the_waist_chooses_the_waistband_of_a_skirt():
    skirt = shapes.skirt(0.4, spacing=0.04)
    rows, _ = rows_near_region(skirt, shapes.walking_mannequin(0.7), "waist")
    assert rows.tolist() == select(skirt, "boundary top").tolist()


@pytest.mark.compiled
def test_a_cape_stays_on_the_shoulders_while_its_wearer_walks():
    cape, walker = cape_and_walker()
    scene = dress_scene([cape], walker, attach="shoulders", lead_in=0.2)
    rows = np.array(gripped(scene))
    sim = ran(scene, 40)
    skin = walker.mesh.moved(sim.state.x[scene.rows(1)][scene.bodies[1].mesh.weld_index])
    away = closest_point(skin, sim.state.x[rows])[0]
    before = closest_point(walker.mesh.moved(walker.shape(None, 0.0)), cape.vertices[rows])[0]
    np.testing.assert_allclose(away, before, atol=0.01)
    assert sim.state.x[scene.rows(0), 1].min() < cape.vertices[:, 1].min() - 0.1  # the rest of it fell


@pytest.mark.compiled
def test_a_cape_stays_on_the_shoulders_of_the_walking_human(data):
    walker = human(data / "human")
    neck = bone_segments(walker, walker.names.index("neck01"))[0, 0]
    cape = shapes.cape(0.6, centre=tuple(neck + np.array([0.0, 0.02, 0.0])), spacing=0.08)
    scene = dress_scene([cape], walker, attach="shoulders", lead_in=0.2)
    rows = np.array(gripped(scene))
    before = closest_point(walker.mesh.moved(walker.shape(None, 0.0)), cape.vertices[rows])[0]
    motion = scene.bodies[1].motion
    for time in np.linspace(0.0, motion.duration, 7):
        skin = walker.mesh.moved(motion.shape(motion.sample(np.array([time]))[0]))
        away = closest_point(skin, scene.gripped_at(np.array([time]))[0])[0]
        np.testing.assert_allclose(away, before, atol=0.02)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"attach": "shoulders"}, "no bone of 'post' belongs to 'shoulders' by its name; its bones are:"),
        ({"attach": "boundary top=wing"}, "there is no body or bone 'wing'; the bodies are: post; its bones are:"),
        ({"attach": "boundary 7"}, "has 2 boundary loops"),
        ({"stitch": [("boundary top", "all & not boundary")]}, "stitches join boundaries"),
        ({"stitch": ["boundary top"]}, "expected two selections"),
        ({"stitches": "lines"}, "has no line elements"),
        ({"rest_scale": 0.0}, "rest_scale"),
    ],
)
def test_what_cannot_be_held_is_refused_with_what_there_is(given, said):
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (the text is compared below)
        dress_scene([sleeve()], post(), **given)
    assert said in str(caught.value)


def test_a_region_needs_bones():
    cloth = shapes.cloth(0.4, 0.4, 5, centre=(0.0, 0.3, 0.0))
    with pytest.raises(ValueError, match="needs a character with bones"):
        drape_scene(cloth, shapes.ball(0.2, 2), attach="waist")


def test_a_selection_of_another_garment_names_it():
    scene = dress_scene([sleeve(), sleeve(top=0.12, bottom=0.22, name="coat")], post(), pins="coat/ids:2")
    assert [body.pins.tolist() for body in scene.bodies[:2]] == [[], [2]]


def test_seams_between_two_garments_and_a_scale_are_kept_in_the_scene():
    scene = dress_scene([sleeve()], post())
    held = hold_cloths(scene, Holding(stitch=[("boundary top", "boundary bottom")], closing=0.2, rest_scale=(0.9, 1.0)))
    assert len(held.seams) == 1
    assert held.closing == 0.2
    assert held.bodies[0].rest_scale == (0.9, 1.0)


def test_a_comparison_with_a_number_is_not_a_target():
    assert split_target("attribute:_PIN=1") == ("attribute:_PIN=1", "")
    assert split_target("attribute:_PIN>=0.5") == ("attribute:_PIN>=0.5", "")
    assert split_target("attribute:_PIN>0.5=hips") == ("attribute:_PIN>0.5", "hips")
    assert split_target("top 3cm = bone:hips") == ("top 3cm", "bone:hips")
