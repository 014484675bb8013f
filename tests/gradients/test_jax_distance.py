"""Distances of JAX arrays, under jit, vmap, grad and hessian; the formulas are those that PyTorch uses."""

import numpy as np
import pytest

import pliant
from gradients.small_bodies import BOX, TET, tetrahedron
from pliant.gradients.bodies import find_stencils
from pliant.kernels.gradients.stencils import CREASE

jax = pytest.importorskip("jax", reason="JAX is not installed")
import jax.numpy as jnp  # noqa: E402

import pliant.jax as pj  # noqa: E402

pytestmark = pytest.mark.compiled  # hundreds of points, again and again
BALL = pliant.shapes.ball(0.5, 2)
FACES = np.array(BALL.faces)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def points(count=30, seed=0):
    return np.random.default_rng(seed).uniform(-0.8, 0.8, (count, 3))


def test_distances_are_those_of_closest_point_also_under_jit_and_vmap() -> None:
    p, x = points(), np.array(BALL.vertices)
    d, _ = pliant.closest_point(BALL, p)
    bodies = np.stack([x, 0.5 * x, 1.5 * x])
    np.testing.assert_allclose(pj.signed_distance(p, x, FACES), d, atol=1e-14)
    np.testing.assert_allclose(jax.jit(pj.signed_distance)(p, x, FACES), d, atol=1e-14)
    together = pj.signed_distance(p, bodies, FACES)
    mapped = jax.jit(jax.vmap(pj.signed_distance, in_axes=(None, 0, None)))(p, bodies, FACES)
    np.testing.assert_allclose(mapped, together, atol=1e-14)
    each = jax.vmap(pj.signed_distance, in_axes=(0, 0, None))(np.stack([p] * 3), bodies, FACES)
    np.testing.assert_allclose(each, together, atol=1e-14)


def test_first_derivatives_are_directions_and_weights() -> None:
    rng = np.random.default_rng(6)
    x = np.concatenate([tetrahedron(rng), tetrahedron(rng)])
    faces = np.concatenate([TET, TET + 4])
    p = rng.dirichlet([1.0] * 4, 100) @ x[:4]
    s = find_stencils(p, x, faces)
    assert (s.kind == CREASE).any()
    g, h = jax.jit(jax.grad(lambda p, x: pj.signed_distance(p, x, faces).sum(), argnums=(0, 1)))(p, x)
    np.testing.assert_allclose(g, s.direction, atol=1e-7)
    np.testing.assert_allclose(h.sum(0), -g.sum(0), atol=1e-9)  # all together move without a change of distance


def test_second_derivatives_are_differences_of_first_ones() -> None:
    rng = np.random.default_rng(3)
    z = np.concatenate([rng.normal(size=3), tetrahedron(rng).ravel()])
    f = lambda z: pj.signed_distance(z[None, :3], z[3:].reshape(4, 3), TET)[0]  # noqa: E731
    first, second = jax.jit(jax.grad(f)), jax.jit(jax.hessian(f))(z)
    step = 1e-6 * np.eye(15)
    differences = np.stack([(first(z + h) - first(z - h)) / 2e-6 for h in step])
    np.testing.assert_allclose(second, differences, atol=1e-8)


def test_second_derivatives_at_a_corner() -> None:
    h = jax.jit(jax.hessian(lambda q: pj.signed_distance(q[None], np.array(BOX.vertices), np.array(BOX.faces))[0]))
    away = np.array([0.3, 0.4, 0.2])
    expected = (np.eye(3) - np.outer(away, away) / (away @ away)) / np.linalg.norm(away)
    np.testing.assert_allclose(h(0.5 + away), expected, atol=1e-12)


def test_single_precision_is_near_and_never_nan() -> None:
    p = np.concatenate([points(300), BALL.vertices, BALL.vertices[FACES].mean(1)])
    p, x = jnp.asarray(p, jnp.float32), jnp.asarray(BALL.vertices, jnp.float32)
    loss = lambda p, x: pj.penetration(p, x, FACES, clearance=0.1)  # noqa: E731
    one, two = jax.jit(jax.grad(loss, argnums=(0, 1)))(p, x)
    s = find_stencils(np.asarray(p, float), np.asarray(x, float), FACES)
    expected = -2.0 * np.maximum(0.1 - s.distance, 0.0)[:, None] * s.direction
    assert one.dtype == two.dtype == jnp.float32
    np.testing.assert_allclose(one, expected, atol=2e-6)
    np.testing.assert_allclose(two.sum(0), -expected.sum(0), atol=1e-4)
    second = jax.jit(jax.grad(lambda p: (jax.grad(loss)(p, x) ** 2).sum()))(p)
    assert jnp.isfinite(second).all()


def test_penetration_gaps_and_inside() -> None:
    p, x = points(), np.array(BALL.vertices)
    d = np.asarray(pj.signed_distance(p, x, FACES))
    deep = np.maximum(0.1 - d, 0.0)
    assert float(pj.penetration(p, x, FACES, clearance=0.1)) == pytest.approx(float(deep @ deep))
    np.testing.assert_array_equal(jax.jit(pj.inside)(p, x, FACES), d < 0.0)
    sheet = pliant.shapes.cloth(0.6, 0.6, 6, centre=(0.0, 0.51, 0.0))
    found = pliant.find_contacts(sheet, BALL, within=0.05)
    both = np.concatenate([sheet.vertices, BALL.vertices])
    np.testing.assert_allclose(jax.jit(lambda x: pj.gaps(found, x))(both), found["distance"], atol=1e-12)
    batch = pliant.find_contact_batch(sheet, BALL, x_a=sheet.vertices[None], within=0.05)
    np.testing.assert_allclose(jax.jit(lambda x: pj.gaps(batch, x))(both[None]), batch.distance, atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((np.zeros(3), BALL.vertices, FACES), r"points has shape \(3,\); expected \(..., n, 3\)"),
        ((np.zeros((1, 3)), BALL.vertices, FACES.astype(float)), "faces has dtype float64; expected whole numbers"),
        ((np.zeros((1, 3), np.float32), BALL.vertices, FACES), "points has dtype float32 and vertices has float64"),
    ],
)
def test_bad_arrays_give_one_clear_error(given, message) -> None:
    with pytest.raises(ValueError, match=message):
        pj.signed_distance(*map(np.array, given))
