"""Depth and way out of vertices inside soft bodies: near the truth, the same way from frame to frame, on their side."""

import numpy as np
import pytest

import pliant
from pliant.contacts import VERTEX_FACE, gap
from pliant.detect.base import Side
from pliant.detect.queries.closest_point import closest_point
from pliant.detect.queries.consistent_depth import ConsistentDepth, consistent_depth
from pliant.detect.queries.tet_hash import TetHash
from pliant.kernels.geometry.tetra import barycentrics
from pliant.mesh import Mesh
from pliant.shapes import bar, cloth, creature, cylinder, tet_ball


def sides_of(*meshes: Mesh) -> list[Side]:
    first = np.cumsum([0, *(mesh.welded.n_vertices for mesh in meshes)])
    return [Side(mesh.welded, int(first[k]), k) for k, mesh in enumerate(meshes)]


def inside(sides: list[Side], x: np.ndarray, own: bool = False) -> np.ndarray:
    """(k,2) vertices of one body in tets of another, or of a body in its own tets, the slow way."""
    pairs, done = [np.zeros((0, 2), np.int64)], 0
    for b in sides:
        for t, tet in enumerate(b.mesh.tets + b.first):
            low, high = x[tet].min(0), x[tet].max(0)
            for a in sides:
                if (a is b) != own:
                    continue
                for v in a.first + np.flatnonzero(((x[a.rows] >= low) & (x[a.rows] <= high)).all(1)):
                    if v not in tet and min(barycentrics(tuple(x[v]), *(tuple(x[i]) for i in tet))) >= 0.0:
                        pairs.append(np.array([[v, done + t]]))
        done += len(b.mesh.tets)
    return np.concatenate(pairs)


def positions(sides: list[Side]) -> np.ndarray:
    return np.concatenate([side.mesh.vertices for side in sides])


def exact(sides: list[Side], x: np.ndarray, contacts: np.ndarray) -> np.ndarray:
    """(k,) how deep the vertex of each contact is in the other body, by the nearest point of its surface."""
    found = np.zeros(len(contacts))
    for b, side in enumerate(sides):
        rows = contacts["bodies"][:, 1] == b
        if rows.any():
            found[rows] = -closest_point(Mesh(x[side.rows], side.mesh.faces), x[contacts["vertices"][rows, 0]])[0]
    return found


def balls(turn: float = 0.0) -> tuple[list[Side], np.ndarray]:
    sides = sides_of(tet_ball(0.1, 0.05), tet_ball(0.1, 0.05, centre=(0.12, 0.011, 0.007)))
    c, s = np.cos(turn), np.sin(turn)
    return sides, positions(sides) @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def laid_across(mesh: Mesh, centre: tuple[float, float, float]) -> Mesh:
    return mesh.moved(mesh.vertices[:, [1, 0, 2]] * (-1.0, 1.0, 1.0) + np.array(centre))


def spiral(gain: float) -> tuple[list[Side], np.ndarray]:
    """A bar of 5 cm x 5 cm bent around the z axis by more than a turn, its end `gain` farther out than its start."""
    sides = sides_of(bar((0.8, 0.05, 0.05), (32, 2, 2)))
    p = positions(sides)
    angle = p[:, 0] / 0.8 * (2.0 * np.pi + 0.6)
    r = 0.12 + p[:, 1] + gain * angle / (2.0 * np.pi)
    return sides, np.stack([-r * np.cos(angle), r * np.sin(angle), p[:, 2]], 1)


def leaning(mesh: Mesh, centre: tuple[float, float, float]) -> Mesh:
    turn = np.array([[2.0, -2.0, 1.0], [1.0, 2.0, 2.0], [-2.0, -1.0, 2.0]]) / 3.0
    return mesh.moved(mesh.vertices @ turn.T + np.array(centre))


# the two bodies, how far the second goes in how many frames
PUSHES = {
    "balls": (tet_ball(), tet_ball(centre=(0.198, 0.011, 0.007)), (-0.098, 0.0, 0.0), 30),
    "corners": (bar(0.2, 8), bar(0.2, 7, centre=(0.1401, 0.1532, 0.2005)), (0.0, 0.0, -0.08), 30),
    "box on a side": (bar(0.2, 8), bar(0.1, 5, centre=(0.01, 0.005, 0.155)), (0.0, 0.0, -0.05), 30),
    "cylinders": (cylinder(), laid_across(cylinder(), (0.003, 0.004, 0.102)), (0.0, 0.0, -0.05), 30),
    "creatures": (creature(), laid_across(creature(), (0.012, 0.055, 0.07)), (0.0, 0.0, -0.04), 120),
    "rod through a cylinder": (
        cylinder(0.05, 0.3, 4),
        leaning(cylinder(0.02, 0.3, 2), (0.03, 0.0, 0.03)),
        (-0.03, 0.003, -0.006),
        40,
    ),
}
THROUGH = ("creatures", "rod through a cylinder")  # vertices pass the middle of what sticks through


@pytest.mark.compiled
@pytest.mark.parametrize("step", [None, 0.13, 0.25])
@pytest.mark.parametrize("what", PUSHES)
def test_in_a_slow_push_depth_is_within_an_element_of_the_truth_and_no_direction_flips(what, step):
    one, other, push, steps = PUSHES[what]
    sides = sides_of(one, other)
    depths, start = ConsistentDepth(sides), positions(sides)
    table, links = TetHash(start, depths.tet_bodies.tets), one.welded.links
    size = np.linalg.norm(start[links[:, 0]] - start[links[:, 1]], axis=1).mean()
    steps = steps if step is None else int(np.ceil(np.linalg.norm(push) / (step * size)))
    moved, known, worst, least, jump = np.linalg.norm(push) / steps, {}, 0.0, 1.0, 0.0
    for t in range(steps + 1):
        x = start.copy()
        x[sides[1].rows] += np.array(push) * t / steps
        pairs = table.update(x).pairs()
        mutual = (pairs[:, 0] < sides[1].first) != (pairs[:, 1] < len(one.tets))
        depths.accept_as_reference()
        found = depths.contacts(x, pairs[mutual])
        truth = exact(sides, x, found)
        worst = max(worst, np.abs(found["distance"] + truth).max(initial=0.0))
        now = {(c["vertices"][0], c["bodies"][1]): (c["normal"], c["distance"]) for c in found.copy()}
        for node in now.keys() & known.keys():
            least = min(least, now[node][0] @ known[node][0])
            jump = max(jump, abs(now[node][1] - known[node][1]) - moved)
        known = now
    assert len(found) > 30
    assert truth.max() > 1.2 * size, "it must get deep"
    assert worst < size
    # without memory what passes the middle of a leg, or of a rod, turns round at once there
    assert least > (0.8 if step is None and what not in THROUGH else 0.7)
    if step is None:
        assert jump < (0.5 if what in THROUGH else 0.15) * size


@pytest.fixture(scope="module")
def crossing() -> tuple[list[Side], list[tuple[np.ndarray, np.ndarray]]]:
    """A bar that is drawn through another in steps of a seventh of an element: positions, and who is inside."""
    sides = sides_of(bar((0.06, 0.06, 0.16), (3, 3, 8)), leaning(bar((0.045, 0.2, 0.045), (2, 8, 2)), (0.03, 0.0, 0.0)))
    frames = []
    for t in range(12):
        x = positions(sides)
        x[sides[1].rows] -= np.array([0.003, 0.0005, 0.0005]) * t
        frames.append((x, inside(sides, x)))
    return sides, frames


def told(depths: ConsistentDepth, frames: list[tuple[np.ndarray, np.ndarray]]) -> list[bytes]:
    records = []
    for x, pairs in frames:
        depths.accept_as_reference()
        records.append(depths.contacts(x, pairs).tobytes())
    return records


def test_the_state_is_all_that_is_carried_over(crossing):
    sides, frames = crossing
    depths, other, new = (ConsistentDepth(sides) for _ in range(3))
    assert told(depths, frames[:6])[0] == told(new, frames[:1])[0]
    state = depths.state()
    assert state[:, 9].any(), "some must be turning"
    other.restore(state)
    rest = told(depths, frames[6:])
    assert told(other, frames[6:]) == rest
    assert told(ConsistentDepth(sides), frames[6:]) != rest


def test_looking_again_changes_nothing(crossing):
    sides, frames = crossing
    depths, other = ConsistentDepth(sides), ConsistentDepth(sides)
    once = told(depths, frames)
    assert told(other, [frame for frame in frames for _ in range(3)])[2::3] == once


def test_a_vertex_that_leaves_is_forgotten(crossing):
    sides, frames = crossing
    depths = ConsistentDepth(sides)
    told(depths, [*frames[:6], (frames[6][0], np.zeros((0, 2), np.int64))])
    assert told(depths, frames[6:]) == told(ConsistentDepth(sides), frames[6:])


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        (0, 1e6, "beyond the 2 sides"),
        (0, -1.0, "ascending integer keys"),
        (1, 1e6, "refers to faces beyond"),
        (1, 0.5, "integer faces"),
        (2, np.nan, "not finite"),
    ],
)
def test_a_state_that_cannot_be_is_refused(crossing, column, value, said):
    sides, frames = crossing
    depths = ConsistentDepth(sides)
    told(depths, frames[:1])
    state = depths.state()
    state[0 if value < 0 else -1, column] = value
    with pytest.raises(ValueError, match=said):
        depths.restore(state)


def test_a_detector_that_is_told_to_forget_answers_as_a_new_one(rng):
    one = bar((0.06, 0.06, 0.16), (3, 3, 8))
    two = bar((0.2, 0.045, 0.045), (9, 2, 2), centre=(0.003, 0.004, 0.002))
    loose, differed = pliant.detector("spatial-hash", one, two), False
    for _ in range(4):
        x = two.vertices + rng.normal(size=3) * 0.008
        new = pliant.detector("spatial-hash", one, two).update(None, x).find().tobytes()
        differed |= loose.update(None, x).find().tobytes() != new
        loose.reset()
        assert loose.update(None, x).find().tobytes() == new
    assert differed


def test_records_are_like_all_others_one_for_each_vertex_that_is_inside():
    sides, x = balls()
    pairs = inside(sides, x)
    found = consistent_depth(sides, x, pairs)
    assert (found["kind"] == VERTEX_FACE).all()
    assert (found["vertices"][:, 0] == np.unique(pairs[:, 0])).all()
    assert len(found) > 50
    assert (found["distance"] < 0.0).all()
    assert np.abs(np.einsum("ij,ij->i", gap(found, x), found["normal"]) - found["distance"]).max() < 1e-15
    assert np.abs(found["weights"].sum(1)).max() < 1e-15
    assert np.abs(np.linalg.norm(found["normal"], axis=1) - 1.0).max() < 1e-12
    for k, side in enumerate(sides):
        own = found[found["bodies"][:, 1] == k]
        assert (own["bodies"][:, 0] == 1 - k).all()
        assert (side.mesh.faces[own["elements"][:, 1]] + side.first == own["vertices"][:, 1:]).all()
        assert (own["elements"][:, 0] + sides[1 - k].first == own["vertices"][:, 0]).all()


def test_a_box_pressed_flat_into_another_is_as_deep_everywhere():
    sides = sides_of(bar(0.2, 8), bar(0.08, 2, centre=(0.013, 0.13, 0.012)))
    x = positions(sides)
    found = consistent_depth(sides, x, inside(sides, x))
    found = found[found["bodies"][:, 0] == 1]
    assert len(found) == 9
    assert np.abs(found["distance"] + 0.01).max() < 1e-12
    assert np.abs(found["normal"] - (0.0, 1.0, 0.0)).max() < 1e-12


def test_what_is_pressed_into_a_plate_beyond_its_middle_still_leaves_where_it_came_in():
    sides = sides_of(bar((0.3, 0.03, 0.3), (8, 2, 8)), bar((0.06, 0.2, 0.06), (3, 9, 3), centre=(0.0, 0.09, 0.0)))
    x = positions(sides)
    found = consistent_depth(sides, x, inside(sides, x))
    tip = found[(found["bodies"][:, 0] == 1) & (x[found["vertices"][:, 0], 1] < -0.009)]
    assert len(tip) == 16
    assert exact(sides, x, tip).max() < 0.006, "the other side is nearer"
    assert tip["normal"][:, 1].min() > 0.99
    assert np.abs(tip["distance"] + 0.025).max() < 1e-3


def test_a_body_wholly_inside_another_goes_by_the_nearest_point():
    sides = sides_of(tet_ball(0.1, 0.05), bar(0.04, 1, centre=(0.03, 0.01, 0.0)))
    x = positions(sides)
    found = consistent_depth(sides, x, inside(sides, x))
    own = found[found["bodies"][:, 0] == 1]
    assert len(own) == 8
    assert np.abs(own["distance"] + exact(sides, x, own)).max() < 1e-15


def test_a_body_that_overlaps_itself_is_led_out_of_itself():
    sides, x = spiral(0.035)
    found = consistent_depth(sides, x, inside(sides, x, own=True))
    r = np.hypot(x[:, 0], x[:, 1])
    outward = x[found["vertices"][:, 0]] * (1.0, 1.0, 0.0) / r[found["vertices"][:, 0], None]
    side = np.einsum("ij,ij->i", found["normal"], outward)
    inner = np.asarray(sides[0].mesh.vertices[found["vertices"][:, 0], 0] < 0.0)  # of the first turn
    assert inner.sum() > 8
    assert (~inner).sum() > 8
    # the start of the bar must go inwards, its end outwards, by no more than the layers overlap
    assert np.abs(found["distance"]).max() < 0.02
    assert np.median(side[inner]) < -0.9
    assert np.median(side[~inner]) > 0.9
    assert side[inner].max() < 0.3
    assert side[~inner].min() > -0.3


def test_vertices_of_cloth_can_be_inside_too():
    sides = sides_of(cloth(0.3, 0.3, 9, centre=(0.0, 0.08, 0.0)), tet_ball(0.1, 0.05))
    x = positions(sides)
    found = consistent_depth(sides, x, inside(sides, x))
    own = found[found["bodies"][:, 0] == 0]
    assert len(own) > 4
    assert np.abs(own["distance"] + exact(sides, x, own)).max() < 0.005
    assert own["normal"][:, 1].min() > 0.5


def test_the_order_of_the_pairs_does_not_matter(rng):
    sides, x = balls()
    pairs = inside(sides, x)
    depths = ConsistentDepth(sides)
    assert depths.contacts(x, pairs).tobytes() == depths.contacts(x, rng.permutation(pairs)).tobytes()


def test_turning_the_scene_turns_the_contacts():
    (sides, x), (_, y) = balls(), balls(0.4)
    pairs = inside(sides, x)
    one, other = consistent_depth(sides, x, pairs), consistent_depth(sides, y, pairs)
    c, s = np.cos(0.4), np.sin(0.4)
    assert np.abs(one["distance"] - other["distance"]).max() < 1e-9
    turned = one["normal"] @ np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    assert np.abs(turned - other["normal"]).max() < 1e-6


def test_nothing_inside_is_no_contact():
    sides, x = balls()
    assert len(consistent_depth(sides, x, np.zeros((0, 2), np.int64))) == 0


def test_pairs_and_positions_that_do_not_fit_are_told_from():
    sides = sides_of(bar(0.1, 1), bar(0.1, 1, centre=(0.05, 0.0, 0.0)))
    x, tets = positions(sides), sum(len(side.mesh.tets) for side in sides)
    more = np.concatenate([x, x])
    assert tets < len(x)
    for pairs, told in (
        ([[0, 0], [len(x), 0]], r"pairs\[:, 0\]\[1, 0\] = 16 but there are 16 vertices"),
        ([[0, tets]], rf"pairs\[:, 1\]\[0, 0\] = {tets} but there are {tets} tets"),
        ([[-1, 0]], r"= -1 but there are 16 vertices"),
        ([[0, 1, 2]], r"pairs"),
    ):
        with pytest.raises(ValueError, match=told):
            consistent_depth(sides, more, pairs)
    with pytest.raises(ValueError, match="x has 15 rows; the sides have 16 vertices"):
        consistent_depth(sides, x[:-1], [[0, 6]])


def test_tets_without_a_surface_are_told_from():
    mesh = bar(0.1, 1)
    with pytest.raises(
        ValueError, match=r"1 sides belong to one tet only but are not faces; use pliant.Mesh.from_tets"
    ):
        ConsistentDepth([Side(Mesh(mesh.vertices, mesh.faces[1:], mesh.tets))])
