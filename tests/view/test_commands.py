"""Nothing but well-formed commands about things that are there gets through."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import cases
from pliant.view.commands import (  # fmt: skip
    LONGEST,
    Choose,
    Do,
    FreePins,
    Grab,
    LetGo,
    Pull,
    Refused,
    Set,
    Show,
    parse,
)
from view.fake import KNOWN

GOOD = [
    ({"do": "pause"}, Do("pause")),
    ({"do": "keep"}, Do("keep")),
    ({"choose": "method", "to": "bvh"}, Choose("method", "bvh")),
    ({"choose": "method", "to": "tree"}, Choose("method", "bvh")),  # its earlier name
    ({"choose": "method", "to": "bvh:split=zones,arity=8"}, Choose("method", "bvh:arity=8,split=zones")),
    ({"set": "friction", "to": 0.5}, Set("friction", 0.5)),
    ({"set": "friction", "to": 1}, Set("friction", 1.0)),
    ({"set": "wind_x", "to": 20.000000000000004}, Set("wind_x", 20.0)),
    ({"show": "contacts", "on": True}, Show("contacts", True)),
    ({"show": "structure", "on": False, "level": 8}, Show("structure", False, 8)),
    ({"grab": [0, 2, 0], "along": [0, -1, 0], "pin": True}, Grab((0.0, 2.0, 0.0), (0.0, -1.0, 0.0), True)),
    ({"grab": [0, 2, 0], "along": [0, -1, 0]}, Grab((0.0, 2.0, 0.0), (0.0, -1.0, 0.0), False)),
    ({"pull": [0.1, -9.5, 9.9]}, Pull((0.1, -9.5, 9.9))),
    ({"let": "go"}, LetGo()),
    ({"free": "pins"}, FreePins()),
]

BAD = {
    "nothing": "",
    "not JSON": "pause",
    "cut short": '{"do": "pau',
    "a word": '"pause"',
    "a list": "[]",
    "an empty object": "{}",
    "null": "null",
    "an unknown verb": '{"eval": "1"}',
    "two verbs": '{"do": "pause", "let": "go"}',
    "a key too many": '{"do": "pause", "now": true}',
    "a key twice": '{"do": "pause", "do": "go"}',
    "a key missing": '{"set": "friction"}',
    "an unknown action": '{"do": "explode"}',
    "an action that is a number": '{"do": 1}',
    "an action that is a list": '{"do": ["pause"]}',
    "an unknown thing to choose": '{"choose": "colour", "to": "bvh"}',
    "an unknown name": '{"choose": "method", "to": "octree"}',
    "a name of another choice": '{"choose": "method", "to": "wave"}',
    "a name that is no name": '{"choose": "method", "to": {}}',
    "an unknown slider": '{"set": "mass", "to": 1}',
    "a number as text": '{"set": "friction", "to": "0.5"}',
    "a flag as number": '{"set": "friction", "to": true}',
    "no number": '{"set": "friction", "to": NaN}',
    "an infinite one": '{"set": "friction", "to": Infinity}',
    "one that becomes infinite": '{"set": "friction", "to": 1e999}',
    "one beyond all floats": f'{{"set": "friction", "to": {"9" * 400}}}',
    "one with too many digits": f'{{"set": "friction", "to": {"9" * 9000}}}',
    "one out of range": '{"set": "friction", "to": 1.0001}',
    "one below the range": '{"set": "friction", "to": -1e-5}',
    "an unknown overlay": '{"show": "bones", "on": true}',
    "an overlay neither on nor off": '{"show": "structure", "on": 1}',
    "a level too high": '{"show": "structure", "on": true, "level": 9}',
    "a negative level": '{"show": "structure", "on": true, "level": -1}',
    "half a level": '{"show": "structure", "on": true, "level": 1.5}',
    "a ray without a way": '{"grab": [0, 0, 0]}',
    "a ray of no length": '{"grab": [0, 0, 0], "along": [0, 0, 0]}',
    "a long ray": '{"grab": [0, 0, 0], "along": [1, 1, 1]}',
    "a ray from too far": '{"grab": [0, 10.1, 0], "along": [0, -1, 0]}',
    "a pin that is no flag": '{"grab": [0, 0, 0], "along": [0, -1, 0], "pin": null}',
    "a place too far": '{"pull": [0, 0, -10.1]}',
    "a place in the plane": '{"pull": [0, 0]}',
    "a place in four dimensions": '{"pull": [0, 0, 0, 0]}',
    "a place of text": '{"pull": "000"}',
    "a place of lists": '{"pull": [[0], [0], [0]]}',
    "a place that is not finite": '{"pull": [0, 1e999, 0]}',
    "letting something else": '{"let": "it be"}',
    "freeing something else": '{"free": "all"}',
    "brackets in brackets": "[" * 60_000,
    "objects in objects": '{"do":' * 10_000,
    "half a character": '{"do": "\\ud800"}',
}


def refused(message: str | bytes) -> Refused:
    with pytest.raises(Refused) as caught:
        parse(message, KNOWN)
    return caught.value


@pytest.mark.parametrize(("asked", "command"), GOOD, ids=lambda v: json.dumps(v) if isinstance(v, dict) else "")
def test_a_command_is_what_it_says(asked: dict[str, object], command: object) -> None:
    assert parse(json.dumps(asked), KNOWN) == command


@pytest.mark.parametrize("message", BAD.values(), ids=BAD)
def test_anything_else_is_refused_with_1003(message: str) -> None:
    assert refused(message).code == 1003


def test_bytes_are_refused_with_1003_even_if_they_are_a_command() -> None:
    assert refused(b'{"do": "pause"}').code == 1003


@pytest.mark.parametrize("letter", ["x", "€"])
def test_more_than_64_kib_are_refused_with_1009(letter: str) -> None:
    room = LONGEST - len('{"do": ""}')
    fits, long = (json.dumps({"do": letter * n}, ensure_ascii=False) for n in (room // len(letter.encode()), room))
    assert refused(fits).code == 1003
    assert refused(long + " ").code == 1009


@pytest.mark.parametrize("message", [*BAD.values(), b"\xff", "x" * 70_000], ids=[*BAD, "bytes", "lengthy"])
def test_the_reason_fits_into_a_close_frame(message: str | bytes) -> None:
    assert len(refused(message).why.encode("ascii")) <= 123


@settings(max_examples=cases(60), deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), lambda inner: (
    st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([
        "do", "choose", "set", "show", "grab", "pull", "let", "free", "to", "on", "level", "along", "pin"
    ]) | st.text(max_size=3), inner, max_size=4)
), max_leaves=6))  # fmt: skip
def test_any_json_is_a_command_or_refused(value: object) -> None:
    try:
        command = parse(json.dumps(value), KNOWN)
    except Refused:
        return
    assert finite(command)


def test_mutants_of_commands_are_commands_or_refused(rng: np.random.Generator) -> None:
    letters = [ord(c) for c in '{}[]":,.0123456789eE+-truefalsnN \\\x00é']
    codes = set()
    for _ in range(cases(2000)):
        text = json.dumps(GOOD[rng.integers(len(GOOD))][0])
        for _ in range(rng.integers(1, 4)):
            at, letter = rng.integers(len(text)), chr(letters[rng.integers(len(letters))])
            text = text[:at] + (letter, letter + text[at], "")[rng.integers(3)] + text[at + 1 :]
            text = text or "x"
        try:
            assert finite(parse(text, KNOWN))
        except Refused as why:
            codes.add(why.code)
    assert codes == {1003}


def finite(command: object) -> bool:
    """Whether every number of a command is finite."""
    numbers = [v for value in vars(command).values() for v in (value if isinstance(value, tuple) else (value,))]
    return all(math.isfinite(v) for v in numbers if isinstance(v, (int, float)))
