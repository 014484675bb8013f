"""Garments on characters: what holds them, in which order they lie, and that nothing gets inside."""

import dataclasses
import logging

import numpy as np
import pytest

from characters import post, sleeve
from pliant import bind, closest_point, shapes
from pliant.errors import TooBigError
from pliant.scene import Scene
from pliant.scenes import SCENES
from pliant.scenes.defaults import MOST_FRAMES, default_run_length
from pliant.scenes.dressing import dress_scene
from pliant.simulation import Simulation
from pliant.simulation.record import record
from pliant.simulation.result import Result

TOP, BOTTOM = slice(-16, None), slice(0, 16)  # rows of a sleeve's rings


def run(scene: Scene, frames: int, substeps: int = 4) -> Result:
    return record(Simulation(scene, 1.0 / 30.0, substeps=substeps, method="bone-boxes"), frames)


def held(garment, **options) -> list[int]:
    (grips,) = [body.grips for body in dress_scene([garment], post(), **options).bodies if not body.obstacle]
    return sorted(row for grip in grips for row in grip.rows.tolist())


@pytest.mark.parametrize(("loop", "seconds"), [(False, 0.5 + 0.4), (True, 0.5 + 3 * 0.4)])
def test_a_run_lasts_as_long_as_the_clip_at_any_frame_time(loop, seconds):
    scene = dress_scene([sleeve()], post(), loop=loop)
    for dt in (0.01, 0.005, 0.05):
        assert default_run_length(scene, dt).frames == round(seconds / dt)
    with pytest.raises(ValueError, match="dt"):
        default_run_length(scene, 0.0)


def test_a_clip_that_lasts_for_hours_is_not_run_to_its_end_by_default(caplog):
    scene = dress_scene([sleeve()], post(), lead_in=1e7)
    assert default_run_length(scene, 0.01).frames == MOST_FRAMES
    assert "the first 100000 are run" in caplog.text


def test_the_memory_of_a_recorded_run_includes_the_body(monkeypatch):
    scene = dress_scene([sleeve()], post())
    soft = sleeve().n_vertices
    monkeypatch.setattr("pliant.validate.free_memory", lambda: 2.0 * 24.0 * 1001 * soft)
    with pytest.raises(TooBigError, match=r"1000 frames of .* vertices of bodies needs"):
        run(scene, 1000)


def test_a_border_close_to_the_skin_is_held_and_one_that_stands_off_is_not():
    garment = sleeve()
    assert held(garment) == list(range(garment.n_vertices))[TOP]


def test_both_borders_are_held_where_both_are_close():
    garment = sleeve(bottom=0.106)
    rows = list(range(garment.n_vertices))
    assert held(garment) == rows[BOTTOM] + rows[TOP]


def test_a_border_that_stands_off_in_one_place_is_not_held():
    garment = sleeve()
    x = garment.vertices.copy()
    x[-1, [0, 2]] *= 1.4
    assert held(garment.moved(x)) == []


def test_nothing_is_held_where_friction_alone_shall_do_it():
    assert held(sleeve(), hold="none") == []


def test_a_garment_without_borders_is_not_held():
    assert held(shapes.ball(0.2, 2).moved(shapes.ball(0.2, 2).vertices + np.array([0.0, 0.5, 0.0]))) == []


@pytest.mark.compiled
def test_what_is_held_rides_on_the_skin_and_the_rest_follows():
    character = post()
    result = run(dress_scene([sleeve()], character, clip="sway", lead_in=0.1), 15)
    away = []
    for x, body in zip(result.x[0], result.deforming_x[1]):
        away.append(closest_point(character.mesh.moved(body.astype(np.float64)), x[TOP])[0])
    assert np.ptp(away, axis=0).max() < 1e-5
    assert np.ptp(result.x[0][:, TOP, 0], axis=0).max() > 0.01


@pytest.mark.compiled
def test_an_outer_garment_stays_outside_of_the_inner_ones_thickness():
    # both start nearer than they may, and nothing but contacts moves them
    inner, outer = sleeve(top=0.1015, bottom=0.1015), sleeve(top=0.104, bottom=0.104, name="coat")
    options = {"thickness": 0.004, "hold": "none", "gravity": (0.0, 0.0, 0.0)}
    assert dress_scene([inner, outer], post(), clip="sway", **options).self_contact == "safe"
    # pushing alone: what is limited besides takes longer to reach its distance
    scene = dress_scene([inner, outer], post(), clip="sway", lead_in=0.1, self_contact="push", **options)
    result = run(scene, 12, substeps=8)
    bodies = [post().mesh.moved(x.astype(np.float64)) for x in result.deforming_x[2][1:]]
    least = [min(closest_point(body, x)[0].min() for x, body in zip(cloth[1:], bodies)) for cloth in result.x.values()]
    assert least[0] > 0.9 * scene.eps - 1e-7
    assert least[1] > 0.9 * scene.eps + 0.004 - 1e-7


def test_a_garment_partly_inside_is_said_with_how_much(caplog):
    caplog.set_level(logging.WARNING)
    dress_scene([sleeve(top=0.09)], post())
    assert "garment 'sleeve' starts with 16 vertices inside the body, up to " in caplog.text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hold": "tight"}, "unknown hold 'tight'"),
        ({"clip": "run"}, "unknown clip 'run'; one of: sway, still"),
        ({"lead_in": -1.0}, "lead_in = -1"),
        ({"eps": 0.0}, "eps = 0"),
        ({"ease": 1.5}, "ease = 1.5"),
        ({"ease": 0.1, "rest_scale": 0.9}, "ease and rest_scale"),
    ],
)
def test_bad_options_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        dress_scene([sleeve()], post(), **options)


def test_a_garment_with_ease_is_larger_where_the_clip_stretches_the_skin():
    own, eased = (dress_scene([sleeve()], post(), clip="sway", ease=most) for most in (0.0, 0.1))
    assert np.all(np.asarray(own.bodies[0].rest_scale) == 1.0)
    assert np.array_equal(eased.bodies[0].rest_scale, bind(sleeve(), post(), pose="rest").ease("sway", most=0.1))
    assert 1.0 < eased.bodies[0].rest_scale.max() <= 1.1


def test_a_character_without_anything_to_wear_is_refused():
    with pytest.raises(ValueError, match="garments is empty"):
        dress_scene([], post())


def test_a_character_that_is_inside_out_is_refused():
    character = post()
    flipped = dataclasses.replace(character.mesh, faces=character.mesh.faces[:, ::-1])
    with pytest.raises(ValueError, match="inside out"):
        dress_scene([sleeve()], dataclasses.replace(character, mesh=flipped))


@pytest.mark.compiled
def test_no_vertex_of_a_walking_skirt_is_ever_inside():
    result = run(SCENES["walking-skirt"](resolution=14, lead_in=0.2), 20, substeps=8)
    assert result.n_contacts.max() > 10
    assert result.least_distance.min() > 0.0


@pytest.mark.compiled
def test_trousers_slide_down_without_friction_and_stay_up_with_the_scenes():
    """Fuhrmann et al. 2003, figure 9; the guard against intersections neither holds them up nor cuts them."""
    waist = {}
    for friction in (None, 0.0):
        options = {} if friction is None else {"friction": friction}
        scene = SCENES["walking-trousers"](self_contact="safe", **options)
        result = run(scene, 9)
        x = result.x[0]
        top = x[0][:, 1] > x[0][:, 1].max() - 0.02
        waist[friction] = float(x[0][top, 1].mean() - x[-1][top, 1].mean())
        assert not result.intersecting_pairs.any()
        assert result.failed_substeps == 0
    assert waist[None] < 0.1
    assert waist[0.0] > 0.14
