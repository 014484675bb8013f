"""Batches of contacts hold every contact once, and those of an independent batch share no vertex; any number of threads
gives the result of one contact after the other."""

import numpy as np

from pliant import contacts, shapes
from pliant.kernels.respond.batches import Batches
from pliant.kernels.respond.projection import WORTH_THREADS, Friction, Substep, project
from pliant.respond.batches import ContactBatches
from pliant.scene import Body, Scene


def touching(rng: np.random.Generator, scene: Scene, count: int) -> np.ndarray:
    """Vertices and midpoints of the first body against the second and the third, and pairs of edges between them."""
    edges, found = scene.bodies[0].mesh.surface.topology.edges, []
    for obstacle in (1, 2):
        one = contacts.empty(min(count, scene.bodies[0].mesh.n_vertices))
        rows = np.sort(rng.permutation(scene.bodies[0].mesh.n_vertices)[: len(one)])
        one["kind"], one["vertices"][:, 0], one["weights"][:, 0] = contacts.VERTEX_FIELD, rows, 1.0
        one["elements"][:, 0] = rows
        two = contacts.empty(min(count, len(edges)))
        rows = np.sort(rng.permutation(len(edges))[: len(two)])
        two["kind"], two["vertices"][:, :2], two["weights"][:, :2] = contacts.MIDPOINT_FIELD, edges[rows], 0.5
        two["elements"][:, 0] = rows
        three = contacts.empty(5)
        three["kind"], three["vertices"] = contacts.EDGE_EDGE, rng.permutation(scene.bodies[0].mesh.n_vertices)[:4]
        three["weights"] = [0.5, 0.5, -0.5, -0.5]
        for part in (one, two, three):
            part["bodies"] = 0, obstacle
            part["normal"] = rng.normal(size=(len(part), 3))
            part["normal"] /= np.linalg.norm(part["normal"], axis=1)[:, None]
            part["anchor"] = rng.normal(size=(len(part), 3))
            found.append(part)
    return np.concatenate(found)


def share_no_vertex(found: np.ndarray) -> bool:
    used = found["vertices"][found["vertices"] >= 0]
    return len(np.unique(used)) == len(used)


def scene_of(resolution: int) -> Scene:
    ball = shapes.ball(0.2, 1)
    return Scene([Body(shapes.cloth(1.0, 1.0, resolution=resolution)), *[Body(ball, obstacle=True)] * 2])


def test_every_contact_is_in_one_batch_and_independent_ones_share_no_vertex(rng) -> None:
    scene = scene_of(9)
    found = touching(rng, scene, 150)
    order, start, independent = ContactBatches(scene).of(found)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(found)))
    assert start[0] == 0
    assert start[-1] == len(found)
    assert (np.diff(start) > 0).all()
    for b in np.flatnonzero(independent):
        assert share_no_vertex(found[order[start[b] : start[b + 1]]])
    assert 4 < independent.sum() < 30
    assert (~independent).sum() == 2  # the pairs of edges behind each obstacle


def test_contacts_that_stand_twice_are_not_in_one_independent_batch(rng) -> None:
    scene = scene_of(9)
    found = np.repeat(touching(rng, scene, 50), 2)
    order, start, independent = ContactBatches(scene).of(found)
    for b in np.flatnonzero(independent):
        assert share_no_vertex(found[order[start[b] : start[b + 1]]])
    np.testing.assert_array_equal(np.sort(order), np.arange(len(found)))


def test_threads_project_as_one_after_the_other(rng) -> None:
    scene = scene_of(90)
    found = touching(rng, scene, 30_000)
    batches, n = ContactBatches(scene).of(found), len(scene.masses)
    assert (np.diff(batches.start) > WORTH_THREADS).sum() > 4
    w, x, x_start = rng.uniform(0.0, 2.0, n), rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    alone = Batches(batches.order, np.array([0, len(found)]), np.zeros(1, np.bool_))
    results = []
    for how in (batches, alone):
        moved, pushed, rubbed = x.copy(), np.zeros(len(found)), np.zeros((len(found), 3))
        project(found, how, Substep(moved, x_start, w, 0.01), 0.1, Friction(0.3, False), 2.0, pushed, rubbed)
        results.append((moved, pushed, rubbed))
    assert (results[0][1] > 0.0).mean() > 0.2
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
