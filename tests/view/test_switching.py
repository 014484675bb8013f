"""Every method and every value of its options, chosen one after the other through the server while cloth hangs over a
body: the run goes on, contacts are right, and what is drawn is the data structure as it is then."""

import contextlib
import json

import numpy as np
import pytest

from detect.test_bone_fields import bar
from pliant import shapes
from pliant.detect.methods import METHODS
from pliant.detect.options import method_text, options_of, parse_method
from pliant.motion.deforming import Skinned
from pliant.scene import Body, Scene, Solid
from pliant.simulation.build import make_detectors, refusal_of
from pliant.simulation.measure.referee import Referee
from pliant.view.frame_encoding import decode
from pliant.view.interactive_run import StartOptions
from pliant.view.session import Session
from view.drawn import CHECKS
from view.raw import BINARY, TEXT, Raw
from view.running import running

pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("frozen")]


def cloth_on_ball() -> Scene:
    sheet = shapes.cloth(0.3, 0.3, 9, centre=(0.0, 0.112, 0.0))
    return Scene([Body(sheet), Body(shapes.ball(0.1, 2), obstacle=True)], eps=0.01, name="ball")


def cloth_on_bones() -> Scene:
    motion = Skinned(bar(turn=0.3), "move")
    sheet = shapes.cloth(0.5, 0.5, 9, centre=(0.0, 0.515, 0.0))
    return Scene([Body(sheet), Body(motion.character.mesh, obstacle=True, motion=motion)], eps=0.02, name="bones")


def solid_on_solid() -> Scene:
    size, cells = (0.2, 0.1, 0.1), (4, 2, 2)
    falls = Body(shapes.bar(size, cells, centre=(0.03, 0.104, 0.01)), material=Solid())
    return Scene([falls, Body(shapes.bar(size, cells), obstacle=True)], eps=0.005, name="tets")


SCENES = {"ball": cloth_on_ball, "bones": cloth_on_bones, "tets": solid_on_solid}


class Player:
    """A client of a session that runs, and looks behind the line."""

    def __init__(self, session: Session, line: Raw) -> None:
        self.session, self.line = session, line
        self.hello, self.problems, self.frame = line.words("hello"), [], None

    def next_frame(self) -> None:
        while True:
            opcode, content = self.line.read()
            if opcode == TEXT:
                said = json.loads(content)
                self.hello = said.get("hello", self.hello)
                self.problems += [said[key] for key in ("problem", "refused") if key in said]
                if self.problems:
                    return
            if opcode == BINARY:
                self.frame = decode(content)
                return

    def until(self, holds) -> None:
        for _ in range(2000):
            if self.problems or (self.frame is not None and holds(*self.frame)):
                return
            self.next_frame()
        raise AssertionError("it did not come")

    def switch(self, method: str) -> tuple[dict, dict]:
        """Choose a method, let it run for some parts, and pause: header and arrays of the last frame."""
        before = self.hello["generation"]
        self.line.say(choose="method", to=method)
        self.until(lambda generation, *_: generation > before)
        self.line.say(do="go")
        start = self.frame[2]["part"] if self.frame[2]["part"] < 3 else 0
        self.until(lambda _, __, header, ___: not header["paused"] and header["part"] >= start + 3)
        self.line.say(do="pause")
        self.until(lambda _, __, header, ___: header["paused"])
        serial, sim = self.frame[1], self.session._run.sim
        for detector in sim.detectors:  # for the positions of this frame, not those before the last response
            detector.update(sim.state).find(sim.state)
        self.line.say(show="structure", on=True)  # one more frame
        self.until(lambda _, now, *__: now > serial)
        assert self.problems == [], method
        return self.frame[2], self.frame[3]


@contextlib.contextmanager
def playing(name: str, tmp_path_factory):
    session = Session(StartOptions(own=SCENES[name](), method="bvh"), tmp_path_factory.mktemp("play"))
    with running(session) as server, Raw(server.port) as line:
        yield Player(session, line)


@pytest.fixture(scope="module", params=SCENES)
def player(request, tmp_path_factory):
    with playing(request.param, tmp_path_factory) as made:
        yield made


def variants(scene: Scene, method: str) -> list[str]:
    """The method, and the method with every other value of every option that lists them."""
    found = [method]
    for option in options_of(method).values():
        given = [{option.name: value} for value in option.values if value != option.default]
        found += [method_text(method, each) for each in given if not refusal_of(scene, method, each)]
    return found


def check(player: Player, method: str) -> None:
    """Switch to a method, and compare what is drawn with the detector, and its contacts with brute force."""
    header, arrays = player.switch(method)
    run = player.session._run
    state, kind = run.sim.state, METHODS[parse_method(method).name]
    assert player.hello["chosen"]["method"] == run.method == parse_method(method).text
    assert all(np.isfinite(array).all() for name, array in arrays.items() if array.dtype.kind == "f")
    seen = header["structure"]["structure"]
    assert seen["legend"]
    assert 0 <= seen["level"] <= seen["levels"]
    drawn = {name: arrays[name] for name in ("lines", "accents", "spheres", "dots", "field_slice") if name in arrays}
    (detector,) = run.sim.detectors
    # the samples of active-pairs may have found no pair yet
    empty = ("disjoint", "the 0 that also hold", "active pairs: 0 in contact (orange), 0 at local minima")
    nothing = any(text in seen["legend"] for text in empty)
    assert drawn or nothing, method
    if hasattr(detector, "parts"):  # fields of bones
        assert len(arrays["lines"]) == 12 * len(detector.fields)
    elif drawn:
        CHECKS[kind.name](detector, drawn, state.x)
    assert np.isfinite(state.x).all()
    if detector.guarantee == "A":
        assert Referee(run.scene).least_distance(state.x, state.pose) > -1e-9
        if kind.name in ("bvh", "stochastic-bvh", "brute-force"):
            (exact,) = make_detectors(run.scene, "brute-force", {})
            found, wanted = (each.update(state).find(state) for each in (detector, exact))
            names = [np.sort(np.column_stack([c["kind"], c["elements"]]), axis=0) for c in (found, wanted)]
            np.testing.assert_array_equal(*names)


def available(player: Player) -> list[str]:
    return [name for name, why in player.session._run.unavailable_reasons().items() if not why]


QUICK = {
    "ball": ["bvh:volume=sphere", "bvh:volume=26-dop", "bvh:volume=oriented", "bvh:update=lazy"],
    "bones": ["bvh:update=blend", "continuous:update=blend", "bone-boxes:exact=false"],
    "tets": ["spatial-hash:hash=xor", "continuous:volume=sphere"],
}


def test_what_is_drawn_is_the_data_structure_of_each_method(player):
    for method in (*available(player), *QUICK[player.session._run.scene.name]):
        check(player, method)


@pytest.mark.long
def test_what_is_drawn_is_the_data_structure_of_each_variant(player):
    for method in available(player):
        for variant in variants(player.session._run.scene, method):
            check(player, variant)


def test_a_wrong_value_is_told_and_changes_nothing(player):
    player.line.say(choose="method", to="bvh:leaf=none at all")
    player.problems.clear()
    player.until(lambda *_: False)
    assert "leaf" in player.problems[0]
    player.problems.clear()
    assert "=" not in player.session._run.method or "leaf" not in player.session._run.method
