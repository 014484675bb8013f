"""Every option of every detector with every value: right contacts or one clear error, and never without an effect.

Options, their values and their ranges are read from the detectors, so that new ones are tried without a change here,
unless nothing that is counted shows their effect: `ELSEWHERE` names the test that does. A value that is what the
default stands for is listed in `SAME` with the reason. The vertices that are reported are judged by distances and
winding numbers that share no code with the detectors.
"""

import functools
import importlib
import inspect
import itertools
import typing

import numpy as np
import pytest

import naive
import pliant
from detect.test_bone_fields import bar
from pliant.arguments import Range
from pliant.audit.footprint import nbytes
from pliant.contacts import VERTEX_FACE, VERTEX_FIELD
from pliant.detect.base import Finds, Reports, Side
from pliant.detect.bvh.tree_options import BLEND
from pliant.detect.fields.height_grids import HeightGrids
from pliant.detect.methods import METHODS
from pliant.detect.options import Option, method_text, options_of, parse_method, text_of
from pliant.motion.deforming import Skinned
from pliant.state import State

pytestmark = pytest.mark.compiled
WITHIN, FRAMES, ROUNDING = 0.02, 3, 1e-9
CLOTH, BALL = pliant.shapes.cloth(0.3, 0.3, 9), pliant.shapes.ball(0.1, 2)
SKIN = Skinned(bar(turn=1.2), "move")
COUNTERS = ("tests", "pairs", "builds", "fits", "n_nodes", "tested", "enqueued", "visited", "measured", "widened")
# values of options whose annotations name none, besides numbers around the default
VALUES = {
    "directions": [("+y",), ("+y", "-y")],
    "camera": [[0.0, 3.0, 0.0]],
    "tolerance": [1e-3, 0.3],
    "budget_ms": [1e-3, 1e3],
    "budget_tests": [0, 1000],
    "margin": [0.0, 0.2],
    "worse": [1.0, 3.0],
    "cell": [0.02, 0.2],
    "far": [0.0, 0.02],
    "resolution": [4, 16],
    "levels": [0, 2],
    "table": [16, 4096],
    "spacing": [0.01, 0.03],
    "every": [0.4],
    "share": [0.05, 0.9],
    "quality": [0.3, 0.0],
    "spread": [1, 8],
    "seed": [1, 2],
}
# options that are valid only beside another one
BESIDE = {
    ("bvh", "margin"): {"update": "lazy"},
    ("continuous", "margin"): {"update": "lazy"},
    ("sphere-surface", "camera"): {"tolerance": 1e-3},
    ("distance-field", "tolerance"): {"field": "adaptive"},
}
# the test that shows the effect of a value which changes no record, count or size here, or which only Python can give
ELSEWHERE = {
    ("active-pairs", "tracking"): "test_active_pairs:"
    "test_pairs_that_are_far_apart_are_tracked_on_coarse_levels_and_refined_until_they_touch",
    ("distance-field", "cache"): "test_field_cache:test_a_detector_takes_its_field_from_the_cache_unless_told_not_to",
    ("distance-field", "progress"): "test_every_option:test_values_that_only_python_can_give_have_an_effect",
    ("height-grid", "grids"): "test_every_option:test_values_that_only_python_can_give_have_an_effect",
    ("stochastic-bvh", "clock"): "test_stochastic:test_a_budget_is_kept_within_a_tenth_from_the_first_frame_on",
}
# values that change nothing, because they are what the default stands for
SAME = {
    ("distance-field", "field", "bricks"): "none is bricks where the body is static",
    ("image-space", "test", "rays"): "none is rays where the body is not a viewing volume",
}
# options and values with which vertices are not found that the guarantee otherwise includes, as documented
SHALLOW = {("bone-boxes", "deep", False): "only points down to `within` below the skin"}


class Measured(typing.NamedTuple):
    """What a run shows: its contacts in each frame, what was counted, bytes held, the stated guarantee, and what is
    wrong with the vertices that it reported."""

    contacts: tuple[bytes, ...]
    counts: tuple[int, ...]
    size: int
    guarantee: str
    wrong: tuple[str, ...]


@functools.cache
def motion(role: str) -> tuple[np.ndarray, ...]:
    """Positions of the cloth, and then of what it meets, at the start of three frames and after the last."""
    rng = np.random.default_rng(7)
    frames = []
    for k in range(FRAMES + 1):
        x = CLOTH.vertices + np.array([0.0, 0.11 - 0.02 * k, 0.0])
        if role == "self":
            x[:, 1] = 0.06 * np.sin(25.0 * x[:, 0] + k) + 0.02 * k
            x[:, 0] *= 0.3
        x += 0.004 * rng.normal(size=x.shape)
        other = {"self": np.zeros((0, 3)), "skin": SKIN.shape(SKIN.sample([0.25 * k])[0])}
        frames.append(np.concatenate([x, other.get(role, BALL.vertices * (1.0 + 0.03 * k))]))
    return tuple(frames)


@functools.cache
def bars() -> tuple[pliant.Mesh, pliant.Mesh]:
    size, cells = (0.2, 0.1, 0.1), (4, 2, 2)
    return pliant.shapes.bar(size, cells), pliant.shapes.bar(size, cells, centre=(0.09, 0.06, 0.02))


def run(method: str, role: str, **options) -> Measured:
    """Make a detector with these options and measure it over three frames."""
    kind = METHODS[method]
    if kind.volume and role == "tets":
        meshes, states = bars(), [np.concatenate([m.vertices for m in bars()])] * 2
    else:
        body = {"self": None, "skin": SKIN.character.mesh}.get(role, BALL)
        meshes, states = tuple(m for m in (CLOTH, body) if m is not None), motion(role)
    sides, first = [], 0
    for b, mesh in enumerate(meshes):
        sides.append(Side(mesh, first, b, SKIN if role == "skin" and b else None))
        first += mesh.n_vertices
    made = kind.against(SKIN if role == "skin" else None)(*sides, within=WITHIN, **options)
    contacts, wrong = [], []
    for k, (before, x) in enumerate(itertools.pairwise(states)):
        state = State(x.copy(), np.zeros_like(x), before.copy())
        if role == "skin":
            state.bones = {1: SKIN.sample([0.25 * (k + 1)])[0]}
        if not made.obstacle_may_deform and len(sides) > 1:
            state.x[sides[1].rows] = state.x_start[sides[1].rows] = sides[1].mesh.vertices
        found = np.array(made.update(state).find(state))
        contacts.append(found.tobytes())
        if role in ("obstacle", "skin") and not kind.swept:
            wrong += judged(made, found, state.x, sides[1], options)
    near, boxes = getattr(made, "near", None), getattr(made, "boxes", None)
    parts = [made, boxes, getattr(made, "broad_phase", None), getattr(near, "cones", None)]
    counts = tuple(int(getattr(part, name, 0)) for part in parts for name in COUNTERS)
    return Measured(tuple(contacts), counts, nbytes(made, meshes), made.guarantee, tuple(wrong))


def judged(made, found, x: np.ndarray, body: Side, options: dict) -> list[str]:
    """What contradicts the guarantee of a detector: vertices of the cloth that are missing, or reported by mistake, or
    whose distance is off by more than the stated bound."""
    distance = exact_distances(x[: CLOTH.n_vertices].tobytes(), x[body.rows].tobytes(), body.mesh.name)
    bound = made.bound_at(distance)
    bound = np.where(np.isfinite(bound), bound, 0.0 if made.guarantee == "A" else np.inf)
    rows = (found["bodies"][:, 0] == 0) & np.isin(found["kind"], (VERTEX_FACE, VERTEX_FIELD))
    reported = np.full(CLOTH.n_vertices, np.inf)
    np.minimum.at(reported, found["vertices"][rows, 0], found["distance"][rows])
    there, covered = np.isfinite(reported), made.covers(distance)
    # beside a closed body, class B is a promise about points inside
    most = WITHIN if made.guarantee == "A" and made.reports is not Reports.INSIDE else 0.0
    must = (made.guarantee in "AB") & covered & (distance < most - bound - ROUNDING)
    if any(made.name == method and options.get(name) is value for method, name, value in SHALLOW):
        must &= distance > 0.0
    wrong = [f"vertex {v} at {distance[v]:g} is missed" for v in np.flatnonzero(must & ~there)]
    extra = there & (distance > WITHIN + bound + ROUNDING)
    wrong += [f"vertex {v} at {distance[v]:g} is reported" for v in np.flatnonzero(extra)]
    if made.reports in (Reports.POINTS, Reports.VERTICES):
        off = there & covered & (np.abs(reported - distance) > bound + ROUNDING)
        wrong += [f"vertex {v} at {distance[v]:g} is reported at {reported[v]:g}" for v in np.flatnonzero(off)]
    return wrong


@functools.cache
def exact_distances(cloth: bytes, body: bytes, name: str) -> np.ndarray:
    """Signed distances of the vertices of the cloth from a body, by brute force in the tests."""
    mesh = BALL if name == BALL.name else SKIN.character.mesh
    x, y = np.frombuffer(cloth).reshape(-1, 3), np.frombuffer(body).reshape(-1, 3)
    return np.asarray(naive.signed_distance(x, mesh.moved(y.copy())))


def roles_of(method: str, option: str) -> list[str]:
    if method == "spatial-hash":
        return ["tets"]
    if method == "bone-boxes" or option == "share":
        return ["skin"]
    if method == "image-space":  # the cloth is not closed
        return ["obstacle"]
    found = METHODS[method].finds
    if BLEND in options_of(method)[option].values:
        return ["skin"]
    return [role for role, flag in (("obstacle", Finds.OBSTACLE), ("self", Finds.SELF)) if flag & found]


def values_of(option: Option) -> list:
    """The values of an option to try: all that its annotation lists, the ends of its range, and numbers around its
    default."""
    if option.values:
        return list(option.values)
    if option.name in VALUES:
        return VALUES[option.name]
    default = option.default if isinstance(option.default, (int, float)) else 1
    tried = [2 * default, 0.5 * default]
    for limit in _limits(option):
        tried = [value for value in tried if limit.low <= value <= limit.high] + [limit.low]
    return [int(v) if "whole" in option.wanted else v for v in tried if np.isfinite(v)]


def _limits(option: Option) -> list[Range]:
    kinds = [option.annotation, *typing.get_args(option.annotation)]
    return [limit for kind in kinds for limit in getattr(kind, "__metadata__", ()) if isinstance(limit, Range)]


CASES = [(method, name) for method in METHODS for name in options_of(method) if name != "max_bytes"]


def listed_guarantee(method: str, role: str, given: dict) -> str:
    """The class of guarantee that `pliant methods` lists."""
    kind = METHODS[method].against(SKIN if role == "skin" else None)
    for option, text, guarantee in kind.other_guarantees:
        if given.get(option) is not None and text in ("", text_of(given[option])):
            return guarantee
    return kind.guarantee


IN_PYTHON = [(method, name) for method, name in CASES if not options_of(method)[name].from_text]


@functools.cache
def default(method: str, role: str, name: str) -> Measured:
    """What a method shows without an option, and with what the option needs beside it."""
    given = {"cache": False} if method == "distance-field" and role != "skin" else {}
    return run(method, role, **given, **BESIDE.get((method, name), {}))


@functools.cache
def exact(role: str) -> Measured:
    return run("brute-force", role)


@pytest.mark.parametrize(("method", "name"), [case for case in CASES if case not in IN_PYTHON])
def test_every_value_gives_the_right_contacts_and_has_an_effect(method, name):
    option = options_of(method)[name]
    kind, effects = METHODS[method], {}
    for role in roles_of(method, name):
        plain = default(method, role, name)
        for value in values_of(option):
            given = {"cache": False} if method == "distance-field" else {}
            given |= BESIDE.get((method, name), {}) | {name: value}
            assert parse_method(method_text(method, given)).options == given
            measured = run(method, role, **given)
            if kind.guarantee == measured.guarantee == "A" and kind.reports is Reports.FEATURES and not kind.swept:
                assert measured.contacts == exact(role).contacts, given
            elif kind.swept and measured.guarantee == "A" and name not in ("tolerance",):
                assert measured.contacts == plain.contacts, given
            assert measured.wrong == (), given
            assert measured.guarantee == listed_guarantee(method, role, given), given
            if value != option.default:
                key = str(value)
                effects[key] = effects.get(key, False) or measured != plain
    assert effects
    for value, effect in effects.items():
        assert effect or (method, name) in ELSEWHERE or (method, name, value) in SAME, (
            f"{method}:{name}={value} has no effect that is counted"
        )


def test_values_that_only_python_can_give_have_an_effect():
    shown: list[float] = []
    given = {"field": "bricks", "cache": False}
    assert run("distance-field", "obstacle", **given, progress=shown.append) == run(
        "distance-field", "obstacle", **given
    )
    assert shown[-1] == 1.0
    coarse = HeightGrids.around(BALL, resolution=5)
    assert run("height-grid", "obstacle", grids=coarse) != run("height-grid", "obstacle")
    assert {(method, name) for method, name in IN_PYTHON} <= ELSEWHERE.keys()


def test_other_guarantees_are_those_of_options_and_values_that_exist():
    found = [(kind.name, *each) for kind in METHODS.values() for each in kind.other_guarantees]
    assert ("image-space", "test", "layers", "B") in found
    for method, option, text, guarantee in found:
        given = parse_method(f"{method}:{option}={text or 8}").options
        assert listed_guarantee(method, "obstacle", given) == guarantee != METHODS[method].guarantee


def test_exemptions_are_needed_and_exist():
    for method, name, value in SAME:
        option = options_of(method)[name]
        assert value in option.values
        assert value != option.default


@pytest.mark.parametrize(("method", "name", "default_value"), [("bvh", "leaf", 1), ("active-pairs", "spread", None)])
def test_an_option_that_is_ignored_is_noticed(method, name, default_value, monkeypatch):
    """By a detector that takes the option and leaves it out."""
    kind, annotation = METHODS[method], METHODS[method].__init__.__annotations__[name]

    class Careless(kind):
        def __init__(self, *sides, within, **options):
            super().__init__(*sides, within=within)

    option = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default_value, annotation=annotation)
    Careless.__init__.__annotations__[name] = annotation
    Careless.__signature__ = inspect.Signature([option])
    monkeypatch.setitem(METHODS, method, Careless)
    assert list(options_of(method)) == [name]
    default.cache_clear()
    try:
        with pytest.raises(AssertionError, match=f"{method}:{name}=.* has no effect"):
            test_every_value_gives_the_right_contacts_and_has_an_effect(method, name)
    finally:
        default.cache_clear()


def test_effects_that_are_not_counted_here_are_shown_by_tests_that_exist():
    for (method, name), where in ELSEWHERE.items():
        module, _, test = where.partition(":")
        assert name in options_of(method)
        assert inspect.isfunction(getattr(importlib.import_module(f"detect.{module}"), test))


@pytest.mark.parametrize(("method", "name"), [(m, n) for m in METHODS for n in options_of(m)])
def test_a_wrong_value_is_one_sentence_that_names_the_option(method, name):
    option = options_of(method)[name]
    wrong = ["nonsense", float("nan"), -1e300, object(), [[["deep"]]], b"bytes", {}]
    wrong += [0.5, -3, 10**9] if option.values and not isinstance(option.values[0], (bool, str)) else []
    for value in wrong:
        with pytest.raises((ValueError, TypeError), match=rf"^[^\n]*{name}[^\n]*$"):
            run(method, roles_of(method, name)[0], **(BESIDE.get((method, name), {}) | {name: value}))


@pytest.mark.parametrize("method", [method for method in METHODS if "max_bytes" in options_of(method)])
def test_too_little_memory_is_an_error_that_says_so(method):
    role = roles_of(method, "max_bytes")[0]
    given = {"cache": False} if method == "distance-field" else {}
    with pytest.raises(pliant.errors.TooBigError, match="limit"):
        run(method, role, max_bytes=1.0, **given)
    run(method, role, max_bytes=1e12, **given)
