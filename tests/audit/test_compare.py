"""Every method against what is exactly there; and a referee that is right itself, and sees what is wrong."""

import numpy as np
import pytest

import naive
import pliant
from conftest import DATA, cases
from pliant import Mesh, shapes
from pliant.audit import reference_contacts
from pliant.audit.compare import compare
from pliant.audit.compared_states import of_clips
from pliant.audit.comparison import Comparison, Role, row_of
from pliant.audit.comparison_page_data import shown
from pliant.audit.footprint import nbytes
from pliant.audit.verdicts import Verdict, added
from pliant.contacts import EDGE_EDGE, VERTEX_FIELD
from pliant.detect.base import Finds
from pliant.detect.detectors.bone_fields import BoneFieldsDetector
from pliant.detect.detectors.brute_force import BruteForceDetector
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.detectors.height_grid import HeightGridDetector
from pliant.detect.detectors.image_space import ImageSpaceDetector
from pliant.detect.detectors.spatial_hash import SpatialHashDetector
from pliant.detect.methods import METHODS
from pliant.detect.options import parse_method
from pliant.errors import TooBigError
from pliant.motion.clip import Clip
from pliant.report.compare_page import compare_page
from pliant.scenes import SCENES

BALL = shapes.ball(0.1, 2)
FAST = ("bvh", "distance-field", "image-space", "active-pairs")


def sheet(height: float, count: int = 9, side: float = 0.24) -> Mesh:
    """A cloth with waves, partly inside the ball at a height below 0.1."""
    cloth = shapes.cloth(side, side, count)
    x = cloth.vertices + np.array([0.003, height, 0.001])
    x[:, 1] += 0.012 * np.sin(40.0 * x[:, 0])
    return cloth.moved(x)


def folded() -> Mesh:
    cloth = shapes.cloth(0.2, 0.2, 9)
    x = cloth.vertices.copy()
    right = x[:, 0] > 0.0
    x[right, 0] *= -1.0
    x[right, 1] += 0.004 + 0.02 * np.abs(x[right, 0])
    return cloth.moved(x)


def likely(rng, count, corners):
    """Points of the kinds that a mesh has: none is 1e100 metres away."""
    p = naive.awkward(rng, 4 * count, corners)
    sane = (np.abs(p).max((1, 2)) < 1e3) & (np.abs(p - p[:, :1]).max((1, 2)) > 1e-3)
    return p[sane][:count]


def test_the_referee_measures_vertices_and_triangles_as_fractions_do(rng):
    for p in likely(rng, cases(150), 4):
        exact = naive.root(naive.point_triangle2(*p))
        got = np.linalg.norm(reference_contacts.from_triangles(p[None, 0], p[None, 1:]))
        assert got == pytest.approx(exact, rel=1e-6, abs=1e-6 * np.abs(p - p[0]).max())


def test_the_referee_measures_edges_as_fractions_do(rng):
    for p in likely(rng, cases(150), 4):
        exact = naive.root(naive.edge_edge2(*p))
        got = np.linalg.norm(reference_contacts.between_segments(*(p[None, k] for k in range(4))))
        assert got == pytest.approx(exact, rel=1e-6, abs=1e-6 * np.abs(p - p[0]).max())


def test_the_swept_boxes_lose_no_pair(rng):
    x, corners = rng.uniform(size=(60, 3)), rng.uniform(size=(40, 1, 3)) + rng.normal(size=(40, 3, 3)) * 0.1
    y, faces = corners.reshape(-1, 3), np.arange(120).reshape(-1, 3)
    near = reference_contacts.near_faces(x, y, faces, 0.08)
    every = np.stack(np.meshgrid(np.arange(60), np.arange(40), indexing="ij"), -1).reshape(-1, 2)
    d = np.linalg.norm(reference_contacts.from_triangles(x[every[:, 0]], corners[every[:, 1]]), axis=1)
    np.testing.assert_array_equal(near.pairs, every[d <= 0.08])
    assert len(near.pairs) > 20


def test_the_referee_knows_who_is_in_a_tet(rng):
    x, tets = rng.normal(size=(20, 4, 3)).reshape(-1, 3), np.arange(80).reshape(-1, 4)
    points = rng.normal(size=(30, 3)) * 0.6
    sure, perhaps = reference_contacts.in_tets(points, x, tets)
    inside = [any(naive.point_in_tetra(p, *x[tet]) for tet in tets) for p in points]
    np.testing.assert_array_equal(sure, np.flatnonzero(inside))
    np.testing.assert_array_equal(perhaps, sure)


def test_solid_angles_wind_once_around_what_is_inside(rng):
    points = rng.uniform(-0.15, 0.15, (50, 3))
    np.testing.assert_allclose(
        reference_contacts.winding(points, BALL.vertices, BALL.faces), naive.winding_number(points, BALL), atol=1e-9
    )


@pytest.mark.compiled
def test_every_method_on_a_cloth_in_a_ball_keeps_what_it_promises():
    found = compare(sheet(0.09), BALL, within=0.012)
    (role,) = found.roles
    able = [name for name, method in METHODS.items() if method.finds & Finds.OBSTACLE]
    assert {row.method.split(":")[0] for row in role.rows} == set(able)
    assert [unfit.name for unfit in role.unfit] == ["spatial-hash:hash=xor"]  # which has a use for tets alone
    assert len(role.rows) == len(able) + sum(len(METHODS[name].variants) for name in able) - 1 >= len(able) + 2
    assert found.broken == []
    for row in role.rows:
        assert row.expected > 5, row.method
        assert row.guarantee != "A" or (row.recall, row.extra, row.depth_max < 1e-12) == (1.0, 0, True)
        assert row.depth_max <= row.bound + 1e-9 or row.guarantee == "C" or row.method == "height-grid"


@pytest.mark.compiled
def test_self_contact_lists_those_that_cannot_find_it_with_their_reason():
    found = compare(folded(), within=0.01)
    (role,) = found.roles
    assert found.broken == []
    why = {unfit.name: unfit.why for unfit in role.unfit}
    assert why["distance-field"] == why["height-grid"] == why["bone-boxes"] == "finds obstacle only"
    assert "closed mesh" in why["image-space"]
    assert {label.split(":")[0] for label in (*(row.method for row in role.rows), *why)} == set(METHODS)
    assert found.row("bvh").expected == found.row("brute-force").found > 50


@pytest.mark.compiled
def test_bodies_of_tets_are_judged_by_who_is_inside_whom():
    one, two = shapes.tet_ball(0.1), shapes.tet_ball(0.1, centre=(0.15, 0.01, 0.0))
    found = compare(one, two, methods=["spatial-hash", "image-space"])
    hashed, layers = found.row("spatial-hash"), found.row("image-space")
    assert (hashed.kind, layers.kind) == ("tets", "inside")
    assert hashed.expected >= layers.expected > 5
    assert found.broken == []


@pytest.mark.compiled
def test_a_cloth_that_passes_a_ball_between_two_frames_is_met_by_continuous_detection_alone():
    small = shapes.ball(0.02, 1)
    frames = np.stack([sheet(height, 5).vertices for height in (0.06, -0.06)])
    found = compare(Clip(sheet(0.06, 5), frames), small, within=0.002, methods=["continuous", "bvh"])
    assert found.broken == []
    assert found.row("bvh").expected == 0
    assert found.row("continuous").expected > 5


@pytest.mark.parametrize(("frames", "times"), [(8, range(0, 15, 2)), (3, [0, 7, 14]), (40, range(15)), (1, [0])])
def test_the_frames_of_an_animation_are_spread_over_all_of_it(frames, times):
    cloth = sheet(0.09, 3)
    clip = Clip(cloth, np.stack([cloth.vertices] * 15))
    assert [state.time for state in of_clips(clip, None, frames, None).states] == list(times)


class Tired(BruteForceDetector):
    """Refuses to answer for want of memory, the second time."""

    name, asked = "bvh", 0

    def find(self, state):
        self.asked += 1
        if self.asked > 1:
            raise TooBigError("would need 9 TB")
        return super().find(state)


@pytest.mark.parametrize("count", [1, 2], ids=["when timed", "when asked"])
def test_a_method_that_cannot_answer_does_not_end_the_comparison_of_others(count, monkeypatch):
    monkeypatch.setitem(METHODS, "bvh", Tired)
    cloth = sheet(0.09, 3)
    clip = Clip(cloth, np.stack([cloth.vertices] * count))
    (role,) = compare(clip, BALL, within=0.012, methods=["bvh", "brute-force"]).roles
    assert [row.method for row in role.rows] == ["brute-force"]
    assert [(unfit.name, unfit.why) for unfit in role.unfit] == [("bvh", "would need 9 TB")]


class Forgetful(BruteForceDetector):
    """Loses a contact."""

    def find(self, state):
        return super().find(state)[1:]


class Inventive(BruteForceDetector):
    """Reports what is near twice as near as asked for."""

    def find(self, state):
        self.within *= 2.0
        try:
            return super().find(state)
        finally:
            self.within *= 0.5


class Stammering(BruteForceDetector):
    """Says one thing twice."""

    def find(self, state):
        found = super().find(state)
        return np.concatenate([found, found[:1]])


class Shallow(BruteForceDetector):
    """Has distances wrong."""

    def find(self, state):
        found = super().find(state)
        found["distance"] += 1e-4
        return found


class Coarse(DistanceFieldDetector):
    """Leaves its bound."""

    def find(self, state):
        found = super().find(state)
        found["distance"] += self.field.spacing
        return found


class Blind(DistanceFieldDetector):
    """Sees no vertex with an even number."""

    def find(self, state):
        found = super().find(state)
        return found[found["elements"][:, 0] % 2 == 1]


class Echoing(ImageSpaceDetector):
    """Says one thing twice."""

    def find(self, state):
        found = super().find(state)
        return np.concatenate([found, found[:1]])


class Undecided(BruteForceDetector):
    """Of a vertex deep inside it names every face that is nearest."""

    def find(self, state):
        found = super().find(state)
        more = found[(found["kind"] != EDGE_EDGE) & (found["distance"] < -self.within)][:1].copy()
        more["elements"][:, 1] ^= 1
        return np.concatenate([found, more])


class Wild(HeightGridDetector):
    """Reports what is far from everything."""

    def find(self, state):
        found = super().find(state)
        more = found[:1].copy()
        more["kind"], more["elements"][:, 0] = (
            VERTEX_FIELD,
            np.argmax(np.linalg.norm(state.x[self.deformable.rows], axis=1)),
        )
        return np.concatenate([found, more])


@pytest.mark.compiled
@pytest.mark.parametrize(
    "liar", [Forgetful, Inventive, Stammering, Shallow, Coarse, Blind, Wild, Echoing], ids=lambda c: c.__name__
)
def test_a_method_that_does_not_keep_its_promise_is_caught(liar, monkeypatch):
    monkeypatch.setitem(METHODS, liar.name, liar)
    found = compare(sheet(0.09, 17, 0.6), BALL, within=0.012, methods=[liar.name])
    assert not found.row(liar.name).kept
    assert liar.name in found.broken[0]
    assert not found.to_json()["kept"]


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["distance-field:midpoints=false,spacing=0.001", "bone-boxes:midpoints=false"])
def test_a_method_of_vertices_alone_is_judged_by_vertices_alone(method, monkeypatch):
    found = compare(sheet(0.09), BALL, within=0.012, methods=[method, "bone-boxes"])
    alone, both = found.row(parse_method(method).text), found.row("bone-boxes")
    assert (alone.kind, alone.missed, alone.extra, found.broken) == ("vertices", 0, 0, [])
    assert 5 < alone.expected < both.expected
    monkeypatch.setitem(METHODS, "distance-field", Blind)
    lost = compare(sheet(0.09), BALL, within=0.012, methods=["distance-field:midpoints=false,spacing=0.001"])
    assert "distance-field" in lost.broken[0]


def spoiled(field, value):
    class Spoiled(BruteForceDetector):
        """Writes something wrong into its second record."""

        def find(self, state):
            found = super().find(state)
            found[field][1] = value
            return found

    return Spoiled


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("normal", (0.0, 2.0, 0.0), "a unit vector"),
        ("normal", np.nan, "a unit vector"),
        ("weights", 0.3, "sum 0"),
        ("vertices", 10_000, "rows of state.x, 0 to"),
        ("vertices", -1, "at least one row of state.x"),
        ("elements", 10_000, "the index of a vertex"),
        ("bodies", 7, "the bodies of the two sides"),
        ("distance", np.nan, "a finite number of metres"),
        ("kind", 9, "expected one of 0..3"),
    ],
)
def test_records_that_are_no_contacts_are_one_clear_error(field, value, expected, monkeypatch):
    monkeypatch.setitem(METHODS, "brute-force", spoiled(field, value))
    with pytest.raises(ValueError, match=f"method 'brute-force'.*{field}.*{expected}"):
        compare(sheet(0.09), BALL, within=0.012, methods=["brute-force"])


def test_what_is_not_an_array_of_records_is_one_clear_error(monkeypatch):
    monkeypatch.setitem(METHODS, "brute-force", type("Listing", (BruteForceDetector,), {"find": lambda self, _: [1]}))
    with pytest.raises(ValueError, match=r"method 'brute-force': find\(\).*expected contact records"):
        compare(sheet(0.09), BALL, within=0.012, methods=["brute-force"])


@pytest.mark.parametrize("self_contact", [True, False])
def test_a_distance_larger_than_the_meshes_is_refused_before_anything_is_computed(self_contact):
    with pytest.raises(ValueError, match=r"within = 5 m is larger than the meshes \(.* m across\); did you mean 5mm"):
        compare(sheet(0.09), *(() if self_contact else (BALL,)), within=5.0)


@pytest.mark.compiled
def test_without_contacts_there_is_no_recall():
    row = compare(sheet(0.115), BALL, within=0.01, methods=["image-space"]).row("image-space")
    assert (row.expected, row.plain()["recall"], row.kept) == (0, None, True)
    assert np.isnan(row.recall)
    assert "array(" not in repr(row)


@pytest.mark.compiled
def test_notes_say_what_is_not_judged_and_the_verdict_is_one_sentence(monkeypatch):
    found = compare(sheet(0.09), BALL, within=0.012, methods=["height-grid", "sphere-surface", "active-pairs"])
    for method, words in (
        ("height-grid", "its distances are estimates, whose errors are shown but not judged"),
        ("sphere-surface", "vertices deeper than the distance are not its task"),
        ("active-pairs", "weighted by how often samples reach them"),
    ):
        assert words in found.row(method).note
    assert found.verdict == "3 methods over one state: all of class A are exact, and none exceeds its bound."
    monkeypatch.setitem(METHODS, "brute-force", Forgetful)
    lost = compare(sheet(0.09), BALL, within=0.012, methods=["brute-force"])
    assert lost.verdict == "1 method over one state: 1 guarantee is violated."


@pytest.mark.compiled
def test_points_deeper_than_a_method_searches_are_out_of_its_range():
    found = compare(sheet(0.06), BALL, within=0.006, methods=["bone-boxes:deep=false", "bone-boxes"])
    shallow, deep = found.row("bone-boxes:deep=false"), found.row("bone-boxes")
    assert found.broken == []
    assert shallow.expected + shallow.unreached == deep.expected
    assert min(shallow.expected, shallow.unreached) > 5


def test_a_vertex_deep_inside_is_reported_against_one_of_the_faces_that_are_nearest(monkeypatch):
    monkeypatch.setitem(METHODS, "brute-force", Undecided)
    inner, outer = shapes.box(0.02, 1), shapes.box(1.0, 1)
    found = compare(inner, outer, within=0.1, methods=["brute-force"])
    assert (found.row("brute-force").missed, found.row("brute-force").extra) == (0, 1)


@pytest.mark.compiled
def test_the_middle_of_an_edge_deep_inside_is_not_asked_of_a_field_that_sees_neither_end():
    block, hole = shapes.box(1.0, 1), shapes.ball(0.005, 1)  # the middle is 8 cells from the hole, the ends are 9.4
    faces = np.concatenate([block.faces, hole.faces[:, ::-1] + block.n_vertices])
    body = Mesh(np.concatenate([block.vertices, hole.vertices]), faces)
    cloth = Mesh([[-0.05, 0.085, 0.0], [0.05, 0.085, 0.0], [0.0, 0.17, 0.0]], [[0, 1, 2]])
    row = compare(cloth, body, within=0.01, methods=["distance-field"]).row("distance-field")
    assert (row.kept, row.expected, row.unreached) == (True, 0, 6)


@pytest.mark.compiled
@pytest.mark.parametrize("alone", [False, True])
def test_a_vertex_that_is_told_to_be_in_tets_twice_is_extra(alone, monkeypatch):
    class Twice(SpatialHashDetector):
        def find(self, state):
            found = super().find(state)
            return np.concatenate([found, found[:1]])

    monkeypatch.setitem(METHODS, "spatial-hash", Twice)
    one, two = shapes.tet_ball(0.1), shapes.tet_ball(0.1, centre=(0.15, 0.01, 0.0))
    both = Mesh(
        np.concatenate([one.vertices, two.vertices]),
        np.concatenate([one.faces, two.faces + one.n_vertices]),
        tets=np.concatenate([one.tets, two.tets + one.n_vertices]),
    )
    row = compare(*((both,) if alone else (one, two)), methods=["spatial-hash"]).row("spatial-hash")
    assert (row.kind, row.missed, row.extra, row.beyond) == ("tets", 0, 1, 1)


def ruling(bound: float, extra: int = 0) -> Verdict:
    nowhere, nothing = np.zeros((0, 3)), np.zeros(0)
    return Verdict(1, np.zeros((1, 3)), nowhere, np.zeros((extra, 3)), extra, 0, nothing, nothing, bound)


def test_a_stated_bound_is_the_largest_whatever_the_order_of_those_that_state_none():
    none = float("nan")
    for bounds in ([none, 0.2, 0.1], [0.1, 0.2, none], [0.2, none, 0.1]):
        assert added([ruling(bound) for bound in bounds]).bound == 0.2
    assert np.isnan(added([ruling(none), ruling(none)]).bound)
    assert added([]).bound == 0.0


def test_over_several_bodies_the_strictest_class_counts_and_no_bound_is_not_called_exact():
    figures = {"seconds": 0.0, "build": 0.0, "size": 0, "estimate": 0.0, "query_counts": (2, 2), "refused": ""}
    detectors = [type("Stated", (kind,), {"remark": ""}) for kind in (BoneFieldsDetector, DistanceFieldDetector)]
    row = row_of("distance-field", detectors, "points", [[ruling(float("nan")), ruling(0.01)]], **figures)
    assert (row.guarantee, row.bound) == ("B", 0.01)
    lost = row_of("distance-field", detectors[:1], "points", [[ruling(float("nan"), extra=1)]], **figures)
    (said,) = Comparison("", (Role("obstacle", ("",), 0.01, (lost,), ()),), (), ()).broken
    assert "distance-field (C, no bound stated)" in said


@pytest.mark.compiled
def test_the_same_seed_gives_the_same_figures():
    def figures(seed: int) -> list[tuple[int, int, int, float]]:
        found = compare(folded(), within=0.01, seed=seed, methods=["active-pairs", "stochastic-bvh"])
        return [(row.expected, row.found, row.missed, row.depth_mean) for role in found.roles for row in role.rows]

    assert figures(3) == figures(3)


@pytest.mark.compiled
def test_states_of_a_scene_are_those_of_its_run():
    scene = SCENES["tablecloth-on-ball"](resolution=10, eps=None)
    found = compare(scene, frames=2, every=12, methods=FAST)
    assert [state.time for state in found.states] == pytest.approx([0.12, 0.24])
    assert [role.role for role in found.roles] == ["obstacle", "self"]
    assert found.roles[0].within == 2.0 * scene.eps
    assert dict(found.picks)["obstacle"].name == "distance-field"
    assert found.broken == []


@pytest.mark.compiled
def test_pictures_show_what_is_missed_in_red_and_what_is_extra_in_blue(monkeypatch):
    monkeypatch.setitem(METHODS, Forgetful.name, Forgetful)
    monkeypatch.setitem(METHODS, "bvh", Inventive)
    found = compare(sheet(0.09), BALL, within=0.012, methods=["brute-force", "bvh"])
    page = shown(found)
    red, blue = (shot.pixels.astype(int) for shot in page.parts[0].shots)
    spot = lambda p, k: ((p[..., k] > 140) & (np.delete(p, k, 2).max(2) < 0.62 * p[..., k])).sum()  # noqa: E731
    assert spot(red, 0) > 5 > spot(red, 2)
    assert spot(blue, 2) > 50 > spot(blue, 0)
    text = compare_page(page)
    assert text.count("data:image/png;base64,") == 2
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_memory_counts_every_array_once_and_none_of_the_meshes():
    mesh, own = BALL, np.zeros(1000)
    assert nbytes({"a": own, "b": [own[:10], (own[::2],)], "mesh": mesh.vertices}, (mesh,)) == own.nbytes


@pytest.mark.long
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "every"),
    [("tablecloth-on-bust", 20), ("walking-skirt", 40), ("cylinders", 12), ("cloth-on-box-corner", 20)],
)
def test_whole_scenes_find_no_method_that_breaks_its_promise(name, every):
    found = compare(SCENES[name](eps=None), frames=4, every=every)
    assert found.broken == []
    assert {row.method.split(":")[0] for role in found.roles for row in role.rows} == set(METHODS)


@pytest.mark.long
@pytest.mark.compiled
def test_a_sheet_through_the_bunny_is_found_by_every_method_as_the_oracle_has_it():
    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    with np.load(DATA / "oracles" / "bunny_sheet_dev.npz") as saved:
        oracle = dict(saved)
    bunny = pliant.load(DATA / "meshes" / "bunny_69451.ply")  # open below
    bunny = bunny.moved((bunny.vertices - oracle["centre"]) / oracle["scale"])
    found = compare(Mesh(oracle["sheet_vertices"], oracle["sheet_faces"], name="sheet"), bunny, within=0.01)
    assert found.broken == []
    field, near = found.row("distance-field"), found.row("bone-boxes")
    assert field.expected + field.unreached > 745  # vertices inside by the oracle, and middles of edges
    assert near.expected > 100
    assert [unfit.name for unfit in found.roles[0].unfit] == ["image-space"]


def test_contacts_found_at_the_limit_of_the_distance_are_said_to_be_more_than_there():
    below, above = (shapes.cloth(0.2, 0.2, 3, centre=(0.0, height, 0.0)) for height in (0.0, 0.25))
    row = compare(below, above, within=0.25, methods=["brute-force"]).row("brute-force")
    assert (row.expected, row.missed, row.extra, row.kept) == (0, 0, 0, True)
    assert row.found > 100
    assert row.note == f"{row.found} of those found are at the limit, where rounding decides, and do not count as there"


@pytest.mark.compiled
def test_a_point_that_is_reported_twice_is_found_once(monkeypatch):
    class Twice(DistanceFieldDetector):
        def find(self, state):
            found = super().find(state)
            return np.concatenate([found, found[:1]])

    def row():
        return compare(sheet(0.09), BALL, within=0.012, methods=["distance-field"]).row("distance-field")

    once = row()
    monkeypatch.setitem(METHODS, "distance-field", Twice)
    twice = row()
    assert once.found > 0
    assert (twice.found, twice.extra) == (once.found, once.extra + 1)
