"""Contacts of many poses as arrays, and their Jacobians against differences."""

import numpy as np
import pytest

import pliant
from pliant.gradients.contact_batches import find_contact_batch

CLOTH = pliant.shapes.cloth(0.4, 0.4, 6)
BALL = pliant.shapes.ball(0.2, 2)
NEAR = {"method": "brute-force", "within": 0.05}


def poses(rng, count):
    lift = 0.2 + 0.05 * rng.uniform(-1, 1, (count, 1, 1)) * [0.0, 1.0, 0.0]
    return CLOTH.vertices + lift + 0.005 * rng.normal(size=(count, *CLOTH.vertices.shape))


def test_poses_have_the_contacts_of_single_queries_and_points_on_both_meshes() -> None:
    rng = np.random.default_rng(0)
    x = poses(rng, 6).reshape(2, 3, -1, 3)
    x[1, 2] += [0.0, 9.0, 0.0]  # far away
    batch = find_contact_batch(CLOTH, BALL, x_a=x, **NEAR)
    assert batch.valid.shape[:2] == (2, 3)
    assert batch.counts[1, 2] == 0
    assert (batch.counts.reshape(-1)[:5] > 0).all()
    for i in np.ndindex(2, 3):
        one = pliant.find_contacts(pliant.Mesh(x[i], CLOTH.faces), BALL, **NEAR)
        n = batch.counts[i]
        assert n == len(one) == batch.valid[i].sum()
        np.testing.assert_array_equal(batch.distance[i][:n], one["distance"])
        assert (batch.distance[i][n:] == 0.05).all()
        gap = batch.points[i][:, 0] - batch.points[i][:, 1]
        along = np.einsum("ij,ij->i", gap, batch.normal[i])
        np.testing.assert_allclose(along[:n], one["distance"], atol=1e-14)
        own = batch.vertices[i] < CLOTH.n_vertices
        assert (np.where(own, batch.weights[i], -batch.weights[i])[:n] >= 0.0).all()


def test_the_jacobian_of_a_distance_is_that_of_differences() -> None:
    rng = np.random.default_rng(1)
    x_a, x_b = poses(rng, 1)[0], BALL.vertices + 0.001 * rng.normal(size=BALL.vertices.shape)
    way, h = rng.normal(size=(len(x_a) + len(x_b), 3)), 1e-7
    moved = np.concatenate([x_a, x_b]) + h * np.array([0.0, 1.0, -1.0])[:, None, None] * way
    batch = find_contact_batch(CLOTH, BALL, x_a=moved[:, : len(x_a)], x_b=moved[:, len(x_a) :], **NEAR)
    assert (batch.counts == batch.counts[0]).all()
    assert (batch.vertices == batch.vertices[0]).all()  # the same features at all three
    rate = np.einsum("kci,kci->k", batch.distance_jacobian()[0], way[batch.vertices[0]])
    slope = (batch.distance[1] - batch.distance[2]) / (2 * h)
    clear = abs(batch.distance[0]) > 1e-3
    assert clear.sum() > 20
    np.testing.assert_allclose(rate[clear], slope[clear], atol=1e-6)


def twisted(x, centre, twist):
    """Positions and their derivatives (v,3,6) by velocity and angular velocity."""
    r = x - centre
    dx = np.zeros((len(x), 3, 6))
    dx[:, (0, 1, 2), (0, 1, 2)] = 1.0
    for j in range(3):
        dx[:, :, 3 + j] = np.cross(np.eye(3)[j], r)
    return dx, dx @ twist


def test_jacobians_of_rigid_bodies_are_those_of_their_vertices_and_pads_are_zero() -> None:
    rng = np.random.default_rng(2)
    x = poses(rng, 3)
    x[2] += [0.0, 9.0, 0.0]
    centres, origin = x.mean(1), np.array([0.01, -0.02, 0.03])
    batch = find_contact_batch(CLOTH, BALL, x_a=x, **NEAR)
    rigid = batch.rigid_jacobians(centres, origin)
    assert rigid.shape == (*batch.valid.shape, 2, 3, 6)
    assert not rigid[2].any()
    for i in range(2):
        of_a = twisted(x[i], centres[i], np.zeros(6))[0]
        of_b = twisted(BALL.vertices, origin, np.zeros(6))[0]
        zero = np.zeros_like
        dx = np.concatenate([np.concatenate([of_a, zero(of_b)]), np.concatenate([zero(of_a), of_b])], -1)
        points = batch.point_jacobians(dx)[i]
        n = batch.counts[i]
        np.testing.assert_allclose(points[:n, 0, :, :6], rigid[i, :n, 0], atol=1e-14)
        np.testing.assert_allclose(points[:n, 1, :, 6:], rigid[i, :n, 1], atol=1e-14)
        assert not points[:n, 0, :, 6:].any()


def test_contacts_of_a_mesh_with_itself() -> None:
    rng = np.random.default_rng(3)
    folded = CLOTH.vertices * [1.0, 1.0, 0.05] + 0.001 * rng.normal(size=(2, *CLOTH.vertices.shape))
    batch = find_contact_batch(CLOTH, x_a=folded, **NEAR | {"within": 0.002})
    assert (batch.counts > 0).all()
    gap = np.einsum("...ki,...ki->...k", batch.points[..., 0, :] - batch.points[..., 1, :], batch.normal)
    np.testing.assert_allclose(gap[batch.valid], batch.distance[batch.valid], atol=1e-14)


def test_errors_name_the_array_and_its_shape() -> None:
    with pytest.raises(ValueError, match=r"x_a has shape \(3, 3\); expected \(..., 36, 3\)"):
        find_contact_batch(CLOTH, BALL, x_a=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="leading axes that broadcast"):
        find_contact_batch(
            CLOTH, BALL, x_a=np.zeros((2, *CLOTH.vertices.shape)), x_b=np.zeros((3, *BALL.vertices.shape))
        )
    with pytest.raises(ValueError, match="x_b was given"):
        find_contact_batch(CLOTH, x_b=BALL.vertices)
    batch = find_contact_batch(CLOTH, BALL, **NEAR)
    with pytest.raises(ValueError, match=r"dx has shape \(4, 3\)"):
        batch.point_jacobians(np.zeros((4, 3)))
    with pytest.raises(ValueError, match="centre_b has shape"):
        batch.rigid_jacobians(centre_b=[0.0, 1.0])


def test_the_nearest_contacts_of_a_pose_have_the_depths_of_its_vertices() -> None:
    ball, plate = pliant.shapes.ball(0.05, 3), pliant.shapes.box((1.0, 0.1, 1.0), 1)
    poses = ball.vertices + np.array([0.0985, 0.0995, 0.2])[:, None, None] * [0.0, 1.0, 0.0]
    batch = pliant.find_contact_batch(ball, plate, x_a=poses, within=0.02)
    depth = np.where(batch.nearest, batch.distance, np.inf).min(1)
    assert depth[:2] == pytest.approx([-0.0015, -0.0005], abs=1e-12)
    assert depth[2] == np.inf
