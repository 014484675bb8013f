"""The constants of which frameworks compute distances: checked without any framework, against exact differences."""

import functools
import subprocess
import sys

import numpy as np
import pytest

import pliant
from conftest import cases
from gradients.exact_distance import EXTENDED, differences, signed_like, union_depth, winding
from gradients.small_bodies import BOX, TET, case, tetrahedron
from pliant.gradients import formulas
from pliant.gradients.bodies import find_stencils
from pliant.kernels.gradients.stencils import CONSTANT, CREASE
from time_limit import PATIENCE

extended = pytest.mark.skipif(not EXTENDED, reason="long double has the precision of double here")


def formula(p, x, faces):
    """Value (n,), and the gradient (n, 3 + 3v) that direction and weights give; creases are differentiated apart."""
    s = find_stencils(p, x, faces)
    d = formulas.distances(np, p, x[s.rows], s)
    used = s.planes >= 0
    creases = formulas.crease_distances(np, p, x[np.asarray(faces)[np.maximum(s.planes, 0)]], used)
    d = np.where(s.kind == CREASE, creases, d)
    g = np.zeros((len(p), 1 + len(x), 3))
    g[:, 0] = s.direction
    for k in range(3):
        np.add.at(g, (np.arange(len(p)), 1 + s.rows[:, k]), -s.weights[:, k, None] * s.direction)
    return d, g.reshape(len(p), -1), s


@extended
@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.long)])
def test_values_and_first_derivatives_are_those_of_exact_differences(count) -> None:
    rng = np.random.default_rng(5)
    worst, kinks, n = 0.0, np.zeros(5), cases(count)
    for k in range(n):
        x, faces, p = case(rng, k % 5)
        d, g, _ = formula(p[None], x, faces)
        scale = float(np.ptp(x[:4], 0).max())
        w = winding(p, x, faces)
        exact, gradient, bend = differences(signed_like(-1.0 if w > 0.6 else 1.0), p, x, faces, step=1e-8 * scale)
        assert abs(d[0] - exact) <= 1e-12 * max(scale, 0.01 * float(np.abs(x).max())), k
        assert np.isfinite(g).all()
        # a tie within the step, where the distance bends more than that of a point or a line does, or the surface
        if bend.max() > 1e-8 + 4e-8 * scale / abs(exact) or abs(exact) < 1e-4 * scale:
            kinks[k % 5] += 1
            continue
        worst = max(worst, float(np.abs(g[0] - gradient).max()))
    assert worst < 1e-7
    # two faces that lie within the step of each other tie where they are nearest: in half of the cases with defects
    assert (kinks < [max(0.01 * n, 2)] * 3 + [0.15 * n, max(0.01 * n, 2)]).all()


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_without_the_framework_one_error_names_the_extra(name) -> None:
    script = f"import sys; sys.modules[{name!r}] = None; import pliant.{name}"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)
    assert run.stderr.splitlines()[-1].endswith(f'is not installed: pip install "pliant[{name}]"')


def depth(p, x, bodies):
    return -union_depth(p, x, bodies)


def by_planes(p, x, faces, used):
    """The distances (k,) of points from the crease of the same faces."""
    return formulas.crease_distances(np, p, x[:, faces], np.broadcast_to(used, (len(p), 3)))


@extended
def test_depths_in_overlapping_parts_and_their_derivatives_at_creases() -> None:
    rng = np.random.default_rng(6)
    found = 0
    for k in range(cases(25)):
        x = np.concatenate([tetrahedron(rng), tetrahedron(rng)])
        bodies = [TET, TET + 4]
        faces = np.concatenate(bodies)
        shares = rng.dirichlet([1.0] * 4, (2, 200))
        p = np.concatenate([shares[b] @ x[4 * b : 4 * b + 4] for b in range(2)])
        both = [i for i, q in enumerate(p) if winding(q, x, faces) > 1.5]
        for i in both[:2]:
            d, _, s = formula(p[i : i + 1], x, faces)
            exact, gradient, bend = differences(functools.partial(depth, bodies=bodies), p[i], x)
            assert abs(d[0] - exact) < 1e-11, (k, i)
            if s.kind[0] != CREASE or bend.max() > 1e-3:
                continue
            found += 1
            near = functools.partial(by_planes, faces=faces[np.maximum(s.planes[0], 0)], used=s.planes[0] >= 0)
            _, ours, _ = differences(near, p[i], x)
            assert np.abs(ours - gradient).max() < 1e-8, (k, i)
    assert found > 3 or cases(25) < 25


def test_points_on_the_surface_have_a_direction() -> None:
    x, faces = BOX.vertices, BOX.faces
    for p, normal in (([0.5, 0.1, 0.2], [1, 0, 0]), ([0.5, 0.5, 0.2], [1, 1, 0]), ([0.5, 0.5, 0.5], [1, 1, 1])):
        d, g, _ = formula(np.array([p]), x, faces)
        assert d[0] == 0.0
        np.testing.assert_allclose(g[0, :3], np.array(normal) / np.linalg.norm(normal), atol=0.02)


def test_ties_and_faces_without_area_give_unit_directions() -> None:
    x, faces = BOX.vertices, BOX.faces
    _, g, _ = formula(np.zeros((1, 3)), x, faces)  # the centre of the box: six faces are equally near
    assert np.linalg.norm(g[0, :3]) == pytest.approx(1.0)
    point = np.array([[0.3, 0.2, 0.1]])
    x = np.zeros((3, 3))
    d, g, s = formula(point, x, np.array([[0, 1, 2]]))  # all corners at one place
    assert d[0] == pytest.approx(np.linalg.norm(point))
    assert np.linalg.norm(g[0, :3]) == pytest.approx(1.0)
    d, g, s = formula(np.zeros((1, 3)), x, np.array([[0, 1, 2]]))
    assert d[0] == 0.0
    assert s.kind[0] == CONSTANT
    assert np.linalg.norm(g[0, :3]) == pytest.approx(1.0)


def test_leading_axes_are_broadcast() -> None:
    rng = np.random.default_rng(0)
    ball = pliant.shapes.ball(0.5, 2)
    bodies = ball.vertices * rng.uniform(0.5, 1.5, (4, 1, 1))
    points = rng.normal(size=(3, 1, 20, 3))
    s = find_stencils(points, bodies, ball.faces)
    assert s.distance.shape == (3, 4, 20)
    for i in range(3):
        for j in range(4):
            d, _ = pliant.closest_point(pliant.Mesh(bodies[j], ball.faces), points[i, 0])
            np.testing.assert_array_equal(s.distance[i, j], d)
    one = find_stencils(points, ball.vertices, ball.faces)
    assert one.rows.shape == (3, 1, 20, 3)
