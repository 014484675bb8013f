"""Height grids: against a slow twin, against exact distances, at overhangs, holes and borders; moving and changing."""

import itertools

import numpy as np
import pytest

import pliant
from conftest import cases
from detect.made import MADE, box, sheet
from motion.test_rigid import random_poses
from pliant import HeightGrid, HeightGrids, HeightSequence, Mesh, shapes
from pliant.contacts import gap
from pliant.detect.base import Side
from pliant.detect.detectors.height_grid import HeightGridDetector
from pliant.detect.fields.height_grid import DIRECTIONS
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import jit
from pliant.motion.deforming import Recorded
from pliant.motion.rigid import placed
from pliant.report.camera import basis
from pliant.scene import Body, Scene
from pliant.simulation import Simulation
from pliant.state import State

directions = pytest.mark.parametrize("direction", DIRECTIONS)


def unit(direction: str) -> np.ndarray:
    return np.eye(3)["xyz".index(direction[1])] * (1.0 if direction[0] == "+" else -1.0)


def naive(grid: HeightGrid, p: np.ndarray) -> tuple[float, np.ndarray]:
    """One point, by the words of the class: the gap along the direction times the cosine of the bilinear slope."""
    k = "xyz".index(grid.direction[1])
    axes, s = [(k + 1) % 3, (k + 2) % 3], unit(grid.direction)[k]
    x, y = (p - grid.origin)[axes] / grid.spacing
    i, j = int(np.floor(x)), int(np.floor(y))
    if not (0 <= i < grid.heights.shape[0] - 1 and 0 <= j < grid.heights.shape[1] - 1):
        return np.nan, np.full(3, np.nan)
    c, x, y = grid.heights[i : i + 2, j : j + 2], x - i, y - j
    h = np.array([1 - x, x]) @ c @ np.array([1 - y, y])
    slope = np.array([-1, 1]) @ c @ np.array([1 - y, y]), np.array([1 - x, x]) @ c @ np.array([-1, 1])
    n = s * np.eye(3)[k]
    n[axes] = -np.divide(slope, grid.spacing)
    cosine = 1 / np.linalg.norm(n)
    return (s * (p - grid.origin)[k] - h) * cosine, n * cosine


def some_grid(rng, direction: str, shape=(7, 5)) -> HeightGrid:
    heights = rng.normal(size=shape)
    heights[rng.random(shape) < 0.1] = np.nan
    return HeightGrid(heights, spacing=(0.3, 0.5), direction=direction, origin=rng.normal(size=3))


@directions
def test_distance_and_normal_are_those_of_the_slow_twin(direction, rng):
    grid = some_grid(rng, direction)
    p = grid.origin + rng.uniform(-3.0, 3.0, (300, 3))
    d, n = grid.sample(p)
    told = [naive(grid, q) for q in p]
    assert 20 < np.isfinite(d).sum() < 280
    np.testing.assert_allclose(d, [a for a, _ in told], rtol=0.0, atol=1e-13)
    np.testing.assert_allclose(n, [b for _, b in told], rtol=0.0, atol=1e-13)


@directions
def test_a_picture_stands_as_someone_sees_it_who_looks_against_the_direction(direction):
    picture = np.zeros((4, 6))
    picture[0, 5] = 1.0  # top right
    grid = HeightGrid.of_picture(picture, spacing=0.1, scale=0.05, direction=direction, centre=(1.0, 2.0, 3.0))
    right, up, back = basis(-unit(direction))
    up, right = (-up, -right) if direction == "-y" else (up, right)  # a camera that looks straight up has z below
    corner = np.array([1.0, 2.0, 3.0]) + 0.2499 * right + 0.1499 * up
    d, n = grid.sample([corner + 0.05 * back, corner - 0.3 * right])
    assert np.abs(d[0]) < 1e-4
    assert (d[1], *n[1]) == pytest.approx((0.0, *back), abs=1e-12)


def test_pixels_as_dark_as_empty_are_empty_columns():
    grid = HeightGrid.of_picture([[0.0, 1.0, 1.0], [0.0, 1.0, 1.0]], spacing=1.0, empty=0.0)
    assert np.isnan(grid.heights).tolist() == [[True, False, False], [True, False, False]]


def test_cells_are_half_open_and_one_with_an_empty_corner_is_empty():
    heights = np.zeros((4, 4))
    heights[3, 3] = np.nan
    grid = HeightGrid(heights, spacing=1.0)  # rows along z, columns along x
    inside = [(0.0, 0.0), (2.0, 2.0 - 1e-12), (1.999, 2.999), (2.999, 1.999)]
    outside = [(3.0, 1.0), (1.0, 3.0), (-1e-12, 1.0), (1.0, -1e-12), (2.0, 2.0), (2.5, 2.5), (1e11, 0.0)]
    points = [(x, 0.25, z) for z, x in inside + outside]
    assert np.isfinite(grid.sample(points)[0]).tolist() == [True] * 4 + [False] * 7


def test_of_an_overhang_only_the_top_counts():
    cap, stem = box((1.0, 0.1, 1.0), (0.0, 0.5, 0.0)), box((0.2, 1.0, 0.2))
    both = Mesh(np.concatenate([cap.vertices, stem.vertices]), np.concatenate([cap.faces, stem.faces + cap.n_vertices]))
    grid = HeightGrid.of_mesh(both, "+y", resolution=16)
    d, n = grid.sample([[0.3, 0.0, 0.3], [0.3, 0.65, 0.3]])  # beside the stem, under the cap; above the cap
    assert d == pytest.approx([-0.55, 0.1])
    assert n[0] == pytest.approx([0.0, 1.0, 0.0])


def test_a_mesh_seen_edge_on_is_a_grid_of_empty_columns():
    grid = HeightGrid.of_mesh(sheet(2), "+x", resolution=4)
    assert np.isnan(grid.heights).all()
    assert np.isnan(grid.sample(sheet(2).vertices)[0]).all()


def area(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Twice the signed area of triangles seen from above."""
    u, v = q - p, r - p
    return u[..., 2] * v[..., 0] - u[..., 0] * v[..., 2]


def test_nodes_are_the_highest_point_of_the_mesh_over_them():
    mesh = shapes.torus(0.3, 0.1) if jit.COMPILED else box()
    grid = HeightGrid.of_mesh(mesh, "+y", resolution=9)
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    for i, j in itertools.product(*map(range, grid.heights.shape)):
        here = grid.origin + np.array([j * grid.spacing[1], 0.0, i * grid.spacing[0]])
        with np.errstate(all="ignore"):
            w = np.stack([area(here, b, c), area(a, here, c), area(a, b, here)]) / area(a, b, c)
        tops = (w[0] * a[:, 1] + w[1] * b[:, 1] + w[2] * c[:, 1])[(w >= 0.0).all(0)]
        assert grid.heights[i, j] == pytest.approx(tops.max() if len(tops) else np.nan, abs=2e-3, nan_ok=True)


def rough_ground(rng) -> Mesh:
    """Ground with cliffs and needles between the nodes of any grid that is asked to show it."""
    ground = sheet(24, 1.0, 0.0, float(rng.choice([0.02, 0.2, 1.0])), rng)
    x = ground.vertices.copy()
    x[x[:, 0] > rng.uniform(-0.4, 0.4), 1] += rng.choice([0.0, 0.5, 3.0])  # a cliff
    x[rng.random(len(x)) < rng.choice([0.0, 0.05]), 1] += 5.0
    return Mesh(x, ground.faces, name="ground")


def wrong_sides(rng, count: int) -> np.ndarray:
    """Of at most `count` points over rough ground: all; those farther from it than the bound, on the wrong side."""
    ground = rough_ground(rng)
    grid = HeightGrid.of_mesh(ground, "+y", resolution=int(rng.integers(6, 60)))
    low, high = ground.bounds
    # near the border the exact distance is that to the border
    near = ground.vertices[rng.integers(ground.n_vertices, size=count)] + rng.normal(size=(count, 3)) * grid.bound
    p = np.where(rng.random((count, 1)) < 0.7, near, rng.uniform(low, high, (count, 3)))
    p = p[(np.abs(p[:, [0, 2]]) < 0.5 - grid.bound).all(1)]
    truth, (d, _) = ClosestPoints(ground).query_by_nearest_face(p)[0], grid.sample(p)
    far = np.abs(truth) > grid.bound
    assert np.isfinite(d).all()
    return np.array([len(p), ((d > 0.0) != (truth > 0.0))[far].sum()])


@pytest.mark.compiled
def test_no_point_farther_than_the_bound_from_rough_ground_is_on_the_wrong_side(rng):
    asked, wrong = sum(wrong_sides(rng, 2000) for _ in range(20))
    assert asked > 20_000
    assert wrong == 0


@pytest.mark.long
@pytest.mark.compiled
def test_nor_are_any_of_a_million(rng):
    asked, wrong = sum(wrong_sides(rng, 10_000) for _ in range(200))
    assert asked > 1_000_000
    assert wrong == 0


def missed(mesh: Mesh, rng, count: int) -> int:
    """Of `count` points, how many are deeper in the mesh than the bound and not called inside."""
    grids = HeightGrids.around(mesh, resolution=int(rng.integers(8, 80)))
    p = rng.uniform(*mesh.bounds, (count, 3))
    deep = ClosestPoints(mesh).query(p)[0] < -grids.bound
    return int((~(grids.sample(p)[0] < 0.0) & deep).sum())


SOLID = [name for name, make in MADE.items() if make().issues.closed]


@pytest.mark.compiled
@pytest.mark.parametrize("name", SOLID)
def test_nothing_deeper_in_a_body_than_the_bound_is_missed(name, rng):
    assert missed(MADE[name](), rng, 2500) == 0


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize("name", [*SOLID, "bust", "mannequin"])
def test_nothing_deeper_is_missed_in_a_million(name, rng):
    mesh = getattr(shapes, name)() if name in ("bust", "mannequin") else MADE[name]()
    assert sum(missed(mesh, rng, 25_000) for _ in range(5)) == 0


def test_the_smallest_depth_wins_and_of_equals_the_first_grid():
    grids = HeightGrids.around(box(), resolution=5)
    d, n = grids.sample([[0.47, 0.1, 0.2], [0.1, -0.46, 0.2], [0.44, 0.2, -0.44]])
    assert d == pytest.approx([-0.03, -0.04, -0.06])
    assert n.round(9).tolist() == [[1, 0, 0], [0, -1, 0], [1, 0, 0]]  # +x stands before -z


@pytest.mark.compiled
def test_the_hole_of_a_torus_stays_open():
    ring = shapes.torus(0.3, 0.1)
    grids = HeightGrids.around(ring, resolution=64)
    a = np.linspace(0.0, 2.0 * np.pi, 40)
    for r in (0.0, 0.1, 0.17, 0.19):
        p = np.stack([r * np.cos(a), 0.0 * a, r * np.sin(a)], 1)
        assert not (grids.sample(p, reach=0.005)[0] < -grids.bound).any()


def test_beside_a_cliff_the_cliff_is_found_and_far_above_its_edge_nothing():
    step = box((1.0, 1.0, 1.0))
    detect = lambda p: pliant.detector(  # noqa: E731
        "height-grid", Mesh([p], np.zeros((0, 3), int)), step, within=0.02, resolution=9
    ).find()
    assert detect([0.51, 0.3, 0.0])["distance"] == pytest.approx([0.01])
    assert len(detect([0.499, 0.6, 0.0])) == 0
    terrain = HeightGrid([[0.0, 0.0, 5.0, 5.0]] * 4, spacing=0.1, origin=(-0.15, 0.0, -0.15))
    one = Mesh([[0.049, 6.0, 0.0]], np.zeros((0, 3), int))  # 1 m above the upper edge; the slope is 50
    kept = HeightGridDetector(Side(one), Side(step, 1, 1), within=0.03, grids=terrain)
    assert len(kept.find(State.at(np.concatenate([one.vertices, step.vertices])))) == 0
    assert terrain.sample(one.vertices)[0] < 0.03


SHEET = shapes.cloth(0.6, 0.6, 9, irregular=True)
BODY = shapes.box((0.3, 0.2, 0.25), 2)


def detector(**options) -> HeightGridDetector:
    return HeightGridDetector(Side(SHEET, 0, 0), Side(BODY, SHEET.n_vertices, 1), within=0.03, **options)


def state(x: np.ndarray, body: np.ndarray = BODY.vertices, v: np.ndarray | None = None, pose: tuple = ()) -> State:
    made = State.at(np.concatenate([x, body]), pose=np.stack([np.eye(3, 4), *pose]) if pose else ())
    if v is not None:
        made.v[SHEET.n_vertices :] = v
    made.lapse = 0.01
    return made


def test_moving_body_and_cloth_together_moves_the_contacts(rng):
    x = SHEET.vertices + np.array([0.0517, 0.1123, 0.0231])
    kept = detector(resolution=12)
    rest = kept.update(state(x)).find(state(x))
    assert len(rest) > 10
    for pose in random_poses(rng, 3):
        moved = state(placed(x, pose), pose=(pose,))
        moved.pose_start[1] = np.eye(3, 4)
        found = kept.update(moved).find(moved)
        assert (found["elements"] == rest["elements"]).all()
        assert np.abs(found["distance"] - rest["distance"]).max() < 1e-12
        assert np.abs((found["normal"] * gap(found, moved.x)).sum(1) - found["distance"]).max() < 1e-14
        speed = (placed(rest["anchor"], pose) - rest["anchor"]) / 0.01
        assert np.abs(found["anchor_velocity"] - speed).max() < 1e-9


def test_an_update_is_a_fresh_rendering_and_contacts_move_with_the_surface(rng):
    x = SHEET.vertices + np.array([0.0517, 0.1123, 0.0231])
    bent = BODY.vertices * (1.1, 1.02, 0.9) + 0.01
    v = np.cross([0.0, 3.0, 0.0], bent) + np.array(
        [0.1, 0.2, 0.3]
    )  # a turn and a shift are linear in place, as faces are
    now = state(x, bent, v)
    kept = detector(resolution=12).update(now)
    fresh = HeightGrids.around(BODY.moved(bent), spacing=detector(resolution=12).grids.grids[0].spacing.max())
    for a, b in zip(kept.grids.grids, HeightGrids.around(BODY, resolution=12).update(bent, v).grids):
        np.testing.assert_array_equal(a.heights, b.heights)
    found = kept.find(now)
    assert len(found) > 10
    top = found["normal"][:, 1] == 1.0
    speed = np.cross([0.0, 3.0, 0.0], found["anchor"]) + np.array([0.1, 0.2, 0.3])
    assert top.sum() > 5
    assert np.abs(found["anchor_velocity"] - speed)[top].max() < 1e-5
    p = rng.uniform(-0.3, 0.3, (200, 3))
    both = [grids.sample(p, 0.01)[0] for grids in (kept.grids, fresh)]
    assert np.nanmax(np.abs(both[0] - both[1])) < 1e-12


def test_grids_that_were_given_refuse_a_body_that_bends():
    flat = HeightGrid(np.zeros((3, 3)), spacing=0.3, origin=(-0.3, 0.1, -0.3))
    kept = detector(grids=flat).update(state(SHEET.vertices))
    with pytest.raises(ValueError, match=r"the obstacle deforms, but its height grids were not rendered"):
        kept.update(state(SHEET.vertices, BODY.vertices * 1.1))
    with pytest.raises(ValueError, match=r"not rendered from a mesh"):
        flat.update(BODY.vertices)


def test_a_sequence_is_linear_in_time_and_moves_at_its_rate():
    frames = np.zeros((3, 3, 4))
    frames[1], frames[2] = 0.2, 0.1
    frames[2, 2, 3] = np.nan
    grid = HeightSequence([1.0, 2.0, 2.5], frames, spacing=0.1, direction="-z")
    told = {}
    for t in (0.0, 1.0, 1.25, 2.0, 2.25, 2.5, 9.0):
        grid.seek(t)
        rate = grid.velocity[0, 0].tolist() if grid.velocity.size else [0.0, 0.0, 0.0]
        told[t] = (round(float(grid.heights[0, 0]), 12), rate[2], bool(np.isnan(grid.heights[2, 3])))
    assert told == {
        0.0: (0.0, 0.0, False),
        1.0: (0.0, 0.0, False),
        1.25: (0.05, -0.2, False),
        2.0: (0.2, -0.2, False),
        2.25: (0.15, 0.2, True),
        2.5: (0.1, 0.2, True),
        9.0: (0.1, 0.0, True),
    }


def lying(method_options: dict, body: Body, frames: int) -> Simulation:
    """A small cloth that lies 5 mm above y = 0 on `body`, run for `frames`."""
    soft = shapes.cloth(0.2, 0.2, 5, centre=(0.0, 0.005, 0.0))
    scene = Scene([Body(soft), body], friction=0.8)
    sim = Simulation(scene, substeps=8, method="height-grid", options=method_options)
    for _ in sim.run(frames):
        pass
    return sim


@pytest.mark.compiled
def test_ground_that_rises_lifts_the_cloth_at_its_own_speed():
    ground = Body(shapes.box((1.0, 0.1, 1.0), 1, centre=(0.0, -0.05, 0.0)), obstacle=True)
    heights = np.stack([np.zeros((5, 5)), np.full((5, 5), 0.2)])
    rising = HeightSequence([0.1, 0.5], heights, spacing=0.25, origin=(-0.5, 0.0, -0.5))
    sim = lying({"grids": rising}, ground, 40)
    x, v = sim.state.x[sim.scene.rows(0)], sim.state.v[sim.scene.rows(0)]
    assert x[:, 1] == pytest.approx(0.155, abs=1e-3)
    assert v[:, 1] == pytest.approx(0.5, abs=0.01)


@pytest.mark.compiled
def test_friction_takes_the_cloth_along_on_a_mesh_whose_vertices_slide():
    plate = shapes.box((2.0, 0.1, 1.0), (8, 1, 4), centre=(0.0, -0.05, 0.0))
    frames = plate.vertices + np.array([[[0.0, 0.0, 0.0]], [[0.3, 0.0, 0.0]]])
    sliding = Body(plate, obstacle=True, motion=Recorded([0.0, 1.0], frames))
    sim = lying({"directions": ("+y",), "resolution": 33}, sliding, 40)
    v = sim.state.v[sim.scene.rows(0)]
    assert v[:, 0] == pytest.approx(0.3, abs=0.01)
    assert np.abs(v[:, 1:]).max() < 0.02


@pytest.mark.compiled
def test_one_and_two_threads_give_the_same_bits(rng):
    grids = HeightGrids.around(shapes.bust(0.5), resolution=60)
    p, before, seen = rng.uniform(-0.3, 0.5, (40_000, 3)), jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            seen.append([a.tobytes() for a in grids.sample(p)])
    finally:
        jit.set_threads(before)
    assert seen[0] == seen[1]


BAD = {
    r"unknown direction 'up'; .*one of: \+y, -y": lambda: HeightGrid(np.zeros((2, 2)), spacing=1.0, direction="up"),
    r"heights has shape \(1, 5\); expected at least 2 nodes": lambda: HeightGrid(np.zeros((1, 5)), spacing=1.0),
    r"heights\[0, 1\] = inf is beyond": lambda: HeightGrid([[0.0, np.inf], [0.0, 0.0]], spacing=1.0),
    r"spacing = 0 must be": lambda: HeightGrid(np.zeros((2, 2)), spacing=0.0),
    r"spacing has shape \(3,\)": lambda: HeightGrid(np.zeros((2, 2)), spacing=(1.0, 1.0, 1.0)),
    r"velocity has shape \(2, 2\); expected \(2, 2, 3\)": lambda: HeightGrid(
        np.zeros((2, 2)), spacing=1.0, velocity=np.zeros((2, 2))
    ),
    r"times must increase": lambda: HeightSequence([0.0, 0.0], np.zeros((2, 2, 2)), spacing=1.0),
    r"heights has shape \(2, 2, 2\); expected \(1, n, n\)": lambda: HeightSequence(
        [0.0], np.zeros((2, 2, 2)), spacing=1.0
    ),
    r"a height grid of 16383 x 16383 needs .* limit 1 MiB; lower the resolution": lambda: HeightGrid.of_mesh(
        box(), resolution=1 << 14, max_bytes=1 << 20
    ),
    r"'cloud' has no faces": lambda: HeightGrid.of_mesh(Mesh([[0, 0, 0]], np.zeros((0, 3), int), name="cloud")),
    r"grids must be one or more HeightGrid objects": lambda: HeightGrids([]),
}


@pytest.mark.parametrize("words", BAD)
def test_bad_arguments_are_one_clear_error(words):
    with pytest.raises(ValueError, match=words):
        BAD[words]()


def test_random_grids_and_points_never_read_beyond_the_grid(rng):
    for _ in range(cases(60)):
        shape = tuple(rng.integers(2, 6, 2))
        grids = [some_grid(rng, str(rng.choice(DIRECTIONS)), shape) for _ in range(int(rng.integers(1, 4)))]
        p = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-3, 12, (40, 1))
        lattice = grids[0].origin + rng.integers(-1, 7, (40, 3)) * 0.1
        for whole in (False, True):
            d, n = HeightGrids(grids, whole=whole).sample(np.concatenate([p, lattice]), reach=0.3)
            assert (np.isnan(d) == np.isnan(n).any(1)).all()
            assert not (d > 0.3).any()
