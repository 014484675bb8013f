"""The guard: whatever is asked for, what is free of intersections stays so; grips do as they are told."""

import dataclasses

import numpy as np
import pytest

from conftest import cases
from pliant import geometry
from pliant.contacts import EDGE_EDGE, VERTEX_FACE
from pliant.kernels.simulation import bounds as bounds_kernels
from pliant.kernels.simulation import guard as kernels
from pliant.kernels.simulation import records
from pliant.kernels.simulation.bounds import Bounds
from pliant.mesh import Mesh
from pliant.motion.rigid import Motion, brought, placed
from pliant.scene import Body, Grip, Scene
from pliant.shapes import ball, box, cloth
from pliant.simulation import Simulation
from pliant.simulation.guard import Guard
from pliant.simulation.guard.pairs import GuardedPairs, keys
from pliant.simulation.guard.prediction import MANY
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics

GAP = 0.004  # metres between layers


def roll(turns: float = 2.2, n: int = 22, m: int = 4) -> Mesh:
    """A sheet rolled up, layers GAP apart."""
    flat = cloth(1.0, 0.06, (n, m))
    u = flat.vertices[:, 0] - flat.vertices[:, 0].min()
    angle = 2.0 * np.pi * turns * u
    r = 0.02 + GAP * turns * u
    return flat.moved(np.stack([r * np.cos(angle), r * np.sin(angle), flat.vertices[:, 2]], 1))


def pile(mode: str = "safe", layers: int = 3, thickness: float = 0.8 * GAP, body: Body | None = None) -> Scene:
    """A roll, and sheets below it that lie GAP apart."""
    sheets = [Body(cloth(0.1, 0.08, 6, centre=(0.0, -0.035 - GAP * k, 0.0))) for k in range(layers)]
    bodies = [Body(roll()), *sheets, *([] if body is None else [body])]
    return Scene(bodies, eps=0.003, thickness=thickness, self_contact=mode, gravity=(0.0, 0.0, 0.0))


def seen(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Positions without intersections: everything a little out of place."""
    x = scene.start().x
    return x + np.where(scene.masses > 0.0, 0.2 * GAP, 0.0)[:, None] * rng.uniform(-1.0, 1.0, x.shape)


def test_wherever_everything_is_sent_nothing_ever_meets(rng):
    scene = pile()
    state, guard = scene.start(), Guard(scene, scene.start())
    state.x[:] = seen(scene, rng)
    count = IntersectionStatistics(scene, state.x)
    assert count.at(state.x) == (0, 0)
    would = 0
    for k in range(cases(40)):
        guard.begin(state, 0.01)
        state.x_start[:] = state.x
        # a common drift, a squeeze towards the middle, and chaos
        way = rng.normal(size=3) + rng.normal(size=state.x.shape) - 3.0 * (k % 3) * state.x
        state.x += 10.0 ** rng.uniform(-5.0, -1.5) * way
        would += sum(count.at(state.x))
        guard.limit_motion(state, 0.01)
        assert count.at(state.x) == (0, 0)
    assert would > 0


@pytest.mark.compiled
def test_whatever_speed_it_has_when_it_is_seen_nothing_ever_meets(rng):
    scene = pile(body=Body(ball(0.015, 2, centre=(0.0, 0.08, 0.0)), obstacle=True))
    state, guard = scene.start(), Guard(scene, scene.start())
    free = scene.inverse_masses > 0.0
    count, would = IntersectionStatistics(scene, state.x), 0
    for k in range(cases(30)):
        state.x[:] = seen(scene, rng)
        # turning, every sheet its own way, every vertex a little; and then it may go any other way
        speeds = []
        for _ in range(2):
            way = 20.0 * np.cross(rng.normal(size=3), state.x) + 0.1 * rng.normal(size=state.x.shape)
            for b in scene.deformable:
                way[scene.rows(b)] += rng.normal(size=3)
            speeds.append(10.0 ** rng.uniform(-1.0, 0.5) * way * free[:, None])
        state.v[:] = speeds[0]
        guard.begin(state, 0.002, 4)
        for _ in range(4):
            state.x_start[:] = state.x
            state.x += 0.002 * rng.uniform(0.7, 1.3) * speeds[k % 2]
            would += sum(count.at(state.x))
            guard.apply(state, 0.002)
            guard.limit_motion(state, 0.002)
            guard.finish(state, 0.002)
            assert count.at(state.x) == (0, 0)
    assert would > 0


def test_cloth_that_goes_on_as_it_did_is_looked_at_once_a_frame(rng):
    scene = pile()
    state, guard = scene.start(), Guard(scene, scene.start())
    state.v[:] = [3.0, -4.0, 1.0]
    guard.begin(state, 0.002, 5)
    for _ in range(5):
        state.x_start[:] = state.x
        state.x += 0.002 * state.v + 1e-5 * rng.normal(size=state.x.shape)
        wanted = state.x.copy()
        guard.limit_motion(state, 0.002)
        assert (state.x == wanted).all()
    assert guard.passes == 1


@pytest.mark.compiled
def test_where_a_few_vertices_leave_their_course_they_are_followed_and_nothing_ever_meets(rng):
    scene = pile(body=Body(ball(0.015, 2, centre=(0.0, 0.08, 0.0)), obstacle=True))
    state, guard = scene.start(), Guard(scene, scene.start())
    free = np.flatnonzero(scene.inverse_masses > 0.0)
    count, would, passes, measured = IntersectionStatistics(scene, state.x), 0, 0, 0
    for _ in range(cases(40)):
        state.x[:] = seen(scene, rng)
        state.v[free] = rng.normal(size=3)
        guard.begin(state, 0.002, 4)
        some, before, hindered = rng.choice(free, 4, replace=False), guard.passes, False
        way = 10.0 ** rng.uniform(-0.5, 1.0) * rng.normal(size=(4, 3))
        for _ in range(4):
            state.x_start[:] = state.x
            state.x += 0.002 * state.v
            state.x[some] += 0.002 * way
            would += sum(count.at(state.x))
            guard.limit_motion(state, 0.002)
            guard.finish(state, 0.002)
            hindered |= guard.hindered
            assert count.at(state.x) == (0, 0)
        passes += guard.passes == before
        measured += hindered and guard.passes == before
    assert would > 0
    assert guard.repredictions > passes > 0
    assert measured > 0  # known pairs held some back, and no pass was needed


def test_a_body_that_is_driven_into_cloth_pushes_it_along_and_never_meets_it(rng):
    scene = pile(
        body=Body(ball(0.015, 2, centre=(0.0, 0.08, 0.0)), obstacle=True, motion=Motion([0.0], [np.eye(3, 4)]))
    )
    state, guard = scene.start(), Guard(scene, scene.start())
    b = len(scene.bodies) - 1
    count, rest, low = IntersectionStatistics(scene, state.x), scene.bodies[b].mesh.vertices, 0.0
    for _ in range(cases(30)):
        guard.begin(state, 0.01)
        state.x_start[:] = state.x
        low -= 0.001
        state.x[scene.rows(b)] = rest + np.array([0.0, low, 0.0])
        guard.limit_motion(state, 0.01)
        assert count.at(state.x) == (0, 0)
        assert (state.x[scene.rows(b)] == rest + np.array([0.0, low, 0.0])).all()
    assert guard.failed_substeps == 0


@pytest.mark.parametrize("gap", [1e-4, 3e-4])
def test_cloth_that_follows_a_body_which_has_to_wait_for_its_fastest_part_waits_too(gap):
    plank = Body(box((1.0, 0.1, 0.1), (20, 1, 1)), obstacle=True, motion=Motion([0.0], [np.eye(3, 4)]))
    patch = Body(cloth(0.1, 0.08, (6, 5), centre=(0.25, 0.05 + gap, 0.0)))
    scene = Scene([patch, plank], eps=0.003, self_contact="safe", gravity=(0.0, 0.0, 0.0))
    state, guard = scene.start(), Guard(scene, scene.start())
    count = IntersectionStatistics(scene, state.x)
    turn = Motion.hinge((0, 0, -1), (0, 0, 0), (0.0, 1.0), (0.0, 0.02)).at(1.0)
    guard.begin(state, 0.01)
    state.x_start[:] = state.x
    state.x[:] = placed(state.x, turn)
    guard.limit_motion(state, 0.01)
    assert count.at(state.x) == (0, 0)
    assert brought(state.x[scene.rows(0)], turn)[:, 1].min() > 0.05


def test_vertices_that_go_no_farther_than_their_contacts_allow_leave_every_pair_apart(rng):
    scene = pile()
    guard, x = Guard(scene, scene.start()), seen(scene, rng)
    guard.detection_pass(x, 0.001)
    found = guard.contacts
    assert {*found["kind"]} == {VERTEX_FACE, EDGE_EDGE}
    part = np.ones(len(x))
    pairs = GuardedPairs.of(found, found[:0], x, 0.0, 0.0)
    assert np.abs(pairs.room - kernels.SHARE * found["distance"]).max() < 1e-12
    assert np.abs(pairs.gaps - found["distance"]).max() < 1e-12
    pairs.kept[:] = 1e-6
    for scale in (0.1 * GAP, GAP, 10.0 * GAP):
        part[:] = 1.0
        target, moved = x + scale * rng.normal(size=x.shape), x.copy()
        pairs.limit(x, target, part, np.zeros(len(found), np.bool_))
        left = bounds_kernels.advance(guard.rows, part, x, target, moved)
        assert left == (part < 1.0).sum()
        assert (moved[part == 1.0] == target[part == 1.0]).all()
        p, faces = moved[found["vertices"]], found["kind"] == VERTEX_FACE
        after = np.concatenate([geometry.point_triangle_distance(p[faces]), geometry.edge_edge_distance(p[~faces])])
        before = np.concatenate([found["distance"][faces], found["distance"][~faces]])
        assert (after >= np.minimum(0.0999 * before, 0.999e-6)).all()
    assert left > 0


def test_no_vertex_leaves_the_ball_around_where_it_was_seen(rng):
    x, rows = rng.normal(size=(50, 3)), np.arange(50, dtype=np.int32)
    target, part, moved = x + rng.normal(size=x.shape), np.ones(50), x.copy()
    bounds_kernels.within_ball(rows, Bounds(x, np.zeros_like(x), np.full(50, 0.7)), x, 0.0, target, part)
    bounds_kernels.advance(rows, part, x, target, moved)
    went, wanted = np.linalg.norm(moved - x, axis=1), np.linalg.norm(target - x, axis=1)
    assert (went <= 0.7).all()
    assert went == pytest.approx(np.minimum(wanted, 0.7))
    assert bounds_kernels.farthest(rows, x, moved) == went.max()


def test_pairs_that_are_not_expected_near_are_farther_away_at_every_moment(rng):
    scene = pile()
    guard, x = Guard(scene, scene.start()), seen(scene, rng)
    guard.detection_pass(x, 0.01)
    found = guard.contacts
    faces, rejected, body_of = found["kind"] == VERTEX_FACE, 0, np.zeros(len(x), np.int32)
    for _ in range(cases(10)):
        way = 0.1 * rng.normal(size=3) + 10.0 ** rng.uniform(-4, -2) * rng.normal(size=x.shape)
        reach = rng.uniform(0.2, 0.8) * found["distance"].max()
        kept = found.copy()
        kept = kept[: records.keep_approaching(kept, way, reach, body_of)]
        near = np.isin(keys(found), keys(kept))
        assert np.array_equal(keys(found)[near], keys(kept))
        for t in np.linspace(0.0, 1.0, 7):
            p = (x + t * way)[found["vertices"]]
            assert (geometry.point_triangle_distance(p[faces & ~near]) > reach - 1e-12).all()
            assert (geometry.edge_edge_distance(p[~faces & ~near]) > reach - 1e-12).all()
        rejected += (~near).sum()
    assert rejected > 100


def test_a_vertex_strays_when_it_leaves_the_ball_around_where_it_is_expected(rng):
    x, way, rows = rng.normal(size=(20, 3)), rng.normal(size=(20, 3)), np.arange(20, dtype=np.int32)
    off = rng.normal(size=x.shape)
    off *= 0.7 / np.linalg.norm(off, axis=1)[:, None]
    there = x + 0.3 * way + 0.999 * off
    bounds = Bounds(x, way, np.full(20, 0.7))
    gone, whole = bounds_kernels.progress(rows, bounds, x + 0.3 * way)
    assert gone == pytest.approx(0.3 * whole)
    assert not bounds_kernels.leaves_bounds(rows, bounds, there, 0.3, 1.0)
    there[13] = x[13] + 0.3 * way[13] + 1.001 * off[13]
    assert bounds_kernels.leaves_bounds(rows, bounds, there, 0.3, 1.0)
    assert not bounds_kernels.leaves_bounds(rows[:13], bounds, there, 0.3, 1.0)


def test_a_pair_that_is_looked_at_again_keeps_its_side(rng):
    scene = pile()
    guard, x = Guard(scene, scene.start()), seen(scene, rng)
    guard.detection_pass(x, 0.001)
    found = guard.contacts.copy()
    near = np.empty(len(found), np.bool_)
    assert kernels.refresh(found, x, x, np.inf, near) == len(found) == near.sum()
    assert np.abs(found["distance"] - guard.contacts["distance"]).max() < 1e-15
    # a vertex straight through its face, nearest points inside: as far behind as it was in front
    inner = (found["kind"] == VERTEX_FACE) & (found["weights"][:, 1:] < -0.05).all(1)
    for c in np.flatnonzero(inner)[:20]:
        y, n = x.copy(), found["normal"][c]
        y[found["vertices"][c, 0]] -= 2.0 * found["distance"][c] * n
        pair = found[c : c + 1].copy()
        kernels.refresh(pair, x, y, 0.0, near[:1])
        assert pair["distance"][0] == pytest.approx(-found["distance"][c], abs=1e-12)
        assert pair["normal"][0] == pytest.approx(n, abs=1e-6)


def gripped(mode: str) -> Simulation:
    sheet = cloth(0.2, 0.2, 6)
    x = sheet.vertices[:, 0]
    ends = []
    for side, sign in ((x < -0.099, -1.0), (x > 0.099, 1.0)):
        turn = Motion.hinge((sign, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.2), (0.0, 2.0))
        ends.append(Grip(np.flatnonzero(side), turn))
    return Simulation(Scene([Body(sheet, grips=ends)], thickness=0.003, self_contact=mode), substeps=4)


@pytest.mark.parametrize("mode", ["off", "push", "safe"])
def test_what_is_gripped_is_exactly_where_its_motion_says(mode):
    sim = gripped(mode)
    for frame in sim.run(4):
        for rows, rest, motion in sim.scene.grips:
            assert (frame.x[rows] == placed(rest, motion.at(frame.time))).all()
    free = sim.scene.inverse_masses > 0.0
    assert np.abs(frame.x - sim.scene.start().x)[free].max() > 0.001


def test_a_scene_starts_with_its_grips_where_they_are_at_time_0():
    sheet = cloth(0.2, 0.2, 4)
    up = np.eye(3, 4)
    up[1, 3] = 0.05
    scene = Scene([Body(sheet, grips=[Grip([0, 1], Motion([0.0], [up]))])])
    assert scene.start().x[:2, 1] == pytest.approx(0.05)
    assert (scene.inverse_masses[:2] == 0.0).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Scene([Body(cloth(resolution=4))], self_contact="sure"), "unknown self_contact 'sure'"),
        (lambda: Scene([Body(cloth(resolution=4))], thickness=0.0), "thickness = 0 must be greater than 0"),
        (lambda: Scene([Body(cloth(resolution=4))], thickness=float("nan")), "thickness = nan is not finite"),
        (
            lambda: Body(cloth(resolution=4), grips=[Grip([16], Motion([0.0], [np.eye(3, 4)]))]),
            r"grip rows\[0, 0\] = 16",
        ),
        (
            lambda: Body(box(), obstacle=True, grips=[Grip([0], Motion([0.0], [np.eye(3, 4)]))]),
            "only deformable bodies have grips",
        ),
    ],
)
def test_what_cannot_be_is_refused_by_name(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_cloth_is_kept_by_eps_where_no_thickness_is_given():
    scene = Scene([Body(cloth(0.2, 0.2, 4))], eps=0.004, self_contact="push")
    assert Guard(scene, scene.start()).thickness == 0.004
    thick = dataclasses.replace(scene, thickness=0.002)
    assert Guard(thick, thick.start()).thickness == 0.002


@pytest.mark.compiled
def test_a_frame_lists_each_contact_once():
    sheet = Body(cloth(0.2, 0.2, 6, centre=(0.0, 0.1012, 0.0)))
    sim = Simulation(Scene([sheet, Body(ball(0.1, 2), obstacle=True)], eps=0.004), substeps=1, method="bvh")
    found = sim.step().contacts
    pairs = np.concatenate([found["kind"][:, None], np.sort(found["vertices"], axis=1)], axis=1)
    assert len(np.unique(pairs, axis=0)) == len(found) > 0


def test_cloth_that_deforms_fast_does_not_expect_to_touch_itself_everywhere(rng):
    scene = Scene([Body(cloth(0.7, 0.7, 11))], self_contact="safe", gravity=(0.0, 0.0, 0.0))
    state, guard = scene.start(), Guard(scene, scene.start())
    for steps in (128, 32):
        state.v[:] = state.v_start[:] = rng.normal(0.0, 20.0, state.v.shape)
        guard.begin(state, 0.01 / steps, steps)
        assert len(guard.contacts) <= MANY * len(state.x)
        state.x_start[:] = state.x
        state.x += 0.01 / 128 * state.v
        guard.limit_motion(state, 0.01 / steps)
        assert IntersectionStatistics(scene, state.x).at(state.x) == (0, 0)


def test_pairs_found_again_around_few_vertices_include_all_that_a_new_pass_finds(rng):
    scene = pile()
    guard, x = Guard(scene, scene.start()), scene.start().x
    detection = guard._detection
    detection.run(x, 0.0)
    few = rng.choice(detection.rows, len(detection.rows) // 20, replace=False)
    few[0] = rng.choice(detection.guarded.vertices[detection.guarded.gaps < 0.7 * detection._reach, 0])
    x[few] += rng.uniform(-0.14, 0.14, (len(few), 3)) * detection.radius[few, None]
    x[few[0], 2] += 0.6 * detection.radius[few[0]]  # along its layer, by much of its bound
    assert detection.renew(x, x)
    moved = np.linalg.norm(x - detection.start, axis=1)
    assert moved[few[0]] == 0.0  # it has a new bound
    assert (moved <= 0.25 * detection.radius).all()
    known = {tuple(row) for row in np.column_stack([detection.guarded.kinds, detection.guarded.vertices])}
    detection.run(x, 0.0)
    near = detection.guarded.gaps <= 0.75 * detection._reach  # 1 - 2 * 0.25 * 0.45, and some rounding
    found = np.column_stack([detection.guarded.kinds, detection.guarded.vertices])[near]
    assert few[0] in found[:, 1:]
    assert {tuple(row) for row in found} <= known
