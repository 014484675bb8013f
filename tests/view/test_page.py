"""The live page in a real browser: it shows what is sent, sends what is done, and comes back when the line breaks."""

import io
import json
import time

import numpy as np
import pytest
from PIL import Image

from pliant.view.commands import Choose, Do, FreePins, Grab, LetGo, Pull, Set, Show
from pliant.view.server import Limits
from report.test_replay import PATIENCE, PIXELS, browser
from view.fake import FakeSession
from view.running import running

__all__ = ["browser"]  # a fixture
pytestmark = pytest.mark.browser

WIDTH, HEIGHT = 800, 500
RATE = 5.0  # frames a second; each is drawn pixel by pixel where there is no graphics card


class PlainSession(FakeSession):
    """The cloth hangs still, and more of the protocol is spoken: an overlay, a recording, a reason why not."""

    def tick(self) -> None:
        self.time = 0.0  # a wave would move what the mouse points at
        super().tick()

    def post(self, client, command) -> None:
        super().post(client, command)
        if isinstance(command, Grab) and getattr(self, "missing", False):
            self.held_by, self.held, self.missed = None, None, getattr(self, "missed", 0) + 1
        self.recording = {"record": 7, "drop": 0}.get(getattr(command, "what", ""), getattr(self, "recording", 0))
        if isinstance(command, Grab) and command.pin:
            self.pins = np.array([[0.1, 0.4, 0.1]], np.float32)
        self.tick()

    def _frame(self, arrays):
        if self.shown["contacts"]:
            points = arrays["x0"][:: max(1, len(arrays["x0"]) // 60)]
            arrays["points"], arrays["depths"] = points, np.linspace(0.0, 0.002, len(points), dtype=np.float32)
        data = super()._frame(arrays)
        length = int.from_bytes(data[12:16], "little")
        header = json.loads(data[16 : 16 + length])
        header |= {"recording": getattr(self, "recording", 0), "contacts": 4321, "deepest": None}
        header["missed"] = getattr(self, "missed", 0)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 4)
        return data[:12] + len(text).to_bytes(4, "little") + text + data[16 + length :]

    def _introduce(self) -> str:
        hello = json.loads(super()._introduce())
        hello["hello"]["choices"]["method"].append(["height-grid", "height-grid", "needs a relief <b>"])
        return json.dumps(hello)


class Visit:
    """A page with what it said."""

    def __init__(self, browser, url: str, **how) -> None:
        self.context = browser.new_context(**PIXELS, viewport={"width": WIDTH, "height": HEIGHT}, **how)
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", self.console)
        self.page.goto(url)
        self.page.evaluate("pliant.ready")

    def console(self, line) -> None:
        if line.type in ("error", "warning"):
            self.complaints.append(line.text)

    def positions(self) -> np.ndarray:
        return np.reshape(self.page.evaluate("pliant.positions(0)"), (-1, 3))

    def pixel(self, point) -> np.ndarray:
        return np.array(self.page.evaluate("p => pliant.project(p)", [float(v) for v in point]))

    def drawn(self) -> np.ndarray:
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        picture = self.page.screenshot(scale="css", clip={"x": 0, "y": 90, "width": 440, "height": 330})
        return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), float)


def after(session: FakeSession, kind: type, since: int, seconds: float = 60.0):
    """The first command of a kind that came after the first `since`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _, command in session.commands[since:]:
            if isinstance(command, kind):
                return command
        time.sleep(0.005)
    raise AssertionError(f"no {kind.__name__} came, only {session.commands[since:]}")


@pytest.fixture(scope="module")
def session():
    return PlainSession(side=16, rate=RATE)


@pytest.fixture(scope="module")
def server(session):
    with running(session) as started:
        yield started


@pytest.fixture(scope="module")
def visit(browser, server):
    visit = Visit(browser, server.url)
    yield visit
    visit.context.close()


@pytest.fixture
def since(session, visit):
    """How many commands there were before the test."""
    return len(session.commands)


def test_positions_on_the_page_are_those_that_were_sent(visit, session):
    sent = session.rest.copy()
    sent[:, 1] = 0.35 + 0.08 * np.sin(4.0 * sent[:, 0] + 0.03) * np.cos(3.0 * sent[:, 2])
    assert np.abs(visit.positions() - sent).max() < 1e-6


def test_the_page_says_what_the_frame_says(visit):
    visit.page.wait_for_function("() => document.getElementById('read-contacts').textContent === '4321'")
    assert visit.page.inner_text("h1") == "a cloth that waves"
    assert visit.page.inner_text("#read-deepest") == "–"
    assert visit.page.inner_text("#stages").split()[:2] == ["predict", "0.4"]
    visit.page.wait_for_function("rate => pliant.rate > 0.4 * rate && pliant.rate < 1.6 * rate", arg=RATE)
    filled = visit.page.evaluate(
        "(() => { const c = document.getElementById('chart');"
        " const p = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        " return p.filter((v, k) => k % 4 === 3 && v > 250).length / (p.length / 4); })()"
    )
    assert filled > 0.01


def test_dragging_the_cloth_pulls_the_point_under_the_mouse_in_the_plane_of_the_screen(visit, session, since):
    at = visit.pixel(visit.positions()[100])
    taken = np.array(visit.page.evaluate("([x, y]) => pliant.pick(x, y)", at.tolist()))
    before = visit.page.evaluate("pliant.view")
    visit.page.mouse.move(*at)
    visit.page.mouse.down()
    visit.page.mouse.move(at[0] + 90, at[1] - 60, steps=4)
    visit.page.wait_for_function("() => pliant.state.held")
    held = visit.drawn()
    visit.page.mouse.up()
    after(session, LetGo, since)
    grab = after(session, Grab, since)
    pull = [c for _, c in session.commands[since:] if isinstance(c, Pull)][-1]
    away = np.cross(taken - grab.origin, grab.along)
    assert np.linalg.norm(away) < 1e-4
    assert grab.pin is False
    assert np.abs(visit.pixel(pull.to) - at - (90, -60)).max() < 1.0
    eye = np.array(before["target"]) + before["distance"] * towards(before)
    assert abs((np.array(pull.to) - taken) @ towards(before)) < 1e-3 * np.linalg.norm(eye - taken)
    assert visit.page.evaluate("pliant.view") == before
    visit.page.wait_for_function("() => !pliant.state.held")
    shown_when(visit, lambda shown: (np.abs(shown - held).max(-1) > 30).sum() > 100)  # the line to the target is gone


def shown_when(visit: Visit, holds) -> np.ndarray:
    """What is on the screen once that holds of it: the newest frame comes there a little later."""
    for _ in range(20):
        if holds(shown := visit.drawn()):
            return shown
    raise AssertionError("it was not drawn")


def towards(view) -> np.ndarray:
    flat = np.cos(view["elevation"])
    return np.array([flat * np.sin(view["azimuth"]), np.sin(view["elevation"]), flat * np.cos(view["azimuth"])])


def test_dragging_beside_the_cloth_turns_the_view_and_sends_nothing(visit, session, since):
    before = visit.page.evaluate("pliant.view")
    visit.page.mouse.move(20, 380)
    visit.page.mouse.down()
    visit.page.mouse.move(80, 380, steps=2)
    visit.page.mouse.up()
    assert visit.page.evaluate("pliant.view")["azimuth"] != before["azimuth"]
    visit.page.keyboard.press("v")
    assert visit.page.evaluate("pliant.view") == before
    assert session.commands[since:] == []


def test_what_is_hidden_by_a_body_is_not_taken(visit):
    visit.page.mouse.move(20, 380)
    visit.page.mouse.down()
    visit.page.mouse.move(20, 260, steps=2)  # from below, the ball is before the cloth
    visit.page.mouse.up()
    at = visit.pixel((0.0, -0.1, 0.0))
    assert visit.page.evaluate("([x, y]) => pliant.pick(x, y)", at.tolist()) is None
    visit.page.keyboard.press("v")


def test_with_shift_it_is_pinned_and_pins_can_be_freed(visit, session, since):
    at = visit.pixel(visit.positions()[120])
    visit.page.keyboard.down("Shift")
    visit.page.mouse.move(*at)
    visit.page.mouse.down()
    visit.page.mouse.move(at[0] + 30, at[1], steps=2)
    visit.page.mouse.up()
    visit.page.keyboard.up("Shift")
    assert after(session, Grab, since).pin is True
    visit.page.wait_for_selector("#free:visible")
    assert visit.page.inner_text("#free") == "free the pin"
    visit.page.keyboard.press("p")
    after(session, FreePins, since)
    visit.page.wait_for_selector("#free", state="hidden")


def test_another_method_keeps_the_camera_and_says_why_some_do_not_apply(visit, session, since):
    far = visit.page.evaluate("pliant.view.distance")
    visit.page.mouse.wheel(0, -150)
    visit.page.wait_for_function("d => pliant.view.distance < d", arg=far)
    before, generation = visit.page.evaluate("[pliant.view, pliant.state.generation]")
    visit.page.locator("#method-distance-field").check(force=True)
    assert after(session, Choose, since) == Choose("method", "distance-field")
    visit.page.wait_for_function("w => pliant.state.generation > w && !pliant.state.waiting", arg=generation)
    assert visit.page.evaluate("pliant.view") == before
    assert visit.page.locator("#method-distance-field").is_checked()
    assert visit.page.locator("#method-height-grid").count() == 0
    assert visit.page.locator("#menus details dd").all_text_contents() == ["needs a relief <b>"]
    visit.page.keyboard.press("m")
    visit.page.wait_for_function("() => pliant.state.chosen.method === 'bvh' && !pliant.state.waiting")


def test_an_option_of_the_method_is_a_menu_and_its_chip_stays_chosen(visit, session, since):
    generation = visit.page.evaluate("pliant.state.generation")
    visit.page.select_option("#option-volume", label="sphere")
    assert after(session, Choose, since) == Choose("method", "bvh:volume=sphere")
    visit.page.wait_for_function("w => pliant.state.generation > w && !pliant.state.waiting", arg=generation)
    assert visit.page.locator("#method-bvh").is_checked()
    for method in ("distance-field", "bvh"):
        count = len(session.commands)
        visit.page.keyboard.press("m")
        assert after(session, Choose, count) == Choose("method", method)
        visit.page.wait_for_function("m => pliant.state.chosen.method === m && !pliant.state.waiting", arg=method)


def test_a_value_that_is_typed_is_sent_with_the_method_and_one_that_is_refused_is_greyed(visit, session, since):
    page = visit.page
    assert page.locator("#option-update option[disabled]").all_text_contents() == ["blend (not here)"]
    page.locator("#menus .options summary").click()
    page.locator("#value-leaf").fill("3")
    page.locator("#value-leaf").press("Enter")
    assert after(session, Choose, since) == Choose("method", "bvh:leaf=3")


def test_sliders_send_their_number_and_a_double_click_brings_it_back(visit, session, since):
    # in one call: the page makes its sliders anew when the session introduces itself again, at any time
    moved = """() => {
      const slider = document.querySelector("#set-friction");
      slider.value = "600";
      slider.dispatchEvent(new Event("input", {bubbles: true}));
      return [...document.querySelectorAll(".slider.moved output")].map((each) => each.textContent);
    }"""
    assert visit.page.evaluate(moved) == ["0.6"]
    assert after(session, Set, since) == Set("friction", 0.6)
    count = len(session.commands)
    visit.page.locator("#set-friction").dispatch_event("dblclick")
    assert after(session, Set, count) == Set("friction", 0.3)


def test_a_refused_command_leaves_the_other_sliders_where_they_are(visit, session, since):
    valid, boxes = session.valid_commands, visit.page.locator("#show-structure")
    visit.page.locator("#set-friction").fill("600")
    after(session, Set, since)
    boxes.check(force=True)
    after(session, Show, since)
    session.valid_commands = valid._replace(ranges={"friction": (0.0, 1.0)})  # of another scene
    try:
        visit.page.locator("#set-gravity").fill("100")
        visit.page.wait_for_selector("#problem:visible")
        assert visit.page.inner_text("#problem") == "the scene has changed"
        assert visit.page.locator("#set-friction").input_value() == "600"
        assert boxes.is_checked()
    finally:
        session.valid_commands = valid
        count = len(session.commands)
        visit.page.locator("#set-friction").dispatch_event("dblclick")
        visit.page.locator("#set-gravity").dispatch_event("dblclick")
        boxes.uncheck(force=True)
    assert after(session, Show, count) == Show("structure", False)


def test_keys_pause_step_record_and_let_go_on(visit, session, since):
    for key, what in ((" ", "pause"), ("s", "step"), (" ", "go"), ("e", "record")):
        count = len(session.commands)
        visit.page.keyboard.press(key)
        assert after(session, Do, count) == Do(what)
        visit.page.wait_for_function("p => pliant.state.paused === p", arg=what in ("pause", "step"))
    visit.page.wait_for_selector("#drop:visible")
    assert visit.page.inner_text("#frames") == "7 frames"
    count = len(session.commands)
    visit.page.click("#drop")
    assert after(session, Do, count) == Do("drop")


def test_contacts_are_drawn_in_the_colours_of_their_depth(visit, session, since):
    without = visit.drawn()
    visit.page.keyboard.press("c")
    assert after(session, Show, since) == Show("contacts", True)
    visit.page.wait_for_function("() => pliant.header.arrays.some(([name]) => name === 'depths')")
    shown = shown_when(visit, lambda p: ((p[..., 1] > 150) & (p[..., 2] > 140) & (p[..., 0] < 90)).sum() > 20)  # teal
    assert (np.abs(shown - without).max(-1) > 40).mean() > 0.002
    visit.page.keyboard.press("c")


def test_a_grab_that_met_nothing_leaves_nothing_in_the_hand(visit, session, since):
    visit.page.keyboard.press("v")  # where no reading covers the cloth
    at = visit.pixel(visit.positions()[100])
    session.missing = True
    try:
        visit.page.mouse.move(*at)
        visit.page.mouse.down()
        after(session, Grab, since)  # it did reach for it, and may have heard by now that nothing was there
        visit.page.wait_for_function("() => !pliant.state.dragging")
        assert visit.page.evaluate("state.scene.dragLine") is None
        after(session, LetGo, since)
    finally:
        session.missing = False
        visit.page.mouse.up()


def test_notes_and_problems_are_shown(visit, session):
    session.say(note="written: play-1.glb")
    session.say(problem="the cloth <flew> apart")
    visit.page.wait_for_selector("#problem:visible")
    assert visit.page.inner_text("#note") == "written: play-1.glb"
    assert visit.page.inner_text("#problem") == "the cloth <flew> apart"


def test_a_problem_disappears_after_a_while_unless_it_ended_the_simulation(browser, server, session):
    visit = Visit(browser, server.url)
    visit.page.clock.install()
    session.say(problem="no room")
    visit.page.wait_for_selector("#problem:visible")
    visit.page.clock.fast_forward(13_000)
    visit.page.wait_for_selector("#problem", state="hidden")
    session.say(problem="the simulation ended: no memory", ended=True)
    visit.page.wait_for_selector("#problem:visible")
    visit.page.clock.fast_forward(13_000)
    visit.page.wait_for_timeout(100)
    assert visit.page.inner_text("#problem") == "the simulation ended: no memory"
    visit.context.close()


def test_a_second_page_only_watches(browser, visit, server):
    visit.page.keyboard.press("w")
    other = Visit(browser, server.url)
    visit.page.keyboard.press("s")
    other.page.wait_for_selector("#watching:visible")
    other.page.keyboard.press(" ")
    other.page.wait_for_selector("#problem:visible")
    assert "someone else has the controls" in other.page.inner_text("#problem")
    other.page.locator("#set-friction").fill("900")
    other.page.wait_for_function("() => document.getElementById('set-friction').value === '300'")
    assert other.complaints == []
    other.context.close()


def test_a_page_without_a_seat_is_told_why(browser):
    with running(FakeSession(side=8, rate=5.0), Limits(clients=1)) as started:
        first = Visit(browser, started.url)
        second = first.context.new_page()
        second.goto(started.url)
        text = "document.getElementById('message').textContent"
        second.wait_for_function(f"() => {text}.includes('1 clients are connected; close one.')")
        first.page.close()
        second.evaluate("pliant.ready")
        first.context.close()


def test_a_broken_line_is_said_and_mended(visit, server):
    assert visit.complaints == []
    visit.page.evaluate(
        "() => { window.lines = []; const said = document.getElementById('message');"
        " new MutationObserver(() => lines.push(said.textContent)).observe(said, {childList: true}); }"
    )
    count = visit.page.evaluate("pliant.delivered")
    server.loop.call_soon_threadsafe(lambda: [line.transport.abort() for line in tuple(server.server.connections)])
    visit.page.wait_for_function(
        "() => lines.some((line) => line.includes('Lost the connection to the server')) && pliant.state.connected"
    )
    visit.page.wait_for_function(
        "n => pliant.state.connected && pliant.delivered > n && !pliant.state.waiting", arg=count
    )
    assert visit.page.inner_text("#message") == ""


@pytest.fixture
def phone(browser):
    """A page of its own session: where others look too, it may not have the controls."""
    session = PlainSession(side=16, rate=RATE)
    with running(session) as started:
        phone = Visit(browser, started.url, has_touch=True, is_mobile=True, color_scheme="dark")
        yield phone, session
        phone.context.close()


def test_a_finger_pulls_and_two_fingers_turn(phone):
    phone, session = phone
    phone.page.set_viewport_size({"width": 360, "height": 600})
    phone.page.wait_for_function("() => innerWidth === 360")
    phone.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    since, wire = len(session.commands), phone.context.new_cdp_session(phone.page)
    at = phone.pixel(phone.positions()[100]).tolist()

    def touch(kind: str, *points) -> None:
        touched = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(points)]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touched})

    touch("touchStart", at)
    touch("touchMove", (at[0] + 20, at[1] - 20))
    after(session, Pull, since)
    far = phone.page.evaluate("pliant.view.distance")
    touch("touchStart", (at[0] + 20, at[1] - 20), (at[0] + 20, at[1] + 60))
    after(session, LetGo, since)
    touch("touchMove", (at[0] + 20, at[1] - 90), (at[0] + 20, at[1] + 90))
    touch("touchEnd")
    phone.page.wait_for_function("d => pliant.view.distance < d", arg=far)
    bar = phone.page.locator("#bar").bounding_box()
    assert bar["x"] >= 0
    assert bar["x"] + bar["width"] <= 360
    assert phone.complaints == []


def test_a_frame_of_10_000_vertices_is_ready_to_draw_within_a_sixtieth_of_a_second(browser):
    def best(work: str) -> float:
        """The fewest milliseconds: a busy machine has ten seconds to be quick once."""
        timed = f"() => {{ const t = performance.now(); {work}; return performance.now() - t; }}"
        took, end = [], time.monotonic() + 10.0
        while not took or (min(took) >= 16.0 and time.monotonic() < end):
            took.append(visit.page.evaluate(f"() => Math.min(...Array.from({{length: 12}}, {timed}))"))
        return min(took)

    with running(FakeSession(side=100, rate=5.0)) as started:
        visit = Visit(browser, started.url)
        frame = best(
            "const { x0 } = decodeFrame(link.newest.data).arrays; fillNormals({ ...state.bodies[0], positions: x0 })"
        )
        pick = best("pliant.pick(400, 300)")
        visit.context.close()
    assert frame < 16.0
    assert pick < 16.0
