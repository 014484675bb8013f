"""Vertices that coincide at rest are one vertex as long as they stay together, and no longer: for every detector.

The judge looks at every pair in extended precision, and knows nothing of welding (detect/slivers.py).
"""

import numpy as np
import pytest

import pliant
from conftest import SEED, cases
from detect import slivers
from detect.made import box
from pliant import Mesh
from pliant.detect.detectors.continuous import Sweep
from pliant.detect.queries.intersections import Intersections
from pliant.detect.queries.penetration import Depths
from pliant.mesh import topology

EXACT = ("brute-force", "bvh", "continuous", "spatial-hash", "stochastic-bvh")
FIELDS = ("kind", "elements", "bodies", "vertices", "weights", "normal", "distance")


def two_panels():
    left = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1]], float)
    return Mesh(np.concatenate([left, left + np.array([1, 0, 0])]), [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])


def pieces(rng):
    """(x, faces, piece of each vertex): sheets or boxes side by side, or boxes whose six sides are pieces."""
    kind = rng.integers(3)
    x, faces, piece = [], [], []
    for i in range(rng.integers(2, 5)):
        if kind == 0:
            g = np.array([[a + 2 * (i % 2), 0, b + 2 * (i // 2)] for a in range(3) for b in range(3)], float)
            f = np.array([[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4], [3, 4, 6], [4, 7, 6], [4, 5, 7], [5, 8, 7]])
            parts = [(g, f)]
        elif kind == 1:
            solid = box(centre=(i % 2, i // 2, 0))
            parts = [(solid.vertices, solid.faces)]
        else:
            solid = box(centre=(1.5 * i, 0, 0))
            parts = [
                (solid.vertices[f].reshape(-1, 3), np.arange(6).reshape(2, 3)) for f in solid.faces.reshape(6, 2, 3)
            ]
        for g, f in parts:
            faces.append(f + sum(map(len, x)))
            x.append(g)
            piece += [len(x)] * len(g)
    return np.concatenate(x), np.concatenate(faces), np.array(piece)


def moved(rng, x, piece):
    x = x.copy()
    for k in np.unique(piece):
        if rng.random() < 0.4:
            x[piece == k] += rng.normal(size=3) * 10.0 ** rng.uniform(-4, 0)
    if rng.random() < 0.2:
        x[rng.integers(len(x), size=3)] += 0.1 * rng.normal(size=(3, 3))
    return x


def same_records(one, two):
    return len(one) == len(two) and all(np.array_equal(one[name], two[name]) for name in FIELDS)


def wrong_in(seed, methods=EXACT):
    """What detectors that follow pieces through three poses miss, invent, or tell otherwise than fresh ones."""
    rng = np.random.default_rng(seed)
    x, faces, piece = pieces(rng)
    spin, scale = slivers.turned(rng), 10.0 ** rng.uniform(-6, 8)
    rest = Mesh(x @ spin.T * scale, faces)
    y, others = slivers.probe(rng)
    other = Mesh((0.7 * y + x[rng.integers(len(x))]) @ spin.T * scale, others)
    within = scale * 10.0 ** rng.uniform(-4, -0.5)
    asked = {"self": (rest, None), "one": (rest, other), "two": (other, rest)}
    made = {(m, who): pliant.detector(m, *asked[who], within=within) for m in methods for who in asked}
    found = []
    for step in range(3):
        at = moved(rng, x, piece) @ spin.T * scale if rng.random() < 0.8 else rest.vertices
        now, slack = Mesh(at, faces), 3e-14 * max(np.abs(at).max(), np.abs(other.vertices).max())
        truth = {"self": slivers.distances(now, now, rest.vertices), "one": slivers.distances(now, other)}
        truth["two"] = slivers.distances(other, now)
        places = {"self": (at,), "one": (at, other.vertices), "two": (other.vertices, at)}
        for (method, who), detector in made.items():
            hits = detector.update(*places[who]).find()
            fresh = pliant.detector(method, *asked[who], within=within).update(*places[who]).find()
            wrong = slivers.wrong(hits, truth[who], within, slack)
            if wrong != (0, 0) or not same_records(hits, fresh):
                found.append((step, method, who, *wrong))
    return found


@pytest.mark.parametrize("method", [*EXACT, "auto"])
def test_panels_that_touch_at_rest_and_move_apart_have_seven_contacts(method):
    panels = two_panels()
    x = panels.vertices.copy()
    x[4:] += [0, 5, 0]
    probe = Mesh([[1.2, 5.001, 0.2], [1.3, 5.001, 0.2], [1.2, 5.001, 0.3]], [[0, 1, 2]])
    hits = pliant.detector(method, probe, panels, within=0.002).update(probe.vertices, x).find()
    assert slivers.wrong(hits, slivers.distances(probe, Mesh(x, panels.faces)), 0.002, 1e-14) == (0, 0)
    assert len(hits) == 7
    assert hits["distance"].max() < 0.002


@pytest.mark.parametrize("method", EXACT)
def test_pieces_that_come_apart_are_no_neighbours_and_are_again_when_they_come_back(method):
    panels = two_panels()
    x = panels.vertices.copy()
    x[4:] += [0, 0.001, 0]
    detector = pliant.detector(method, panels, within=0.002)
    assert len(detector.find()) == 0
    apart = detector.update(x).find()
    assert slivers.wrong(apart, slivers.distances(*[Mesh(x, panels.faces)] * 2, panels.vertices), 0.002, 1e-14) == (
        0,
        0,
    )
    assert len(apart) > 0
    assert len(detector.update(panels.vertices).find()) == 0


@pytest.mark.compiled
def test_pieces_that_move_have_the_contacts_of_looking_at_every_pair():
    for k in range(cases(5)):
        assert wrong_in([SEED, k], ("brute-force", "bvh", "stochastic-bvh")) == [], (SEED, k)


@pytest.mark.long
@pytest.mark.compiled
def test_pieces_of_300_scenes_have_the_contacts_of_looking_at_every_pair():
    assert {k: found for k in range(cases(300)) if (found := wrong_in([SEED + 1, k]))} == {}


def test_a_box_whose_sides_come_apart_has_no_inside_until_they_are_back():
    solid = box()
    six = Mesh(solid.vertices[solid.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    x = six.vertices.copy()
    x[:6] += [-3.0, 0, 0]
    point = Mesh([[0, 0, 0], [0.01, 0, 0], [0, 0.01, 0]], [[0, 1, 2]])
    for method in ("brute-force", "bvh", "image-space", "stochastic-bvh"):
        detector = pliant.detector(method, point, six, within=0.001)
        assert (detector.find()["distance"] < 0).any(), method
        assert len(detector.update(point.vertices, x).find()) == 0, method
        assert (detector.update(point.vertices, six.vertices).find()["distance"] < 0).any(), method


def test_distances_follow_seams_that_come_apart(rng):
    panels = two_panels()
    x = panels.vertices.copy()
    x[4:] += [0, 5, 0]
    points = rng.uniform([0, -1, 0], [2, 6, 1], (50, 3))
    told = np.abs(Depths(panels).update(x).query(points)[0])
    corners = x[panels.faces]
    apart = slivers.to_faces(points[:, None], corners[:, 0], corners[:, 1], corners[:, 2])
    assert np.allclose(told, apart.min(1), rtol=0, atol=1e-12)


def test_faces_of_pieces_that_cross_are_found_where_they_are():
    panels = two_panels()
    x = panels.vertices.copy()
    x[4:] = [[0.5, -1, 0.2], [0.5, 1, 0.2], [0.5, 1, 0.8], [0.5, -1, 0.8]]
    followed = Intersections(panels)
    assert followed.count == 0
    apart = Mesh(x, panels.faces)
    assert np.array_equal(followed.update(x).pairs(), pliant.intersections(apart))
    assert followed.count > 0
    # one corner of each stays where both were: no common vertex any more once the copies are apart
    x = panels.vertices.copy()
    x[4] += [-0.2, 0.0, 0.3]
    assert followed.update(x).count == Intersections(Mesh(x, panels.faces)).count > 0


def test_a_step_is_free_for_copies_that_stay_together_and_not_for_those_that_meet():
    panels = two_panels()
    sweep, x = Sweep(panels), panels.vertices
    assert sweep.step(x, x + np.array([0, 1, 0])) == 1.0
    apart = x.copy()
    apart[4:] += [0.1, 0, 0]
    assert 0.0 < sweep.step(apart, x) < 1.0
    assert sweep.step(x, x * 2.0) == 1.0


def test_groups_are_those_that_coincide_at_rest_and_in_every_pose(rng):
    for _ in range(cases(50)):
        rest = rng.integers(0, 2, (12, 3)).astype(float)
        frames = rng.integers(0, 2, (rng.integers(1, 4), 12, 3)) * [0.0, 0.0, 1.0] + rest
        frames[0, 0] *= -1.0
        mesh = Mesh(rest, np.zeros((0, 3), int))
        welds = mesh.welded_at(frames)
        together = (rest[:, None] == rest).all(2) & (frames[:, :, None] == frames[:, None]).all((0, 3))
        assert np.array_equal(welds.weld_index[:, None] == welds.weld_index, together)
        assert np.array_equal(welds.welded.vertices[welds.weld_index], rest)
        assert welds.welded.welded is welds.welded
        assert (welds is mesh) == (welds.weld_index.max() == mesh.weld_index.max())


def test_copies_within_the_slack_stay_one():
    index = np.array([0, 1, 0, 1, 0], np.int32)
    x = np.zeros((5, 3))
    x[2, 0], x[3, 1], x[4, 2] = 1e-9, 1.0, 1e-9
    assert topology.find_copies(index).tolist() == [[2, 0], [3, 1], [4, 0]]
    assert topology.parted(topology.find_copies(index), x, 2.0) is None
    assert topology.parted(topology.find_copies(index), x, 1e-6).tolist() == [0, 1, 0, 3, 0]
    assert topology.parted(topology.find_copies(index), x).tolist() == [0, 1, 2, 3, 4]


def test_a_body_and_a_clip_are_sewn_where_their_motion_keeps_them_together():
    panels = two_panels()
    together = np.stack([panels.vertices, panels.vertices + np.array([0, 1, 0])])
    apart = together.copy()
    apart[1, 4:] += [0, 0, 3]
    for frames, count in ((together, 6), (apart, 8)):
        body = pliant.Body(panels, obstacle=True, motion=pliant.Recorded([0.0, 1.0], frames))
        assert body.mesh.welded.n_vertices == count
        scene = pliant.Scene([body])
        assert np.array_equal(scene.deforming_motions[0].shape(scene.bones(1.0)[0])[body.mesh.weld_index], frames[1])
        clip = pliant.Clip(panels, frames)
        assert clip.welds.mesh.welded.n_vertices == count
        assert (clip.welds is clip) == (count == 6)
