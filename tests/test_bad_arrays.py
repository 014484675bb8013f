"""Every array argument of every public function, with everything that can be wrong about it (RELIABILITY I1)."""

import dataclasses
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pliant
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.state import State
from time_limit import PATIENCE

X = np.array([[0.0, 0, 0], [1, 0, 0], [0, 0, 1], [1, 0, 1], [0.5, 1, 0.5]])
F = np.array([[0, 2, 1], [1, 2, 3]])
UV = np.zeros((2, 3, 2))
MESH = pliant.Mesh(X, F)
ABOVE = pliant.Mesh(X + np.array([0.05, 0.01, 0.02]), F)


@dataclasses.dataclass(frozen=True)
class Door:
    """A function of one array, a good value for it, the name its errors must use."""

    name: str
    good: np.ndarray
    call: Callable[[Any], Any]
    said: str
    empty: bool = False  # an empty array is an answerable question
    limit: int = 0  # entries are indices below this
    huge: bool = False  # no size is too large: nothing computes with it

    def __str__(self) -> str:
        return self.name


FIELD = None


def field() -> pliant.DistanceField:
    global FIELD
    if FIELD is None:
        FIELD = pliant.DistanceField.bake(MESH, 6)
    return FIELD


def detector(method: str) -> Any:
    options = {"field": field()} if method == "distance-field" else {}
    return pliant.detector(method, ABOVE, MESH, within=0.3, **options)


DOORS = [
    Door("Mesh vertices", X, lambda x: pliant.Mesh(x, F).face_areas, "vertices"),
    Door("Mesh.moved", X, lambda x: MESH.moved(x).vertices, "vertices"),
    Door("Mesh uv", UV, lambda uv: pliant.Mesh(X, F, uv=uv).uv, "uv"),
    Door("Mesh faces", F, lambda f: pliant.Mesh(X, f).face_areas, "faces", empty=True, limit=5),
    Door("Mesh tets", np.array([[0, 1, 2, 4]]), lambda t: pliant.Mesh(X, F, t).tets, "tets", empty=True, limit=5),
    Door("Mesh.from_tets x", X, lambda x: pliant.Mesh.from_tets(x, [[0, 1, 2, 4]]).tet_volumes, "vertices"),
    Door(
        "Mesh.from_tets tets",
        np.array([[0, 1, 2, 4]]),
        lambda t: pliant.Mesh.from_tets(X, t).faces,
        "tets",
        empty=True,
        limit=5,
    ),
    Door(
        "Mesh material",
        np.array([0, 1]),
        lambda m: pliant.Mesh(X, F, material=m, materials=({}, {})).material,
        "material",
        limit=2,
    ),
    Door("Clip frames", X[None], lambda frames: pliant.Clip(MESH, frames).frames, "frames", huge=True),
    Door("find_contacts", X, lambda x: pliant.find_contacts(pliant.Mesh(x, F), ABOVE, within=0.3), "vertices"),
    Door("brute-force update a", X, lambda x: detector("brute-force").update(x).find(), "x_a"),
    Door("brute-force update b", X, lambda x: detector("brute-force").update(None, x).find(), "x_b"),
    Door("distance-field update a", X, lambda x: detector("distance-field").update(x).find(), "x_a"),
    Door("DistanceField.sample", X, lambda x: field().sample(x), "points", empty=True),
    Door("ClosestPoints.query", X, lambda x: ClosestPoints(MESH).query(x), "points", empty=True),
    Door("Body pins", np.array([0, 3]), lambda p: pliant.Body(MESH, pins=p).pins, "pins", empty=True, limit=5),
    Door("Body velocity", np.ones(3), lambda v: pliant.Body(MESH, velocity=v).velocity, "velocity"),
    Door("Scene gravity", np.ones(3), lambda g: pliant.Scene([pliant.Body(MESH)], gravity=g).gravity, "gravity"),
    Door("Scene wind", np.ones(3), lambda w: pliant.Scene([pliant.Body(MESH)], wind=w).wind, "wind"),
    Door("State.at x", X, lambda x: State.at(x).x, "x", empty=True),
    Door("State.at v", X, lambda v: State.at(X, v).v, "v"),
]
FLOATS = [door for door in DOORS if not door.limit]
INDICES = [door for door in DOORS if door.limit]
every = pytest.mark.parametrize("door", DOORS, ids=str)
floats = pytest.mark.parametrize("door", FLOATS, ids=str)
indices = pytest.mark.parametrize("door", INDICES, ids=str)


def refused(door: Door, value: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match) as caught:
        door.call(value)
    assert door.said in str(caught.value)


@floats
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_a_number_that_is_none_is_named_with_its_place(door, bad):
    if door.huge and np.isfinite(bad):
        pytest.skip("any finite position can be shown")
    value = door.good.copy()
    place = tuple(n - 1 for n in value.shape)
    value[place] = bad
    where = ", ".join(map(str, place))
    refused(door, value, rf"{door.said}\[{where}\] (is not finite \({bad}\)|= 1e\+300 is beyond 1e\+12)")


@indices
@pytest.mark.parametrize("bad", [-1, "n", 2**31, 2**40, -(2**63), 2**63 - 1])
def test_an_index_out_of_range_is_named_with_its_place(door, bad):
    value = door.good.astype(np.int64)
    bad = door.limit if bad == "n" else bad
    value[tuple(n - 1 for n in value.shape)] = bad
    refused(door, value, rf"{door.said}\[[\d, ]+\] = {bad} but there are {door.limit} ")


@indices
@pytest.mark.parametrize("bad", [0.5, np.nan, np.inf])
def test_an_index_that_is_no_whole_number_is_refused(door, bad):
    value = door.good.astype(float)
    value[tuple(n - 1 for n in value.shape)] = bad
    refused(door, value, "whole numbers")


@every
def test_a_wrong_shape_is_named_with_the_right_one(door):
    widened = np.concatenate([door.good, door.good[..., :1]], -1)
    shapes = [door.good[None], widened] if door.good.ndim > 1 else [np.zeros((2, 2), door.good.dtype)]
    if door.said in ("pins", "material"):
        shapes = []  # any shape of rows is one list
    for value in shapes:
        refused(door, value, "shape|entries")


@every
@pytest.mark.parametrize(
    "make",
    [
        lambda good: np.full(good.shape, "a"),
        lambda good: np.full(good.shape, None),
        lambda good: good.astype(complex),
        lambda good: np.full(good.shape, True),
        lambda good: [[1, 2, 3], [1]],
        lambda good: object(),
        lambda good: {"a": 1},
    ],
    ids=["strings", "objects", "complex", "booleans", "ragged", "object", "dict"],
)
def test_a_wrong_kind_of_value_is_refused(door, make):
    refused(door, make(door.good), "dtype|shape|array|numbers|entries")


@every
def test_an_empty_array_is_an_answer_or_an_error(door):
    value = np.zeros((0, *door.good.shape[1:]), door.good.dtype)
    if door.empty:
        door.call(value)
    else:
        refused(door, value, "empty|shape|entries|expected")


def same(one: Any, two: Any) -> None:
    for a, b in zip(one, two) if isinstance(one, tuple) else [(one, two)]:
        np.testing.assert_array_equal(a, b)


@every
@pytest.mark.parametrize(
    "make",
    [
        lambda good: np.repeat(good, 2, 0)[::2],
        lambda good: good.astype(good.dtype.newbyteorder(">")),
        np.asfortranarray,
        lambda good: good.tolist(),
        lambda good: np.asarray(good).view() if good.flags.writeable else good,
        lambda good: good.astype(good.dtype).copy(),
    ],
    ids=["strided", "big-endian", "fortran", "list", "view", "copy"],
)
def test_any_legal_way_to_pass_the_same_numbers_gives_the_same_answer(door, make):
    same(door.call(make(door.good)), door.call(door.good))


@every
def test_a_read_only_array_is_fine_and_stays_untouched(door):
    value = door.good.copy()
    value.flags.writeable = False
    same(door.call(value), door.call(door.good))
    np.testing.assert_array_equal(value, door.good)


@floats
def test_float32_gives_the_answer_of_the_same_numbers_in_float64(door):
    short = door.good.astype(np.float32)
    same(door.call(short), door.call(short.astype(np.float64)))


@indices
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float64])
def test_indices_of_any_type_give_the_same_answer(door, dtype):
    same(door.call(door.good.astype(dtype)), door.call(door.good))


@pytest.mark.parametrize("name", ["resolution", "spacing", "band"])
@pytest.mark.parametrize("bad", [np.nan, -1.0, "a"])
def test_a_wrong_number_is_named(name, bad):
    with pytest.raises(ValueError, match=f"^{name} = "):
        pliant.DistanceField.bake(MESH, **{name: bad})


@pytest.mark.parametrize("bad", [np.nan, -1.0, "a"])
def test_a_wrong_distance_is_named(bad):
    with pytest.raises(ValueError, match=r"^within = "):
        pliant.find_contacts(MESH, ABOVE, within=bad)


def test_a_mesh_without_faces_has_no_field_and_no_nearest_point():
    points = pliant.Mesh(X, np.zeros((0, 3), int), name="dots")
    for make in (pliant.DistanceField.bake, ClosestPoints):
        with pytest.raises(ValueError, match="'dots' has no faces"):
            make(points)


def test_no_bad_array_ends_the_process():
    code = """
import numpy as np, sys
sys.path.insert(0, sys.argv[1])
import test_bad_arrays as t
count = 0
for door in t.DOORS:
    for bad in (np.nan, np.inf, -np.inf, 1e300, -1, 5, 2**31, 2**62, -(2**63)):
        for at in (0, -1):
            value = door.good.astype(float if isinstance(bad, float) else np.int64)
            value.flat[at] = bad
            try:
                door.call(value)
            except ValueError:
                count += 1
print(count)
"""
    folder = str(pathlib.Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100
