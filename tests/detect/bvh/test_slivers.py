"""No culling rests on a normal that is rounding noise: needles, slivers, duplicates, faces without area, at any scale.

The judge looks at every pair in extended precision (detect/slivers.py).
"""

import numpy as np
import pytest

import pliant
from conftest import SEED, cases
from detect import slivers
from pliant import Mesh
from pliant.detect.bvh.leaf_mesh import LeafMesh
from pliant.detect.queries.proximity import NearPairs
from pliant.kernels.queries import proximity

METHODS = ("bvh", "brute-force")


def missed(rng):
    """What `METHODS` miss or invent in one random scene, of two meshes and of one with itself."""
    (x, faces), (y, others), within = slivers.scene(rng)
    a, b = Mesh(x, faces), Mesh(y, others)
    slack = 2e-14 * max(np.abs(x).max(), np.abs(y).max())
    found = []
    for other in (b, None):
        truth = slivers.distances(a, b) if other is b else slivers.distances(a, a, x)
        for method in METHODS:
            hits = pliant.find_contacts(a, other, method=method, within=within)
            wrong = slivers.wrong(hits, truth, within, slack)
            if wrong != (0, 0):
                found.append((method, other is None, *wrong))
    return found


def test_contacts_over_a_ridge_that_closes_a_t_junction_are_found_in_every_rotation():
    total = 0
    for seed in range(cases(60)):
        spin, rng = slivers.turned(np.random.default_rng(seed)), np.random.default_rng(seed)
        x, faces = slivers.roof(rng)
        p = np.array([[0.3, 0.003, -0.2], [0.3, 0.003, 0.2], [0.3, 0.2, 0.0]])
        p[:, 0] += rng.uniform(-0.2, 0.4)
        roof, above = Mesh(x @ spin.T, faces), Mesh(p @ spin.T, [[0, 1, 2]])
        truth = slivers.distances(roof, above)
        hits = pliant.find_contacts(roof, above, method="bvh", within=0.004)
        assert slivers.wrong(hits, truth, 0.004, 1e-14) == (0, 0), seed
        total += len(hits)
    assert total > 0


def test_contacts_of_needles_slivers_and_duplicates_are_those_of_looking_at_every_pair():
    for k in range(cases(40)):
        assert missed(np.random.default_rng([SEED, k])) == [], (SEED, k)


@pytest.mark.long
@pytest.mark.compiled
def test_contacts_of_3000_scenes_of_slivers_are_those_of_looking_at_every_pair():
    wrong = {k: found for k in range(cases(3000)) if (found := missed(np.random.default_rng([SEED + 1, k])))}
    assert wrong == {}


def on_the_way(rng, still):
    """(how many pairs come near, how many of them were not found) while both meshes of a scene go straight ways."""
    (x, faces), (y, others), within = slivers.scene(rng, -3.0, 3.0)
    a, b = Mesh(x, faces), Mesh(y, others)
    size = np.ptp(np.concatenate([x, y]), axis=0).max()
    ways = [rng.normal(size=(1, 3)) + 0.1 * rng.normal(size=p.shape) for p in (x, y)]
    ways = [w * size * 10.0 ** rng.uniform(-4, -0.5) for w in ways]
    ways[1] *= not still
    one, two = (LeafMesh(m.vertices, m.topology, np.arange(m.n_vertices) + k) for m, k in ((a, 0), (b, a.n_vertices)))
    for leaf_mesh, mesh in ((one, a), (two, b)):
        leaf_mesh.move(mesh.vertices)
    one.predict(ways[0])
    if not still:
        two.predict(ways[1])
    there, back, edges = NearPairs(one, two).within(within, drifting=True)
    least = None
    for t in np.linspace(0.0, 1.0, 5):
        now = slivers.distances(Mesh(x + t * ways[0], faces), Mesh(y + t * ways[1], others))
        least = now if least is None else {kind: np.minimum(least[kind], now[kind]) for kind in now}
    slack = 1e-13 * max(np.abs(x).max(), np.abs(y).max(), size)
    count = lost = 0
    for kind, pairs in (("there", there), ("back", back), ("edges", edges)):
        near = least[kind] < within - slack
        count += int(near.sum())
        near[pairs[:, 0], pairs[:, 1]] = False
        lost += int(near.sum())
    return count, lost


@pytest.mark.parametrize("still", [False, True])
@pytest.mark.compiled
def test_slivers_that_come_near_on_their_way_are_found(still):
    told = [on_the_way(np.random.default_rng([SEED, k]), still) for k in range(cases(40))]
    assert [k for k, (_, lost) in enumerate(told) if lost] == []
    assert sum(count for count, _ in told) > 100


@pytest.mark.parametrize("still", [False, True])
def test_what_comes_down_on_a_ridge_that_closes_a_t_junction_is_found_on_its_way(still):
    for seed in range(cases(40)):
        rng = np.random.default_rng([SEED, seed])
        spin, (x, faces) = slivers.turned(rng), slivers.roof(rng)
        p = np.array([[0.3, 0.05, -0.2], [0.3, 0.05, 0.2], [0.3, 0.25, 0.0]])
        p[:, 0] += rng.uniform(-0.2, 0.4)
        above, roof = Mesh(p @ spin.T, [[0, 1, 2]]), Mesh(x @ spin.T, faces)
        down = np.array([0.0, -0.047, 0.0]) @ spin.T
        one, two, ways = roof, above, ((-down, 0.0) if still else (-0.5 * down, 0.5 * down))
        leaf_meshes = [
            LeafMesh(m.vertices, m.topology, np.arange(m.n_vertices) + k) for m, k in ((one, 0), (two, one.n_vertices))
        ]
        for leaf_mesh, mesh, way in zip(leaf_meshes, (one, two), ways, strict=True):
            leaf_mesh.move(mesh.vertices)
            if np.any(way):
                leaf_mesh.predict(np.zeros_like(mesh.vertices) + way)
        found = NearPairs(*leaf_meshes).within(0.004, drifting=True)
        truth = slivers.distances(*(Mesh(m.vertices + way, m.faces) for m, way in zip((one, two), ways, strict=True)))
        for kind, pairs in zip(("there", "back", "edges"), found, strict=True):
            near = truth[kind] < 0.004 - 1e-12
            near[pairs[:, 0], pairs[:, 1]] = False
            assert not near.any(), (seed, kind)


@pytest.mark.long
@pytest.mark.compiled
def test_slivers_of_2000_scenes_that_come_near_on_their_way_are_found():
    told = {k: on_the_way(np.random.default_rng([SEED + 2, k]), k % 2 == 0)[1] for k in range(cases(2000))}
    assert {k for k, lost in told.items() if lost} == set()


def test_the_corners_of_a_triangle_lie_within_its_own_span_along_its_normal():
    rng = np.random.default_rng(SEED)
    for _ in range(cases(300)):
        t, scale = rng.uniform(-1, 2), 10.0 ** rng.uniform(-6, 8)
        a, b = rng.normal(size=(2, 3)) * scale + rng.normal(size=3) * 10.0 ** rng.uniform(-6, 6)
        c = a + t * (b - a) + rng.normal(size=3) * scale * 10.0 ** rng.uniform(-17, 0) * (rng.random() < 0.7)
        *n, low, high = proximity.normal_span(tuple(a), tuple(b), tuple(c))
        along = np.array([a, b, c]) @ n
        slack = 1e-15 * np.abs([a, b, c]).max()
        assert np.linalg.norm(n) <= 1.0 + 1e-12
        assert low - slack <= along.min()
        assert along.max() <= high + slack


def test_faces_without_any_extent_have_no_normal_and_cull_nothing():
    assert proximity.normal_span((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), (1.0, 2.0, 3.0)) == (0.0, 0.0, 0.0, 0.0, 0.0)
    tiny = 1e-160
    assert proximity.normal_span((0.0, 0.0, 0.0), (tiny, 0.0, 0.0), (0.0, tiny, 0.0)) == (0.0, 0.0, 0.0, 0.0, 0.0)
