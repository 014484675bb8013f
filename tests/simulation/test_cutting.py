"""A cut: pieces fit where they were, a run goes on with them, and they meet from the next step on."""

import numpy as np
import pytest

import pliant
from pliant.detect.base import Side
from pliant.detect.detectors.spatial_hash import SpatialHashDetector

BAR = pliant.shapes.bar((0.4, 0.1, 0.1), (8, 2, 2))


def shifted(way):
    """A motion by `way` within a second."""
    poses = np.tile(np.eye(3, 4), (2, 1, 1))
    poses[1, :, 3] = way
    return pliant.Motion([0.0, 1.0], poses)


def pieces(mesh):
    return len(np.unique(mesh.welded.topology.components[np.unique(mesh.welded.faces)]))


def test_a_bar_falls_into_two_that_fill_the_same_space():
    made = pliant.cut(BAR, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert (made.copies, pieces(BAR), pieces(made.mesh)) == (9, 1, 2)
    assert made.mesh.n_faces == BAR.n_faces + 2 * 8
    assert made.mesh.tet_volumes == pytest.approx(BAR.welded.tet_volumes, rel=1e-5)
    assert made.mesh.issues.closed
    assert made.mesh.welded.n_vertices == made.mesh.n_vertices
    assert np.abs(made.mesh.vertices - BAR.welded.vertices[made.source]).max() < 1e-7


def test_a_knife_that_does_not_go_through_leaves_one_piece_with_a_slit():
    made = pliant.cut(BAR, (0.0, 0.05, 0.0), (1.0, 0.0, 0.0), reach=0.06)
    assert pieces(made.mesh) == 1
    assert 0 < made.copies < 9
    assert made.mesh.n_faces > BAR.n_faces
    again = pliant.cut(made.mesh, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert pieces(again.mesh) == 2


def test_a_plane_beside_the_body_changes_nothing():
    made = pliant.cut(BAR, (1.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    assert made.copies == 0
    np.testing.assert_array_equal(made.mesh.tets, BAR.welded.tets)


def pressed(scene, state=None):
    return pliant.Simulation(scene, substeps=8, self_method="spatial-hash", self_response="projection", state=state)


def squeezed_bar():
    """A bar held at both ends, which come nearer to each other."""
    x = BAR.vertices[:, 0]
    grips = [pliant.Grip(np.flatnonzero(x * s > 0.19), shifted((-0.1 * s, 0.0, 0.0))) for s in (-1.0, 1.0)]
    body = pliant.Body(BAR, material=pliant.Solid(), grips=grips)
    return pliant.Scene([body], gravity=(0.0, 0.0, 0.0), eps=0.002, self_contact="push")


@pytest.mark.compiled
def test_a_bar_cut_during_a_run_meets_itself_on_the_new_surface_from_the_next_step_on():
    sim = pressed(squeezed_bar())
    for frame in sim.run(frames=10):
        assert len(frame.contacts) == 0
    made = pliant.cut(BAR, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), x=sim.state.x)
    scene, state = made.carried(sim.scene, sim.state, 0)
    assert state.time == sim.state.time
    sim = pressed(scene, state)
    mesh = scene.bodies[0].mesh.welded
    new = np.flatnonzero(np.abs(mesh.vertices[:, 0]) < 1e-6)
    hits = sim.step().contacts
    assert len(new) == 18
    assert len(hits) > 0
    assert np.isin(hits["vertices"][:, 0], new).all()
    assert np.isin(hits["vertices"][:, 1:], new).all(1).any()
    half = mesh.topology.components
    assert (half[hits["vertices"][:, 0]] != half[hits["vertices"][:, 1]]).all()
    for _ in sim.run(frames=10):
        pass
    # the halves are pressed against each other by now, and do not pass; where the bar is shortened by a seventh and
    # more they may, since vertices alone are asked
    right = half == half[np.argmax(mesh.vertices[:, 0])]
    one, other = (sim.state.x[new[own[new]], 0].mean() for own in (right, ~right))
    assert -0.001 < one - other < 0.002
    found = SpatialHashDetector(Side(mesh), within=0.0).update(sim.state).find(sim.state)
    assert found["distance"].min(initial=0.0) > -0.002


def test_pins_and_grips_hold_all_copies():
    x = BAR.vertices
    grip = pliant.Grip(np.flatnonzero((np.abs(x[:, 0]) < 1e-9) & (x[:, 1] > 0.04)), shifted((0.0, 0.1, 0.0)))
    body = pliant.Body(BAR, material=pliant.Solid(), pins=np.flatnonzero(np.abs(x[:, 0]) < 1e-9), grips=[grip])
    scene = pliant.Scene([pliant.Body(pliant.shapes.ball(0.1, 1), obstacle=True), body])
    made = pliant.cut(BAR, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    after, state = made.carried(scene, scene.start(), 1)
    assert [len(after.bodies[1].pins), len(after.bodies[1].grips[0].rows)] == [18, 6]
    np.testing.assert_allclose(state.x, after.start().x, atol=1e-6)


def test_what_cannot_be_cut_is_explained():
    with pytest.raises(ValueError, match="has no tets to cut"):
        pliant.cut(pliant.shapes.box(), (0, 0, 0), (1, 0, 0))
    with pytest.raises(ValueError, match="normal is 0, 0, 0"):
        pliant.cut(BAR, (0, 0, 0), (0, 0, 0))
    scene = pliant.Scene([pliant.Body(pliant.shapes.bar(), material=pliant.Solid())])
    with pytest.raises(ValueError, match="has a different mesh from the one that was cut"):
        pliant.cut(BAR, (0, 0, 0), (1, 0, 0)).carried(scene, scene.start(), 0)
