"""Runs on proxies: the result is that of the garment, measured as it is written."""

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.simulation.result import Result
from pliant.sweep.parameters import checked
from proxies.garments import joined, sheet, thickened

pytestmark = pytest.mark.compiled
BALL = shapes.ball(0.15, 3, centre=(0.25, -0.17, 0.25))
QUICK = {"place": "as-is", "substeps": 2, "method": "bvh"}


def coat() -> Mesh:
    """A thick square with a button, texture coordinates and two materials."""
    button = shapes.ball(0.006, 1, centre=(0.2, 0.006, 0.3))
    mesh = joined(thickened(sheet(0.5, 0.5, 31, 31), 0.004), button)
    uv = mesh.vertices[mesh.faces][:, :, [0, 2]]
    parts = ({"name": "cloth"}, {"name": "button"})
    return Mesh(
        mesh.vertices,
        mesh.faces,
        name="coat",
        uv=uv,
        material=(np.arange(mesh.n_faces) >= mesh.n_faces - button.n_faces).astype(np.int32),
        materials=parts,
    )


@pytest.fixture(scope="module")
def run() -> Result:
    return pliant.drape(coat(), BALL, 12, proxy=150, **QUICK)


def test_the_result_has_the_garment_with_its_texture_and_materials(run) -> None:
    garment, clip = coat(), run.clips[0]
    assert (clip.mesh.faces == garment.faces).all()
    assert (clip.mesh.uv == garment.uv).all()
    assert [part["name"] for part in clip.mesh.materials] == ["cloth", "button"]
    assert np.abs(clip.frames[0] - garment.vertices).max() < 1e-6
    assert abs(run.carried.run.x[0].shape[1] / 150 - 1.0) < 0.15


def test_the_button_is_rigid_and_the_cloth_keeps_its_thickness(run) -> None:
    n = 31 * 31
    x = run.x[0][:, run.scene.bodies[0].mesh.weld_index]
    assert np.abs(x[-1] - x[0]).max() > 0.005  # it fell, and was stopped in the middle
    button = x[:, 2 * n :]
    gaps = np.linalg.norm(button[:, :, None] - button[:, None], axis=3)
    assert np.abs(gaps - gaps[0]).max() < 1e-12
    thick = np.linalg.norm(x[:, :n] - x[:, n : 2 * n], axis=2)
    assert np.abs(thick / 0.004 - 1.0).max() < 0.08


def test_the_garment_as_written_is_measured(run) -> None:
    body = ClosestPoints(BALL)
    mesh = run.scene.bodies[0].mesh.welded
    for t in (0, 6, 12):
        points = np.concatenate([run.x[0][t], run.x[0][t][mesh.topology.edges].mean(1)])
        assert abs(body.query(points)[0].min() - run.least_distance[t]) < 1e-12
    assert not run.penetrates
    assert run.gained_intersections == 0
    assert run.summary["proxy"]["garments"][0]["merged_shells"] == 1
    assert run.facts["projected out of bodies"] == "0 vertices"
    start, end = (run.x[0][t][mesh.topology.edges] for t in (0, -1))
    lengths = [np.linalg.norm(x[:, 0] - x[:, 1], axis=1) for x in (start, end)]
    worst = np.abs(lengths[1] / lengths[0] - 1.0).max()
    assert abs(run.summary["proxy"]["strain_at_end_most"] - worst) < 1e-9


def test_eps_and_thickness_leave_room_for_both_layers_unless_given(run) -> None:
    given = pliant.drape(coat(), BALL, 1, proxy=150, eps=0.01, thickness=0.001, measure=False, **QUICK).scene
    assert run.scene.thickness >= 0.004
    assert (given.eps, given.thickness) == (0.01, 0.001)
    plain = pliant.drape(sheet(0.5, 0.5, 31, 31), BALL, 1, proxy=150, measure=False, **QUICK).scene
    assert abs(run.scene.eps - plain.eps - 0.002) < 1e-4


def test_what_is_inside_a_body_after_carrying_is_projected_out_and_counted() -> None:
    spikes = sheet(0.5, 0.5, 31, 31)
    x = spikes.vertices.copy()
    x[480, 1] -= 0.012  # a detail that reaches farther than the contact offset
    run = pliant.drape(spikes.moved(x), BALL, 12, proxy=150, **QUICK)
    assert run.carried.projected.max() > 0
    assert 0.0 < run.carried.farthest.max() < 0.02
    assert not run.penetrates
    assert run.facts["projected out of bodies"].startswith("1 vertices at most")


def test_a_garment_that_is_its_own_proxy_is_simulated_as_ever() -> None:
    mesh = sheet(0.5, 0.5, 9, 9)
    one, two = (pliant.drape(mesh, BALL, 2, proxy=n, measure=False, **QUICK) for n in (None, 5000))
    assert two.carried is None
    assert (one.x[0] == two.x[0]).all()


def test_sweeps_take_the_number_of_vertices_as_text() -> None:
    assert checked("drape", "[fixed]", "proxy", "2.5k") == 2500
    with pytest.raises(ValueError, match="expected a number such as 5000 or 5k"):
        checked("drape", "[fixed]", "proxy", "many")


def test_vertices_by_number_are_refused() -> None:
    for held in ({"pins": [0, 1]}, {"pins": "ids:3"}, {"stitches": [[0, 5]]}):
        with pytest.raises(ValueError, match="by their numbers, and its proxy has others"):
            pliant.drape(coat(), BALL, 1, proxy=150, **held)


def test_selections_name_the_vertices_of_the_proxy() -> None:
    run = pliant.drape(coat(), BALL, 3, proxy=150, pins="left 3cm", measure=False, **QUICK)
    x = run.x[0]
    held = x[0][:, 0] > 0.499
    fell = np.abs(x[-1] - x[0])
    assert fell[held].max() < 0.2 * fell[~held].max()  # a neighbour that is not held pulls a little
