"""Strain limiting beside bodies: edges are shortened along a body, not into it."""

import numpy as np
import pytest

from pliant import contacts
from pliant.dynamics.strain_limit import StrainLimit, gaps_of
from pliant.materials import Cloth
from pliant.scene import Body, Scene
from pliant.shapes import cloth

RADIUS = 0.2


def on_a_ball(stretch: float) -> tuple[StrainLimit, np.ndarray, np.ndarray]:
    """A sheet laid on a ball around the origin, stretched: its strain limit, its positions and the normals there."""
    body = Body(cloth(0.3, 0.3, 9, irregular=True), material=Cloth(strain_limit=0.05))
    limit = StrainLimit([(body, body.mesh.welded, 0)], Scene([body]).inverse_masses)
    flat = stretch * (body.mesh.vertices - body.mesh.vertices.mean(0))
    flat[:, 1] = RADIUS
    normals = flat / np.linalg.norm(flat, axis=1, keepdims=True)
    return limit, np.linalg.norm(flat, axis=1, keepdims=True).max() * normals, normals


def planes(x: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Contacts of every vertex with the tangent plane at its position."""
    found = np.zeros(len(x), contacts.CONTACT)
    found["kind"] = contacts.VERTEX_FIELD
    found["vertices"] = -1
    found["vertices"][:, 0] = np.arange(len(x))
    found["weights"][:, 0] = 1.0
    found["normal"], found["anchor"] = normals, x
    return found


def longest(limit: StrainLimit, x: np.ndarray) -> float:
    i, j = limit.edges.ends.T
    return float((np.linalg.norm(x[i] - x[j], axis=1) / limit.edges.most).max())


def test_edges_on_a_ball_are_shortened_along_it():
    limit, start, normals = on_a_ball(1.02)
    assert longest(limit, start) > 1.05
    into, along = start.copy(), start.copy()
    assert limit.apply(into)
    assert limit.apply(along, gaps=gaps_of(planes(start, normals), start, slice(0, len(start))))
    assert longest(limit, into) < 1.003
    assert longest(limit, along) < 1.003
    assert ((into - start) * normals).sum(1).min() < -1e-3
    assert ((along - start) * normals).sum(1).min() > -1e-5


def test_a_gap_is_that_of_its_contact_whatever_side_the_cloth_is_on(rng):
    x = rng.normal(size=(9, 3))
    found = np.zeros(2, contacts.CONTACT)
    found["kind"] = contacts.VERTEX_FACE, contacts.EDGE_EDGE
    found["vertices"] = (7, 2, 3, 8), (3, 4, 0, 1)  # of the body: 0, 1, 7, 8; of the cloth: 2 to 6
    found["weights"] = (1.0, -0.2, -0.3, -0.5), (0.4, 0.6, -0.1, -0.9)
    found["normal"] = (0.0, 0.6, 0.8), (1.0, 0.0, 0.0)
    found["anchor"] = rng.normal(size=(2, 3))
    gaps = gaps_of(found, x, slice(2, 7))
    assert gaps.vertices.tolist() == [[-1, 0, 1, -1], [1, 2, -1, -1]]
    own = (gaps.weights[:, :, None] * x[2:7][gaps.vertices]).sum(1)
    whole = (found["weights"][:, :, None] * x[found["vertices"]]).sum(1) - found["anchor"]
    assert np.allclose((own * gaps.normals).sum(1) - gaps.offsets, (whole * found["normal"]).sum(1))


def test_gaps_are_bitwise_those_of_sums_over_arrays(rng):
    x, n = rng.normal(size=(40, 3)), 200
    found = np.zeros(n, contacts.CONTACT)
    found["vertices"] = rng.integers(-1, 40, (n, 4))
    found["weights"], found["anchor"], found["normal"] = (rng.normal(size=(n, k)) for k in (4, 3, 3))
    gaps, v = gaps_of(found, x, slice(10, 30)), found["vertices"]
    own = (v >= 10) & (v < 30)
    fixed = (np.where(own | (v < 0), 0.0, found["weights"])[:, :, None] * x[v]).sum(1)
    assert np.array_equal(gaps.offsets, ((found["anchor"] - fixed) * found["normal"]).sum(1))
    assert np.array_equal(gaps.vertices, np.where(own, v - 10, -1))
    assert np.array_equal(gaps.weights, np.where(own, found["weights"], 0.0))


def test_edges_that_are_short_enough_are_not_listed(monkeypatch):
    limit, start, _ = on_a_ball(1.0)
    short = 0.5 * start
    monkeypatch.setattr(limit, "_find", lambda *_: pytest.fail("listed the edges that are too long"))
    assert not limit.is_exceeded(short)
    assert not len(limit.stretched(short))


def test_a_gap_beside_held_vertices_does_not_drive_the_cloth_away():
    """Two held vertices carry 98 % of a gap that is closed by 2 mm, and a free one, at an edge that is 3 % too long,
    the rest: only by many times the gap could it open it."""
    body = Body(cloth(0.3, 0.3, 9), material=Cloth(strain_limit=0.05))
    w = Scene([body]).inverse_masses.copy()
    w[:9] = 0.0
    limit, x = StrainLimit([(body, body.mesh.welded, 0)], w), body.mesh.welded.vertices.copy()
    x[13] += 0.08 * (x[13] - x[22])
    found = np.zeros(1, contacts.CONTACT)
    found["kind"], found["vertices"], found["weights"] = contacts.VERTEX_FACE, (-1, 3, 4, 13), (0.0, 0.38, 0.6, 0.02)
    found["normal"], found["anchor"] = (0.0, 1.0, 0.0), x[4] + (0.0, 0.002, 0.0)
    start = x.copy()
    assert limit.apply(x, gaps=gaps_of(found, x, slice(0, len(x))))
    assert longest(limit, x) < 1.003
    assert np.linalg.norm(x - start, axis=1).max() < 0.002
