"""Fields chosen by their name, of obstacles that stand, move and deform, against exact distances."""

import numpy as np
import pytest

import pliant
from pliant.contacts import MIDPOINT_FIELD
from pliant.detect.base import Side
from pliant.detect.detectors.deforming_field import DeformingFieldDetector
from pliant.detect.detectors.distance_field import DistanceFieldDetector
from pliant.detect.fields.sampled import KINDS
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels import jit
from pliant.motion.deforming import Recorded
from pliant.motion.rigid import placed
from pliant.state import State

pytestmark = pytest.mark.compiled
WITHIN = 0.03
SHEET = pliant.shapes.cloth(0.5, 0.5, 12, irregular=True)
BODY = pliant.shapes.ball(0.15, 2)
by_kind = pytest.mark.parametrize("kind", KINDS)


def bent(t: float) -> np.ndarray:
    """The ball stretched along x, squeezed along y and bent upwards."""
    x = BODY.vertices * np.array([1.0 + 0.4 * t, 1.0 - 0.3 * t, 1.0])
    x[:, 1] += 2.0 * t * x[:, 0] ** 2
    return x


def lifted(height: float) -> np.ndarray:
    return SHEET.vertices + np.array([0.013, height, 0.007])


def exact(x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    """Distances of vertices, then of edge midpoints, by closest points on the mesh itself."""
    points = np.concatenate([x, x[SHEET.topology.edges].mean(1)])
    return ClosestPoints(BODY.moved(shape), behind=True).query(points)[0]


def judge(detector, found, true) -> None:
    """Nothing nearer than the bound allows is missed, nothing farther is reported, and distances are within it."""
    rows = found["elements"][:, 0] + np.where(found["kind"] == MIDPOINT_FIELD, SHEET.n_vertices, 0)
    assert len(np.unique(rows)) == len(rows)
    bound = detector.bound_at(true)
    if detector.guarantee == "C":
        assert np.isnan(bound).all()
        bound = (
            np.maximum(detector.field.tolerance, 0.05 * np.abs(true)) * 4.0
        )  # four times the allowed error, as measured
    assert (np.abs(found["distance"] - true[rows]) <= bound[rows]).all()
    seen = detector.covers(true)
    seen[SHEET.n_vertices :] &= seen[SHEET.topology.edges].any(1) | (true[SHEET.n_vertices :] >= -WITHIN)
    missed = np.setdiff1d(np.flatnonzero(seen & (true <= WITHIN - bound)), rows)
    assert not len(missed)
    assert (true[rows] <= WITHIN + bound[rows]).all()
    assert len(rows) > 10


def at(x: np.ndarray, shape: np.ndarray, v: np.ndarray | None = None) -> State:
    made = State.at(np.concatenate([x, shape]))
    if v is not None:
        made.v[len(x) :] = v
    return made


def made(kind, cls=DistanceFieldDetector, **options):
    if kind in ("adaptive", "planar") and not options:
        options = {"tolerance": 0.25 * WITHIN}
    sides = Side(SHEET, 0, 0), Side(BODY, SHEET.n_vertices, 1)
    return cls(*sides, within=WITHIN, field=kind, cache=False, **options)


@by_kind
def test_a_static_body_has_the_distances_of_the_exact_surface(kind):
    detector = made(kind)
    assert detector.guarantee == ("C" if kind == "planar" else "B")
    if kind != "planar":
        assert max(detector.bounds) <= 0.867 * WITHIN
    for height in (0.16, 0.14, 0.1):
        x = lifted(height)
        judge(detector, detector.find(at(x, BODY.vertices)), exact(x, BODY.vertices))


@by_kind
def test_a_body_that_moves_rigidly_takes_its_field_along(kind, rng):
    detector, x = made(kind), lifted(0.14)
    rest = detector.find(at(x, BODY.vertices))
    pose = np.eye(3, 4)
    pose[:, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    pose[:, 0] *= np.linalg.det(pose[:, :3])
    pose[:, 3] = 0.3, -0.2, 0.1
    moved = at(placed(x, pose), placed(BODY.vertices, pose))
    moved.pose = np.stack([np.eye(3, 4), pose])
    moved.pose_start, moved.lapse = moved.pose.copy(), 0.01
    found = detector.find(moved)
    # a gradient jumps between cells, and rounding may move a point across: distances do not
    assert np.array_equal(found["elements"], rest["elements"])
    tolerance = 1e-9 if kind != "planar" else 0.25 * WITHIN
    np.testing.assert_allclose(found["distance"], rest["distance"], atol=tolerance)
    judge(detector, found, exact(x, BODY.vertices))


@by_kind
def test_a_body_that_deforms_is_baked_again_for_every_shape(kind):
    detector = made(kind, DeformingFieldDetector)
    for count, t in enumerate((0.3, 1.0), 1):
        shape = bent(t)
        x = lifted(0.12)
        state = at(x, shape)
        judge(detector, detector.update(state).find(state), exact(x, shape))
        assert detector.bake_count == count
    assert detector.bake_seconds > 0.0
    assert "baked again" in detector.remark


@by_kind
def test_a_field_baked_again_is_the_one_baked_at_once(kind):
    """So that a run that is resumed in the middle finds the same contacts, bit for bit."""
    x, once, twice = lifted(0.12), made(kind, DeformingFieldDetector), made(kind, DeformingFieldDetector)
    state = at(x, bent(1.0))
    twice.update(at(x, bent(0.4))).find(at(x, bent(0.4)))
    a, b = (each.update(state).find(state) for each in (once, twice))
    assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", ["bricks", "adaptive", "planar"])
def test_one_and_two_threads_find_the_same_bits(kind):
    before, found = jit.threads(), set()
    state = at(lifted(0.12), bent(0.5), np.ones_like(BODY.vertices))
    try:
        for count in (1, 2):
            jit.set_threads(count)
            detector = made(kind, DeformingFieldDetector)
            found.add(detector.update(state).find(state).tobytes())
    finally:
        jit.set_threads(before)
    assert len(found) == 1


@by_kind
def test_contacts_move_as_the_surface_below_them(kind):
    """A ball that swells moves outwards, and one that turns moves along its surface: friction follows."""
    x, spin = lifted(0.13), np.array([0.0, 2.0, 0.0])
    v = 3.0 * BODY.vertices + np.cross(spin, BODY.vertices)
    state, detector = at(x, BODY.vertices * 1.0001, v), made(kind, DeformingFieldDetector)
    found = detector.update(state).find(state)
    assert len(found) > 20
    wanted = 3.0 * found["anchor"] + np.cross(spin, found["anchor"])
    # the anchor is off the surface by at most the error of the field
    assert np.abs(found["anchor_velocity"] - wanted).max() <= 4.0 * WITHIN


def test_far_cloth_costs_no_bake():
    detector = made("bricks", DeformingFieldDetector)
    state = at(lifted(0.5), bent(0.5))
    assert len(detector.update(state).find(state)) == 0
    assert detector.bake_count == 0


def test_a_sequence_drags_cloth_along_by_friction():
    """A plate, given by frames and without a pose, slides below a cloth: with friction the cloth goes with it."""
    plate = pliant.shapes.box((0.5, 0.05, 0.4), 2)
    away = np.array([0.06, 0.0, 0.0])
    frames = np.stack([plate.vertices, plate.vertices + away])
    cloth = pliant.shapes.cloth(0.2, 0.2, 6)
    gone = {}
    for friction in (0.0, 0.9):
        scene = pliant.Scene(
            [
                pliant.Body(cloth.moved(cloth.vertices + np.array([0.0, 0.037, 0.0]))),
                pliant.Body(plate, obstacle=True, motion=Recorded(np.array([0.0, 0.2]), frames)),
            ],
            friction=friction,
            eps=0.012,
            self_contact="off",
        )
        run = pliant.Simulation(scene, method="distance-field", options={"field": "bricks"})
        for _ in range(18):
            run.step()
        gone[friction] = float(run.state.x[: cloth.n_vertices, 0].mean())
    assert abs(gone[0.0]) < 0.005
    assert 0.03 < gone[0.9] < 0.06


@by_kind
def test_vertices_that_the_caller_moves_are_followed(kind):
    accuracy = {"tolerance": 0.25 * WITHIN} if kind in ("adaptive", "planar") else {"spacing": WITHIN}
    found = pliant.detector("distance-field", SHEET, BODY, within=WITHIN, field=kind, **accuracy)
    x, shape = lifted(0.12), bent(0.8)
    judge(found._detector, found.update(x, shape).find(), exact(x, shape))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"field": "octree"}, "field = 'octree'; expected .*one of: bricks, dense, filled, adaptive, planar"),
        ({"field": 3}, r"field = 3; expected .*one of: bricks"),
        ({"field": "bricks", "tolerance": 0.01}, "tolerance = 0.01 is no option of the field 'bricks'.*spacing"),
        ({"field": "planar", "spacing": 0.01}, "spacing = 0.01 is no option of the field 'planar'.*tolerance"),
        ({"field": "adaptive", "tolerance": 0.0}, "tolerance = 0 must be greater than 0"),
        ({"field": pliant.DistanceField.bake(BODY, 8), "spacing": 0.01}, "spacing = 0.01 is no option of a field that"),
    ],
)
def test_an_option_that_does_not_apply_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        made(options.pop("field"), **options)


@pytest.mark.parametrize(("kind", "option"), [("dense", "spacing"), ("adaptive", "tolerance"), ("planar", "tolerance")])
def test_accuracy_is_taken_and_costs_memory(kind, option):
    fine, coarse = (made(kind, **{option: length}).field.nbytes for length in (0.002, 0.03))
    assert fine > 2 * coarse
