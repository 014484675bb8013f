"""Edge lengths: stretched edges return to their bounds, edges within them stay, whatever the order of the vertices."""

import numpy as np

from pliant import Mesh, shapes
from pliant.respond.edge_lengths import SHARE, EdgeLengths, lengths


def sheet(n: int = 9) -> Mesh:
    made = shapes.cloth(1.0, 1.0, n)
    return made.moved(made.vertices * (1.0, 0.0, 1.0))


def test_what_is_within_the_bounds_stays_to_the_bit(rng):
    mesh = sheet()
    kept = EdgeLengths(mesh, lengths(mesh.vertices, mesh.topology.edges))
    x = mesh.vertices + 0.1 * SHARE / 9 * rng.normal(size=mesh.vertices.shape).clip(-1, 1)
    assert np.array_equal(kept.relax(x, 5), x)


def test_edges_that_are_too_long_or_too_short_return_to_their_bounds(rng):
    mesh = sheet()
    edges, rest = mesh.topology.edges, lengths(mesh.vertices, mesh.topology.edges)
    x = mesh.vertices + 0.02 * rng.normal(size=mesh.vertices.shape)
    beyond = [np.abs(lengths(y, edges) / rest - 1.0).max() for y in (x, EdgeLengths(mesh, rest).relax(x, 300))]
    assert beyond[0] > 0.3
    assert beyond[1] < SHARE + 0.005


def test_an_edge_may_keep_the_length_that_it_was_given(rng):
    mesh = sheet()
    kept = EdgeLengths(mesh, lengths(mesh.vertices, mesh.topology.edges))
    stretched = mesh.vertices * (1.5, 1.0, 1.0)
    assert not np.array_equal(kept.relax(stretched, 3), stretched)
    kept.set(stretched)
    assert np.array_equal(kept.relax(stretched, 3), stretched)


def test_the_order_of_vertices_and_faces_does_not_matter(rng):
    mesh = sheet()
    order = rng.permutation(mesh.n_vertices)
    rank = np.argsort(order).astype(np.int32)
    other = Mesh(mesh.vertices[order], rank[mesh.faces[rng.permutation(mesh.n_faces)]])
    x = mesh.vertices + 0.02 * rng.normal(size=mesh.vertices.shape)
    one, two = (
        EdgeLengths(m, lengths(m.vertices, m.topology.edges)).relax(y, 10) for m, y in ((mesh, x), (other, x[order]))
    )
    np.testing.assert_allclose(two, one[order], atol=1e-12)
