"""Lists of triangle pairs that meet: against looking at every pair in exact fractions, and against CGAL's lists."""

import itertools

import numpy as np
import pytest

import naive
import pliant
from conftest import cases
from pliant import Mesh
from pliant.detect.bvh.tree import tree_of
from pliant.detect.queries import intersections as crossings
from pliant.detect.queries.intersections import Intersections, self_intersections_of
from pliant.errors import TooBigError
from pliant.kernels import jit
from pliant.kernels.jit import COMPILED

SCENES = cases(40 if COMPILED else 6)


def every_pair(a, b):
    """Pairs of two meshes by clipping with fractions."""
    p, q = naive.tuples(a.vertices[a.faces]), naive.tuples(b.vertices[b.faces])
    return [[i, j] for i, j in itertools.product(range(len(p)), range(len(q))) if naive.triangles_intersect(p[i], q[j])]


def every_own_pair(mesh):
    """Pairs of one mesh by clipping with fractions; a face that repeats a corner is none."""
    x, faces = mesh.welded.vertices, mesh.welded.faces.tolist()
    whole = [i for i, f in enumerate(faces) if len({*f}) == 3]
    return [[i, j] for i, j in itertools.combinations(whole, 2) if naive.faces_intersect(x, faces[i], faces[j])]


def soup(rng, count, span=2):
    """Triangles on few vertices of the grid {-span..span}^3: they share corners, touch, are flat or segments."""
    x = rng.integers(-span, span + 1, (max(3, count), 3)).astype(float)
    if rng.integers(4) == 0:
        x[:, 2] = 0.0
    return Mesh(x, rng.integers(0, len(x), (count, 3)))


def listed(pairs):
    assert (pairs.dtype, pairs.shape[1:]) == (np.int32, (2,))
    return pairs.tolist()


def test_pairs_of_two_meshes_are_those_of_exact_clipping(rng):
    met = 0
    for _ in range(SCENES):
        a, b = soup(rng, int(rng.integers(1, 16))), soup(rng, int(rng.integers(1, 16)))
        assert listed(pliant.intersections(a, b)) == every_pair(a, b)
        met += pliant.intersections(a, b).size > 0
    assert met > 0.5 * SCENES


def test_pairs_of_a_mesh_with_itself_are_those_of_exact_clipping(rng):
    for _ in range(SCENES):
        mesh = soup(rng, int(rng.integers(1, 24)))
        assert listed(pliant.intersections(mesh)) == every_own_pair(mesh)


@pytest.mark.parametrize("scale", [1 / 3, 1e9 / 3, 1e-100 / 3])
def test_pairs_on_a_rounded_grid_are_those_of_exact_clipping(rng, scale):
    for _ in range(SCENES // 4):
        mesh = soup(rng, 16)
        mesh = Mesh(mesh.vertices * scale + 0.1 * scale, mesh.faces)
        assert listed(pliant.intersections(mesh)) == every_own_pair(mesh)


@pytest.mark.parametrize("options", [{"leaf": 1}, {"leaf": 2, "arity": 8}, {"leaf": 7, "arity": 4}], ids=str)
def test_every_tree_gives_the_same_list_and_so_does_one_that_follows(rng, options):
    for _ in range(max(1, SCENES // 30)):
        a, b = soup(rng, 24, 3), soup(rng, 16, 3)
        x_a, x_b = (rng.integers(-3, 4, mesh.vertices.shape) + 0.0 for mesh in (a, b))
        kept, own = Intersections(a, b, **options), Intersections(a, **options)
        assert listed(kept.pairs()) == every_pair(a, b)
        assert listed(kept.update(x_a).pairs()) == every_pair(a.moved(x_a), b)
        assert listed(kept.update(x_b=x_b).pairs()) == every_pair(a.moved(x_a), b.moved(x_b))
        # vertices are one that coincide at the start and still do, not those that come to lie on each other
        one = np.unique(np.hstack([a.vertices, x_a]), axis=0, return_inverse=True)[1].reshape(-1)
        fresh = self_intersections_of(x_a, a.faces, tree_of(x_a, a.faces, **options), one[a.faces])
        assert listed(own.update(x_a).pairs()) == listed(fresh)
        assert own.count == len(fresh)


def test_neighbours_count_only_when_they_share_more_than_a_corner_or_an_edge():
    x = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.4, 0.4, 0.5], [0.6, 0.3, -0.5], [0.2, 0.5, 0]]
    hinge, piercing, folded, twice = [0, 1, 3], [0, 4, 5], [1, 0, 6], [2, 0, 1]
    for other, expected in ((hinge, 0), (piercing, 1), (folded, 1), (twice, 1), ([0, 1, 1], 0)):
        assert len(pliant.intersections(Mesh(x, [[0, 1, 2], other]))) == expected
    # the same corners under other numbers are still the same corners
    split = Mesh([*x[:3], x[0], x[1], x[3]], [[0, 1, 2], [3, 4, 5]])
    assert len(pliant.intersections(split)) == 0
    # two meshes have no neighbours: whatever touches counts
    assert len(pliant.intersections(Mesh(x, [[0, 1, 2]]), Mesh(x, [hinge]))) == 1


def test_a_mesh_without_faces_meets_nothing():
    points, triangle = Mesh([[0, 0, 0]], np.zeros((0, 3))), Mesh(np.eye(3), [[0, 1, 2]])
    for a, b in ((points, None), (points, triangle), (triangle, points)):
        assert pliant.intersections(a, b).shape == (0, 2)


def crowd(rng, count):
    """Large triangles through each other: most pairs meet."""
    return Mesh(rng.normal(size=(3 * count, 3)), np.arange(3 * count).reshape(-1, 3))


def test_more_pairs_than_there_is_room_for_are_all_found(rng, monkeypatch):
    mesh = crowd(rng, 40)
    whole = pliant.intersections(mesh)
    monkeypatch.setattr(crossings, "_ROOM", 1)
    np.testing.assert_array_equal(pliant.intersections(mesh), whole)
    with pytest.raises(TooBigError, match="pairs needs"):
        Intersections(mesh, max_bytes=100.0).pairs()


@pytest.mark.compiled
def test_many_pairs_wait_their_turn(rng):
    mesh = crowd(rng, 300)
    x, faces = mesh.vertices, mesh.faces
    found = {(i, j) for i, j in pliant.intersections(mesh).tolist()}
    assert len(found) > 3000
    for i, j in rng.integers(0, 300, (2000, 2)):
        if i < j:
            assert ((i, j) in found) == naive.triangles_intersect(x[faces[i]], x[faces[j]])


def test_moving_scaling_and_renumbering_exactly_moves_nothing_else(rng):
    mesh = soup(rng, 60, 3)
    whole = pliant.intersections(mesh)
    assert len(whole)
    turned = Mesh(8.0 * mesh.vertices[:, [2, 0, 1]] * [1, -1, 1] + [1024, -512, 64], mesh.faces)
    np.testing.assert_array_equal(pliant.intersections(turned), whole)
    order = rng.permutation(mesh.n_faces)
    renamed = np.sort(order[pliant.intersections(Mesh(mesh.vertices, np.roll(mesh.faces[order], 1, 1)))], 1)
    assert {*map(tuple, renamed.tolist())} == {*map(tuple, whole.tolist())}


@pytest.mark.compiled
def test_the_list_is_the_same_on_one_and_on_two_threads(rng):
    mesh, before, lists = crowd(rng, 400), jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            lists.append(pliant.intersections(mesh).tobytes())
    finally:
        jit.set_threads(before)
    assert lists[0] == lists[1]


def test_new_vertices_are_checked():
    mesh = Mesh(np.eye(3), [[0, 1, 2]])
    with pytest.raises(ValueError, match=r"x_a has shape \(2, 3\); expected \(3, 3\)"):
        Intersections(mesh).update(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="volume = 'sphere'; intersections are found by AABB trees: expected 'box'"):
        Intersections(mesh, volume="sphere")
    with pytest.raises(ValueError, match="no second mesh"):
        Intersections(mesh).update(mesh.vertices, mesh.vertices)


ORACLE = "oracles/self_intersections_dev.npz"
NAMES = [
    "contact__two-cubes-close.ply",
    "contact__two-cubes-far.ply",
    "contact__two-cubes-intersecting.ply",
    "contact__bunny.ply",
    "human__body.obj",
    "cloth__garmentcode_mean_all.obj",
    "morph__fsaverage5_pial_lh.ply",
    "mh_body_frame0",
    "mh_body_frame12",
]


@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
def test_self_intersections_are_those_of_cgal(data, name):
    with np.load(data / ORACLE) as truth:
        assert sorted(truth) == sorted(NAMES)
        expected = truth[name]
    if name.startswith("mh_body_frame"):
        with np.load(data / "human" / "body.npz") as body:
            mesh = pliant.load(data / "human" / "body.obj")
            mesh = mesh.moved(body["V_frames"][int(name.removeprefix("mh_body_frame"))])
    else:
        mesh = pliant.load(data / name.replace("__", "/"))
    # also those of neighbours that pierce each other beside a common corner
    assert {*map(tuple, pliant.intersections(mesh).tolist())} == {*map(tuple, np.sort(expected, 1).tolist())}


@pytest.mark.compiled
def test_pairs_of_a_robot_in_its_surroundings_are_as_many_as_cgals(data):
    with np.load(data / "oracles" / "fcl_env_rob_dev.npz") as truth:
        truth = dict(truth)
    around, robot = Mesh(truth["V1"], truth["F1"]), Mesh(truth["V2"], truth["F2"])
    kept = Intersections(around, robot)
    found = [kept.update(x_b=robot.vertices @ r.T + t).count for r, t in zip(truth["R"], truth["t"])]
    assert found == truth["exact_pairs"].tolist()
