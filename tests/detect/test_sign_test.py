"""Signs of the nodes of fields of open bodies: those of the winding number as a sum of solid angles over all faces."""

import numpy as np
import pytest

from conftest import SEED
from detect.shells import winding
from pliant import DistanceField, Mesh, shapes
from pliant.detect.fields.basis import Basis
from pliant.detect.queries.closest_point import Enclosure, surface_of
from pliant.detect.queries.winding import Winding
from pliant.kernels.queries import winding_bounds

pytestmark = pytest.mark.compiled
MOST = 5_000  # nodes of a field that are compared with the sum over all faces


def joined(*meshes: Mesh) -> Mesh:
    first = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.vertices for mesh in meshes]),
        np.concatenate([mesh.faces + at for mesh, at in zip(meshes, first)]),
    )


def torn(rng, share=0.1, centre=(0.0, 0.0, 0.0), detail=2) -> Mesh:
    """A ball from which a share of the faces is missing."""
    ball = shapes.ball(1.0, detail, centre=centre)
    return Mesh(ball.vertices, ball.faces[rng.random(ball.n_faces) >= share])


def flipped(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, mesh.faces[:, ::-1])


def bowl(rng) -> Mesh:
    """A large hole in a ball, whose edge the rays of many nodes pass closely."""
    ball = shapes.ball(1.0, 3)
    return Mesh(ball.vertices, ball.faces[ball.vertices[ball.faces].mean(1) @ (0.2, 0.9, 0.1) < 0.4])


BODIES = {
    "a large hole": bowl,
    "many holes": lambda rng: torn(rng, 0.3),
    "small holes": lambda rng: torn(rng, 0.02, detail=3),
    "overlapping shells": lambda rng: joined(torn(rng), torn(rng, centre=(0.7, 0.2, 0.0))),
    "an inverted shell beside": lambda rng: joined(torn(rng), flipped(torn(rng, centre=(1.4, 0.0, 0.3)))),
    "inverted": lambda rng: flipped(torn(rng)),
    "an open shell twice": lambda rng: joined(*[torn(np.random.default_rng(SEED))] * 2),
    "a sheet through a ball": lambda rng: joined(shapes.ball(1.0, 2), shapes.cloth(1.5, 1.5, 9)),
    "far from the origin": lambda rng: (body := torn(rng)).moved(body.vertices + np.array([1e4, -3e4, 2e4])),
}


@pytest.mark.parametrize("band", [3.0, 9.0])
@pytest.mark.parametrize("kind", BODIES)
def test_every_node_has_the_sign_of_the_winding_number(kind, band, rng):
    body = BODIES[kind](rng)
    field = DistanceField.bake(body, 28, band=band)
    bricks = field.grid
    i, j, k = np.nonzero(bricks.index)
    q = np.arange(64)
    node = 4 * np.stack([i, j, k], 1)[:, None] + np.stack([q // 16, q // 4 % 4, q % 4], 1)
    d = bricks.values[bricks.index[i, j, k]].astype(np.float64)
    known = ~np.isnan(d)
    x, size = body.vertices - field.origin, body.size
    some = rng.permutation(int(known.sum()))[:MOST]
    p, d = field.spacing * node[known][some], d[known][some]
    number = np.concatenate([winding(some, x, body.faces) for some in np.array_split(p, 1 + len(p) // 20_000)])
    judged = np.abs(d) > 1e-7 * size + 1e-12 * np.abs(field.origin).max()
    inside, outside = judged & (number > 0.6 + 1e-6), judged & (number < 0.1 - 1e-6)
    assert outside.sum() > 300
    assert inside.sum() > 300 or kind == "inverted"
    assert (d[inside] < 0.0).all()
    assert (d[outside] > 0.0).all()


@pytest.mark.parametrize("kind", BODIES)
def test_what_the_boundary_contributes_is_within_its_bounds_in_every_cube(kind, rng):
    body = BODIES[kind](rng).welded
    x, of = body.vertices, Winding(body.topology)
    half, low, high = 0.05, *body.bounds
    centres = low - 0.3 + rng.random((400, 3)) * (high - low + 0.6)
    points = centres[:, None] + half * rng.uniform(-1.0, 1.0, (400, 64, 3))
    for axis in range(3):
        exact = of.boundary_exactly(x, axis, points.reshape(-1, 3)).reshape(-1, 64)
        share, change = of.boundary_within(x, axis, centres, half)
        assert (np.abs(share[:, None] - exact) <= change[:, None] + 1e-9).all()
        assert np.isfinite(change).mean() > 0.1


def test_the_boundary_and_the_rays_add_up_to_the_sum_of_solid_angles(rng):
    body = joined(torn(rng), torn(rng, centre=(0.7, 0.2, 0.0))).welded
    p = rng.uniform(-1.3, 1.9, (500, 3))
    enclosure = Enclosure(surface_of(body), body.topology)
    of, exact = enclosure.solid.winding, winding(p, body.vertices, body.faces)
    for axis in range(3):
        numbers = of.ray_counts(axis, p, enclosure.blocks) + of.boundary_exactly(body.vertices, axis, p)
        np.testing.assert_allclose(numbers, exact, atol=1e-9)


@pytest.mark.parametrize("axis", range(3))
def test_rays_of_a_lattice_count_as_those_of_its_points(axis, rng):
    """The nodes are on vertices, edges and planes of the faces, too."""
    body = joined(shapes.box((1.0, 1.0, 1.0)), torn(rng))
    body = Mesh(np.round(16.0 * body.vertices) / 16.0, body.faces).welded
    enclosure = Enclosure(surface_of(body), body.topology)
    of = enclosure.solid.winding
    q = np.arange(64)
    corner = rng.integers(-20, 20, (500, 1, 3))
    points = (corner + np.stack([q // 16, q // 4 % 4, q % 4], 1)) / 16.0
    one = of.ray_counts(axis, points.reshape(-1, 3), enclosure.blocks)
    np.testing.assert_array_equal(of.lattice_counts(axis, points, enclosure.blocks).ravel(), one)
    assert len(np.unique(one)) > 1


def test_few_nodes_need_the_sum_over_all_edges_of_the_boundary(rng, monkeypatch):
    """Otherwise the bake of an open body takes as long as these sums, nodes times boundary edges."""
    body, summed = bowl(rng), [0]
    original = winding_bounds.add_exactly

    def counted(x, holes, axis, points, share):
        summed[0] += len(points)
        original(x, holes, axis, points, share)

    monkeypatch.setattr(winding_bounds, "add_exactly", counted)
    field = DistanceField.bake(body, 160)
    assert Basis.of(body.welded).sign_test is not None
    assert 0 < summed[0] < 0.06 * np.isfinite(field.grid.values).sum()
