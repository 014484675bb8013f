"""The page of a check: depth as colour where it is deep, charts and places that lead there; it asks nobody."""

import numpy as np
import pytest

from pliant import Mesh, check, shapes
from pliant.audit.views import check_view
from pliant.motion.clip import Clip
from pliant.report.check_page import check_page
from pliant.report.check_sheet import check_sheet, heat_picture, worst_places
from report.test_replay import Visit, browser

__all__ = ["browser"]  # a fixture

BALL = shapes.ball(0.5, 2)


def falling(frames: int = 5) -> Clip:
    """A sheet that comes down on the ball and ends a fifth of a metre inside; a wave of it is deeper."""
    cloth = shapes.cloth(1.4, 1.4, 15)
    x = cloth.vertices + np.array([0.003, 0.0, 0.001])
    return Clip(cloth, np.stack([x + np.array([0.0, 0.55 - 0.0625 * t, 0.0]) for t in range(frames)]))


@pytest.fixture(scope="module")
def report():
    return check(falling(), BALL, fps=10.0)


def hot(pixels: np.ndarray) -> np.ndarray:
    """Where a picture has the yellow, red or purple of depth, not the bluish grey of cloth or the white of a ball."""
    p = pixels.astype(float)
    return p[..., 0] > 1.08 * p[..., 1] + 6.0


def test_heat_is_128_on_the_surface_and_255_at_the_end_of_the_scale(report):
    found = check_view(report)
    deep, heat = report.distances < 0.0, found.heat(found.top)
    assert ((heat > 128) <= deep).all()
    assert (heat[deep] >= 128).all()
    assert heat[report.distances < -found.top].min(initial=255) == 255
    assert found.top == pytest.approx(0.2)


def test_places_of_several_frames_are_one_spot_in_its_worst_frame(report):
    spots = check_view(report).places
    assert len(spots) == 1
    assert spots[0].frame == 4
    assert "worst of 4 frames" in spots[0].detail
    assert "mm deep" in spots[0].title


@pytest.mark.compiled
def test_the_picture_is_hot_where_the_cloth_is_inside_though_the_ball_is_before_it(report):
    found = check_view(report)
    camera = found.camera_on(found.places[0])
    before, after = (heat_picture(found, frame, camera, 96, 80) for frame in (0, 4))
    assert hot(before).mean() < 0.01
    assert hot(after)[30:50, 38:58].mean() > 0.5


@pytest.mark.compiled
def test_the_sheet_has_a_column_for_each_of_the_worst_places(report):
    assert check_sheet(check_view(report), (96, 80)).size[0] > 2 * 96
    cloth = shapes.cloth(1.0, 1.0, 9)
    twice = Mesh(
        np.concatenate([cloth.vertices, cloth.vertices[:, [1, 0, 2]] + (0.013, 0.017, 0.019)]),
        np.concatenate([cloth.faces, cloth.faces + cloth.n_vertices]),
    )
    both = check_view(check(twice, BALL))
    assert [spot.kind for spot in worst_places(both)][:1] == ["inside"]
    assert "self" in [spot.kind for spot in worst_places(both)]
    fine = check_view(check(shapes.ball(0.2, 1)))
    assert fine.verdict == "No problems were found."
    assert check_sheet(fine, (96, 80)).size[0] < 2 * 96


def test_text_of_the_mesh_cannot_break_the_page():
    named = Mesh(BALL.vertices, BALL.faces[1:], name="</script><b>x")
    page = check_page(check_view(check(falling(2), named)))
    assert "</script><b>" not in page
    assert page.count("{{") == 0


@pytest.fixture(scope="module")
def path(report, tmp_path_factory):
    out = tmp_path_factory.mktemp("check") / "report.html"
    report.to_html(out)
    return out


@pytest.fixture(scope="module")
def visit(browser, path):
    return Visit(browser, path, 920, 560)


def picture(visit: Visit) -> tuple[int, int, int, int]:
    box = visit.page.locator("#picture").bounding_box()
    return tuple(round(box[k]) for k in ("x", "y", "width", "height"))


@pytest.mark.browser
def test_it_opens_at_the_worst_frame_and_a_place_is_gone_to(visit):
    assert visit.page.evaluate("pliant.frame") == 4
    visit.show(0)
    assert visit.page.locator("#ring").is_hidden()
    visit.page.locator("#spots button").first.click()
    visit.drawn()
    x, y, w, h = picture(visit)
    ring = visit.page.locator("#ring").bounding_box()
    assert visit.page.evaluate("pliant.frame") == 4
    assert ring["x"] + ring["width"] / 2 - x == pytest.approx(w / 2, abs=3)
    assert ring["y"] + ring["height"] / 2 - y == pytest.approx(h / 2, abs=3)


@pytest.mark.browser
def test_what_is_inside_is_hot_and_seen_through_the_body_unless_that_is_switched_off(visit):
    visit.page.evaluate("pliant.goTo(0)")
    x, y, w, h = picture(visit)

    def middle(frame: int) -> float:
        shot = visit.show(frame)[y + h // 3 : y + 2 * h // 3, x + w // 3 : x + 2 * w // 3]
        return float(hot(shot).mean())

    seen = middle(4)
    visit.page.keyboard.press("x")
    hidden = middle(4)
    visit.page.keyboard.press("x")
    assert middle(0) < 0.02
    assert seen > 0.3
    assert hidden < 0.5 * seen


@pytest.mark.browser
def test_a_click_into_a_chart_shows_that_frame(visit):
    plot = visit.page.locator(".plot").first
    box = plot.bounding_box()
    plot.click(position={"x": 0.5 * box["width"], "y": 20})
    visit.drawn()
    assert visit.page.evaluate("pliant.frame") == 2
    assert "frame 2" in visit.page.inner_text("#clock")
    names = visit.page.locator(".chart p").all_inner_texts()
    assert [name.split("\n")[0] for name in names] == [
        "deepest", "vertices inside", "garment intersects body", "intersects itself",
    ]  # fmt: skip


@pytest.mark.browser
def test_figures_and_what_was_not_judged_are_told(visit, report):
    heads = visit.page.locator("#figures th").all_text_contents()
    assert heads == list(report.facts)
    assert "overlap volume" in visit.page.inner_text("#notes")
    assert "inside the body in 4 of 5 frames" in visit.page.inner_text("#verdict")


@pytest.mark.browser
def test_it_asks_for_nothing_and_complains_about_nothing(visit, path):
    visit.show(1)
    assert [url for url in visit.requests if not url.startswith("data:")] == [path.as_uri()]
    assert visit.complaints == []


@pytest.mark.browser
def test_on_a_phone_nothing_is_wider_than_the_screen(browser, path):
    phone = Visit(browser, path, 390, 844, "dark")
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    phone.page.close()
    assert wide <= 390
    assert phone.complaints == []


@pytest.mark.browser
def test_a_single_mesh_without_body_has_no_charts(browser, tmp_path):
    check(shapes.ball(0.2, 1)).to_html(tmp_path / "one.html")
    visit = Visit(browser, tmp_path / "one.html", 600, 500)
    assert visit.page.locator("#charts").is_hidden()
    assert visit.page.inner_text("#verdict") == "No problems were found."
    assert visit.complaints == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 400])
@pytest.mark.parametrize("frames", [1, 5])
def test_on_a_phone_wireframe_and_reset_can_be_reached_and_the_bar_holds_them(browser, tmp_path, frames, width):
    check(falling(frames), BALL, fps=10.0).to_html(tmp_path / "page.html")
    phone = Visit(browser, tmp_path / "page.html", width, 800)
    bar = phone.page.locator("#bar").bounding_box()
    for name in ("#wire", "#reset"):
        box = phone.page.locator(name).bounding_box()
        assert bar["x"] <= box["x"]
        assert box["x"] + box["width"] <= bar["x"] + bar["width"] <= width
    phone.page.click("#wire")
    assert phone.page.locator("#wire").get_attribute("aria-pressed") == "true"
    assert phone.page.locator("#play").is_visible() == (frames > 1)
    assert phone.page.locator("#xray").is_visible()
    phone.page.close()
