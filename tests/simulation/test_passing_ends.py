"""Edges that move around each other's ends: neither the guard nor the strain limit holds them together."""

import numpy as np
import pytest

from pliant import contacts, geometry
from pliant.contacts import EDGE_EDGE, VERTEX_FACE
from pliant.kernels.simulation import guard as kernels
from pliant.mesh import Mesh
from pliant.scene import Body, Scene
from pliant.shapes import cloth
from pliant.simulation.guard import Guard

# apex first, towards +z
SPIKE = Mesh(
    np.array([[0, 0, 0], [0.03, 0.03, -0.06], [-0.03, 0.03, -0.06], [-0.03, -0.03, -0.06], [0.03, -0.03, -0.06]]),
    np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [2, 1, 4], [2, 4, 3]], np.int32),
)


@pytest.mark.parametrize("kind", [VERTEX_FACE, EDGE_EDGE])
def test_only_features_that_have_met_change_sides(kind, rng):
    n, first = 10000, 1 if kind == VERTEX_FACE else 2
    start = rng.uniform(-1.0, 1.0, (n, 4, 3))
    end = start + np.where(np.arange(4)[:, None] < first, rng.uniform(-2.0, 2.0, (n, 1, 3)), 0.0)
    impact = geometry.vertex_face_impact if kind == VERTEX_FACE else geometry.edge_edge_impact
    hit, _ = impact(start, end)
    found = np.zeros(n, contacts.CONTACT)
    found["kind"], found["vertices"] = kind, np.arange(4 * n).reshape(n, 4)
    former, x, near = start.reshape(-1, 3), end.reshape(-1, 3), np.empty(n, np.bool_)
    kernels.measure_contacts(found, former)
    normal = found["normal"].copy()
    kernels.refresh(found, former, x, np.inf, near)
    turned = (normal * contacts.gap(found, x)).sum(1) < 0.0
    assert (found["distance"][~turned] >= 0.0).all()
    # the sweep of a feature that is only shifted is convex: it meets the other, or a plane separates them
    met, around = turned & hit, turned & ~hit
    assert met.sum() > 200
    assert (found["distance"][met] < 0.0).all()
    assert around.sum() > 1000
    assert (found["distance"][around] < 0.0).mean() < 0.2  # planes that are hard to find


def test_a_hem_that_passes_a_corner_is_not_pushed_back():
    sheet = cloth(0.16, 0.16, 9, plane="xy")
    hem = float(sheet.vertices[:, 1].min())
    spike = SPIKE.moved(SPIKE.vertices + np.array([0.003, hem + 0.003, -0.003]))  # above the hem and behind the sheet
    bodies = [Body(sheet), Body(spike, obstacle=True)]
    scene = Scene(bodies, eps=0.006, thickness=0.004, self_contact="safe", gravity=(0.0, 0.0, 0.0))
    state = scene.start()
    guard = Guard(scene, state)
    guard.begin(state, 0.0025, 4)
    assert len(guard.obstacle_contacts)
    state.x_start[:] = state.x
    state.x[scene.rows(0), 1] += 0.012  # the hem is now 9 mm above the corner: nothing is near it
    target = state.x.copy()
    guard.apply(state, 0.0025)
    assert np.abs(state.x - target).max() < 1e-12
