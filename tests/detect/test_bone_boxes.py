"""Boxes on bones: nothing near a skin is missed, in any pose, of any file; and what they cost."""

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.boned import STRAIGHT, TURN, Tube, around, assert_as_the_surface_says, cloud, made, posed
from pliant.contacts import MIDPOINT_FIELD, gap
from pliant.detect.base import Side
from pliant.detect.detectors.bone_boxes import BoneBoxesDetector
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.contact_records import PosedSide, WeldedSide
from pliant.detect.queries.ray_winding import RayWinding
from pliant.detect.queries.winding import bounds_of
from pliant.mesh import Mesh


def listed(detector: BoneBoxesDetector, p: np.ndarray) -> set[int]:
    """Faces in the lists that a point is looked up in, by the definition."""
    boxes, turn, reach = detector.boxes.boxes, detector.boxes.placed.to_box, detector.boxes.reach
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
    detector, queried = made(points, tube.mesh, tube, within, deep=deep), []
    for k in range(steps):
        # most go on as they do, some turn about, a few jump
        points = points + slow * (1.0 - 2.0 * (rng.random((len(points), 1)) < 0.05))
        points[k % len(points)] += 30.0 * within * rng.normal(size=3)
        state = posed(points, tube, k / steps)
        fresh = made(points, tube.mesh, tube, within, deep=deep)
        hits = detector.update(state).find(state)
        assert hits.tobytes() == fresh.update(state).find(state).tobytes()
        queried.append((detector._vertices.queried, len(hits)))
    fewest, hits = min(a for a, _ in queried), sum(h for _, h in queried)
    assert fewest < 0.7 * len(points)  # or nothing would be remembered
    assert hits > 4 * steps


@pytest.mark.parametrize("deep", [True, False])
def test_bones_prove_that_the_skin_is_in_its_boxes_and_give_the_contacts_of_a_look_at_every_vertex(deep, rng):
    tube, within, steps = Tube(turn=TURN), 0.01, 40
    points = around(tube.mesh, within, 60, rng)
    quick, slow = (made(points, tube.mesh, tube, within, deep=deep) for _ in range(2))
    checked, hits = [], 0
    for k in range(steps):
        points = points + 0.2 * within * rng.normal(size=points.shape)
        state = posed(points, tube, k / steps)
        expected = slow.update(state).find(state).copy()
        state.posed = frozenset([1])
        assert quick.update(state).find(state).tobytes() == expected.tobytes()
        checked.append(quick.boxes.checked)
        hits += len(expected)
    assert checked == [len(quick.boxes.entry_vertex)] + [0] * (steps - 1)
    assert quick.boxes.widened == 0
    assert hits > 4 * steps


def test_bones_bound_how_far_the_skin_moves_in_its_boxes():
    tube = Tube(turn=TURN, angle=0.9)
    detector, steps = made(np.zeros((1, 3)), tube.mesh, tube, 0.01), np.linspace(0.0, 1.3, 30)
    before = None
    for when in steps:  # the last ones are beyond the clip
        state = posed(np.zeros((1, 3)), tube, when, by_bones=True)
        detector.update(state)
        q = detector.boxes._coordinates(state.x[1:])
        if before is not None:
            longest = np.zeros(len(detector.boxes.bones))
            np.maximum.at(longest, detector.boxes.entry_box, np.linalg.norm(q - before, axis=1))
            stray = detector.boxes.moved.stray
            assert (longest <= stray).all()
            assert (stray <= 4.0 * longest + 1e-9).all()
        before = q


def test_a_pose_beyond_the_clip_is_checked_vertex_by_vertex_and_so_is_a_skin_that_yields(rng):
    tube = Tube()
    points = around(tube.mesh, 0.02, 40, rng)
    detector = made(points, tube.mesh, tube, 0.02)
    for when in (0.5, 0.51, 1.4):
        state = posed(points, tube, when, by_bones=True)
        body = tube.mesh.moved(state.x[len(points) :])
        state.x[: len(points)] = points = around(body, 0.02, 40, rng)
        hits = detector.update(state).find(state)
        assert assert_as_the_surface_says(hits, points, body, 0.02) > 10
    assert detector.boxes.checked > 0
    assert detector.boxes.widened > 0
    for shrink in (0.8, 1.0):  # inset, so that bones do not tell where it is, and back
        state = posed(points, tube, 0.52, by_bones=shrink == 1.0)
        state.x[len(points) :, 1:] *= shrink
        body = tube.mesh.moved(state.x[len(points) :])
        hits = detector.update(state).find(state)
        assert_as_the_surface_says(hits, points, body, 0.02)
        assert detector.boxes.checked == len(detector.boxes.entry_vertex)


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
        pairs = brute._faces(*(PosedSide(WeldedSide.of(side), state.x[side.rows]) for side in sides))
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


def test_ignored_vertices_and_the_midpoints_beside_them_have_no_contacts_and_others_are_as_before(rng):
    tube, within = Tube(turn=TURN), 0.01
    points = around(tube.mesh, within, 60, rng)
    detector = made(points, tube.mesh, tube, within)
    state = posed(points, tube, 0.37)
    before = detector.update(state).find(state).copy()
    which = np.zeros((len(state.x), 2), np.bool_)
    which[: len(points) : 3, 1] = True
    detector.ignore(which)
    found = detector.update(state).find(state)
    gone = (which[before["vertices"], 1] & (before["vertices"] >= 0) & (before["vertices"] < len(points))).any(1)
    assert 0 < gone.sum() < len(before)
    assert found.tobytes() == before[~gone].tobytes()
    detector.ignore(None)
    assert detector.update(state).find(state).tobytes() == before.tobytes()


def test_rays_through_the_boxes_count_as_rays_through_all_faces_do(rng):
    tube = Tube(turn=TURN)
    points = np.concatenate([around(tube.mesh, 0.02, 60, rng), rng.uniform(-0.6, 0.6, (100, 3))])
    detector = made(points, tube.mesh, tube, 0.02)
    for when in (0.0, 0.6, 1.3):  # the last is beyond the clip
        state = posed(points, tube, when)
        body = np.ascontiguousarray(state.x[len(points) :])
        state.x[: len(points) : 5] = body[: len(state.x[: len(points) : 5])]  # on the skin
        p = state.x[: len(points)].copy()
        detector.update(state)
        box, everything = bounds_of(body), RayWinding(tube.mesh.faces, len(body))
        inside = 0
        for axis in range(3):
            count = everything.count(body, p, box, axis)
            np.testing.assert_array_equal(detector._wind(axis, p), count)
            inside += int((count > 0).sum())
        assert inside > 20


def test_points_that_go_with_a_stiff_limb_keep_their_clearance_and_so_their_side():
    tube, within = Tube(turn=TURN, angle=0.0), 0.01
    points = around(tube.mesh, within, 80, np.random.default_rng(3))
    detector = made(points, tube.mesh, tube, within, midpoints=False)
    arrays, rest = detector._vertices.arrays, posed(points, tube, 0.0).x
    detector.update(posed(points, tube, 0.0))
    before, off = arrays.side.copy(), arrays.clear > 1e-12  # a point on the skin has no side
    for k in range(1, 20):  # everything turns about the origin, by farther than the points are away from the skin
        c, s = np.cos(0.1 * k), np.sin(0.1 * k)
        pose = np.array([[c, -s, 0.0, 0.0], [s, c, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
        state = posed(points, tube, 0.0)
        gone = np.linalg.norm(rest @ pose[:, :3].T - state.x, axis=1)
        state.x[:] = rest @ pose[:, :3].T
        state.bones[1] = np.concatenate([pose[:, :3] @ state.bones[1][:, :, :3], state.bones[1][:, :, 3:]], 2)
        state.bones[1][:, :, 3] = state.bones[1][:, :, 3] @ pose[:, :3].T
        detector.update(state)
        assert gone[: len(points)].max() > 2.0 * within
        assert arrays.pace.max() < 0.1 * within  # of the turn of 0.1 rad, far from the skin
        np.testing.assert_array_equal(arrays.side[off], before[off])
    assert off.sum() >= 80
    assert 10 < (before < 0).sum() < len(points) - 10
