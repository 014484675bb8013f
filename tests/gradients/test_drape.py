"""Gradients of drapes: against central differences, on random and degenerate scenes; the run itself; errors."""

import numpy as np
import pytest

import pliant
from conftest import cases
from gradients import drapes
from pliant.gradients.drape import DifferentiableDrape
from pliant.kernels import jit

pytestmark = pytest.mark.compiled  # some hundred runs of 96 substeps
BOUND = 1e-5  # of a derivative, relative: see `worst`
HANGING = {"self_contact": "off"}


def worst(*given, **options):
    """The largest error of the derivatives of a drape and the input it belongs to: relative to the derivative itself,
    or to a thousandth of the largest one, below which differences are rounding."""
    error, scale = drapes.errors(*given, **options)
    least = 1e-3 * max(scale.values())
    off = {name: error[name] / max(scale[name], least) for name in error}
    name = max(off, key=lambda name: off[name])
    return off[name], name


@pytest.mark.parametrize("kind", ["ball", "box", "plane"])
def test_derivatives_over_96_substeps_with_contact_and_friction_are_those_of_differences(kind) -> None:
    for seed in range(cases(1)):
        rng = np.random.default_rng(hash_of(kind, seed))
        found, name = worst(*drapes.case(rng, kind), rng=rng)
        assert found < BOUND, f"{kind}, seed {seed}: {name}"


def hash_of(kind, seed):
    return 10 * seed + len(kind)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ball", "box", "plane"])
def test_each_derivative_of_many_drapes_is_that_of_differences(kind) -> None:
    for seed in range(cases(40)):
        rng = np.random.default_rng(1000 + hash_of(kind, seed))
        found, name = worst(*drapes.case(rng, kind), rng=rng)
        assert found < BOUND, f"{kind}, seed {seed}: {name}"


def test_the_run_is_that_of_simulation_where_nothing_touches() -> None:
    mesh = pliant.shapes.skirt(0.3, 0.05, spacing=0.04)
    for material in (pliant.Cloth(), pliant.Cloth.named("denim"), pliant.Cloth(damping=0.0, air=0.0)):
        pins = np.flatnonzero(mesh.vertices[:, 1] > mesh.vertices[:, 1].max() - 1e-3)
        grip = pliant.Grip(pins[:4], pliant.Motion.hinge((0, 1, 0), (0, 0, 0), [0.0, 1.0], [0.0, 0.0]))
        body = pliant.Body(mesh, pins=pins[4:], grips=[grip], material=material, velocity=(0.1, 0.0, 0.2))
        scene = pliant.Scene([body], self_contact="off", wind=(2.0, 0.0, 1.0))
        simulation = pliant.Simulation(scene, solver="xpbd")
        tape = DifferentiableDrape(scene).run(3)
        for frame in simulation.run(3):
            np.testing.assert_allclose(tape.x[frame.index], frame.x, atol=1e-13)


def test_with_a_narrower_contact_the_run_comes_nearer_to_simulation() -> None:
    sheet = pliant.shapes.cloth(0.2, 0.2, 8, centre=(0.0, 0.006, 0.0))
    floor = pliant.shapes.box((2.0, 0.1, 2.0), 1, centre=(0.0, -0.05, 0.0))
    bodies = [pliant.Body(sheet, velocity=(0.5, 0.0, 0.0)), pliant.Body(floor, obstacle=True)]
    scene = pliant.Scene(bodies, self_contact="off", friction=0.3)
    simulation = pliant.Simulation(scene, solver="xpbd", method="brute-force")
    *_, last = simulation.run(10)
    off = []
    for width in (1e-3, 1e-4, 1e-5):
        tape = DifferentiableDrape(scene, width=width).run(10)
        off.append(abs(tape.x[-1] - last.x[: sheet.n_vertices]).max())
    assert off[0] < 2e-3
    assert off[1] < 0.3 * off[0]
    assert off[2] < 0.3 * off[1]


def test_checkpoints_change_nothing_but_the_memory() -> None:
    rng = np.random.default_rng(5)
    drape, frames, given, of_x, of_v = drapes.case(rng, "plane", frames=9, substeps=4)
    whole = drape.run(frames, **given)
    less = DifferentiableDrape(drape.scene, 0.01, substeps=4, width=drape.width, memory=2.5 * drape.bytes_per_frame)
    parted = less.run(frames, **given)
    assert whole.checkpoints == ()
    kept = frames - len(parted.checkpoints)
    assert parted.checkpoints == tuple(range(frames - kept))
    assert 2 <= kept < frames
    assert np.array_equal(whole.x, parted.x)
    assert np.array_equal(whole.v, parted.v)
    first, second = whole.backward(of_x, of_v), parted.backward(of_x, of_v)
    for name, value in vars(first).items():
        assert np.array_equal(value, getattr(second, name)), name
    for tape in (whole, parted):  # as often as it is asked, though what is in memory changes
        again = tape.backward(of_x, of_v)
        assert np.array_equal(first.x, again.x)
        assert first.bend == again.bend


def test_gradients_are_bitwise_identical_on_any_number_of_threads() -> None:
    sheet = pliant.shapes.cloth(0.2, 0.2, 36, centre=(0.0, 0.1045, 0.0))
    body = pliant.Body(pliant.shapes.ball(0.1, 3), obstacle=True)
    scene = pliant.Scene([pliant.Body(sheet), body], self_contact="off")
    before, found = jit.threads(), []
    try:
        for threads in (1, 2):
            jit.set_threads(threads)
            tape = DifferentiableDrape(scene, substeps=4).run(1)
            found.append(vars(tape.backward(tape.x, tape.v)))
    finally:
        jit.set_threads(before)
    for name, value in found[0].items():
        assert np.array_equal(value, found[1][name]), name


def test_a_sheet_that_slides_stops_where_the_law_of_coulomb_says() -> None:
    floor = pliant.shapes.box((1.0, 0.1, 1.0), 1, centre=(0.0, -0.05, 0.0))
    sheet = pliant.shapes.cloth(0.2, 0.2, 5, centre=(0.0, 0.0051, 0.0))
    bodies = [pliant.Body(sheet, velocity=(0.5, 0.0, 0.0)), pliant.Body(floor, obstacle=True)]
    scene = pliant.Scene(bodies, self_contact="off", friction=0.3)
    tape = DifferentiableDrape(scene).run(30)
    way = float((tape.x[-1] - tape.x[0])[:, 0].mean())
    assert way == pytest.approx(0.5**2 / (2.0 * 0.3 * 9.81), rel=0.04)


def test_memory_that_holds_no_checkpoints_is_refused() -> None:
    sheet = pliant.shapes.cloth(0.2, 0.2, 8)
    drape = DifferentiableDrape(pliant.Scene([pliant.Body(sheet)], self_contact="off"), memory=1e5)
    with pytest.raises(
        pliant.errors.TooBigError, match=r"a frame of a differentiable drape needs .* pass a larger memory"
    ):
        drape.run(20)


def test_cloth_at_rest_that_touches_has_finite_derivatives() -> None:
    """Vertices exactly at rest, where nothing slides and nothing moves."""
    sheet = pliant.shapes.cloth(0.2, 0.2, 5, centre=(0.0, 0.005, 0.0))
    floor = pliant.shapes.box((1.0, 0.1, 1.0), 1, centre=(0.0, -0.05, 0.0))
    bodies = [pliant.Body(sheet), pliant.Body(floor, obstacle=True)]
    scene = pliant.Scene(bodies, gravity=(0.0, 0.0, 0.0), self_contact="off")
    tape = DifferentiableDrape(scene).run(2)
    found = tape.backward(np.ones(tape.x.shape), np.ones(tape.x.shape))
    for name, value in vars(found).items():
        assert value is None or np.isfinite(value).all(), name


def test_cloth_that_is_held_everywhere_moves_and_differentiates_with_its_pins_alone() -> None:
    rng = np.random.default_rng(2)
    mesh = drapes.sheet(rng)
    pins = np.arange(mesh.n_vertices)
    scene = pliant.Scene([pliant.Body(mesh, pins=pins)], **HANGING)
    tape = DifferentiableDrape(scene).run(3, pins=mesh.vertices + np.linspace(0, 0.1, 4)[:, None, None])
    of_x = rng.normal(size=tape.x.shape)
    found = tape.backward(of_x)
    np.testing.assert_allclose(found.pins, of_x, atol=1e-12)
    assert not found.x.any()
    assert not found.rest.any()
    assert found.bend == found.stretch == found.density == 0.0


def test_pins_that_follow_x_give_it_their_derivatives() -> None:
    rng = np.random.default_rng(3)
    drape, frames, given, of_x, of_v = drapes.case(rng, "ball", frames=2, held=[0, 3])
    del given["pins"]
    way, h = rng.normal(size=given["x"].shape) * 0.05, 1e-6
    slope = float((drape.run(frames, **given).backward(of_x, of_v).x * way).sum())
    ends = [drapes.loss(drape, frames, given | {"x": given["x"] + t * way}, of_x, of_v) for t in (h, -h)]
    assert abs(slope - (ends[0] - ends[1]) / (2 * h)) < 1e-5 * abs(slope)


def test_taut_edges_and_compressed_triangles_have_the_derivatives_of_differences() -> None:
    rng = np.random.default_rng(4)
    for factor in (0.05, 0.5, 1.5):
        drape, frames, given, of_x, of_v = drapes.case(rng, "ball", frames=1, held=[0, 5])
        given["x"] = given["x"] * [factor, 1.0, factor]
        given["pins"] = np.repeat(given["x"][None, [0, 5]], 2, 0)
        found, name = worst(drape, frames, given, of_x, of_v, rng=rng)
        assert found < BOUND, f"{factor}: {name}"


def test_a_loss_on_the_last_frame_alone_may_be_given_as_such() -> None:
    rng = np.random.default_rng(6)
    drape, frames, given, of_x, _ = drapes.case(rng, "plane", frames=2)
    tape = drape.run(frames, **given)
    only = np.zeros(tape.x.shape)
    only[-1] = of_x[-1]
    assert np.array_equal(tape.backward(only).rest, tape.backward(of_x[-1]).rest)


def refused(**options):
    body = {key: options.pop(key) for key in ("flat", "rest_scale", "stitches", "material") if key in options}
    bodies = [pliant.Body(options.pop("mesh", pliant.shapes.cloth(0.2, 0.2, 4)), **body)]
    bodies += [pliant.Body(mesh, obstacle=True, group="two") for mesh in options.pop("grouped", ())]
    return pliant.Scene(bodies, **{"self_contact": "off", **options})


BALL = pliant.shapes.ball(0.1, 0)
ZERO = pliant.Mesh([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [2, 0, 0]], [[0, 2, 1], [0, 1, 3]])
LOOSE = pliant.Mesh([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [2, 2, 0]], [[0, 2, 1]])
REFUSED = [
    ({"self_contact": "safe"}, "self_contact = 'safe' has no gradient"),
    ({"friction_model": "simple"}, "friction_model = 'simple' has no gradient"),
    ({"restitution": 0.5}, "restitution = 0.5 has no gradient"),
    ({"stitches": [(0, 15)]}, "stitches has no gradient"),
    ({"rest_scale": 0.9}, "rest_scale has no gradient"),
    ({"grouped": [BALL]}, "group of obstacles has no gradient"),
    ({"mesh": ZERO}, "face 1 has no area"),
    ({"mesh": LOOSE}, "vertex 3 belongs to no face"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_what_has_no_gradient_is_refused_by_name(options, message) -> None:
    scene = refused(**options)
    with pytest.raises(ValueError, match=message):
        DifferentiableDrape(scene)


def test_scenes_without_exactly_one_cloth_are_refused() -> None:
    sheet = pliant.shapes.cloth(0.2, 0.2, 4)
    with pytest.raises(ValueError, match="has 2 cloths; a differentiable drape has exactly one cloth"):
        DifferentiableDrape(pliant.Scene([pliant.Body(sheet), pliant.Body(sheet)], self_contact="off"))
    with pytest.raises(ValueError, match="has no cloth"):
        DifferentiableDrape(pliant.Scene([pliant.Body(BALL, obstacle=True)], self_contact="off"))
    with pytest.raises(ValueError, match="solver = 'implicit' has no gradient"):
        DifferentiableDrape(refused(), solver="implicit")


WRONG = [
    ({"bent": 1.0}, "has no option 'bent'; did you mean 'bend'"),
    ({"bend": 0.0}, "bend = 0 must be greater than 0"),
    ({"friction": -1.0}, "friction = -1 must be at least 0"),
    ({"x": np.zeros((3, 3))}, r"x has shape \(3, 3\); expected \(16, 3\)"),
    ({"rest": np.zeros((16, 3))}, "has no area; expected rest shapes with area"),
    ({"pins": np.zeros((3, 0, 3))}, r"pins has shape \(3, 0, 3\); expected \(2, 0, 3\)"),
    ({"body": np.zeros((4, 3))}, r"body has shape \(4, 3\); expected \(0, 3\), or \(2, 0, 3\) if it moves"),
]


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong_inputs_are_named(given, message) -> None:
    with pytest.raises(TypeError if "bent" in given else ValueError, match=message):
        DifferentiableDrape(refused()).run(1, **given)


def test_a_wrong_derivative_of_the_loss_is_named() -> None:
    tape = DifferentiableDrape(refused()).run(1)
    with pytest.raises(ValueError, match=r"of_x has shape \(2, 3\); expected \(2, 16, 3\), or \(16, 3\) for the last"):
        tape.backward(np.zeros((2, 3)))


def test_a_run_that_diverges_says_so() -> None:
    with pytest.raises(ValueError, match="the run diverges in frame 2"):
        DifferentiableDrape(refused(), dt=1.0, substeps=1).run(2, v=np.full((16, 3), 6e11))
