"""`pliant play` as people have it: a real browser, the real server, a real simulation."""

import json
import os
import pathlib
import time

import numpy as np
import pytest

from pliant.detect.methods import METHODS
from pliant.simulation.measure.referee import Referee
from pliant.view.frame_encoding import decode
from pliant.view.interactive_run import StartOptions
from pliant.view.session import Session
from report.test_replay import browser
from view.running import running
from view.test_page import Visit

__all__ = ["browser"]  # a fixture
pytestmark = [pytest.mark.browser, pytest.mark.compiled]
PICTURES = os.environ.get("PLIANT_PICTURES")  # a folder that screenshots are kept in


class Watched(Session):
    """Every frame is measured by the exact referee: the least distance (m) of the cloth from the body."""

    def __init__(self, choice: StartOptions, folder: pathlib.Path) -> None:
        super().__init__(choice, folder)
        self.least: list[float] = []
        self.judge = None

    def _publish(self, frame) -> None:
        if self.judge is None:
            self.judge = Referee(self._run.scene)
        self.least.append(self.judge.least_distance(frame.x, frame.pose))
        super()._publish(frame)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    choice = StartOptions(scene="tablecloth-on-ball", method="bvh", options={"resolution": 20})
    return Watched(choice, tmp_path_factory.mktemp("play"))


@pytest.fixture(scope="module")
def visit(browser, session):
    with running(session) as server:
        visit = Visit(browser, server.url)
        until(visit, "pliant.header.part > 3")
        yield visit
        visit.context.close()


def until(visit, what):
    visit.page.wait_for_function(f"() => {what}", timeout=200_000)


def keep(visit, name):
    if PICTURES:
        visit.page.screenshot(path=str(pathlib.Path(PICTURES) / f"play-{name}.png"))


def corner_of(visit):
    """The corner of the cloth nearest to the eye, a little inside of it, in space and on the screen."""
    x = np.array(visit.page.evaluate("pliant.positions(0)")).reshape(20, 20, 3)
    near = [(0, 0), (0, -1), (-1, 0), (-1, -1)]
    row, column = max(near, key=lambda at: visit.pixel(x[at])[1])  # the lowest on the screen
    inner = (1 if row == 0 else -2, 1 if column == 0 else -2)
    point = 0.5 * (x[row, column] + x[inner])
    return point, visit.pixel(point)


def test_a_corner_dragged_by_thirty_centimetres_follows_within_three_and_nothing_is_inside(visit, session):
    until(visit, "pliant.header.time > 0.7")
    visit.page.keyboard.press(" ")  # or the corner would swing away before it is pressed
    until(visit, "pliant.state.paused")
    point, (left, top) = corner_of(visit)
    metre = np.linalg.norm(visit.pixel((0.0, 0.5, 0.0)) - visit.pixel((0.0, -0.5, 0.0)))
    mouse = visit.page.mouse
    mouse.move(left, top)
    mouse.down()
    until(visit, "pliant.header.held")
    visit.page.keyboard.press(" ")
    until(visit, "!pliant.state.paused")
    for share in np.linspace(0.1, 1.0, 10):
        mouse.move(left + share * 0.2 * metre, top - share * 0.25 * metre)
        time.sleep(0.02)
    end, gap = time.monotonic() + 200.0, 1.0
    while time.monotonic() < end and not gap < 0.03:
        held, to = decode(session.newest.data)[3]["drag"]
        gap = float(np.linalg.norm(held - to)) if np.linalg.norm(to - point) > 0.28 else 1.0  # all of the way was heard
        time.sleep(0.05)
    keep(visit, "drag")
    assert gap < 0.03
    mouse.up()
    until(visit, "!pliant.header.held")
    time.sleep(0.3)
    assert min(session.least) > 0.0
    assert not visit.complaints


def test_every_method_can_be_chosen_while_the_cloth_hangs_there(visit, session):
    for name in METHODS:
        visit.page.evaluate("name => pliant.send({ choose: 'method', to: name })", name)
        end = time.monotonic() + 200.0
        while json.loads(session.hello())["hello"]["chosen"]["method"] != name:
            assert time.monotonic() < end, f"{name} was not chosen"
            time.sleep(0.02)
        serial = visit.page.evaluate("pliant.serial")
        until(visit, f"pliant.serial > {serial} + 1")
        keep(visit, name)
    assert not any("problem" in text for _, text in session.messages)
    assert not visit.complaints
