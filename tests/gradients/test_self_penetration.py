"""The penalty for self-penetration: positive exactly while something crosses, with gradients that separate."""

import numpy as np
import pytest

import pliant
from gradients.small_bodies import TET, tetrahedron
from pliant.detect.queries.self_intersections import SelfIntersections
from pliant.gradients.crossings import find_crossings
from pliant.kernels.gradients.crossings import NOTHING

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import pliant.torch as pt  # noqa: E402

pytestmark = pytest.mark.compiled  # hundreds of steps
BALL = pliant.shapes.ball(0.5, 2)


def two_balls(gap, scale=1.0):
    """Two balls as one body, that far apart."""
    x = np.concatenate([BALL.vertices, BALL.vertices * scale + [1.0 + gap, 0.03, 0.02]])
    return torch.tensor(x), torch.tensor(np.concatenate([BALL.faces, BALL.faces + len(BALL.vertices)]))


def crossing_pairs(x, faces):
    return SelfIntersections(pliant.Mesh(x.detach().numpy(), faces.numpy())).count


def test_it_is_positive_exactly_while_triangles_cross() -> None:
    rng = np.random.default_rng(0)
    counts = [0, 0]
    for _ in range(20):
        x = torch.tensor(np.concatenate([tetrahedron(rng), tetrahedron(rng) + rng.normal(size=3)]))
        faces = torch.tensor(np.concatenate([TET, TET + 4]))
        crossed = crossing_pairs(x, faces) > 0 or bool((pt.signed_distance(x, x, faces) < 0).any())
        assert (float(pt.self_penetration(x, faces)) > 0) == crossed
        counts[crossed] += 1
    assert min(counts) > 2


def separated(x, faces, second, rate=0.02, steps=100):
    """The vertices after steps of Adam on the position of the second part, while the penalty is positive."""
    offset = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([offset], lr=rate)
    for _ in range(steps):
        moved = x + second[:, None] * offset
        loss = pt.self_penetration(moved, faces)
        if float(loss.detach()) == 0.0:
            break
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return moved


@pytest.mark.parametrize(("gap", "scale"), [(-0.3, 1.0), (-0.6, 0.4), (-0.8, 0.3)])
def test_steps_along_the_gradient_separate_overlapping_and_nested_parts(gap, scale) -> None:
    x, faces = two_balls(gap, scale)
    assert float(pt.self_penetration(x, faces)) > 0
    x = separated(x, faces, torch.arange(len(x)) >= len(BALL.vertices))
    assert crossing_pairs(x, faces) == 0
    assert not (pt.signed_distance(x, x, faces) < 0).any()


def test_sheets_that_cross_separate() -> None:
    sheet = pliant.shapes.cloth(1.0, 1.0, 8)
    other = sheet.vertices[:, [1, 0, 2]] + [0.21, 0.3, 0.013]  # upright
    x = torch.tensor(np.concatenate([sheet.vertices, other]))
    faces = torch.tensor(np.concatenate([sheet.faces, sheet.faces + len(other)]))
    assert crossing_pairs(x, faces) > 5
    assert crossing_pairs(separated(x, faces, torch.arange(len(x)) >= len(other)), faces) == 0


def test_gradients_are_those_of_differences() -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        x = torch.tensor(np.concatenate([tetrahedron(rng), tetrahedron(rng)]), requires_grad=True)
        faces = torch.tensor(np.concatenate([TET, TET + 4]))
        if float(pt.self_penetration(x, faces).detach()) > 0:
            assert torch.autograd.gradcheck(lambda x: pt.self_penetration(x, faces), x, atol=1e-5)  # noqa: B023


def test_translation_by_the_depth_separates_two_triangles() -> None:
    rng = np.random.default_rng(1)
    crossed = 0
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    for _ in range(200):
        x = rng.normal(size=(6, 3))
        found = find_crossings(x, faces)
        if not len(found.kind):
            continue
        crossed += 1
        t = torch.tensor(x, requires_grad=True)
        depth = pt.self_penetration(t, torch.tensor(faces), power=1.0)
        (g,) = torch.autograd.grad(depth, t)
        push = g[3:].sum(0).numpy()  # of the second triangle as a whole
        assert np.linalg.norm(push) == pytest.approx(1.0)
        depth = float(depth.detach())
        moved = np.concatenate([x[:3], x[3:] - 1.000001 * depth * push])
        assert len(pliant.intersections(pliant.Mesh(moved, faces))) == 0
        one, two = (np.cross(t[1] - t[0], t[2] - t[0]) for t in (x[:3], x[3:]))
        behind = [-((x[3:] - x[0]) @ one).min() / np.linalg.norm(one)]
        behind += [-((x[:3] - x[3]) @ two).min() / np.linalg.norm(two)]
        assert depth <= min(behind) + 1e-12
    assert crossed > 20


def test_batches_transformations_and_a_body_that_does_not_cross() -> None:
    x, faces = two_balls(-0.2)
    apart, _ = two_balls(0.2)
    bodies = torch.stack([x, apart])
    values = pt.self_penetration(bodies, faces)
    assert values[0] > 0
    assert values[1] == 0
    mapped = torch.func.vmap(lambda x: pt.self_penetration(x, faces))(bodies)
    assert torch.allclose(values, mapped, atol=1e-12)
    g = torch.func.grad(lambda x: pt.self_penetration(x, faces))(x)
    y = x.clone().requires_grad_()
    pt.self_penetration(y, faces).backward()
    assert torch.allclose(g, y.grad, atol=1e-9)
    padded = find_crossings(bodies.numpy(), faces.numpy(), len(faces))
    assert (padded.kind[1] == NOTHING).all()
    torch.library.opcheck(torch.ops.pliant.crossings.default, (bodies, faces, len(faces)))
    with pytest.raises(ValueError, match="crossing pairs of triangles; expected at most 3"):
        find_crossings(x.numpy(), faces.numpy(), 3)


def test_it_is_the_same_in_jax() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    import pliant.jax as pj

    x, faces = two_balls(-0.2)
    with jax.enable_x64(True):
        value, g = jax.jit(jax.value_and_grad(lambda x: pj.self_penetration(x, faces.numpy())))(x.numpy())
    y = x.clone().requires_grad_()
    ours = pt.self_penetration(y, faces)
    ours.backward()
    assert float(value) == pytest.approx(float(ours.detach()), rel=1e-12)
    np.testing.assert_allclose(g, y.grad.numpy(), atol=1e-9)
