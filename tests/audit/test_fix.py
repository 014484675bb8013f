"""`fix`: out of the body, out of itself, as little as needed, and never worse."""

import numpy as np
import pytest

from conftest import cases
from pliant import Clip, Mesh, closest_point, intersections, shapes
from pliant.audit.fix import fix
from pliant.audit.layers import Layers
from pliant.audit.repair import Repair
from pliant.audit.score import Score
from pliant.audit.untangle import PASSES, Untangler

pytestmark = pytest.mark.compiled


def tunic(radius: float = 0.104, n: int = 24, high: int = 12) -> Mesh:
    """A tube around the y axis, 0.12 m high."""
    angle, y = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.linspace(-0.06, 0.06, high))
    x = np.stack([radius * np.cos(angle), y, radius * np.sin(angle)], -1).reshape(-1, 3)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(high - 1)))
    a, b = i + n * j, (i + 1) % n + n * j
    faces = np.concatenate([np.stack([a, a + n, b], 1), np.stack([b, a + n, b + n], 1)])
    return Mesh(x, faces.astype(np.int32), name="tunic")


def shifted(mesh: Mesh, by: tuple[float, float, float]) -> Mesh:
    return mesh.moved(mesh.vertices + np.array(by))


def crumpled(seed: int, n: int = 20) -> Mesh:
    """A square metre bent by six waves of random direction, through itself or not."""
    rng = np.random.default_rng(seed)
    sheet = shapes.cloth(1.0, 1.0, n)
    at = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, n)] * 2), -1).reshape(-1, 2)
    x = np.stack([at[:, 0], np.zeros(n * n), at[:, 1]], 1)
    size = rng.uniform(0.12, 0.3)
    for _ in range(6):
        wave, phase = rng.normal(size=2) * rng.uniform(3, 9), rng.uniform(0, 2 * np.pi)
        x += 0.5 * size * rng.normal(size=3) * np.sin(at @ wave + phase)[:, None]
    return sheet.moved(x)


def depth(fixed, body: Mesh, t: int = 0) -> float:
    return -float(closest_point(body, fixed.garment.at(t))[0].min())


@pytest.fixture(scope="module")
def ball() -> Mesh:
    return shapes.ball(0.1, 3)


def test_a_garment_that_was_shifted_3_cm_into_the_body_is_outside_and_only_that_side_has_moved(ball):
    garment = shifted(tunic(), (0.03, 0.0, 0.0))
    fixed = fix(garment, ball, clearance=0.001)
    assert depth(garment_of(garment), ball) > 0.02
    assert depth(fixed, ball) <= -0.001 + 1e-6
    far = garment.vertices[:, 0] > 0.11
    assert fixed.moved[0, far].max() < 0.2 * fixed.moved.max()


def garment_of(mesh: Mesh):
    return type("Given", (), {"garment": Clip(mesh, mesh.vertices[None])})()


def test_a_body_that_is_inside_out_is_the_same_body(ball):
    garment = shifted(tunic(), (0.02, 0.0, 0.0))
    turned = Mesh(ball.vertices, ball.faces[:, ::-1])
    one, two = fix(garment, ball), fix(garment, turned)
    np.testing.assert_allclose(one.garment.frames, two.garment.frames, atol=1e-9)


def test_a_body_with_a_hole_is_one_where_it_has_a_surface(ball):
    garment = shifted(tunic(), (0.02, 0.0, 0.0))
    holed = Mesh(ball.vertices, ball.faces[ball.vertices[ball.faces].mean(1)[:, 1] < 0.08])
    fixed = fix(garment, holed)
    assert depth(fixed, ball) <= 0.0
    assert any("is open" in text for text in fixed.after.unchecked)


def test_what_has_nothing_wrong_is_given_back_to_the_bit(ball):
    garment = tunic(0.12)
    assert np.array_equal(fix(garment, ball).garment.frames[0], garment.vertices)


def test_a_garment_without_problems_moves_to_the_clearance_that_is_asked_for(ball):
    near = closest_point(ball, tunic().vertices)[0].min()
    fixed = fix(tunic(), ball, clearance=1.5 * near)
    assert -depth(fixed, ball) >= 1.45 * near


@pytest.mark.parametrize("clearance", [0.0, 1e-12, 1e-5])
@pytest.mark.parametrize("moving", [False, True])
def test_next_to_no_clearance_is_enough_to_be_out_of_the_body(ball, clearance, moving):
    frames = np.stack([shifted(tunic(), (s, 0.0, 0.0)).vertices for s in ((0.01, 0.02, 0.01) if moving else (0.03,))])
    fixed = fix(Clip(tunic(), frames), ball, clearance=clearance)
    assert not fixed.after.penetrating
    assert not sum(fixed.without_room)
    assert all(frame.body_pairs == 0 for frame in fixed.after.frames)


def test_moving_and_permuting_the_input_moves_and_permutes_the_result(ball, rng):
    garment = shifted(tunic(), (0.02, 0.0, 0.01))
    order = rng.permutation(garment.n_vertices)
    rank = np.argsort(order).astype(np.int32)
    other = Mesh(garment.vertices[order] + 5.0, rank[garment.faces])
    one = fix(garment, ball).garment.frames[0]
    two = fix(other, shifted(ball, (5.0, 5.0, 5.0))).garment.frames[0]
    np.testing.assert_allclose(two - 5.0, one[order], atol=1e-6)


def test_an_outer_layer_ends_outside_of_the_inner_one(ball):
    inner, outer = tunic(0.106), tunic(0.104, n=20)
    fixed = fix(outer, ball, inner=[inner], clearance=0.001)
    height = np.linalg.norm(inner.vertices[:, [0, 2]], axis=1).min() - 0.1
    belt = np.abs(outer.vertices[:, 1]) < 0.02
    assert closest_point(ball, fixed.garment.frames[0][belt])[0].min() > height


def test_layers_are_judged_against_each_other_before_and_after(ball):
    inner, outer = tunic(0.106), tunic(0.104, n=20)
    fixed = fix(outer, ball, inner=[inner], clearance=0.001)
    (before,), (after,) = fixed.layers_before, fixed.layers_after
    assert before.below[0] > 0.9 * outer.n_vertices
    assert after.below[0] <= 0.1 * before.below[0]
    assert fixed.facts["below tunic"] == f"{before.words()} -> {after.words()}"


def test_vertices_below_are_counted_once_and_only_those_of_faces():
    inner, outer = tunic(0.106), tunic(0.104, n=20)
    x, faces = outer.vertices, outer.faces.copy()
    faces[::2] += len(x)  # every other face with its own copies
    copied = Mesh(np.concatenate([x, x, 1.01 * x]), faces)  # and some vertices of no face
    below = [
        Layers(mesh, [Clip(inner, inner.vertices[None])], lambda t: None, lambda p: np.linalg.norm(p, axis=1) - 0.1)
        .measure(mesh.vertices[None])[0]
        .below
        for mesh in (outer, copied)
    ]
    assert below[0] == below[1] > (0,)


def test_no_edge_changes_by_more_than_the_bound_and_what_remains_is_told(ball):
    garment = shifted(tunic(), (0.06, 0.0, 0.0))
    loose, bound = fix(garment, ball), fix(garment, ball, max_strain=0.05)
    assert loose.strain.max() > 0.2
    assert bound.strain.max() <= 0.05 + 1e-6
    assert bound.after.worst_depth > loose.after.worst_depth


def test_an_animation_comes_out_in_every_frame_and_does_not_jitter(ball):
    way = 0.03 * np.sin(np.linspace(0.0, np.pi, 8))
    frames = np.stack([shifted(tunic(), (s, 0.0, 0.0)).vertices for s in way])
    fixed = fix(Clip(tunic(), frames), ball)
    assert max(depth(fixed, ball, t) for t in range(8)) <= 1e-4
    before, after = fixed.jitter
    assert after <= 2.0 * before


@pytest.mark.parametrize("seed", [1])
def test_a_crumpled_sheet_comes_out_of_itself_near_where_it_was(seed):
    sheet = crumpled(seed)
    assert len(intersections(sheet))
    fixed = fix(sheet)
    assert len(intersections(fixed.garment.mesh)) == 0
    assert fixed.moved.mean() < 0.03


def test_a_frame_that_cannot_be_made_better_is_left_alone(monkeypatch):
    monkeypatch.setattr(Untangler, "smoothed_free", lambda self, x: None)
    sheet = crumpled(1)
    fixed = fix(sheet)
    assert fixed.unchanged == (0,)
    assert fixed.to_json()["unchanged"] == fixed.to_json()["kept"] == [0]
    with pytest.warns(DeprecationWarning, match="FixResult.kept is now unchanged"):
        assert fixed.kept == (0,)
    with pytest.warns(DeprecationWarning, match="FixResult.compared is now comparison"):
        assert fixed.compared == fixed.comparison
    assert np.array_equal(fixed.garment.frames[0], sheet.vertices)


def test_a_frame_is_not_replaced_by_one_that_is_worse(monkeypatch):
    monkeypatch.setattr(Untangler, "move_back", lambda self, x, target, **_: np.zeros_like(x))
    sheet = crumpled(1)
    fixed = fix(sheet)
    assert fixed.after.self_intersections <= fixed.before.self_intersections
    assert np.array_equal(fixed.garment.frames[0], sheet.vertices)


LIFTED = shifted(shapes.cloth(1.0, 1.0, 20), (0.0, 2.9, 0.0))


@pytest.mark.parametrize(
    ("body", "inner"),
    [
        (shifted(shapes.ball(0.01, 4), (0.0, 2.9, 0.0)), []),  # between its vertices: none is inside
        (shifted(shapes.ball(0.3, 2), (0.0, 2.5, 0.0)), [shifted(LIFTED, (0.0, 0.05, 0.0))]),
    ],
    ids=["through the body", "below what it is worn over"],
)
def test_a_tangle_is_not_undone_at_the_cost_of(monkeypatch, body, inner):
    sheet = crumpled(1)
    monkeypatch.setattr(Repair, "_untangled", lambda self, t, x, u, last: LIFTED.vertices - x)
    fixed = fix(sheet, body, inner=inner)
    assert fixed.unchanged == (0,)
    assert np.array_equal(fixed.garment.frames[0], sheet.vertices)
    monkeypatch.setattr(Score, "worse", lambda self, given: False)
    assert np.allclose(fix(sheet, body, inner=inner).garment.frames[0], LIFTED.vertices)


def test_a_sheet_is_ironed_as_often_as_allowed_with_one_factorisation_for_each_stiffness(monkeypatch):
    from scipy.sparse import linalg

    asked, splu = [], linalg.splu
    monkeypatch.setattr(linalg, "splu", lambda matrix: asked.append("made") or splu(matrix))
    monkeypatch.setattr(Untangler, "pairs", lambda self, x: asked.append("looked") or np.zeros((1, 2), np.int32))
    sheet = crumpled(1, 6)
    assert Untangler(sheet)._flattened(sheet.vertices) is None
    assert (asked.count("made"), asked.count("looked")) == (4, 3 + PASSES)


def test_edges_without_length_do_not_hold_a_bound_on_strain(ball):
    garment = shifted(tunic(), (0.02, 0.0, 0.0))
    faces = np.concatenate([garment.faces, [[0, 0, 1]]]).astype(np.int32)
    fixed = fix(Mesh(garment.vertices, faces), ball, max_strain=0.5)
    assert depth(fixed, ball) <= 1e-4
    assert fixed.strain.max() <= 0.5 + 1e-6


def test_a_garment_without_extent_is_refused(ball):
    point = Mesh(np.tile([[0.1, 0.1, 0.1]], (3, 1)), [[0, 1, 2]], name="point")
    with pytest.raises(ValueError, match="garment 'point' has no extent: half of its edges or more have length 0"):
        fix(point, ball)


def test_inner_garments_of_another_length_are_named(ball):
    frames = np.stack([tunic().vertices] * 3)
    with pytest.raises(ValueError, match="inner garment 'tunic' has 3 frames; expected 1"):
        fix(tunic(), ball, inner=[Clip(tunic(), frames)])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"clearance": -1.0}, "clearance = -1"),
        ({"max_strain": 0.0}, "max_strain = 0"),
        ({"inner": [tunic()]}, "give a body"),
    ],
)
def test_bad_options_are_named(options, said):
    with pytest.raises(ValueError, match=said):
        fix(tunic(), **options)


@pytest.mark.long
def test_of_100_crumpled_sheets_80_come_out_and_none_gets_worse():
    tried, free = 0, 0
    for seed in range(1000):
        sheet = crumpled(seed, 36)
        if not 0 < len(intersections(sheet)) <= 500:
            continue
        fixed = fix(sheet)
        assert fixed.after.self_intersections < fixed.before.self_intersections
        free += not fixed.after.self_intersections
        tried += 1
        if tried == cases(100):
            break
    assert free >= 0.8 * tried


@pytest.mark.long
@pytest.mark.parametrize("name", ["skirt", "tights"])
def test_posed_clothes_of_the_human_come_out_of_her_and_of_themselves(data, name):
    body, worn = (np.load(data / "human" / f"{part}.npz") for part in ("body", name))
    mesh, skin = (Mesh(part["V_frames"][0], part["F"]) for part in (worn, body))
    fixed = fix(Clip(mesh, worn["V_frames"]), Clip(skin, body["V_frames"]), fps=48.0)
    inside = [sum(f.inside for f in report.frames) for report in (fixed.before, fixed.after)]
    assert fixed.after.worst_depth <= 1e-4 or (any(fixed.without_room) and inside[1] < 0.5 * inside[0])
    before, after = (sum(f.self_pairs for f in report.frames) for report in (fixed.before, fixed.after))
    assert after <= 0.05 * before
    assert fixed.strain.mean() < 0.05
    one, two = fixed.jitter
    assert two <= 2.0 * one
