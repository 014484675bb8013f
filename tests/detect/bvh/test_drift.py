"""Pairs that come near while everything goes its way: none is missed, and what stands is found as ever."""

import numpy as np
import pytest

from conftest import cases
from pliant import geometry
from pliant.detect.bvh.leaf_mesh import LeafMesh
from pliant.detect.queries.approach import approaching
from pliant.detect.queries.proximity import NearPairs
from pliant.mesh import Mesh
from pliant.shapes import ball, cloth

pytestmark = pytest.mark.compiled
MOMENTS = np.linspace(0.0, 1.0, 9)


def crumpled(rng: np.random.Generator, n: int = 8) -> Mesh:
    sheet = cloth(0.2, 0.2, n)
    x = sheet.vertices
    bent = np.stack([x[:, 0], 0.02 * np.sin(40.0 * x[:, 0]) + 0.01 * np.cos(35.0 * x[:, 2]), 0.4 * x[:, 2]], 1)
    return sheet.moved(bent + 0.004 * rng.normal(size=x.shape))


def leaf_mesh(mesh: Mesh, first: int = 0) -> LeafMesh:
    made = LeafMesh(mesh.vertices, mesh.topology, np.arange(mesh.n_vertices) + first)
    made.move(mesh.vertices)
    return made


def ways(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    """A common way, a turn, and some of everybody's own."""
    turn = np.cross(rng.normal(size=3), x)
    return (
        0.05 * rng.normal(size=3) + 0.2 * rng.normal() * turn + 10.0 ** rng.uniform(-4, -2) * rng.normal(size=x.shape)
    )


def nearest(a: Mesh, way_a: np.ndarray, b: Mesh, way_b: np.ndarray, same: bool) -> list[np.ndarray]:
    """Distances of every vertex of a and face of b, and of every two edges, where they are nearest; inf for neighbours
    and, of one mesh, for the second of two."""
    v, f = (k.ravel() for k in np.mgrid[: a.n_vertices, : b.n_faces])
    e_a, e_b = a.topology.edges, b.topology.edges
    e, g = (k.ravel() for k in np.mgrid[: len(e_a), : len(e_b)])
    faces, edges = np.full(len(v), np.inf), np.full(len(e), np.inf)
    for t in MOMENTS:
        x, y = a.vertices + t * way_a, b.vertices + t * way_b
        stencil = np.concatenate([x[v][:, None], y[b.faces[f]]], 1)
        faces = np.minimum(faces, geometry.point_triangle_distance(stencil))
        edges = np.minimum(edges, geometry.edge_edge_distance(np.concatenate([x[e_a[e]], y[e_b[g]]], 1)))
    if same:
        faces[(b.faces[f] == v[:, None]).any(1)] = np.inf
        edges[(e >= g) | (e_a[e][:, :, None] == e_b[g][:, None]).any((1, 2))] = np.inf
    return [faces.reshape(a.n_vertices, b.n_faces), edges.reshape(len(e_a), len(e_b))]


def among(pairs: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    found = np.zeros(shape, np.bool_)
    found[pairs[:, 0], pairs[:, 1]] = True
    return found


@pytest.mark.parametrize("still", [False, True])
def test_every_pair_of_two_meshes_that_comes_near_on_the_way_is_found(rng, still):
    count = 0
    for _ in range(cases(6)):
        a, b = crumpled(rng), ball(0.03, 1, centre=(0.0, 0.06, 0.0))
        one, two = leaf_mesh(a), leaf_mesh(b, a.n_vertices)
        way, way_b = ways(rng, a.vertices), ways(rng, b.vertices) * (not still)
        one.predict(way)
        if not still:
            two.predict(way_b)
        there, back, edges = NearPairs(one, two).within(0.004, drifting=True)
        least = nearest(a, way, b, way_b, False)
        least.insert(1, nearest(b, way_b, a, way, False)[0])
        for d, pairs in zip(least, (there, back, edges), strict=True):
            near = d < 0.004
            assert among(pairs, d.shape)[near].all()
            count += near.sum()
    assert count > 100


def test_every_pair_of_one_mesh_that_comes_near_on_the_way_is_found(rng):
    count = 0
    for _ in range(cases(6)):
        mesh = crumpled(rng)
        made, way = leaf_mesh(mesh), ways(rng, mesh.vertices)
        made.predict(way)
        there, _, edges = NearPairs(made).within(0.004, drifting=True)
        for d, pairs in zip(nearest(mesh, way, mesh, way, True), (there, edges), strict=True):
            near = d < 0.004
            assert among(pairs, d.shape)[near].all()
            count += near.sum()
    assert count > 100


@pytest.mark.parametrize("drifting", [False, True])
def test_every_near_pair_of_the_marked_vertices_is_found_once(rng, drifting):
    mesh = crumpled(rng)
    made, way = leaf_mesh(mesh), ways(rng, mesh.vertices) * drifting
    made.predict(way)
    some = np.zeros(mesh.n_vertices, np.bool_)
    some[rng.choice(mesh.n_vertices, 6, replace=False)] = True
    there, _, edges = approaching([NearPairs(made).along(0.004, some, made.count_marked(some))])[0]
    faces, ends = nearest(mesh, way, mesh, way, True)
    of_face = some[:, None] | some[mesh.faces].any(1)
    of_edge = some[mesh.topology.edges].any(1)[:, None] | some[mesh.topology.edges].any(1)
    for d, wanted, pairs in ((faces, of_face, there), (ends, of_edge, edges)):
        assert among(pairs, d.shape)[(d < 0.004) & wanted].all()
        assert wanted[pairs[:, 0], pairs[:, 1]].all()
        assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert ((ends < 0.004) & of_edge).any()


def test_what_is_predicted_anew_is_found_as_if_all_were(rng):
    mesh = crumpled(rng, 16)
    made, way, x = leaf_mesh(mesh), ways(rng, mesh.vertices), mesh.vertices.copy()
    made.move_along(x, way)
    some = np.zeros(mesh.n_vertices, np.bool_)
    some[rng.choice(mesh.n_vertices, 9, replace=False)] = True
    way[some] += 0.02 * rng.normal(size=(9, 3))
    x[some] += 0.002 * rng.normal(size=(9, 3))
    made.predict_anew(made.count_marked(some))
    again = leaf_mesh(mesh)  # the same tree
    again.move(x)
    again.predict(way)
    assert np.array_equal(made.motion.bounds, again.motion.bounds)
    for one, two in zip(NearPairs(made).within(0.004, drifting=True), NearPairs(again).within(0.004, drifting=True)):
        assert np.array_equal(one, two)
    assert np.array_equal(made.box, again.box)
    assert np.array_equal(made.at.boxes, again.at.boxes)  # what belongs to the positions alone follows


def test_cloth_that_bends_as_it_goes_is_passed_over_where_none_of_it_comes_near(rng):
    culled = count = 0
    for _ in range(cases(4)):
        sheet, turn = cloth(0.2, 0.2, 10), rng.uniform(2.2, 3.1)
        x = sheet.vertices.copy()
        x[:, 1] += 0.01 * np.sin(20.0 * x[:, 0] + rng.uniform(0.0, 6.0))
        # a half is folded over the other, on straight paths, and all of it is turned
        angle, over = turn * (x[:, 0] > 0.02), np.maximum(x[:, 0] - 0.02, 0.0)
        to = np.stack([np.minimum(x[:, 0], 0.02) + over * np.cos(angle), x[:, 1] + over * np.sin(angle), x[:, 2]], 1)
        mesh, way = sheet.moved(x), to - x + 0.2 * np.cross(rng.normal(size=3), x)
        made = leaf_mesh(mesh)
        made.predict(way)
        near = NearPairs(made)
        there, _, edges = near.within(0.006, drifting=True)
        culled += near.cones.count
        for d, pairs in zip(nearest(mesh, way, mesh, way, True), (there, edges), strict=True):
            assert among(pairs, d.shape)[d < 0.006].all()
            count += (d < 0.006).sum()
    assert culled > 0
    assert count > 100


def test_what_comes_near_what_is_predicted_anew_is_found_around_patches_that_stay_proved(rng):
    proved = lost = count = 0
    for _ in range(cases(12)):
        sheet = cloth(0.2, 0.2, 12)
        x, turn = sheet.vertices.copy(), rng.uniform(1.8, 3.1)
        angle, over = turn * (x[:, 0] > 0.02), np.maximum(x[:, 0] - 0.02, 0.0)
        x = np.stack([np.minimum(x[:, 0], 0.02) + over * np.cos(angle), over * np.sin(angle), x[:, 2]], 1)
        x, way = (
            x + 0.0005 * rng.normal(size=x.shape),
            0.05 * rng.normal(size=3) + 0.1 * np.cross(rng.normal(size=3), x),
        )
        mesh = sheet.moved(x)
        made = LeafMesh(mesh.vertices, mesh.topology, np.arange(mesh.n_vertices), arity=2)
        made.move_along(x, way)
        near = NearPairs(made)
        near.within(0.006, drifting=True)
        for _ in range(3):
            before, some = near.cones.count, np.zeros(len(x), np.bool_)
            some[rng.choice(len(x), 3, replace=False)] = True
            way[some] += 10.0 ** rng.uniform(-4.0, -1.3) * rng.normal(size=(3, 3))
            marked = made.count_marked(some)
            made.predict_anew(marked)
            there, _, edges = approaching([near.along(0.006, some, marked)])[0]
            proved, lost = proved + (near.cones.count > 0), lost + (0 < near.cones.count < before)
            faces, ends = nearest(mesh.moved(x), way, mesh.moved(x), way, True)
            of_face = some[:, None] | some[mesh.faces].any(1)
            of_edge = some[mesh.topology.edges].any(1)[:, None] | some[mesh.topology.edges].any(1)
            for d, wanted, pairs in ((faces, of_face, there), (ends, of_edge, edges)):
                assert among(pairs, d.shape)[(d < 0.006) & wanted].all()
                assert wanted[pairs[:, 0], pairs[:, 1]].all()
                assert len(np.unique(pairs, axis=0)) == len(pairs)
                count += ((d < 0.006) & wanted).sum()
    assert min(proved, lost, count) > 0


def test_a_patch_is_no_longer_proved_where_its_contour_comes_near_itself_within_the_plane():
    turn, first = np.linspace(0.0, 1.9 * np.pi, 40), 2 * np.arange(39)[:, None]
    ring = np.stack([np.cos(turn), 0.0 * turn, np.sin(turn)], 1)
    x = np.stack([ring, 1.2 * ring], 1).reshape(-1, 3)  # a ring with a gap of 0.31
    faces = np.concatenate([first + np.array(corners) for corners in ([0, 1, 2], [1, 3, 2])]).astype(np.int32)
    made = LeafMesh(x, Mesh(x, faces).topology, np.arange(len(x)), arity=2)
    for far, proved in ((0.05, 1), (0.35, 0)):
        way = np.zeros_like(x)
        made.move_along(x, way)
        near = NearPairs(made)
        near.along(0.01)
        assert near.cones.count == 1
        some = np.arange(len(x)) < 2
        way[some, 2] = -far  # one end of the ring, towards the other
        made.predict_anew(marked := made.count_marked(some))
        near.along(0.01, some, marked)
        assert near.cones.count == proved


@pytest.mark.parametrize("change", ["other triangles", "all triangles", "twice"])
def test_a_proof_is_not_repeated_for_another_motion_than_its_own(change):
    sheet = cloth(0.2, 0.2, 8)
    x, way, some = sheet.vertices.copy(), np.zeros_like(sheet.vertices), np.zeros(sheet.n_vertices, np.bool_)
    some[0] = True
    made = LeafMesh(x, sheet.topology, np.arange(len(x)), arity=2)
    made.move_along(x, way)
    near = NearPairs(made)
    near.along(0.004)
    marked = made.count_marked(some)
    made.predict_anew(marked)
    near.along(0.004, some, marked)
    assert near.cones.count == 1
    way[-1] = 0.3, 0.01, 0.3  # folds a corner over, unseen
    if change == "all triangles":
        made.predict(way)
    for _ in range(2 if change == "twice" else 1):
        made.predict_anew(made.count_marked(~some) if change == "other triangles" else marked)
    near.along(0.004, some, marked)
    assert near.cones.count == 0


def test_what_goes_together_finds_what_it_would_find_standing(rng):
    mesh = crumpled(rng, 14)
    made = leaf_mesh(mesh)
    near = NearPairs(made)
    is_static = near.within(0.004)
    made.predict(np.tile([3.0, -7.0, 2.0], (mesh.n_vertices, 1)))
    for one, two in zip(is_static, near.within(0.004, drifting=True), strict=True):
        assert np.array_equal(one, two)
    assert len(is_static[0]) > 10


@pytest.mark.parametrize("faces", [1, 3, 12, 13, None])
def test_a_mesh_without_patches_has_the_same_boxes_and_the_drift_of_the_whole(rng, faces):
    mesh = crumpled(rng, 40)
    mesh = Mesh(mesh.vertices, mesh.faces[:faces].copy())
    welds, way = np.arange(mesh.n_vertices), ways(rng, mesh.vertices)
    full, lean = (LeafMesh(mesh.vertices, mesh.topology, welds, isolated=False, patches=p) for p in (True, False))
    some = np.zeros(mesh.n_vertices, np.bool_)
    some[mesh.faces[0]] = True
    for _ in range(2):
        for each in (full, lean):
            each.move_along(mesh.vertices, way)
        assert (full.motion.bounds == lean.motion.bounds).all()
        assert (full.motion.node_drifts[0] == lean.motion.node_drifts[0]).all()
        assert len(lean.motion.node_drifts) == 1
    way[some] *= 3.0  # only some change: the lean one still knows the drift of all
    for each in (full, lean):
        each.predict_anew(each.count_marked(some))
    assert (full.motion.bounds == lean.motion.bounds).all()
    assert (full.motion.node_drifts[0] == lean.motion.node_drifts[0]).all()
