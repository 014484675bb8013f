"""Bad arrays are refused at the door with the array's name and the first bad index; legal ones all mean the same."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import pliant
from pliant import shapes, validate
from pliant.errors import TooBigError
from pliant.mesh import Mesh

X = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
TETS = np.array([[0, 1, 2, 3]])
UV = np.linspace(0.0, 1.0, 24).reshape(4, 3, 2)
MATERIAL = np.array([0, 1, 1, 0])
LEGAL: dict[str, Any] = {
    "vertices": X,
    "faces": FACES,
    "tets": TETS,
    "uv": UV,
    "material": MATERIAL,
    "materials": ({}, {}),
}


def build(**changes: Any) -> Mesh:
    return Mesh(**(LEGAL | changes))


def put(array: np.ndarray, where: tuple[int, ...], value: Any, dtype: Any = None) -> np.ndarray:
    out = array.astype(dtype or array.dtype)
    out[where] = value
    return out


@contextlib.contextmanager
def refused(said: str) -> Iterator[None]:
    """A ValueError with exactly this message."""
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        yield


NUMBERS = [
    (np.nan, "is not finite (nan)"),
    (np.inf, "is not finite (inf)"),
    (-np.inf, "is not finite (-inf)"),
    (1e300, "= 1e+300 is beyond 1e+12; pass metres, or scale the mesh before loading it"),
    (-2e12, "= -2e+12 is beyond 1e+12; pass metres, or scale the mesh before loading it"),
]


@pytest.mark.parametrize(("value", "said"), NUMBERS)
@pytest.mark.parametrize(("name", "where"), [("vertices", (2, 1)), ("uv", (1, 2, 0))])
def test_a_number_that_is_none_is_named_with_its_index(
    name: str, where: tuple[int, ...], value: float, said: str
) -> None:
    with refused(f"{name}[{', '.join(map(str, where))}] {said}"):
        build(**{name: put(LEGAL[name], where, value)})


def test_the_first_of_several_bad_numbers_is_named() -> None:
    x = put(put(X, (3, 0), np.inf), (1, 2), np.nan)
    with pytest.raises(ValueError, match=r"^vertices\[1, 2\] is not finite \(nan\)$"):
        build(vertices=x)


INDICES = [("faces", (0, 1), "vertices", 4), ("tets", (0, 3), "vertices", 4), ("material", (2,), "materials", 2)]


@pytest.mark.parametrize("value", [-1, -(2**31) - 1, "n", 2**31, 2**32, 2**40, 2**63 - 1])
@pytest.mark.parametrize(("name", "where", "of", "count"), INDICES)
def test_an_index_out_of_range_is_named(name: str, where: tuple[int, ...], of: str, count: int, value: Any) -> None:
    bad = count if value == "n" else value
    place = ", ".join(map(str, where if len(where) == 2 else (*where, 0)))
    with refused(f"{name}[{place}] = {bad} but there are {count} {of}, numbered from 0"):
        build(**{name: put(LEGAL[name], where, bad, np.int64)})


def test_an_index_beyond_the_largest_signed_integer_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^faces\[1, 0\] = 18446744073709551615 but there are 4 vertices, numbered from 0$"
    ):
        build(faces=put(FACES, (1, 0), 2**64 - 1, np.uint64))


SHAPES = [
    ("vertices", X.ravel(), "(12,)", "(n, 3)"),
    ("vertices", X[:, :2], "(4, 2)", "(n, 3)"),
    ("vertices", X[None], "(1, 4, 3)", "(n, 3)"),
    ("vertices", 1.0, "()", "(n, 3)"),
    ("faces", FACES.ravel(), "(12,)", "(n, 3)"),
    ("faces", TETS, "(1, 4)", "(n, 3)"),
    ("faces", 2, "()", "(n, 3)"),
    ("tets", FACES, "(4, 3)", "(n, 4)"),
    ("uv", UV[:3], "(3, 3, 2)", "(4, 3, 2)"),
    ("uv", UV.reshape(12, 2), "(12, 2)", "(4, 3, 2)"),
]


@pytest.mark.parametrize(("name", "value", "came", "expected"), SHAPES)
def test_a_wrong_shape_is_told_with_the_right_one(name: str, value: Any, came: str, expected: str) -> None:
    with refused(f"{name} has shape {came}; expected {expected}"):
        build(**{name: value})


NOT_NUMBERS: list[Any] = [
    np.full((4, 3), "1.0"),
    np.full((4, 3), b"1"),
    np.full((4, 3), None),
    np.full((4, 3), 1j),
    np.full((4, 3), np.datetime64("2003-01-01")),
    np.zeros((4, 3), [("x", "f8")]),
    np.ones((4, 3), np.bool_),
    [[1.0, 2.0, 3.0], [1.0]],
    "vertices",
    None,
    {"x": 1},
    object(),
]


@pytest.mark.parametrize("name", ["vertices", "faces", "tets"])
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=range(len(NOT_NUMBERS)))
def test_what_is_not_numbers_is_a_value_error_that_names_the_array(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} "):
        build(**{name: value})


@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf])
def test_indices_must_be_whole(bad: float) -> None:
    with pytest.raises(ValueError, match=r"^faces has dtype float64; expected whole numbers$"):
        build(faces=put(FACES, (0, 0), bad, np.float64))


@pytest.mark.parametrize("empty", [[], np.zeros((0, 3)), np.zeros(0)], ids=["list", "(0,3)", "(0,)"])
def test_no_vertices_is_an_error(empty: Any) -> None:
    with pytest.raises(ValueError, match=r"^vertices "):
        Mesh(empty, [])


@pytest.mark.parametrize("empty", [[], np.zeros((0, 3)), np.zeros((0, 3), np.int64)], ids=["list", "floats", "ints"])
def test_no_faces_is_a_cloud_of_points(empty: Any) -> None:
    assert Mesh(X, empty).faces.shape == (0, 3)


def strided(a: np.ndarray) -> np.ndarray:
    return np.repeat(a, 2, axis=0)[::2]


def read_only(a: np.ndarray) -> np.ndarray:
    out = a.copy()
    out.flags.writeable = False
    return out


VARIANTS: dict[str, Callable[[np.ndarray], Any]] = {
    "list": lambda a: a.tolist(),
    "strided": strided,
    "reversed twice": lambda a: a[::-1].copy()[::-1],
    "fortran": np.asfortranarray,
    "read-only": read_only,
    "f32": lambda a: a.astype("f4"),
    "big-endian f8": lambda a: a.astype(">f8"),
    "big-endian f4": lambda a: a.astype(">f4"),
}
WHOLE = {
    **VARIANTS,
    "i8": lambda a: a.astype("i8"),
    "u1": lambda a: a.astype("u1"),
    "u8": lambda a: a.astype("u8"),
    "big-endian i4": lambda a: a.astype(">i4"),
    "big-endian u2": lambda a: a.astype(">u2"),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["vertices", "uv"])
def test_every_legal_way_to_pass_numbers_gives_the_same_mesh(name: str, variant: str) -> None:
    plain = LEGAL[name].astype("f4").astype("f8")  # so that single precision holds them too
    assert getattr(build(**{name: VARIANTS[variant](plain)}), name).tobytes() == plain.tobytes()


@pytest.mark.parametrize("variant", WHOLE)
@pytest.mark.parametrize("name", ["faces", "tets", "material"])
def test_every_legal_way_to_pass_indices_gives_the_same_mesh(name: str, variant: str) -> None:
    got = getattr(build(**{name: WHOLE[variant](LEGAL[name])}), name)
    assert (got.dtype, got.tobytes()) == (np.int32, LEGAL[name].astype(np.int32).tobytes())


def test_a_mesh_keeps_copies_that_nobody_can_change() -> None:
    x = X.copy()
    mesh = build(vertices=x)
    x[0] = 9.0
    assert (mesh.vertices[0] == 0.0).all()
    for name in ("vertices", "faces", "tets", "uv", "material"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(mesh, name)[0] = 0


def test_each_face_needs_its_material() -> None:
    with pytest.raises(ValueError, match=r"^material has 3 entries; expected 4, one per face$"):
        build(material=MATERIAL[:3])


SHEET = shapes.cloth(1.0, 1.0, 4, centre=(0.0, 0.31, 0.0))
FRAMES = np.stack([SHEET.vertices, SHEET.vertices + 0.25])
# every other public door for arrays: what it calls the array, a legal one, and who takes it
DOORS: dict[str, tuple[str, np.ndarray, Callable[[Any], Any]]] = {
    "Mesh.moved": ("vertices", SHEET.vertices, lambda a: SHEET.moved(a).vertices),
    "Clip": ("frames", FRAMES, lambda a: pliant.Clip(SHEET, a).frames),
    "Body": ("velocity", np.array([0.0, 1.0, 0.5]), lambda a: pliant.Body(SHEET, velocity=a).velocity),
    "Scene gravity": ("gravity", np.array([0.0, -9.75, 0.0]), lambda a: scene(gravity=a).gravity),
    "Scene wind": ("wind", np.array([3.0, 0.0, 0.5]), lambda a: scene(wind=a).wind),
    "shapes": ("centre", np.array([0.0, 1.0, 0.5]), lambda a: shapes.ball(0.3, 0, centre=a).vertices),
    "DistanceField.sample": ("points", FRAMES[0, :5], lambda a: np.column_stack(field().sample(a))),
    "detector x_a": ("x_a", FRAMES[1], lambda a: loose().update(a).find()),
    "detector x_b": ("x_b", shapes.ball(0.3, 0).vertices, lambda a: loose().update(None, a).find()),
}


def scene(**options: Any) -> pliant.Scene:
    return pliant.Scene([pliant.Body(SHEET)], **options)


@functools.cache
def field() -> pliant.DistanceField:
    return pliant.DistanceField.bake(shapes.ball(0.3, 1), resolution=8)


@functools.cache
def loose() -> Any:
    return pliant.detector("brute-force", SHEET, shapes.ball(0.3, 0), within=0.05)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("door", DOORS)
def test_every_door_names_the_number_that_is_none(door: str, value: float) -> None:
    name, legal, enter = DOORS[door]
    last = tuple(n - 1 for n in legal.shape)
    with refused(f"{name}[{', '.join(map(str, last))}] is not finite ({value})"):
        enter(put(legal, last, value))


WRONG: dict[str, Callable[[np.ndarray], Any]] = {
    "a number": lambda a: 3.0,
    "flat": lambda a: a.ravel()[:2],
    "nothing": lambda a: [],
    "one axis more": lambda a: a[None],
    "words": lambda a: np.full(a.shape, "x"),
    "objects": lambda a: np.full(a.shape, None),
    "complex": lambda a: a.astype(complex),
    "true or false": lambda a: a > 0,
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_what_is_not_its_array(door: str, wrong: str) -> None:
    name, legal, enter = DOORS[door]
    with pytest.raises(ValueError, match=f"^{name} has (shape|dtype) .*; expected "):
        enter(WRONG[wrong](legal))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_takes_every_legal_way_to_pass_the_same_numbers(door: str, variant: str) -> None:
    _, legal, enter = DOORS[door]
    plain = legal.astype("f4").astype("f8")
    assert np.array_equal(enter(VARIANTS[variant](plain)), enter(plain), equal_nan=door == "DistanceField.sample")


@pytest.mark.parametrize(("given", "kept"), [("f4", "f4"), ("f8", "f8"), (">f4", "f8"), (">f8", "f8"), ("f2", "f8")])
def test_a_clip_keeps_single_and_double_precision_of_this_machine(given: str, kept: str) -> None:
    assert pliant.Clip(SHEET, FRAMES.astype(given)).frames.dtype == np.dtype(kept)


@pytest.mark.parametrize(
    ("value", "limits", "said"),
    [
        ("x", {}, "eps = 'x' is not a number"),
        (None, {}, "eps = None is not a number"),
        (np.nan, {}, "eps = nan is not finite"),
        (np.inf, {"low": 0}, "eps = inf is not finite"),
        (0.0, {"above": 0.0}, "eps = 0 must be greater than 0"),
        (-1, {"low": 0}, "eps = -1 must be at least 0"),
        (2, {"high": 1}, "eps = 2 must be at most 1"),
        (2, {"low": 0, "high": 1}, "eps = 2 must be in 0..1"),
    ],
)
def test_a_number_outside_its_limits_is_told_with_them(value: Any, limits: dict[str, Any], said: str) -> None:
    with refused(said):
        validate.number("eps", value, **limits)


@pytest.mark.parametrize(
    ("value", "said"), [(2.5, "must be a whole number"), (-1, "at least 0|in 0"), ("two", "not a number")]
)
def test_a_count_is_whole(value: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        validate.whole("frames", value)


def test_a_near_miss_is_suggested() -> None:
    with refused("unknown method 'bhv'; did you mean 'bvh'? one of: bvh, brute_force"):
        validate.choice("method", "bhv", ["bvh", "brute_force"])


def test_what_does_not_fit_is_refused_with_the_sizes() -> None:
    with pytest.raises(TooBigError) as caught:
        validate.budget("grid 4000x3000x4000", 4 * 4000 * 3000 * 4000, "lower the resolution", 12 << 30)
    assert str(caught.value) == "grid 4000x3000x4000 needs 179 GiB, limit 12 GiB; lower the resolution"


def test_the_limit_is_half_of_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validate, "free_memory", lambda: 2048)
    validate.budget("a table", 1024, "")
    with pytest.raises(TooBigError, match=r"limit 1 KiB \(half of free memory\)"):
        validate.budget("a table", 1025, "")


def test_free_memory_is_plausible() -> None:
    assert 1 << 20 < validate.free_memory() < 1 << 50


def test_a_number_of_400_digits_is_one_clear_error():
    with pytest.raises(ValueError, match=r"^fps is too large; expected a number below"):
        validate.number("fps", 10**400)
