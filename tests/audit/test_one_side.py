"""Sheets that go right through made-up bodies come out on one side, whole, or stay where they are."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import pliant
from pliant import Mesh, shapes
from pliant.audit.one_side import one_sided

pytestmark = pytest.mark.compiled


def ball_shaped(scale):
    """A ball of 0.1 m, scaled along its axes."""
    ball = shapes.ball(0.1, 3)
    return Mesh(np.array(ball.vertices) * scale, ball.faces, name="body")


def sheet_through(side, n, turn=(0.0, 0.0, 0.0), centre=(0.0, 0.0, 0.0)):
    """A square sheet of n x n vertices in the plane y = 0, turned by Euler angles in degrees."""
    sheet = shapes.cloth(side, side, n)
    x = np.array(sheet.vertices) - np.mean(sheet.vertices, axis=0)
    return Mesh(x @ Rotation.from_euler("xyz", turn, degrees=True).as_matrix().T + centre, sheet.faces, name="sheet")


def ring_of(big, small, around=40, across=20):
    """A closed ring about the y axis."""
    a, c = np.meshgrid(*(2.0 * np.pi * np.arange(k) / k for k in (around, across)), indexing="ij")
    reach = big + small * np.cos(c)
    x = np.stack([reach * np.cos(a), small * np.sin(c), reach * np.sin(a)], -1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    right, up = (i + 1) % around, (j + 1) % across
    corner = [across * one + two for one, two in ((i, j), (i, up), (right, j), (right, up))]
    faces = np.concatenate([np.stack([corner[k] for k in rows], -1).reshape(-1, 3) for rows in ((0, 1, 2), (2, 1, 3))])
    return Mesh(x, faces, name="ring")


def edge_strain(fixed):
    return float(np.abs(fixed.strain).max())


@pytest.mark.parametrize(
    ("scale", "turn"),
    [((1.0, 0.4, 1.0), (90.0, 0.0, 0.0)), ((1.0, 0.35, 0.6), (80.0, 10.0, 0.0)), ((0.6, 1.6, 0.6), (20.0, 0.0, 5.0))],
)
@pytest.mark.parametrize("moved", [1.0, 300.0])
def test_a_sheet_across_a_flat_body_is_not_torn(scale, turn, moved):
    body = ball_shaped(scale)
    sheet = sheet_through(0.24, 21, turn, (0.004, 0.003, 0.01))
    again = Rotation.from_rotvec([0.4, 1.1, -0.7]).as_matrix()
    body, sheet = (m.moved(np.array(m.vertices) @ again.T + 0.001 * moved) for m in (body, sheet))
    fixed = pliant.fix(sheet, body)
    before, after = (report.frames[0] for report in (fixed.before, fixed.after))
    assert before.crossings > 0
    assert fixed.after.worst_depth <= 1e-4
    assert after.crossings == after.self_pairs == 0
    assert fixed.moved.max() < 3.0 * fixed.before.worst_depth
    assert edge_strain(fixed) < 3.0  # it was up to 67


def test_a_shape_that_gets_deeper_between_its_vertices_is_refused():
    """Through both sides of a ring: no side is near, and all that can be had is torn."""
    ring = ring_of(0.12, 0.05)
    fixed = pliant.fix(sheet_through(0.3, 17, (87.0, 0.0, 2.0), (0.0, 0.01, 0.003)), ring)
    assert fixed.after.worst_depth <= fixed.before.worst_depth + 1e-4
    assert fixed.after.frames[0].crossings <= fixed.before.frames[0].crossings
    assert edge_strain(fixed) < 3.0


def test_ways_out_are_on_one_side_and_as_far_as_required():
    sheet = sheet_through(0.3, 15, (12.0, 0.0, 7.0), (0.0, 0.006, 0.0))
    axes, x, required = np.array([0.1, 0.05, 0.08]), np.array(sheet.vertices), np.full(sheet.n_vertices, 0.002)

    def ellipsoid(points):
        """Lower bounds of the distances from an ellipsoid, and the directions along which it is left."""
        out = points / axes**2
        return 0.05 * (np.linalg.norm(points / axes, axis=1) - 1.0), out / np.linalg.norm(out, axis=1)[:, None]

    u = one_sided(sheet, x, required, ellipsoid)
    inside = ellipsoid(x)[0] < 0.0
    assert not u[~inside].any()
    assert (ellipsoid((x + u)[inside])[0] >= 0.002 - 1e-4).all()
    assert (u[inside] @ u[inside].mean(0) > 0.0).all()
    assert one_sided(sheet, x + np.array([0.0, 0.03, 0.0]), required, ellipsoid) is None  # all of it leaves upwards


@pytest.mark.parametrize(("n", "turn"), [(9, (90.0, 20.0, 0.0)), (10, (80.0, 5.0, 10.0))])
def test_a_sheet_is_not_torn_for_the_sake_of_a_few_pairs(n, turn):
    """A coarse sheet through both sides of a thin ring, which it cannot leave: 10 of 94 pairs are not worth it."""
    given = sheet_through(0.4, n, turn, (0.0, 0.01, 0.003) if n == 9 else (0.02, 0.0, 0.01))
    fixed = pliant.fix(given, ring_of(0.12, 0.022))
    assert fixed.unchanged == (0,)
    assert not fixed.moved.any()
    assert fixed.after.penetrating
