"""The replay in a real browser: it shows the run, keeps every frame, and talks to nobody."""

import dataclasses
import io
import os
import pathlib
import shutil

import numpy as np
import pytest
from PIL import Image

from pliant import shapes
from pliant.mesh.subdivision import Subdivision
from pliant.mesh.tubes import Tubes
from pliant.motion.clip import Clip
from pliant.report.replay import iframe_html, replay_html, write_replay
from report.scenes import drape, rolling

pytestmark = pytest.mark.browser

ARGUMENTS = [
    "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--no-sandbox", "--disable-gpu-sandbox",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-gpu-compositing", "--disable-gpu-rasterization",
]  # fmt: skip
# a sixteenth of the pixels, which a machine without a graphics card fills one by one; the layout is that of the page
PIXELS = {"device_scale_factor": 0.25}
PATIENCE = 120_000  # milliseconds for what must happen, on a machine that is busy too
MUST = os.environ.get("CI") == "true" or os.environ.get("PLIANT_REQUIRE_BROWSER") == "1"
CLIPS = drape()
MIDDLE = len(CLIPS[0].frames) // 2
TITLE = "Cloth & <ball>"


def give_up(reason: str) -> None:
    if MUST:
        pytest.fail(f"{reason} (PLIANT_REQUIRE_BROWSER=1 or CI=true)")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        give_up("playwright is not installed: pip install playwright")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("PLIANT_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if not found:
        give_up("no Chromium on PATH; install one or set PLIANT_CHROMIUM to its executable")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS, timeout=180_000)
        yield started
        started.close()


class Visit:
    """A page with what it said and asked for."""

    def __init__(self, browser, path: pathlib.Path, width: int, height: int, scheme: str = "light") -> None:
        self.page = browser.new_page(**PIXELS, viewport={"width": width, "height": height}, color_scheme=scheme)
        self.page.set_default_timeout(PATIENCE)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.goto(path.as_uri())
        self.inside = self.page.frames[-1]
        self.inside.evaluate("pliant.ready")

    def show(self, frame: int) -> np.ndarray:
        """Go to `frame`, wait until it is drawn, and return the canvas as (h,w,3) floats."""
        self.inside.evaluate("i => pliant.setFrame(i)", frame)
        self.drawn()
        return np.asarray(Image.open(io.BytesIO(self.page.screenshot(scale="css"))).convert("RGB"), float)

    def drawn(self) -> None:
        self.inside.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def is_cloth(pixels: np.ndarray) -> np.ndarray:
    """Where the picture is the red of the cloth, lit or in shade."""
    return pixels[..., 0] > 1.6 * pixels[..., 1:].max(-1)


def middle(pixels: np.ndarray) -> np.ndarray:
    h, w, _ = pixels.shape
    return pixels[h // 4 : 3 * h // 4, w // 4 : 3 * w // 4]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("replay") / "run.html"
    write_replay(out, CLIPS, 25, title=TITLE, facts={"frames": "21", "deepest <b>": "0 mm"})
    return out


@pytest.fixture(scope="module")
def visit(browser, path):
    return Visit(browser, path, 800, 600)


def test_the_middle_of_the_run_shows_the_cloth_moved_from_where_it_began(visit):
    first, then = is_cloth(visit.show(0)), is_cloth(visit.show(MIDDLE))
    assert middle(then[..., None]).mean() > 0.1
    assert (first != then).mean() > 0.03


def test_positions_in_the_browser_are_those_of_the_clip_within_half_a_step(visit):
    for frame in (0, MIDDLE, len(CLIPS[0].frames) - 1):
        visit.show(frame)
        for k, clip in enumerate(CLIPS):
            step = np.ptp(clip.frames.reshape(-1, 3), axis=0) / 65534
            shown = np.reshape(visit.inside.evaluate("k => pliant.positions(k)", k), (-1, 3))
            # the browser keeps positions as float32
            assert (np.abs(shown - clip.at(frame)) <= 0.5 * step + 1e-6).all()


def test_the_browser_displays_cloth_as_subdivided_as_python(browser, tmp_path):
    cloth = CLIPS[0]
    shape = Subdivision(cloth.mesh, 2, 0.004)  # the limit acts on some vertices
    write_replay(tmp_path / "run.html", [dataclasses.replace(cloth, subdivision=shape), CLIPS[1]], 25)
    visit = Visit(browser, tmp_path / "run.html", 300, 200)
    for frame in (MIDDLE, len(cloth) - 1):
        visit.show(frame)
        shown = np.reshape(visit.inside.evaluate("pliant.displayed(0)"), (-1, 3))
        assert np.abs(shown - shape.place(cloth.at(frame))).max() < 1e-4  # three steps of the coordinates
    visit.page.keyboard.press("w")
    visit.drawn()
    assert visit.complaints == []
    visit.page.close()


def test_the_browser_displays_strands_as_the_tubes_of_python(browser, tmp_path):
    hair = shapes.strands(np.eye(3), np.eye(3) + 0.1, 0.5, 12, curl=0.03, turns=2)
    shape, frames = Tubes(hair, 0.02), np.stack([hair.vertices, hair.vertices[:, [1, 2, 0]]])
    write_replay(tmp_path / "run.html", [Clip(hair, frames, subdivision=shape), CLIPS[1]], 25)
    visit = Visit(browser, tmp_path / "run.html", 300, 200)
    for frame in (0, 1):
        visit.show(frame)
        shown = np.reshape(visit.inside.evaluate("pliant.displayed(0)"), (-1, 3))
        assert np.abs(shown - shape.place(frames[frame])).max() < 1e-4
    visit.page.keyboard.press("w")
    visit.drawn()
    assert visit.complaints == []
    visit.page.close()


def test_what_moves_as_a_whole_is_where_its_poses_say_in_every_frame(browser, tmp_path):
    clips = [CLIPS[0], rolling()]
    write_replay(tmp_path / "run.html", clips, 25)
    visit = Visit(browser, tmp_path / "run.html", 400, 300)
    for frame in (20, 0, 7):
        visit.show(frame)
        shown = np.reshape(visit.inside.evaluate("k => pliant.positions(k)", 1), (-1, 3))
        assert np.abs(shown - clips[1].at(frame)).max() <= 1.0 * 0.4 / 65535 + 1e-6
    assert visit.complaints == []


def test_nothing_is_asked_for_but_the_file_itself(visit, path):
    visit.show(MIDDLE)
    assert [url for url in visit.requests if not url.startswith("data:")] == [path.as_uri()]


def test_title_and_facts_are_shown_as_they_were_written(visit):
    assert visit.page.title() == TITLE
    assert visit.page.inner_text("h1") == TITLE
    assert visit.page.locator("#facts th").all_text_contents() == ["frames", "deepest <b>"]


def test_keys_step_and_play(visit):
    visit.show(3)
    visit.page.keyboard.press("ArrowRight")
    assert visit.page.evaluate("pliant.frame") == 4
    visit.page.keyboard.press("Space")
    assert visit.page.evaluate("pliant.playing") is True
    visit.page.wait_for_function("() => pliant.frame !== 4")
    visit.page.keyboard.press("Space")
    assert visit.page.evaluate("pliant.playing") is False


def test_dragging_turns_the_view_and_a_double_click_resets_it(visit):
    before = visit.page.evaluate("pliant.view")
    visit.page.mouse.move(400, 300)
    visit.page.mouse.down()
    visit.page.mouse.move(500, 330, steps=3)
    visit.page.mouse.up()
    turned = visit.page.evaluate("pliant.view")
    visit.page.mouse.wheel(0, -200)
    visit.page.wait_for_function("d => pliant.view.distance < d", arg=turned["distance"])
    visit.page.mouse.dblclick(400, 300)
    assert turned["azimuth"] != before["azimuth"]
    assert visit.page.evaluate("pliant.view") == before


def test_the_timeline_shows_the_frame_it_is_dragged_to(visit):
    visit.page.locator("#timeline").fill("7")
    visit.drawn()
    assert visit.page.evaluate("pliant.frame") == 7
    assert "8/21" in visit.page.inner_text("#clock")


def test_wireframe_draws_lines_over_the_cloth(visit):
    plain = visit.show(MIDDLE)
    visit.page.keyboard.press("w")
    lined = visit.show(MIDDLE)
    visit.page.keyboard.press("w")
    cloth = is_cloth(plain)
    assert (np.abs(plain - lined).max(-1) > 20)[cloth].mean() > 0.05


def test_the_browser_had_nothing_to_complain_about(visit):
    visit.show(MIDDLE)
    assert visit.complaints == []


def test_on_a_phone_the_cloth_fills_the_width_and_the_bar_stays_inside(browser, path):
    phone = Visit(browser, path, 390, 844, "dark")
    columns = is_cloth(phone.show(MIDDLE)).any(0)
    bar = phone.page.locator("#bar").bounding_box()
    phone.page.close()
    assert columns.mean() > 0.5
    assert bar["x"] >= 0
    assert bar["x"] + bar["width"] <= 390


def test_inside_a_notebook_frame_the_run_plays_and_the_cloth_shows(browser, tmp_path):
    page = tmp_path / "notebook.html"
    frame = iframe_html(replay_html(CLIPS, 25, title=TITLE), height=480)
    page.write_text(f"<!doctype html><meta charset=utf-8><p>Out[1]:</p>{frame}", "utf-8")
    notebook = Visit(browser, page, 720, 560)
    assert notebook.inside is not notebook.page.main_frame
    assert notebook.inside.evaluate("pliant.playing")
    notebook.inside.wait_for_function("() => pliant.frame > 1")
    cloth = is_cloth(notebook.show(MIDDLE)).mean()
    notebook.page.close()
    assert cloth > 0.02
    assert notebook.complaints == []
    assert notebook.requests[1:] == []


def test_without_webgl2_the_page_says_so(browser, path):
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null")
    page.goto(path.as_uri())
    page.wait_for_function("() => document.getElementById('message').textContent.includes('WebGL2')")
    page.close()
