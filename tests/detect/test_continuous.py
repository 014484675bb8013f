"""Contacts on the way: equal to asking every pair of features, never late, the same on any number of threads."""

import json

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.bvh.adversarial import SCENES, flat, moved, tiny_coordinates
from detect.made import FAR, permuted, sheet
from pliant import Mesh
from pliant.detect.bvh.build import ARITIES, BUILDS, VOLUMES
from pliant.detect.bvh.leaf_mesh import LeafMesh
from pliant.detect.bvh.tree_options import UPDATES, TreeOptions
from pliant.detect.detectors.continuous import Sweep
from pliant.detect.queries import collisions, proximity
from pliant.detect.queries.collisions import CollisionQuery, Moving
from pliant.detect.queries.proximity import NearPairs
from pliant.errors import TooBigError
from pliant.geometry import edge_edge_impact, vertex_face_impact
from pliant.kernels import jit
from pliant.kernels.jit import COMPILED
from pliant.kernels.kinds import EDGE_TO_EDGE, FACE_TO_VERTEX, VERTEX_TO_FACE
from pliant_bench.cloths import pile, stepped


def covers(a, b=None):
    one = Moving(LeafMesh(a.vertices, a.topology, a.weld_index))
    if b is None:
        return CollisionQuery(one)
    return CollisionQuery(one, Moving(LeafMesh(b.vertices, b.topology, b.weld_index + a.n_vertices)))


def swept(mesh, x_0, x_1, solver="conservative"):
    collisions = covers(mesh)
    collisions.a.move(x_0, x_1)
    return collisions.all(1e-6, solver)


def every_pair(a, b, same):
    """(vertex, face) and (edge, edge) of two meshes, or of one without neighbours; and the rows of their corners."""
    v, f = (g.ravel() for g in np.meshgrid(np.arange(a.n_vertices), np.arange(b.n_faces), indexing="ij"))
    e, g = (k.ravel() for k in np.meshgrid(*(np.arange(len(m.topology.edges)) for m in (a, b)), indexing="ij"))
    ends_a, ends_b = a.topology.edges, b.topology.edges
    if same:
        weld = a.weld_index
        apart = (weld[v][:, None] != weld[b.faces[f]]).all(1)
        v, f = v[apart], f[apart]
        apart = (weld[ends_a[e]][:, :, None] != weld[ends_b[g]][:, None]).all((1, 2)) & (e < g)
        e, g = e[apart], g[apart]
    return (v, f), (e, g)


def brute(mesh, x_0, x_1):
    """Rows (kind, i, j) and times of all pairs that touch, by asking each of them."""
    (v, f), (e, g) = every_pair(mesh, mesh, True)
    edges = mesh.topology.edges
    found, times = [], []
    corners = np.concatenate([v[:, None], mesh.faces[f]], 1), np.concatenate([edges[e], edges[g]], 1)
    asked = (VERTEX_TO_FACE, v, f, corners[0], vertex_face_impact), (EDGE_TO_EDGE, e, g, corners[1], edge_edge_impact)
    for kind, i, j, rows, impact in asked:
        hit, time = impact(x_0[rows], x_1[rows])
        found.append(np.stack([np.full(len(i), kind), i, j], 1)[hit])
        times.append(time[hit])
    return np.concatenate(found), np.concatenate(times)


def unordered(hits):
    """Of one mesh with itself a vertex and a face may be met either way round."""
    pairs = hits.pairs.copy()
    pairs[pairs[:, 0] == FACE_TO_VERTEX, 0] = VERTEX_TO_FACE
    order = np.lexsort(pairs.T[::-1])
    return pairs[order], hits.time[order]


def check(mesh, x_0, x_1):
    """All pairs and their times to the bit, and the least of them."""
    wanted, times = brute(mesh, x_0, x_1)
    found, time = unordered(swept(mesh, x_0, x_1))
    np.testing.assert_array_equal(found, wanted)
    assert time.tobytes() == times.tobytes()
    assert Sweep(mesh).step(x_0, x_1) == min(times.min(initial=1.0), 1.0)
    return len(found)


def whole(rng, n):
    """A soup on a small grid of whole numbers: every kind of touching."""
    x = rng.integers(-2, 3, (n, 3, 3)).astype(float)
    return x.reshape(-1, 3), np.arange(3 * n).reshape(-1, 3)


SIZE = 8 if COMPILED else 3


def maker(k):
    return [*SCENES, whole][k % (len(SCENES) + 1)]


def scene(rng, k):
    """(mesh, x_0, x_1): soups, sheets and degenerate things that are nudged, turned, mirrored or drawn together."""
    make = maker(k)
    x, faces = make(rng, SIZE)
    if not len(x):
        x = rng.normal(size=(1, 3))
    if make is whole:
        y = whole(rng, len(faces))[0]
    else:
        y = moved(rng, x, int(rng.integers(0, 4)))
    # the mesh itself lies elsewhere, so that nothing is welded because it starts in one place
    rest = rng.normal(size=x.shape) if k % 2 else x
    return Mesh(rest, faces), x, y


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.long)])
def test_pairs_and_times_are_those_of_asking_every_pair(rng, count):
    hits = [check(*scene(rng, k)) for k in range(cases(count if COMPILED else 14))]
    print(f"{len(hits)} motions, {sum(hits)} contacts")
    assert sum(h > 0 for h in hits) > len(hits) // 3


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.long)])
def test_every_kind_of_tree_and_velocity_cones_find_the_same_pairs_and_times(rng, count):
    """Of a random volume, leaf size, build and update: at first at the positions of the mesh, then in motion."""
    for k in range(cases(count if COMPILED else 7)):
        mesh, x_0, x_1 = scene(rng, k)
        volume, split, update = (str(rng.choice(values)) for values in (list(VOLUMES), BUILDS, UPDATES))
        leaf, cones = int(rng.integers(1, 5)), bool(k % 3)
        tree = TreeOptions(volume, int(rng.choice(ARITIES)), leaf, split, update)
        leaf_mesh = LeafMesh(mesh.vertices, mesh.topology, mesh.weld_index, **tree.of_leaf_mesh())
        collisions = CollisionQuery(Moving(leaf_mesh, cones), tree=tree, within=0.1, velocity_cones=cones)
        for start, end in ((mesh.vertices, mesh.vertices), (x_0, x_1)):
            collisions.a.move(start, end)
            collisions.moved()
            found, time = unordered(collisions.all(1e-6, "conservative"))
            wanted, times = unordered(swept(mesh, start, end))
            np.testing.assert_array_equal(found, wanted, err_msg=str((k, tree, cones)))
            assert time.tobytes() == times.tobytes()
            assert collisions.least(1e-6) == times.min(initial=np.inf)


@pytest.mark.compiled
def test_layers_that_fall_together_are_not_tested():
    sheet = pliant.shapes.cloth(0.4, 0.4, 12)
    x = np.concatenate([sheet.vertices, sheet.vertices + np.array([0.0, 0.01, 0.0])])
    layers = Mesh(x, np.concatenate([sheet.faces, sheet.faces + sheet.n_vertices]))
    tested = []
    for cones in (False, True):
        detector = pliant.detector("continuous", layers, within=0.001, velocity_cones=cones)
        assert not len(detector.update(x - np.array([0.0, 0.2, 0.0]), start_a=x).find())
        tested.append(detector._detector.tested)
    assert tested[1] < 0.5 * tested[0]  # those that are left are neighbours within one layer


def test_the_step_of_a_detector_ends_at_its_first_event():
    sheet, ball = pliant.shapes.cloth(0.4, 0.4, 6), pliant.shapes.ball(0.1, 2)
    above, down = sheet.vertices + np.array([0.0, 0.2, 0.0]), np.array([0.0, -0.4, 0.0])
    detector = pliant.detector("continuous", sheet, ball, within=0.001)
    detector.update(above + down, ball.vertices, start_a=above, start_b=ball.vertices)
    step = detector.collision_free_step()
    assert 0.8 * 0.25 <= step <= 0.25
    first = detector.find()["time"]
    assert step == first[first > 0.0].min()
    assert detector.update(above + 0.5 * step * down, start_a=above).collision_free_step() == 1.0
    with pytest.raises(ValueError, match="method 'bvh' does not follow motions; use 'continuous'"):
        pliant.detector("bvh", sheet, ball).collision_free_step()


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["miss", "hit"])
@pytest.mark.parametrize("state", ["flat", "folded", "crumpled"])
def test_folded_cloth_meets_itself_where_every_pair_says(state, kind):
    mesh = pile(6, 20, state)
    assert (check(mesh, mesh.vertices, stepped(mesh.vertices, kind)) > 0) == (kind == "hit" and state != "flat")


def two_bodies(rng, k):
    """A mesh with its motion, twice, and both as one mesh whose halves are not neighbours."""
    (a, a_0, a_1), (b, b_0, b_1) = scene(rng, k), scene(rng, k + 5)
    faces = np.concatenate([a.faces, b.faces + a.n_vertices])
    both = Mesh(rng.normal(size=(a.n_vertices + b.n_vertices, 3)), faces)
    return (a, a_0, a_1), (b, b_0, b_1), both


def between(pairs, n, n_faces, n_edges):
    """Pairs of the mesh of both that are between its halves, as rows (kind, feature of each)."""
    out = []
    for kind, i, j in pairs.tolist():
        if kind == EDGE_TO_EDGE and i < n_edges <= j:
            out.append((EDGE_TO_EDGE, i, j - n_edges))
        elif kind != EDGE_TO_EDGE and i < n and j >= n_faces:
            out.append((VERTEX_TO_FACE, i, j - n_faces))
        elif kind != EDGE_TO_EDGE and i >= n and j < n_faces:
            out.append((FACE_TO_VERTEX, i - n, j))
    return sorted(out)


@pytest.mark.compiled
def test_two_meshes_meet_as_the_halves_of_one_mesh_do(rng):
    met = 0
    for k in range(cases(60)):
        if tiny_coordinates in (maker(k), maker(k + 5)):
            continue  # 1e-120 is touching by the rounding of anything larger
        (a, a_0, a_1), (b, b_0, b_1), both = two_bodies(rng, k)
        one = brute(both, np.concatenate([a_0, b_0]), np.concatenate([a_1, b_1]))[0]
        collisions = covers(a, b)
        collisions.a.move(a_0, a_1)
        collisions.b.move(b_0, b_1)
        found = collisions.all(1e-6, "conservative").pairs
        edges = len(a.topology.edges)
        split = np.searchsorted(both.topology.edges[:, 0], a.n_vertices)
        assert split == edges
        wanted = between(one, a.n_vertices, a.n_faces, edges)
        assert sorted(map(tuple, found.tolist())) == wanted
        met += len(wanted)
    assert met > 0


class One:
    """One query as a mesh: a lone vertex and a face, or two triangles that are edges."""

    def __init__(self, kind):
        face = kind in ("vertex-face", "ccd_vf")
        self.rows = [0, 1, 2, 3] if face else [0, 1, 2, 3, 1, 3]
        rest = np.random.default_rng(1).normal(size=(len(self.rows), 3))
        self.sweep = Sweep(Mesh(rest, [[1, 2, 3]] if face else [[0, 1, 4], [2, 3, 5]]))

    def step(self, start, end):
        return self.sweep.step(start[self.rows], end[self.rows])


def test_steps_through_degenerate_cases_are_neither_late_nor_useless(data):
    one = {kind: One(kind) for kind in ("ccd_vf", "ccd_ee")}
    wrong = []
    for case in json.loads((data / "degenerate_ccd.json").read_text()):
        q = np.array(case["q"])
        step = one[case["kind"]].step(q[:4], q[4:])
        true = case["toi"]
        if (case["hit"] and true is None and not step < 1.0) or (true is not None and not (0.8 * true <= step <= true)):
            wrong.append((case["name"], step, true))
    assert not wrong


@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["vertex-face", "edge-edge"])
def test_no_contact_of_the_exact_set_is_missed_by_the_tree(data, kind):
    one = One(kind)
    with np.load(data / "ccd" / f"ccd_queries_{kind}_dev.npz") as rows:
        points, truth = rows["points"], rows["truth"]
    steps = np.array([one.step(q[:4], q[4:]) for q in points])
    assert (steps[truth] < 1.0).all()


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["cloth-funnel", "armadillo-rollers"])
def test_every_contact_between_two_frames_is_found(data, name):
    with np.load(data / "ccd" / f"{name}.npz") as z:
        mesh, x_0, x_1, ends = Mesh(z["V0"], z["F"]), z["V0"], z["V1"], z["E"]
        faces, edges = z["vf_pairs"][z["vf_truth"].astype(bool)], z["ee_pairs"][z["ee_truth"].astype(bool)]
    n = mesh.n_vertices
    key = lambda pairs: np.min(pairs, 1) * n + np.max(pairs, 1)  # noqa: E731
    order = np.argsort(key(mesh.topology.edges.astype(np.int64)))
    number = order[np.searchsorted(key(mesh.topology.edges.astype(np.int64))[order], key(ends.astype(np.int64)))]
    edges = np.sort(number[edges], 1)
    hits = swept(mesh, x_0, x_1)
    found = {tuple(row) for row in unordered(hits)[0].tolist()}
    missed = {(VERTEX_TO_FACE, *p) for p in faces.tolist()} | {(EDGE_TO_EDGE, *p) for p in edges.tolist()}
    print(f"{name}: {len(missed)} contacts known, {len(found)} found, {len(missed - found)} missed")
    assert not missed - found
    assert Sweep(mesh).step(x_0, x_1) == hits.time.min()


def crossing(mesh, x):
    return len(pliant.intersections(mesh.moved(x)))


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("share", "rounds", "place"), [(1.0, 3, (0.0, 0.0, 0.0)), (1.0, 3, FAR), (0.9, 12, (0.0, 0.0, 0.0)), (0.9, 6, FAR)]
)
@pytest.mark.parametrize("state", ["folded", "crumpled"])
def test_cloth_that_goes_as_far_as_it_may_never_crosses_itself_and_may_go_on(state, share, rounds, place):
    mesh = pile(12, 40, state)
    x, rng, stopped = mesh.vertices + place, np.random.default_rng(3), 0
    mesh = mesh.moved(x)
    sweep = Sweep(mesh)
    for _ in range(rounds):
        end = stepped(x, "hit") + rng.normal(size=x.shape) * 1e-3
        step = sweep.step(x, end)
        assert step > 0.0
        x = end if step == 1.0 else x + share * step * (end - x)
        stopped += step < 1.0
        assert crossing(mesh, x) == 0
        assert sweep.step(x, x) == 1.0
    assert stopped >= 3


def test_a_step_that_nothing_limits_is_one_and_one_that_touches_at_the_start_is_zero():
    upper, lower = sheet(2, height=0.5), sheet(2, height=0.0)
    both = Mesh(np.concatenate([upper.vertices, lower.vertices]), np.concatenate([upper.faces, lower.faces + 9]))
    x = both.vertices
    down = x - np.where(np.arange(18) < 9, 1.0, 0.0)[:, None] * (0.0, 1.0, 0.0)
    assert pliant.collision_free_step(both, x, x + 3.0) == 1.0
    assert 0.4 <= pliant.collision_free_step(both, x, down) <= 0.5
    touching = x - np.where(np.arange(18) < 9, 0.5, 0.0)[:, None] * (0.0, 1.0, 0.0)
    assert pliant.collision_free_step(both, touching, down) == 0.0


@pytest.mark.parametrize("faces", [np.zeros((0, 3), int), [[0, 1, 2]]])
def test_what_has_nothing_to_meet_is_free(faces):
    x = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)])
    assert pliant.collision_free_step(Mesh(x, faces), x, -x) == 1.0


@pytest.mark.compiled
def test_one_thread_and_two_give_the_same_bits():
    mesh = pile(30, 30, "crumpled")
    x_0, x_1 = mesh.vertices, stepped(mesh.vertices, "hit")
    detector = pliant.detector("continuous", mesh, within=0.002)
    answers, before = [], jit.threads()
    try:
        for count in (1, 2):
            jit.set_threads(count)
            hits = detector.update(x_1, start_a=x_0).find()
            answers.append((hits.tobytes(), pliant.collision_free_step(mesh, x_0, x_1)))
    finally:
        jit.set_threads(before)
    assert answers[0] == answers[1]


@pytest.mark.compiled
def test_size_changes_no_bit_and_place_and_order_no_verdict(rng):
    for state in ("folded", "crumpled"):
        mesh = pile(8, 24, state)
        x_0, x_1 = mesh.vertices, stepped(mesh.vertices, "hit")
        step, met = Sweep(mesh).step(x_0, x_1), len(swept(mesh, x_0, x_1).time)
        for k in (2.0**-20, 2.0**20):
            assert Sweep(mesh.moved(k * x_0)).step(k * x_0, k * x_1) == step
        other = permuted(mesh, rng)
        order = np.lexsort(mesh.vertices.T)[np.argsort(np.lexsort(other.vertices.T))]
        assert np.array_equal(other.vertices, x_0[order])
        shift = np.array([3.0, -2.0, 5.0])
        for m, y_0, y_1 in ((other, other.vertices, x_1[order]), (mesh, x_0 + shift, x_1 + shift)):
            assert len(swept(m, y_0, y_1).time) == met
            assert abs(Sweep(m).step(y_0, y_1) - step) <= 0.2 * step


@pytest.mark.compiled
def test_contacts_that_find_no_room_are_counted_and_found_the_next_time():
    mesh = pile(8, 24, "folded")
    collisions = covers(mesh)
    collisions.a.move(mesh.vertices, stepped(mesh.vertices, "hit"))
    every = collisions.all(1e-6, "conservative")
    collisions._capacity = 1
    again = collisions.all(1e-6, "conservative")
    assert len(every.time) > 20
    assert every.pairs.tobytes() == again.pairs.tobytes()
    collisions._capacity, collisions.max_bytes = 1, 1000
    with pytest.raises(TooBigError, match=r"contacts needs .* take a shorter step"):
        collisions.all(1e-6, "conservative")


@pytest.mark.compiled
def test_the_cubic_finds_plain_crossings_and_misses_motion_in_a_plane(rng):
    mesh = pile(8, 24, "folded")
    x_0, x_1 = mesh.vertices, stepped(mesh.vertices, "hit")
    sure, cubic = (unordered(swept(mesh, x_0, x_1, solver))[0] for solver in ("conservative", "cubic"))
    np.testing.assert_array_equal(sure, cubic)
    plane = Mesh([(-1.0, 0.25, 0.0), (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)], [[1, 2, 3]])
    end = plane.vertices + np.array([(3.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)])
    assert [len(swept(plane, plane.vertices, end, solver).time) for solver in ("conservative", "cubic")] == [1, 0]
    missed = known = 0
    for k in range(60):
        mesh, x_0, x_1 = scene(rng, SCENES.index(flat) + k * (len(SCENES) + 1))
        x_1[:, 2] = 0.0
        every = {tuple(p) for p in unordered(swept(mesh, x_0, x_1))[0].tolist()}
        some = {tuple(p) for p in unordered(swept(mesh, x_0, x_1, "cubic"))[0].tolist()}
        known, missed = known + len(every), missed + len(every - some)
    print(f"triangles that move in a plane: the cubic misses {missed} of {known} contacts")
    assert 0.1 * known < missed < known


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[:-1], r"x_1 has shape \(8, 3\); expected \(9, 3\)"),
        (lambda x: x * np.nan, r"x_1\[0, 0\] is not finite \(nan\)"),
        (lambda x: x + 1e13, r"x_1\[0, 0\] = 1e\+13 is beyond 1e\+12"),
    ],
)
def test_wrong_positions_are_named(change, message):
    mesh = sheet(2)
    with pytest.raises(ValueError, match=message):
        pliant.collision_free_step(mesh, mesh.vertices, change(mesh.vertices))


def test_wrong_options_are_named():
    mesh = sheet(2)
    with pytest.raises(ValueError, match=r"tolerance = -1 must be in 0\.\.1"):
        pliant.collision_free_step(mesh, mesh.vertices, mesh.vertices, tolerance=-1.0)
    with pytest.raises(ValueError, match="unknown solver 'cubical'; did you mean 'cubic'"):
        pliant.detector("continuous", mesh, solver="cubical")
    with pytest.raises(ValueError, match=r"start_a has shape \(1, 3\)"):
        pliant.detector("continuous", mesh).update(start_a=[[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("parts", [1, 4, 64])
def test_the_number_of_parts_changes_no_result(parts, monkeypatch):
    """Small meshes are shared in fewer parts; also where the buffers for pairs are too small at first."""
    mesh = pile(6, 20, "crumpled")
    x_1 = stepped(mesh.vertices, "hit")

    def found():
        query, near = covers(mesh), NearPairs(LeafMesh(mesh.vertices, mesh.topology, mesh.weld_index))
        query._capacity, near._capacity = 1, 1
        query.a.move(mesh.vertices, x_1)
        near.a.move(mesh.vertices)
        return query.least(1e-6), *query.all(1e-6, "conservative"), *near.within(0.006)

    usual = found()
    for module in (collisions, proximity):
        monkeypatch.setattr(module, "parts_of", lambda *_: parts)
    shared = found()
    assert len(usual[1]) > 4
    assert len(usual[3]) > 100
    assert usual[0] == shared[0]
    for one, two in zip(usual[1:], shared[1:], strict=True):
        assert one.tobytes() == two.tobytes()
