"""Boxes on bones: nothing near a skin is missed, in any pose, of any file; and what they cost."""

import time

import numpy as np
import pytest

import pliant
from characters import human
from conftest import cases
from pliant.contacts import MIDPOINT_FIELD, VERTEX_FACE, gap
from pliant.deforming import Skinned
from pliant.detect.base import Side
from pliant.detect.bone_boxes import BoneBoxesDetector
from pliant.detect.brute_force import BruteForceDetector
from pliant.detect.features import Pose
from pliant.detect.surface import ClosestPoints
from pliant.kernels import jit
from pliant.mesh import Mesh
from pliant.state import State

RIGGED = "CesiumMan.glb Fox.glb KayKit_Knight.glb RiggedFigure.glb RiggedSimple.glb RobotExpressive.glb SimpleSkin.gltf"
TURN = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
TURN *= np.linalg.det(TURN)
STRAIGHT = np.eye(3)


class Tube:
    """A closed tube of radius 0.1 along x from -0.5 to 0.5, held by two bones that meet at 0; the second one bends.

    `turn` and `scale` move the whole; `flat` scales the second bone to nothing.
    """

    duration = 1.0

    def __init__(self, rings=15, around=10, turn=STRAIGHT, scale=1.0, angle=1.2, flat=False):
        x, a = np.linspace(-0.5, 0.5, rings), 2 * np.pi * np.arange(around) / around
        wall = np.stack(np.broadcast_arrays(x[:, None], 0.1 * np.cos(a), 0.1 * np.sin(a)), 2).reshape(-1, 3)
        self.rest = np.concatenate([wall, [[-0.5, 0, 0], [0.5, 0, 0]]])
        k, j = np.meshgrid(np.arange(rings - 1), np.arange(around), indexing="ij")
        p, q = k * around + j, k * around + (j + 1) % around
        quads = np.stack([p, q, p + around, q, q + around, p + around], 2).reshape(-1, 3)
        ring, after = np.arange(around), (np.arange(around) + 1) % around
        last = (rings - 1) * around
        caps = [np.stack([np.full(around, len(wall)), after, ring], 1)]
        caps.append(np.stack([np.full(around, len(wall) + 1), last + ring, last + after], 1))
        self.mesh = Mesh(scale * self.rest @ turn.T, np.concatenate([quads, *caps]), name="tube")
        share = np.clip(0.5 + self.rest[:, 0] / 0.3, 0.0, 1.0)
        self.weights, self.joints = np.stack([1.0 - share, share], 1), np.tile(np.arange(2), (len(share), 1))
        self._turn, self._scale, self._angle, self._flat = turn, scale, angle, flat

    def sample(self, times):
        out = np.tile(np.eye(3, 4), (len(times), 2, 1, 1))
        c, s = np.cos(self._angle * np.asarray(times)), np.sin(self._angle * np.asarray(times))
        out[:, 1, 0, 0], out[:, 1, 0, 1], out[:, 1, 1, 0], out[:, 1, 1, 1] = c, -s, s, c
        if self._flat:
            out[:, 1, :, :3] *= 1.0 - np.asarray(times)[:, None, None]
        return self._scale * (self._turn @ out)

    def shape(self, sample):
        each = np.einsum("bij,nj->nbi", sample, np.concatenate([self.rest, np.ones((len(self.rest), 1))], 1))
        return np.einsum("nb,nbi->ni", self.weights, each)


def around(body: Mesh, within: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points on, near, over and under a surface, and some far from it and deep inside."""
    f = rng.integers(body.n_faces, size=count)
    on = np.einsum("ij,ijk->ik", rng.dirichlet(np.ones(3), count), body.vertices[body.faces[f]])
    away = rng.normal(size=(count, 3))
    away *= within * rng.choice([0.3, 1.0, 3.0, 30.0], (count, 1)) / np.linalg.norm(away, axis=1, keepdims=True)
    return np.concatenate([on[::7], on + away, body.vertices[body.faces[f[::9], 0]]])


def cloud(points: np.ndarray) -> Mesh:
    return Mesh(points, np.zeros((0, 3), np.int32), name="cloud")


def posed(points: np.ndarray, motion, when: float) -> State:
    sample = motion.sample(np.array([when]))[0]
    state = State.at(np.concatenate([points, motion.shape(sample)]))
    state.bones = {1: sample}
    return state


def made(points: np.ndarray, mesh: Mesh, motion, within: float, **options) -> BoneBoxesDetector:
    soft = points if isinstance(points, Mesh) else cloud(points)
    return BoneBoxesDetector(Side(soft, 0, 0), Side(mesh, soft.n_vertices, 1, motion), within=within, **options)


def assert_as_the_surface_says(hits, points, body: Mesh, within: float) -> int:
    """The same vertices as exact distances, at the same distance; how many."""
    truth = ClosestPoints(body).query(points)[0]
    near = (truth if body.issues.closed and not body.issues.inward else np.abs(truth)) <= within
    np.testing.assert_array_equal(hits["elements"][:, 0], np.flatnonzero(near))
    np.testing.assert_allclose(np.abs(hits["distance"]), np.abs(truth[near]), rtol=0, atol=1e-14 * body.size)
    wrong = np.sign(hits["distance"]) != np.sign(truth[near])
    assert not (wrong & (np.abs(truth[near]) > 1e-12 * body.size)).any()
    return int(near.sum())


def listed(detector: BoneBoxesDetector, p: np.ndarray) -> set[int]:
    """Faces in the lists that a point is looked up in, by the definition."""
    boxes, turn, reach = detector.boxes.boxes, detector.boxes.placed.turn, detector.boxes.reach
    q = turn[:, :, :3] @ p + turn[:, :, 3]
    found: set[int] = set()
    for b in np.flatnonzero(((q >= boxes.low - reach) & (q <= boxes.high + reach)).all(1)):
        s = b * boxes.slabs + int(np.clip((q[b, 0] - boxes.begin[b]) * boxes.per[b], 0, boxes.slabs - 1))
        found |= set(boxes.face[boxes.items[boxes.start[s] : boxes.start[s + 1]]].tolist())
    return found


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e-3])
def test_a_bending_tube_is_found_as_its_surface_says(scale, rng):
    tube = Tube(turn=TURN, scale=scale)
    within, count = 0.01 * scale, cases(60)
    points = around(tube.mesh, within, count, rng)
    detector = made(points, tube.mesh, tube, within)
    for when in (0.0, 0.37, 1.0):
        state = posed(points, tube, when)
        body = tube.mesh.moved(state.x[len(points) :])
        state.x[: len(points)] = points = around(body, within, count, rng)
        hits = detector.update(state).find(state)
        assert assert_as_the_surface_says(hits, points, body, within) > count // 3
        assert np.abs((gap(hits, state.x) * hits["normal"]).sum(1) - hits["distance"]).max() <= 1e-14 * scale
    assert detector.boxes.widened == 0


@pytest.mark.parametrize("deep", [True, False])
def test_what_is_remembered_of_small_steps_changes_no_bit(deep, rng):
    tube, within, steps = Tube(turn=TURN, angle=0.2), 0.01, 25
    points = around(tube.mesh, within, 80, rng)
    slow = 0.4 * within * rng.normal(size=points.shape)
    slow[::2] = -0.7 * within * points[::2] / np.linalg.norm(points[::2], axis=1, keepdims=True)  # inwards
    detector, asked = made(points, tube.mesh, tube, within, deep=deep), []
    for k in range(steps):
        # most go on as they do, some turn about, a few jump
        points = points + slow * (1.0 - 2.0 * (rng.random((len(points), 1)) < 0.05))
        points[k % len(points)] += 30.0 * within * rng.normal(size=3)
        state = posed(points, tube, k / steps)
        fresh = made(points, tube.mesh, tube, within, deep=deep)
        hits = detector.update(state).find(state)
        assert hits.tobytes() == fresh.update(state).find(state).tobytes()
        asked.append((detector._vertices.asked, len(hits)))
    fewest, hits = min(a for a, _ in asked), sum(h for _, h in asked)
    assert fewest < 0.7 * len(points)  # or nothing would be remembered
    assert hits > 4 * steps


def test_every_pair_within_the_offset_is_in_the_lists(rng):
    # triangles and slabs smaller than the offset, so that lists reach beyond the slab next to it
    tube, within = Tube(rings=41, around=20), 0.06
    points = around(tube.mesh, within, cases(30), rng)
    detector = made(points, tube.mesh, tube, within)
    for when in (0.1, 0.9):
        state = posed(points, tube, when)
        detector.update(state)
        sides = Side(cloud(points), 0, 0), Side(tube.mesh, len(points), 1)
        brute = BruteForceDetector(*sides, within=within)
        pairs = brute._faces(*(Pose(part, state.x[part.side.rows]) for part in (brute.one, brute.other)))
        lists = [listed(detector, p) for p in points]
        assert len(pairs) > 5
        assert [pair for pair in pairs.tolist() if pair[1] not in lists[pair[0]]] == []


def test_a_pose_beyond_the_clip_widens_the_boxes_and_nothing_is_missed(rng):
    tube = Tube()
    points = around(tube.mesh, 0.02, 40, rng)
    detector = made(points, tube.mesh, tube, 0.02)
    tolerance = detector.boxes.tolerances.copy()
    state = posed(points, tube, 1.4)
    body = tube.mesh.moved(state.x[len(points) :])
    state.x[: len(points)] = points = around(body, 0.02, 40, rng)
    hits = detector.update(state).find(state)
    assert assert_as_the_surface_says(hits, points, body, 0.02) > 10
    assert detector.boxes.widened > 0
    assert (detector.boxes.tolerances == tolerance).all()
    once = detector.boxes.widened
    detector.update(state)
    assert detector.boxes.widened == once


def test_a_bone_scaled_to_nothing_does_no_harm(rng):
    tube = Tube(flat=True)
    points = around(tube.mesh, 0.02, cases(40), rng)
    detector = made(points, tube.mesh, tube, 0.02)
    for when in (0.5, 1.0):
        state = posed(points, tube, when)
        hits = detector.update(state).find(state)
        truth = np.abs(ClosestPoints(tube.mesh.moved(state.x[len(points) :])).query(points)[0])
        found = np.isin(np.arange(len(points)), hits["elements"][:, 0])
        assert found[truth <= 0.02].all()


def test_the_tolerance_is_how_far_the_skin_leaves_its_first_box():
    tube = Tube()
    boxes = made(np.zeros((1, 3)), tube.mesh, tube, 0.02).boxes
    for k, bone in enumerate(boxes.bones):
        turns = tube.sample(np.linspace(0.0, 1.0, 61))[:, bone]
        rows = boxes.entry_vertex[boxes.entry_box == k]
        q = []
        for turn, sample in zip(turns, tube.sample(np.linspace(0.0, 1.0, 61)), strict=True):
            own = (tube.shape(sample)[rows] - turn[:, 3]) @ turn[:, :3]  # where the bone sees its skin
            q.append(own @ boxes.axes[k])
        low, high = np.min(q, 1), np.max(q, 1)
        expected = np.stack([low[0] - low.min(0), high.max(0) - high[0]])
        np.testing.assert_allclose(boxes.tolerances[k], expected, rtol=0, atol=1e-12)
    assert boxes.tolerances.max() > 0.02
    stiff = Tube(angle=0.0)
    assert np.abs(made(np.zeros((1, 3)), stiff.mesh, stiff, 0.02).boxes.tolerances).max() < 1e-12


def test_turning_everything_turns_the_contacts(rng):
    points = around(Tube().mesh, 0.02, cases(40), rng)
    found = []
    for turn in (STRAIGHT, TURN):
        tube = Tube(turn=turn)
        state = posed(points @ turn.T, tube, 0.6)
        found.append(made(points @ turn.T, tube.mesh, tube, 0.02).update(state).find(state))
    one, two = found
    np.testing.assert_array_equal(one["elements"][:, 0], two["elements"][:, 0])
    np.testing.assert_allclose(two["distance"], one["distance"], rtol=0, atol=1e-14)
    clear = np.abs(one["distance"]) > 1e-6
    np.testing.assert_allclose(two["normal"][clear], one["normal"][clear] @ TURN.T, rtol=0, atol=1e-9)


def test_the_order_of_faces_and_vertices_does_not_matter(rng):
    tube = Tube()
    points = around(tube.mesh, 0.02, cases(40), rng)
    state = posed(points, tube, 0.6)
    hits = made(points, tube.mesh, tube, 0.02).update(state).find(state)
    order, faces = rng.permutation(len(tube.rest)), rng.permutation(tube.mesh.n_faces)
    other = Tube()
    other.rest, other.weights = tube.rest[order], tube.weights[order]
    other.mesh = Mesh(tube.mesh.vertices[order], np.argsort(order)[tube.mesh.faces[faces]])
    state = posed(points, other, 0.6)
    again = made(points, other.mesh, other, 0.02).update(state).find(state)
    np.testing.assert_array_equal(again["elements"][:, 0], hits["elements"][:, 0])
    np.testing.assert_allclose(again["distance"], hits["distance"], rtol=0, atol=1e-14)


def test_the_middle_of_an_edge_touches_where_the_skin_is_and_moves_with_it(rng):
    tube = Tube()
    sheet = pliant.shapes.cloth(0.9, 0.5, 7)
    sheet = sheet.moved(sheet.vertices + np.array([0.0, 0.1, 0.0]))
    detector = made(sheet, tube.mesh, tube, 0.03)
    before, state = posed(sheet.vertices, tube, 0.49), posed(sheet.vertices, tube, 0.5)
    state.v = (state.x - before.x) / 0.01
    hits = detector.update(state).find(state)
    hits = hits[hits["kind"] == MIDPOINT_FIELD]
    body = tube.mesh.moved(state.x[sheet.n_vertices :])
    middle = sheet.vertices[sheet.topology.edges].mean(1)
    truth, nearest, _, _ = ClosestPoints(body).query(middle)
    np.testing.assert_array_equal(hits["elements"][:, 0], np.flatnonzero(truth <= 0.03))
    np.testing.assert_allclose(hits["anchor"], nearest[truth <= 0.03], rtol=0, atol=1e-14)
    corners = tube.mesh.faces[hits["elements"][:, 1]]
    weights = np.linalg.solve(body.vertices[corners].transpose(0, 2, 1), hits["anchor"][:, :, None])[:, :, 0]
    speed = np.einsum("ij,ijk->ik", weights, state.v[sheet.n_vertices + corners])
    np.testing.assert_allclose(hits["anchor_velocity"], speed, rtol=0, atol=1e-9)
    assert len(hits) > 10


def test_only_a_deep_search_finds_what_is_far_inside():
    tube = Tube()
    state = posed(np.array([[0.3, 0.0, 0.0], [0.0, 0.5, 0.0]]), tube, 0.0)
    hits = made(state.x[:2], tube.mesh, tube, 0.01).update(state).find(state)
    assert hits["elements"][:, 0].tolist() == [0]
    assert hits["distance"][0] == pytest.approx(-0.1 * np.cos(np.pi / 10), abs=1e-12)
    assert len(made(state.x[:2], tube.mesh, tube, 0.01, deep=False).update(state).find(state)) == 0


def test_the_papers_test_misses_what_is_over_edges_and_finds_nothing_else(rng):
    tube = Tube()
    points = around(tube.mesh, 0.02, 300, rng)
    state = posed(points, tube, 0.8)
    exact = made(points, tube.mesh, tube, 0.02, deep=False).update(state).find(state)
    detector = made(points, tube.mesh, tube, 0.02, exact=False)
    paper = detector.update(state).find(state)
    recall = len(paper) / len(exact)
    print(f"the projection test finds {100 * recall:.1f} % of the vertices near a bent tube")
    assert detector.guarantee == "C"
    assert set(paper["elements"][:, 0]) <= set(exact["elements"][:, 0])
    assert 0.5 < recall < 1.0
    distance = dict(zip(exact["elements"][:, 0].tolist(), np.abs(exact["distance"]).tolist()))
    assert all(abs(hit["distance"]) >= distance[int(hit["elements"][0])] - 1e-15 for hit in paper)


def test_bad_options_are_named():
    tube = Tube()
    with pytest.raises(ValueError, match="slabs = 0"):
        made(np.zeros((1, 3)), tube.mesh, tube, 0.02, slabs=0)
    with pytest.raises(ValueError, match="'cloud' has no faces; expected a surface"):
        made(np.zeros((1, 3)), cloud(np.zeros((3, 3))), None, 0.02)


@pytest.fixture(scope="module")
def walker(request):
    from conftest import DATA

    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    skirt = np.load(DATA / "human" / "skirt.npz")
    return human(DATA / "human"), Mesh(skirt["V_rest"], skirt["F"], name="skirt"), skirt["V_frames"].astype(np.float64)


def human_state(skirt, motion, frame: float) -> State:
    k = min(int(frame), 46)
    x = (k + 1 - frame) * skirt[k] + (frame - k) * skirt[k + 1]
    return posed(x, motion, frame / 48.0)


@pytest.mark.compiled
@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.long), 12])
def test_on_the_walking_human_no_vertex_is_missed_and_no_skin_leaves_its_box(walker, every, rng):
    character, _, _ = walker
    motion, within, count = Skinned(character, "walk"), 0.005, 2000
    points = around(character.mesh, within, count, rng)
    detector = made(points, character.mesh, motion, within)
    for frame in np.arange(0.0, 47.0, every):
        state = posed(points, motion, (frame + (frame % 24) / 48.0) / 48.0)
        body = character.mesh.moved(state.x[len(points) :])
        state.x[: len(points)] = points = around(body, within, count, rng)
        hits = detector.update(state).find(state)
        assert assert_as_the_surface_says(hits, points, body, within) > count // 2
        q = detector.boxes._coordinates(state.x[len(points) :])
        outside = (q < detector.boxes.boxes.low[detector.boxes.entry_box]).any(1)
        outside |= (q > detector.boxes.boxes.high[detector.boxes.entry_box]).any(1)
        assert not outside.any()
    assert detector.boxes.widened == 0


@pytest.mark.compiled
@pytest.mark.parametrize("name", RIGGED.split())
def test_on_every_skinned_file_no_vertex_is_missed(name, data, rng, request):
    character = pliant.load_character(data / "rigged" / name)
    skin = character.mesh.moved(character.shape(None, 0.0))
    _, rows = np.unique(skin.weld_index, return_index=True)
    mesh, within = skin.welded, 0.003 * skin.size
    long = request.config.getoption("--long")
    for clip in list(character.clips)[: None if long else 1]:
        motion = Skinned(character, clip).taking(rows)
        points = around(mesh, within, 300, rng)
        detector = made(points, mesh, motion, within)
        for when in np.linspace(0.0, motion.duration, int(24 * motion.duration) + 2 if long else 4):
            state = posed(points, motion, when)
            body = mesh.moved(state.x[len(points) :])
            state.x[: len(points)] = points = around(body, within, 300, rng)
            hits = detector.update(state).find(state)
            truth = ClosestPoints(body).query(points)[0]
            near = np.flatnonzero(np.abs(truth) <= within)
            assert np.isin(near, hits["elements"][:, 0]).all()
            own = np.isin(hits["elements"][:, 0], near)
            np.testing.assert_allclose(
                np.abs(hits["distance"][own]), np.abs(truth[near]), rtol=0, atol=1e-13 * skin.size
            )
            assert (hits["distance"][~own] < 0.0).all()


@pytest.mark.compiled
def test_one_and_two_threads_find_the_same_bits(walker, rng):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    found = []
    for threads in (1, 2):
        before = jit.threads()
        jit.set_threads(threads)
        try:
            detector = made(skirt, character.mesh, motion, 0.01)
            states = [human_state(frames, motion, k) for k in (3.0, 3.5, 20.0)]
            found.append([detector.update(state).find(state).tobytes() for state in states])
        finally:
            jit.set_threads(before)
    assert found[0] == found[1]
    assert len(found[0][0]) > 0


@pytest.mark.compiled
def test_98_percent_of_the_humans_triangles_are_not_looked_at(walker):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    spared = []
    for deep in (True, False):
        detector = made(skirt, character.mesh, motion, 0.005, midpoints=False, deep=deep)
        for frame in (0.0, 11.0, 30.0):
            spared.append(detector.update(human_state(frames, motion, frame)).spared)
    assert min(spared) >= 0.98


@pytest.mark.compiled
@pytest.mark.long
def test_detection_on_the_human_takes_less_than_a_millisecond_for_1000_vertices(walker):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    before = jit.threads()
    jit.set_threads(1)
    try:
        detector = made(skirt, character.mesh, motion, 0.005, midpoints=False)
        states = [human_state(frames, motion, 10.0 + k / 32.0) for k in range(32)]  # small steps of 0.65 ms
        took = np.full(len(states), np.inf)
        for _ in range(20):
            for k, state in enumerate(states):
                start = time.process_time()
                detector.update(state).find(state)
                took[k] = min(took[k], time.process_time() - start)
    finally:
        jit.set_threads(before)
    assert 1e3 * np.median(took[1:]) / (skirt.n_vertices / 1000) < 1.0


@pytest.mark.compiled
def test_the_records_are_those_of_brute_force(walker, rng):
    character, skirt, frames = walker
    motion = Skinned(character, "walk")
    state = human_state(frames, motion, 17.0)
    hits = made(skirt, character.mesh, motion, 0.01, midpoints=False).update(state).find(state)
    sides = Side(skirt, 0, 0), Side(character.mesh, skirt.n_vertices, 1)
    brute = BruteForceDetector(*sides, within=0.01).find(state)
    brute = brute[(brute["kind"] == VERTEX_FACE) & (brute["bodies"][:, 0] == 0)]
    key = {tuple(hit["elements"].tolist()): hit for hit in brute}
    assert all(key[tuple(hit["elements"].tolist())] == hit for hit in hits)
    assert len(hits) > 50
