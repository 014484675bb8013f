"""The live page of a real run: methods and their options are chosen on it, and it draws their data structures."""

import numpy as np
import pytest

from pliant import shapes
from pliant.scene import Body, Scene
from pliant.view.interactive_run import StartOptions
from pliant.view.session import Session
from report.test_replay import browser
from view.running import running
from view.test_page import Visit

__all__ = ["browser"]  # a fixture
pytestmark = [pytest.mark.browser, pytest.mark.compiled, pytest.mark.usefixtures("frozen")]


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    sheet = shapes.cloth(0.3, 0.3, 9, centre=(0.0, 0.112, 0.0))
    scene = Scene([Body(sheet), Body(shapes.ball(0.1, 2), obstacle=True)], eps=0.01, name="ball")
    session = Session(StartOptions(own=scene, method="bvh"), tmp_path_factory.mktemp("play"))
    with running(session) as server:
        visit = Visit(browser, server.url)
        visit.page.wait_for_function("() => pliant.header.time > 0.1")
        visit.page.evaluate("pliant.send({ do: 'pause' })")
        visit.page.wait_for_function("() => pliant.state.paused")
        yield visit
        visit.context.close()


def shown(visit: Visit, choose, word: str = "") -> tuple[str, np.ndarray]:
    """What the page says and shows after a choice, once it says `word`."""
    before = visit.page.evaluate("pliant.state.generation")
    choose()
    visit.page.wait_for_function("g => pliant.state.generation > g && !pliant.state.waiting", arg=before)
    visit.page.wait_for_function("w => document.getElementById('seen').textContent.includes(w || ' ')", arg=word)
    return visit.page.inner_text("#seen"), visit.drawn()


@pytest.mark.long
def test_the_page_switches_through_methods_and_says_what_it_draws(visit):
    plain = visit.drawn()
    visit.page.locator("#show-structure").check(force=True)
    visit.page.wait_for_selector("#seen:visible")
    page = visit.page
    pictures = [plain, visit.drawn()]
    for choose, word in (
        (lambda: page.select_option("#option-volume", "bvh:volume=sphere"), "bounding spheres at level"),
        (lambda: page.select_option("#option-volume", "bvh:volume=18-dop"), "18-DOPs"),
        (lambda: page.locator("#method-distance-field").click(force=True), "bricks"),
        (lambda: page.select_option("#option-field", "distance-field:field=planar"), "BSP"),
        (lambda: page.locator("#method-active-pairs").click(force=True), "active pairs"),
    ):
        text, picture = shown(visit, choose, word)
        assert word in text
        assert all(np.abs(picture - other).max() > 30.0 for other in pictures)
        pictures.append(picture)
    assert visit.complaints == []


def test_levels_are_those_of_the_method(visit):
    page = visit.page
    visit.page.locator("#show-structure").check(force=True)
    shown(visit, lambda: page.evaluate("panel.choose('method', 'bvh:arity=2')"))
    shown(visit, lambda: page.evaluate("panel.choose('method', 'bvh')"))
    levels = page.evaluate("pliant.header.structure.structure.levels")
    page.wait_for_function("n => Number(document.getElementById('level-structure').max) === n", arg=levels)
    page.locator("#level-structure").fill("0")
    page.wait_for_function("() => pliant.header.structure.structure.level === 0")
    assert "level 0" in page.evaluate("pliant.header.structure.structure.legend")


def test_a_typed_option_is_taken_and_a_wrong_one_is_told(visit):
    page = visit.page
    shown(visit, lambda: page.evaluate("panel.choose('method', 'bvh:leaf=2')"))
    page.locator("#value-leaf").fill("4")
    page.locator("#value-leaf").press("Tab")
    page.wait_for_function("() => pliant.state.chosen.method === 'bvh:leaf=4'")
    page.locator("#value-leaf").fill("four")
    page.locator("#value-leaf").press("Tab")
    page.wait_for_selector("#problem:visible")
    assert "leaf" in page.inner_text("#problem")
    page.wait_for_function("() => document.getElementById('value-leaf').value === '4'")
    assert page.evaluate("pliant.state.chosen.method") == "bvh:leaf=4"
