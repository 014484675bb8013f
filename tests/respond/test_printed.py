"""Eqs. 1, 5 and 6 of Fuhrmann et al. 2003 as printed, beside ours, on one particle over a floor."""

import numpy as np
import pytest

import pliant
from pliant import contacts as _contacts
from pliant.contacts import VERTEX_FIELD
from pliant.respond import PrintedProjection, Projection
from pliant.state import State

DT, EPS, FRICTION = 0.01, 0.005, 0.4
CLOTH, FLOOR = pliant.shapes.cloth(0.1, 0.1, 2), pliant.shapes.box((1.0, 0.1, 1.0), 1)


def responded(response, start, end, restitution=0.0):
    """Where the first vertex is put, if it moved from `start` to `end` over a floor at y = 0, and its velocity."""
    scene = pliant.Scene(
        [pliant.Body(CLOTH), pliant.Body(FLOOR, obstacle=True)],
        eps=EPS,
        friction=FRICTION,
        restitution=restitution,
        self_contact="off",
    )
    state: State = scene.start()
    state.x_start[0], state.x[0] = start, end
    state.v[0] = (np.array(end) - start) / DT
    contact = _contacts.uninitialised(1)
    contact[:] = np.zeros(1, contact.dtype)
    contact["kind"], contact["vertices"], contact["weights"] = VERTEX_FIELD, [[0, -1, -1, -1]], [[1.0, 0.0, 0.0, 0.0]]
    contact["bodies"], contact["normal"], contact["distance"] = [[0, 1]], [[0.0, 1.0, 0.0]], end[1]
    contact["anchor"] = [[end[0], 0.0, end[2]]]
    made = response(scene)
    made.begin(contact, state)
    made.apply(contact, state, DT)
    state.v[0] = (state.x[0] - state.x_start[0]) / DT
    made.finish(contact, state, DT)
    return state.x[0].copy(), state.v[0].copy()


def test_a_point_on_the_surface_moves_alike():
    start, end = (0.0, EPS, 0.0), (0.02, EPS - 0.01, 0.0)
    printed, ours = (responded(each, start, end)[0] for each in (PrintedProjection, Projection))
    np.testing.assert_allclose(printed, [0.02 - FRICTION * 0.01, EPS, 0.0], atol=1e-15)
    np.testing.assert_allclose(ours, printed, atol=1e-15)


def test_on_arrival_the_paper_brakes_by_the_whole_fall_and_we_by_what_is_reverted():
    start, end = (0.0, EPS + 0.03, 0.0), (0.05, EPS - 0.01, 0.0)  # falls by 4 cm, of which 1 cm is reverted
    printed, ours = (responded(each, start, end)[0] for each in (PrintedProjection, Projection))
    np.testing.assert_allclose(printed, [0.05 - FRICTION * 0.04, EPS, 0.0], atol=1e-15)
    np.testing.assert_allclose(ours, [0.05 - FRICTION * 0.01, EPS, 0.0], atol=1e-15)


def test_a_deep_start_comes_out_at_once_and_is_thrown_by_the_paper_but_at_2_m_per_s_here():
    at = (0.0, EPS - 0.1, 0.0)
    (printed, thrown), (ours, slow) = (responded(each, at, at) for each in (PrintedProjection, Projection))
    assert printed[1] == pytest.approx(EPS)
    assert thrown[1] == pytest.approx(0.1 / DT)
    assert ours[1] == pytest.approx(EPS - 0.1 + 2.0 * DT)
    assert slow[1] == pytest.approx(0.0, abs=1e-12)


def test_elastic_collisions_scale_the_normal_component():
    start, end = (0.0, EPS, 0.0), (0.0, EPS - 0.01, 0.0)
    x, v = responded(PrintedProjection, start, end, restitution=0.5)
    assert x[1] == pytest.approx(EPS + 0.005)
    assert v[1] == pytest.approx(0.5)


@pytest.mark.compiled
def test_it_can_be_chosen_for_a_simulation():
    cloth = pliant.shapes.cloth(0.3, 0.3, 8, centre=(0.0, 0.07, 0.0))
    scene = pliant.Scene([pliant.Body(cloth), pliant.Body(FLOOR, obstacle=True)], eps=EPS, friction=FRICTION)
    run = pliant.Simulation(scene, response="printed-projection")
    for _ in range(30):
        run.step()
    assert run.state.x[: cloth.n_vertices, 1].min() > 0.05
