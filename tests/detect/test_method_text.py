"""Methods with options as text: read, checked and passed on wherever a method is named."""

import pathlib

import numpy as np
import pytest

import pliant
from pliant import Simulation
from pliant.detect.methods import METHODS
from pliant.detect.options import check_options, merged, options_of, parse_method, split_methods
from pliant.scenes import SCENES
from pliant.sweep.parameters import PARAMETERS

CLOTH = pliant.shapes.cloth(0.4, 0.4, 8)
BALL = pliant.shapes.ball(0.2, 1)


def test_text_is_read_as_numbers_flags_words_and_lists():
    assert parse_method("brute_force") == ("brute-force", "requested", {})
    assert parse_method("tree:arity=8,split=any-sah").options == {"arity": 8, "split": "any-sah"}
    assert parse_method(" bvh : split = any-sah , arity=8").text == "bvh:arity=8,split=any-sah"
    assert parse_method("distance-field:midpoints=false").options == {"midpoints": False}
    assert parse_method("stochastic-bvh:quality=5e-1,budget-ms=none").options == {"quality": 0.5, "budget_ms": None}
    assert parse_method("height-grid:directions=+y/-y").options == {"directions": ("+y", "-y")}
    assert parse_method("spatial-hash:depth=nearest").options == {"depth": "nearest"}
    assert parse_method("sphere-surface:camera=1/2/3").options == {"camera": [1, 2, 3]}


def test_what_is_written_reads_as_the_same():
    for text in ("bvh", "bvh:arity=8,cull=false", "active-pairs:far=0.1,spread=none", "height-grid:directions=+y/-y"):
        again = parse_method(parse_method(text).text)
        assert again == parse_method(text)
    assert parse_method("bvh:arity=8").with_option("cull", False).text == "bvh:cull=false,arity=8"
    assert parse_method("bvh:arity=8").with_option("arity", 4).text == "bvh"


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("bhv", r"unknown method 'bhv'; did you mean 'bvh'\?"),
        ("bvh:", "no option after the colon; expected bvh:option=value"),
        ("bvh:arity", "'arity'; expected bvh:option=value"),
        ("bvh:arity=", "'arity='; expected bvh:option=value"),
        ("bvh:arety=8", r"method 'bvh' has no option 'arety'; did you mean 'arity'\? one of: arity, cull"),
        ("bvh:arity=8,arity=4", "gives 'arity' twice"),
        ("stochastic-bvh:arity=3", "method 'stochastic-bvh': arity = 3; one of: 2, 4, 8"),
        ("stochastic-bvh:arity=many", "method 'stochastic-bvh': arity = 'many' is not a number"),
        ("spatial-hash:depth=nearst", r"method 'spatial-hash': unknown depth 'nearst'; did you mean 'nearest'\?"),
        ("bvh:cull=maybe", "method 'bvh': cull = 'maybe'; expected True or False"),
        ("stochastic-bvh:quality=none", "method 'stochastic-bvh': quality = 'none' is not a number"),
        ("distance-field:field=octree", "field = 'octree'; expected a DistanceField.*one of: bricks, dense"),
        ("distance-field:progress=print", "progress = 'print'; expected a function, in Python"),
    ],
)
def test_wrong_text_is_one_sentence_that_says_what_is_expected(text, wrong):
    for read in (parse_method, lambda text: PARAMETERS["drape"]["method"]("method", text)):
        with pytest.raises(ValueError, match=wrong) as caught:
            read(text)
        assert "\n" not in str(caught.value)


def test_lists_of_methods_keep_the_options_of_each():
    text = "bvh, bvh:arity=8,split=any-sah ,brute-force,stochastic-bvh:quality=0.5"
    assert split_methods(text) == ["bvh", "bvh:arity=8,split=any-sah", "brute-force", "stochastic-bvh:quality=0.5"]


def test_options_with_the_name_and_beside_it_are_the_same_and_given_once():
    one = pliant.detector("stochastic-bvh:quality=0.3", CLOTH, BALL, within=0.02)
    two = pliant.detector("stochastic-bvh", CLOTH, BALL, within=0.02, quality=0.3)
    assert one._detector.quality == two._detector.quality == 0.3
    with pytest.raises(ValueError, match="option 'quality' of method 'stochastic-bvh' is given twice"):
        pliant.detector("stochastic-bvh:quality=0.3", CLOTH, BALL, quality=0.3)
    with pytest.raises(ValueError, match="given twice"):
        merged("bvh", {"arity": 2}, {"arity": 4})
    with pytest.raises(TypeError, match="method 'bvh' has no option 'speed'"):
        check_options("bvh", {"speed": 1})


def test_every_option_has_a_sentence_for_its_values_and_its_default_is_one_of_them():
    for method in METHODS:
        for option in options_of(method).values():
            assert option.wanted
            if option.values:
                assert option.default in (*option.values, None), (method, option.name)


def test_a_simulation_takes_options_with_the_name_and_a_checkpoint_keeps_them(tmp_path: pathlib.Path):
    scene = SCENES["tablecloth-on-ball"](resolution=6)
    sim = Simulation(scene, method="bone-boxes:slabs=3", self_method="stochastic-bvh:quality=0.7")
    assert sim.method == "bone-boxes:slabs=3"
    sim.step()
    sim.save(tmp_path / "run.npz")
    again = Simulation.load(tmp_path / "run.npz", SCENES["tablecloth-on-ball"](resolution=6))
    assert (again.method, again.self_contact.method) == ("bone-boxes:slabs=3", "stochastic-bvh:quality=0.7")
    assert [d.quality for d in again.self_contact.detectors] == [0.7] * len(again.self_contact.detectors)
    np.testing.assert_array_equal(again.step().x, sim.step().x)


def test_compare_has_a_row_for_each_method_with_its_options():
    near = pliant.Mesh(CLOTH.vertices + np.array([0.0, 0.205, 0.0]), CLOTH.faces)
    wanted = ["bvh", "bvh:arity=8", "stochastic-bvh:quality=0.5"]
    found = pliant.compare(near, BALL, within=0.02, methods=wanted)
    assert [row.method for role in found.roles for row in role.rows] == wanted
