"""The referee against looking at every pair, and what every contact must be."""

import functools
import itertools

import numpy as np
import pytest

import naive
import pliant
from conftest import SEED, cases
from detect.made import FAR, box, octahedron, permuted, rotation, sheet, spiky_star
from pliant import Mesh
from pliant.contacts import EDGE_EDGE, VERTEX_FACE, gap
from pliant.errors import TooBigError
from pliant.kernels import jit

find_contacts = functools.partial(pliant.find_contacts, method="brute-force")  # auto may choose another
TRIANGLES = 12 if jit.COMPILED else 5


def soup(rng, count=TRIANGLES, grid=False):
    x = rng.integers(-2, 3, (3 * count, 3)).astype(float) if grid else rng.normal(size=(3 * count, 3))
    return Mesh(x, np.arange(3 * count).reshape(-1, 3))


def shifted(mesh, shift, scale=1.0):
    return Mesh(mesh.vertices * scale + shift, mesh.faces)


def degenerate(rng):
    """Points and needles among triangles."""
    mesh = soup(rng)
    x = mesh.vertices.copy()
    x[0:3] = x[0]
    x[5] = 0.5 * (x[3] + x[4])
    return Mesh(x, mesh.faces)


SCENES = {
    "random": lambda rng: (soup(rng), soup(rng), 0.3),
    "touching and coplanar": lambda rng: (soup(rng, grid=True), soup(rng, grid=True), 1.0),
    "exactly touching": lambda rng: (soup(rng, grid=True), soup(rng, grid=True), 0.0),
    "degenerate": lambda rng: (degenerate(rng), degenerate(rng), 0.4),
    "far": lambda rng: (shifted(soup(rng), FAR), shifted(soup(rng), FAR), 0.3),
    "tiny": lambda rng: (shifted(soup(rng), 0.0, 1e-9), shifted(soup(rng), 0.0, 1e-9), 3e-10),
    "flat": lambda rng: (sheet(2, height=0.1), sheet(3), 0.2),
    "cloth on a box": lambda rng: (sheet(3, 1.5, 0.51), box(), 0.05),
    "one triangle": lambda rng: (soup(rng, 1), soup(rng, 1), 1.5),
    "one point": lambda rng: (Mesh(np.zeros((3, 3)), [[0, 1, 2]]), soup(rng), 2.0),
}
scenes = pytest.mark.parametrize("name", SCENES)


def pairs_of(a, b, within):
    """{(kind, body, body, element, element): distance} by looking at everything with rational numbers; b=None: self."""
    found = {}
    same = b is None
    b = a if same else b
    sides = [(0, a, 0, b)] if same else [(0, a, 1, b), (1, b, 0, a)]
    for one, p, two, q in sides:
        for i, f in itertools.product(range(p.n_vertices), range(q.n_faces)):
            if same and p.weld_index[i] in p.weld_index[q.faces[f]]:
                continue
            d = naive.root(naive.point_triangle2(p.vertices[i], *q.vertices[q.faces[f]]))
            found[VERTEX_FACE, one, two if not same else one, i, f] = d
    e_a, e_b = a.topology.edges, b.topology.edges
    for i, j in itertools.product(range(len(e_a)), range(len(e_b))):
        if same and (j <= i or set(a.weld_index[e_a[i]]) & set(a.weld_index[e_b[j]])):
            continue
        found[EDGE_EDGE, 0, 0 if same else 1, i, j] = naive.root(
            naive.edge_edge2(*a.vertices[e_a[i]], *b.vertices[e_b[j]])
        )
    return found


def keys(hits):
    return list(zip(hits["kind"].tolist(), *hits["bodies"].T.tolist(), *hits["elements"].T.tolist()))


def agree(hits, truth, within, slack):
    """Same pairs and distances, but for those whose distance is `within` up to rounding."""
    found = dict(zip(keys(hits), np.abs(hits["distance"])))
    missing = [k for k, d in truth.items() if d < within - slack and k not in found]
    extra = [
        k for k in found if k not in truth or (truth[k] > within + slack and hits["distance"][keys(hits).index(k)] > 0)
    ]
    wrong = [k for k in found if k in truth and abs(found[k] - truth[k]) > 1e-12 * truth[k] + slack]
    return missing, extra, wrong


@scenes
def test_it_finds_what_looking_at_every_pair_finds(name, rng):
    a, b, within = SCENES[name](rng)
    slack = 2e-14 * max(np.abs(a.vertices).max(), np.abs(b.vertices).max())
    assert agree(find_contacts(a, b, within=within), pairs_of(a, b, within), within, slack) == ([], [], [])


@scenes
def test_self_contact_is_every_pair_but_neighbours(name, rng):
    a, _, within = SCENES[name](rng)
    slack = 2e-14 * np.abs(a.vertices).max()
    assert agree(find_contacts(a, within=within), pairs_of(a, None, within), within, slack) == ([], [], [])


@pytest.mark.compiled
def test_many_random_scenes_agree(rng):
    for _ in range(cases(10)):
        a, b = soup(rng, 6, rng.random() < 0.5), soup(rng, 6, rng.random() < 0.5)
        within = rng.choice([0.0, 0.1, 1.0, 10.0])
        assert agree(find_contacts(a, b, within=within), pairs_of(a, b, within), within, 1e-13) == ([], [], [])


def both(a, b):
    return np.concatenate([a.vertices, b.vertices])


@scenes
def test_the_gap_along_the_normal_is_the_distance(name, rng):
    a, b, within = SCENES[name](rng)
    hits, x = find_contacts(a, b, within=within), both(a, b)
    along = np.einsum("ij,ij->i", gap(hits, x), hits["normal"])
    assert np.abs(along - hits["distance"]).max(initial=0.0) <= 1e-14 * np.abs(x).max()


@scenes
def test_normals_are_unit_and_weights_are_barycentric(name, rng):
    a, b, within = SCENES[name](rng)
    hits = find_contacts(a, b, within=within)
    w = hits["weights"]
    split = np.where(hits["kind"] == VERTEX_FACE, 1, 2)
    ours = np.where(np.arange(4) < split[:, None], w, 0.0)
    assert np.abs(np.linalg.norm(hits["normal"], axis=1) - 1).max(initial=0.0) <= 1e-12
    assert np.abs(w.sum(1)).max(initial=0.0) <= 1e-15
    assert np.abs(ours.sum(1) - 1).max(initial=0.0) <= 1e-15
    assert (ours >= 0).all()
    assert (w - ours <= 0).all()


@scenes
def test_the_order_is_canonical(name, rng):
    a, b, within = SCENES[name](rng)
    found = keys(find_contacts(a, b, within=within))
    assert found == sorted(set(found))


@pytest.mark.parametrize("name", ["random", "cloth on a box"])
def test_moving_the_scene_moves_the_contacts(name, rng):
    a, b, within = SCENES[name](rng)
    turn, shift = rotation(rng), rng.normal(size=3)
    before = find_contacts(a, b, within=within * 1.01)
    after = find_contacts(*(Mesh(m.vertices @ turn.T + shift, m.faces) for m in (a, b)), within=within * 1.01)
    assert keys(before) == keys(after)
    apart = before["distance"] > 1e-6  # where things touch, and where edges are parallel, nearest points are not unique
    assert np.abs(before["distance"] - after["distance"]).max() <= 1e-12
    assert np.abs((before["normal"] @ turn.T - after["normal"])[apart]).max() <= 1e-8


def test_a_far_object_changes_nothing_else(rng):
    a, b, within = soup(rng), soup(rng), 0.3
    more = Mesh(
        np.concatenate([b.vertices, b.vertices[:3] + 1e4]), [*b.faces.tolist(), [b.n_vertices + k for k in range(3)]]
    )
    one, two = find_contacts(a, b, within=within), find_contacts(a, more, within=within)
    for field in one.dtype.names:
        if field != "elements":
            np.testing.assert_array_equal(one[field], two[field])


def test_the_numbering_of_vertices_does_not_matter(rng):
    a, b, within = soup(rng), soup(rng), 0.4
    other = permuted(b, rng)
    one, two = (find_contacts(a, m, within=within) for m in (b, other))
    vf = lambda hits: hits[(hits["kind"] == VERTEX_FACE) & (hits["bodies"][:, 0] == 0)]  # noqa: E731
    assert keys(vf(one)) == keys(vf(two))
    np.testing.assert_array_equal(vf(one)["distance"], vf(two)["distance"])
    assert sorted(np.abs(one["distance"])) == pytest.approx(sorted(np.abs(two["distance"])), rel=1e-12, abs=1e-15)


def test_one_and_two_threads_find_the_same_bits(rng):
    a, b = sheet(6, 2.0, 0.3, 0.3, rng), octahedron(1)
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            found.append(find_contacts(a, b, within=0.2))
    finally:
        jit.set_threads(before)
    for field in found[0].dtype.names:
        np.testing.assert_array_equal(found[0][field], found[1][field])


def test_a_vertex_deep_inside_is_reported_with_its_depth_and_the_way_out():
    point = Mesh([[0.0, 0.3, 0.1], [0.0, 5.0, 0.0], [1.0, 5.0, 0.0]], [[0, 1, 2]])
    hits = find_contacts(point, box(), within=0.001)
    deep = hits[(hits["kind"] == VERTEX_FACE) & (hits["bodies"][:, 0] == 0)]
    assert deep["distance"].tolist() == pytest.approx([-0.2])
    assert np.abs(deep["normal"] - [0.0, 1.0, 0.0]).max() <= 1e-15


def test_points_in_a_star_have_the_depth_of_the_slow_twin(rng):
    star = spiky_star()
    points = rng.normal(size=(30, 3)) * 0.4
    hits = find_contacts(Mesh(points, np.zeros((0, 3), int)), star, within=1e-9)
    truth = naive.signed_distance(points, star)
    found = np.full(len(points), np.inf)
    found[hits["elements"][:, 0]] = hits["distance"]
    assert np.abs(found - truth)[truth < 0].max() <= 1e-12
    assert np.isinf(found[truth > 1e-9]).all()


def test_edges_are_signed_alike_whichever_mesh_comes_first():
    cloth, body = sheet(3, 0.8, 0.49), box()
    one, two = find_contacts(cloth, body, within=0.3), find_contacts(body, cloth, within=0.3)
    ee = lambda hits: sorted(hits[hits["kind"] == EDGE_EDGE]["distance"].round(12))  # noqa: E731
    assert ee(one) == ee(two)
    assert min(ee(one)) < 0


def test_a_seam_is_neither_self_contact_nor_an_open_border():
    star = spiky_star()
    split = Mesh(star.vertices[star.faces].reshape(-1, 3), np.arange(3 * star.n_faces).reshape(-1, 3))
    rng = np.random.default_rng(SEED)
    points = Mesh(rng.normal(size=(40, 3)) * 1.5, np.zeros((0, 3), int))
    one, two = (find_contacts(points, m, within=0.2) for m in (star, split))
    vf = lambda hits: hits[hits["bodies"][:, 0] == 0]  # noqa: E731
    np.testing.assert_array_equal(vf(one)["elements"], vf(two)["elements"])
    np.testing.assert_array_equal(vf(one)["distance"], vf(two)["distance"])
    assert len(find_contacts(split, within=1e-9)) == 0


def test_vertices_that_come_to_lie_on_each_other_are_contacts_not_neighbours():
    two = Mesh([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [-1, 1, 0], [0, 1, -1]], [[0, 2, 1], [3, 4, 5]])
    x = two.vertices.copy()
    x[3:] -= [0, 1, 0]
    hits = pliant.detector("brute-force", two, within=1e-6).update(x).find()
    assert (VERTEX_FACE, 0, 0, 0, 1) in keys(hits)


def test_meshes_without_faces_are_points():
    dot = Mesh([[0.0, 0.55, 0.0]], np.zeros((0, 3), int))
    assert len(find_contacts(dot, dot, within=1.0)) == 0
    assert set(find_contacts(dot, box(), within=0.1)["distance"].round(12)) == {0.05}
    assert len(find_contacts(dot, within=1.0)) == 0


def test_more_contacts_than_fit_are_refused():
    with pytest.raises(TooBigError, match=r"contacts needs .* reduce the detection distance or raise max_bytes"):
        pliant.detector("brute-force", sheet(4), sheet(4), within=10.0, max_bytes=1000).find()
