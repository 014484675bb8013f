"""The gauntlet: garments that fit, measurements of states with known faults, and the bars."""

import time

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.shapes import ball, box, cloth, walking_mannequin
from pliant_bench.garments import characters, gauntlet, hanging, verdicts, wearing
from pliant_bench.garments.measuring import BodyPairs, Gauge, Measured, Penetration
from pliant_bench.garments.outline import Outline, Unfit
from pliant_bench.garments.patterns import pattern
from pliant_bench.garments.room import Room, leaves_room
from pliant_bench.garments.tailor import MAKERS, Garment, fault, garment
from pliant_bench.garments.wearing import Run
from pliant_bench.garments.workers import Worker

EPS = 0.004


@pytest.fixture(scope="module")
def outline() -> Outline:
    character = walking_mannequin(0.7)
    return Outline(character.mesh.moved(character.shape(None, 0.0)), 120)


def _quality(mesh: Mesh) -> np.ndarray:
    """1 for equilateral triangles, 0 for slivers."""
    corners = mesh.vertices[mesh.faces]
    sides = np.linalg.norm(corners - np.roll(corners, 1, 1), axis=2)
    return 4.0 * np.sqrt(3.0) * _areas(mesh) / (sides**2).sum(1)


def _areas(mesh: Mesh) -> np.ndarray:
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    return 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1)


def _loops(mesh: Mesh) -> int:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = mesh.topology.edges[mesh.topology.n_faces_at_edge == 1]
    used, flat = np.unique(ends, return_inverse=True)
    flat = flat.reshape(-1, 2)
    graph = coo_array((np.ones(len(flat)), flat.T), shape=(len(used), len(used)))
    return int(connected_components(graph, directed=False)[0])


def test_landmarks_of_the_mannequin_are_where_they_are_modelled(outline) -> None:
    at = outline.landmarks
    found = (at.floor, at.crotch, at.waist, at.armpit, at.neck, at.top)
    assert found == pytest.approx((0.0, 0.78, 1.06, 1.30, 1.53, 1.75), abs=0.06)
    assert at.armpit < at.shoulder < at.neck


@pytest.mark.parametrize("name", characters.PERSON)
def test_a_garment_fits_and_has_the_same_shape_at_two_resolutions(outline, name) -> None:
    coarse, fine = (garment(outline, name, count, probe=400) for count in (400, 1000))
    for made, count in ((coarse, 400), (fine, 1000)):
        assert fault(made.mesh, outline.mesh, 0.002) == ""
        assert _loops(made.mesh) == made.loops
        assert _quality(made.mesh).min() > 0.35
        assert made.mesh.n_vertices == pytest.approx(count, rel=0.1)
        assert made.mesh.topology.n_faces_at_edge.max() == 2
    assert _areas(coarse.mesh).sum() == pytest.approx(_areas(fine.mesh).sum(), rel=0.01)
    drops = [made.mesh.vertices[made.top, 1].mean() - made.mesh.vertices[made.hem, 1].mean() for made in (coarse, fine)]
    assert drops[0] == pytest.approx(drops[1], rel=0.01, abs=1e-6)


def test_a_body_without_limbs_is_refused() -> None:
    with pytest.raises(Unfit, match="no legs"):
        garment(Outline(ball(0.5, 3), 40), "skirt", 200, probe=200)


def test_a_garment_that_touches_the_body_or_itself_is_at_fault() -> None:
    sheet, body = cloth(1.0, 1.0, 9), ball(0.2, 3)
    assert "mm from the body" in fault(sheet.moved(sheet.vertices + np.array([0.0, 0.2005, 0.0])), body, 0.002)
    assert "of the body intersect" in fault(sheet, body, 0.0)
    folded = sheet.vertices.copy()
    folded[0] = folded[40] + (0.03, -0.2, 0.02)
    folded[1] = folded[40] + (0.03, 0.2, 0.02)
    assert "pairs of its triangles intersect" in fault(sheet.moved(folded + np.array([0.0, 1.0, 0.0])), body, 0.002)


def test_garments_of_an_animal_fit(data) -> None:
    animal = Outline(characters.actor("fox", data).skin, 90)
    for name in characters.ANIMAL:
        assert fault(garment(animal, name, 400, probe=400).mesh, animal.mesh, 0.001) == ""
    assert {*characters.PERSON, *characters.ANIMAL} == set(MAKERS)


def test_a_flat_pattern_covers_its_region() -> None:
    turn = 2.0 * np.pi * np.arange(90) / 90
    way = np.stack([np.cos(turn), np.sin(turn)], 1)
    x, faces = pattern(way, [0.3 * way], 500)
    u, v = x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]
    areas = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    assert areas.min() > 0.0
    assert areas.sum() == pytest.approx(np.pi * (1.0 - 0.09), rel=0.01)
    assert np.linalg.norm(x, axis=1).min() == pytest.approx(0.3, rel=0.01)


def _sheet(height: float) -> Garment:
    """A sheet of 11 x 11 vertices, 1 cm apart."""
    mesh = cloth(0.1, 0.1, 11, centre=(0.0, height, 0.0))
    rows = np.arange(mesh.n_vertices)
    return Garment(mesh, (), rows[:11], rows[-11:], 1)


def test_a_known_stretch_is_measured() -> None:
    worn, skin = _sheet(0.2), box((0.2, 0.2, 0.2), 4)
    gauge = Gauge(worn, skin, EPS)
    x = worn.mesh.vertices.copy()
    x[:, 0] *= 1.05  # edges along x by 5 %, diagonals by 2.5 %, edges along z not at all
    found = gauge.measure(x, skin.welded.vertices)
    assert found.strain == pytest.approx((0.05, 0.05, 0.05), abs=1e-9)
    assert found.points == Penetration()
    assert (found.cloth_pairs, found.pairs) == (0, BodyPairs())
    x = worn.mesh.vertices.copy()
    x[0] += 0.004 * (x[0] - x[1]) / np.linalg.norm(x[0] - x[1])  # one edge by 40 %
    found = gauge.measure(x, skin.welded.vertices)
    assert found.strain[2] == pytest.approx(0.4, abs=1e-6)
    assert found.strain[0] == pytest.approx(0.0, abs=1e-9)


def test_a_known_depth_is_measured_and_so_is_the_drop() -> None:
    worn, skin = _sheet(0.1 - 0.003), box((0.3, 0.2, 0.3), 4)
    found = Gauge(worn, skin, EPS).measure(worn.mesh.vertices, skin.welded.vertices)
    assert found.points.depth == found.points.avoidable_depth == pytest.approx(0.003)
    assert found.points.deep == found.points.avoidable == worn.mesh.n_vertices + len(worn.mesh.topology.edges)
    assert found.drop == pytest.approx(0.0, abs=1e-12)
    lower = worn.mesh.vertices.copy()
    lower[worn.hem, 1] -= 0.05
    assert Gauge(worn, skin, EPS).measure(lower, skin.welded.vertices).drop == pytest.approx(0.05)


def test_points_between_two_near_surfaces_have_no_room() -> None:
    lower = box((0.3, 0.2, 0.3), 4)
    for gap, room in ((1.5 * EPS, False), (3.0 * EPS, True)):
        upper = lower.vertices + np.array([0.0, 0.2 + gap, 0.0])
        x = np.concatenate([lower.vertices, upper])
        faces = np.concatenate([lower.faces, lower.faces + lower.n_vertices])
        both = Mesh(x, faces, name="two boxes").welded
        worn = _sheet(0.1 - 0.003)
        depth, deep, pinched, _, avoidable = Gauge(worn, both, EPS).penetration(worn.mesh.vertices, both.vertices)
        total = worn.mesh.n_vertices + len(worn.mesh.topology.edges)
        assert (deep, pinched) == ((total, 0) if room else (0, total))
        assert avoidable == deep
        assert depth == pytest.approx(0.003 if room else 0.0)
        up = np.flatnonzero((both.vertices[both.faces][:, :, 1] == 0.1).all(1))
        free = leaves_room(both.vertices, both.faces, both.vertices[both.faces[up]].mean(1), up, 2.0 * EPS)
        assert free.all() == room


def test_known_intersections_are_counted() -> None:
    worn, skin = _sheet(0.1), box((0.2, 0.2, 0.2), 2)
    x = worn.mesh.vertices.copy()
    x[60] += (0.001, -0.02, 0.002)  # the middle dips into the body
    found = Gauge(worn, skin, EPS).measure(x + np.array([0.0, 0.005, 0.0]), skin.welded.vertices)
    assert found.pairs.counted == found.pairs.avoidable >= 6
    assert found.cloth_pairs == 0
    x[60] = x[0] + (0.004, 0.0, 0.003)
    assert Gauge(worn, skin, EPS).measure(x + np.array([0.0, 0.1, 0.0]), skin.welded.vertices).cloth_pairs > 0


def test_a_pair_has_room_where_it_crosses_not_in_the_middle_of_the_face() -> None:
    """Two triangles of 20 cm form the upper side of a box; a smaller box covers it on the left, centroids included."""
    lower, upper = box((0.2, 0.2, 0.2), 1), box((0.18, 0.1, 0.3), 1)
    x = np.concatenate([lower.vertices, upper.vertices + np.array([-0.05, 0.14, 0.0])])  # from x = -0.14 to 0.04
    both = Mesh(x, np.concatenate([lower.faces, upper.faces + lower.n_vertices]), name="two boxes").welded
    for at, room in ((0.07, True), (-0.07, False)):
        worn = _sheet(0.105)
        dipped = worn.mesh.vertices * 0.2 + np.array([at, 0.084, 0.0])  # 2 cm wide, 5 mm above the side
        dipped[60] -= (0.0, 0.01, 0.0)
        found = Gauge(worn, both, EPS).measure(dipped, both.vertices)
        counted, avoidable, apart = found.pairs if room else (found.pairs.pinched, found.pairs.avoidable, 0)
        assert counted >= 6
        assert apart == 0
        assert avoidable == found.pairs.counted


def _crease() -> Mesh:
    """A trunk, the half space below y = 0 of 40 cm, and an arm that stands in it at a right angle, x from 0 to 5 cm."""
    trunk, arm = box((0.4, 0.2, 0.4), 4, centre=(0.0, -0.1, 0.0)), box((0.05, 0.3, 0.38), 4, centre=(0.025, 0.1, 0.0))
    x = np.concatenate([trunk.vertices, arm.vertices])
    return Mesh(x, np.concatenate([trunk.faces, arm.faces + trunk.n_vertices]), name="arm in a trunk").welded


@pytest.mark.parametrize(("times", "touchable"), [(0.9, False), (0.95, False), (1.0, True), (1.1, True)])
def test_a_ball_in_a_right_angle_touches_what_is_a_radius_off_the_crease(times, touchable) -> None:
    skin = _crease()
    room = Room(skin, EPS)
    room.update(skin.vertices)
    trunk = np.flatnonzero((skin.vertices[skin.faces][:, :, 1] == 0.0).all(1))
    arm = np.flatnonzero((skin.vertices[skin.faces][:, :, 0] == 0.0).all(1))
    arm = arm[skin.vertices[skin.faces[arm]][:, :, 1].max(1) > 0.0]
    for faces, place in ((trunk, (-times * EPS, 0.0, 0.011)), (arm, (0.0, times * EPS, 0.011))):
        corners = skin.vertices[skin.faces[faces]]
        (one,) = [f for f, c in zip(faces, corners, strict=True) if _contains(c, np.array(place))]
        assert room.exists(np.array([place]), np.array([one])).all()  # a segment along the normal meets nothing
        assert room.is_touchable(np.array([place]), np.array([one])).all() == touchable


def _contains(corners: np.ndarray, point: np.ndarray) -> bool:
    weights = wearing.barycentric(corners[None], point[None])[0]
    return bool((weights >= -1e-9).all() and np.allclose(weights @ corners, point))


def _strip(x: list[float], y: list[float]) -> Garment:
    """A strip of 2 cm along z with columns of vertices at x, y."""
    made = cloth(1.0, 0.02, (len(x), 3), centre=(0.0, 0.0, 0.003))
    column = np.rint((made.vertices[:, 0] + 0.5) * (len(x) - 1)).astype(int)
    placed = np.column_stack([np.array(x)[column], np.array(y)[column], made.vertices[:, 2]])
    return Garment(made.moved(placed), (), np.arange(3), np.arange(3), 1)


def _measured(worn: Garment, skin: Mesh) -> Measured:
    return Gauge(worn, skin, EPS).measure(worn.mesh.welded.vertices, skin.vertices)


@pytest.mark.parametrize(("times", "avoidable"), [(0.8, False), (0.95, False), (1.1, True), (4.0, True)])
def test_a_pair_is_avoidable_where_a_ball_can_touch_the_body_and_not_nearer_to_the_crease(times, avoidable) -> None:
    """A strip leaves the arm at a height over the trunk; its corners inside of the arm are nearest to the place where
    it does, so that nothing else excuses its pairs."""
    worn = _strip([-0.037, -0.027, -0.017, -0.007, 0.003], [times * EPS] * 5)
    found = _measured(worn, _crease()).pairs
    assert found.counted > 0
    assert found.avoidable == (found.counted if avoidable else 0)


@pytest.mark.parametrize(("times", "implied"), [(2.5, True), (5.0, False)])
def test_an_edge_from_a_corner_without_room_may_leave_near_the_crease_but_not_in_free_space(times, implied) -> None:
    """From a corner in the overlap, an edge leads out through the arm, at a height over the trunk."""
    slope = (times * EPS + 0.002) / 0.006
    x = np.array([[0.006, -0.002, 0.003], [-0.01, 0.016 * slope - 0.002, 0.003], [-0.01, 0.016 * slope, 0.013]])
    worn = Garment(Mesh(x, np.array([[0, 1, 2]]), name="one triangle"), (), np.arange(1), np.arange(1), 1)
    found = _measured(worn, _crease()).pairs
    assert found.counted > 0
    assert found.avoidable == (0 if implied else found.counted)


def test_cloth_that_passes_through_an_arm_into_free_space_is_avoidable() -> None:
    """Edges of 8 cm lead from corners in the overlap through the arm and out of its other side: neither these corners
    nor the crease excuse the pairs there, nor the midpoints inside of the arm."""
    skin, x, y = _crease(), [-0.055, 0.005, 0.065], [0.02, -0.002, 0.08]
    through, before = _measured(_strip(x, y), skin), _measured(_strip(x[:2], y[:2]), skin)
    assert before.pairs.counted > 0
    assert before.pairs.avoidable == before.points.avoidable == 0
    assert through.pairs.avoidable > 0
    assert through.points.avoidable > 0


GOOD = {
    "character": "mannequin",
    "garment": "skirt",
    "wanted": 1296,
    "particles": 1296,
    "solver": "xpbd",
    "self_contact": "safe",
    "strain_95": 0.9,
    "strain_most": 2.9,
    "depth_mm": 0.0,
    "deep": 0,
    "avoidable_mm": 0.0,
    "avoidable": 0,
    "cloth_pairs": 0,
    "body_pairs": 0,
    "avoidable_pairs": 0,
    "period_ms": 16.0,
    "period_cpu_ms": 30.0,
    "drop": 1.0,
    "state": "",
}


@pytest.mark.parametrize(
    ("change", "bar", "verdict"),
    [
        ({}, "strain", "stretch"),
        ({"strain_95": 1.9}, "strain", "must"),
        ({"strain_most": 6.1}, "strain", "missed"),
        ({"depth_mm": 0.5, "avoidable_mm": 0.5}, "room", "must"),
        ({"depth_mm": 2.0, "deep": 1}, "room", "stretch"),
        ({"depth_mm": 2.0, "deep": 1, "avoidable_mm": 2.0, "avoidable": 1}, "room", "missed"),
        ({"body_pairs": 1}, "pairs", "stretch"),
        ({"body_pairs": 1, "avoidable_pairs": 1}, "pairs", "missed"),
        ({"cloth_pairs": 1}, "pairs", "missed"),
        ({"state": "not finite"}, "finite", "missed"),
        ({"period_ms": 20.0}, "cost", "must"),
        ({"period_ms": 40.0, "period_cpu_ms": 34.0}, "cost", "missed"),
    ],
)
def test_a_run_is_judged_by_every_bar(change, bar, verdict) -> None:
    (row,) = verdicts.judged([GOOD | change])
    assert row[f"bar_{bar}"] == verdict
    assert row["verdict"] == verdict


def test_runs_without_figures_are_missed_unless_nothing_fits() -> None:
    about = {"character": "robot", "garment": "skirt", "wanted": 1000}
    late, unfit = verdicts.judged([about | {"state": "no end in time"}, about | {"state": "unfit: no legs"}])
    assert (late["bar_finite"], late["verdict"]) == ("missed", "missed")
    assert unfit["verdict"] == ""


def test_length_and_slope_compare_the_sizes_of_one_garment() -> None:
    fine = GOOD | {"particles": 12_960, "period_ms": 160.0, "period_cpu_ms": 300.0, "drop": 1.0}
    rows = verdicts.judged([GOOD | {"drop": 1.03}, fine])
    assert rows[0]["drop_percent"] == pytest.approx(3.0)
    assert (rows[0]["bar_length"], rows[1]["bar_length"]) == ("missed", "stretch")
    (grown,) = verdicts.growth(rows)
    assert grown["slope"] == pytest.approx(1.0)
    assert (grown["bar_slope"], grown["bar_length"]) == ("must", "missed")


def test_the_allowed_cost_is_that_of_the_bars_and_between_them_interpolated() -> None:
    assert verdicts.allowed("must", 10_000) == pytest.approx(150.0)
    assert verdicts.allowed("stretch", 40_000) == pytest.approx(300.0)
    assert verdicts.allowed("must", 20_000) == pytest.approx(np.sqrt(150.0 * 1000.0))


def test_only_what_was_asked_for_runs_and_absent_characters_are_left_out(tmp_path) -> None:
    choice = gauntlet.Choice(only=("mannequin/t-shirt",), sizes=(300, 600), solver="implicit")
    found = list(gauntlet.runs(choice, False, tmp_path))
    assert [(run.character, run.garment, run.particles) for run in found] == [
        ("mannequin", "T-shirt", 300),
        ("mannequin", "T-shirt", 600),
    ]
    assert {run.solver for run in found} == {"implicit"}
    everything = list(gauntlet.runs(gauntlet.Choice(), True, tmp_path))
    assert {run.character for run in everything} == {"mannequin", "mannequin sequence"}
    assert set(characters.absent(tmp_path)) == set(characters.NAMES) - {"mannequin", "mannequin sequence"}
    with pytest.raises(ValueError, match="no such character and garment here"):
        gauntlet.gauntlet_tables(gauntlet.Choice(only=("sofa",)), quick=True, folder=tmp_path, progress=print)


def test_garments_hang_without_and_with_self_contact_from_a_body_at_rest(tmp_path) -> None:
    choice = gauntlet.Choice(sizes=(300,), hanging=True)
    found = list(hanging.runs(choice, False, gauntlet.runs(choice, False, tmp_path)))
    assert {(run.garment, run.self_contact, run.still) for run in found} == {
        (name, mode, True) for name in hanging.GARMENTS for mode in hanging.MODES
    }
    assert {run.character for run in found} == {"mannequin"}


def test_the_spread_of_hanging_lengths_is_told() -> None:
    rows = [{"garment": "cape", "character": "robot", "self_contact": "off", "wanted": 1} for _ in range(3)]
    for row, (particles, drop) in zip(rows, ((1000, 1.03), (4000, 1.01), (9000, 1.0)), strict=True):
        row |= {"particles": particles, "drop": drop}
    table = hanging.Table(hanging.NAME, "", hanging.COLUMNS, rows)
    (text,) = gauntlet.findings([table], None)
    assert "1.0000 to 1.0300 m at 1000 to 9000 particles, a spread of 3.0 %, beyond 2 %" in text


def test_a_cape_hangs_from_the_shoulders_and_a_skirt_from_the_waist() -> None:
    for name, share in (("cape", 0.5), ("skirt", 1.0)):
        run = Run("mannequin", name, 150, detail=0.7, still=True)
        worn = wearing.tailored(run)
        (grip,) = wearing.scene(run, worn).bodies[0].grips
        assert np.isin(worn.top, grip.rows).mean() >= share
        assert not np.isin(worn.hem, grip.rows).any()


def hang(_: object) -> None:
    time.sleep(60.0)


@pytest.mark.parametrize(("serve", "state"), [(id, "the process ended"), (hang, "no end in time")])
def test_a_run_that_dies_or_hangs_is_a_row_that_says_so(serve, state) -> None:
    worker = Worker(serve, tailoring=0.5 if serve is hang else 30.0)
    row = worker.run((Run("mannequin", "skirt", 300), None), 1.0, print)
    worker.stop()
    assert row["state"].startswith(state)
    assert row["garment"] == "skirt"


@pytest.mark.compiled
@pytest.mark.parametrize("character", ["mannequin", "mannequin sequence"])
def test_a_short_run_is_measured_and_drawn(tmp_path, character, monkeypatch) -> None:
    from pliant_bench.garments import running

    run = Run(character, "skirt", 150, frames=22, detail=0.7, self_contact="safe")
    monkeypatch.setattr(running, "SHOWN", 2)
    drawn = tmp_path / "sheet.png" if character == "mannequin" else None
    row = running.run_one(run, drawn)
    assert (row["frames"], row["lost"], row["state"], row["self_contact"]) == (2, 0, "", "safe")
    assert 0.0 < row["strain_95"] < row["strain_most"]
    assert (row["cloth_pairs"], row["body_pairs"], row["deep"]) == (0, 0, 0)
    assert row["period_ms"] > 0.0
    assert 0.5 < row["drop"] < 0.8
    assert drawn is None or drawn.stat().st_size > 10_000
    table = verdicts.judged([row])
    assert table[0]["bar_finite"] == "stretch"
