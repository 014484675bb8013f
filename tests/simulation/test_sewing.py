"""Contacts beside a seam: those of vertices that a stitch connects are not pushed apart, all others are."""

import numpy as np
import pytest

from pliant import contacts
from pliant.contacts import EDGE_EDGE, VERTEX_FACE
from pliant.scenes import SCENES
from pliant.simulation.guard.sewing import SeamNeighbours, links_of

pytestmark = pytest.mark.compiled


def test_contacts_left_are_those_of_vertices_that_no_stitch_connects():
    scene = SCENES["gut-with-mesentery"]()
    (seam,) = scene.stitches
    links = links_of(scene)
    beside = {v: {v} for v in range(int(scene.first[-1]))}
    for a, b in links.tolist():
        beside[a].add(b)
        beside[b].add(a)
    pairs = set()
    sewn, onto = seam.on(scene.bodies[1].mesh, scene.bodies[0].mesh)
    for row, ends, share in zip(sewn + scene.first[1], onto + scene.first[0], seam.share, strict=True):
        if 0.0 < share < 1.0:  # at an end of its edge, the two vertices are one for the guard
            for end in ends.tolist():
                pairs |= {(i, end) for i in beside[row]} | {(row, j) for j in beside[end]}
    pairs |= {(j, i) for i, j in pairs}
    rng = np.random.default_rng(3)
    found = np.zeros(4000, contacts.CONTACT)
    near = np.array(sorted(pairs))
    found["kind"] = rng.choice([VERTEX_FACE, EDGE_EDGE], len(found))
    found["vertices"] = rng.integers(0, scene.first[2], (len(found), 4))
    some = rng.random(len(found)) < 0.5
    for side, column in ((0, 0), (1, 3)):
        found["vertices"][some, column] = near[rng.integers(0, len(near), some.sum()), side]
    expected = []
    for record in found:
        split = 1 if record["kind"] == VERTEX_FACE else 2
        one, two = record["vertices"][:split].tolist(), record["vertices"][split:].tolist()
        expected.append(not any((i, j) in pairs for i in one for j in two))
    left = SeamNeighbours(scene, links).without_neighbours(found)
    assert 0 < len(left) < len(found)
    np.testing.assert_array_equal(left, found[np.array(expected)])
