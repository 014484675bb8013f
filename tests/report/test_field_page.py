"""Slices say inside, outside and nothing; heat shows where the error is; the page shows it all and asks nobody."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from detect.made import sheet, spike
from pliant import DistanceField, Mesh, shapes
from pliant.detect.fields.reconstruct import fidelity, reconstruct
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.kernels.jit import COMPILED
from pliant.report import slices
from pliant.report.camera import Camera
from pliant.report.field_page import field_page, notes, verdict, write_field_page
from pliant.report.heat import RAMP, Heat, heat_pictures, nice, still
from pliant.report.histogram import histogram_svg
from report.test_replay import PATIENCE, Visit, browser

__all__ = ["browser"]  # a fixture

SIDE = 120 if COMPILED else 40


@pytest.fixture(scope="module")
def ball():
    return DistanceField.bake(shapes.ball(0.5, 2), 16 if COMPILED else 6)


def middle(field, axis):
    scale = slices.Scale.of(field)
    return slices.slice_picture(field, axis, 0.0, scale, SIDE).astype(float)


@pytest.mark.compiled
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_slice_is_cool_inside_warm_outside_and_grey_where_nothing_is_known(ball, axis):
    picture = middle(ball, axis)
    centre = len(picture) // 2
    row = picture[centre]
    radius = 0.5 / (slices.window(ball, slices.Scale.of(ball))[1, 0]) * centre

    def at(metres):
        return row[round(centre + radius * metres / 0.5)]

    h = ball.spacing
    assert at(0.5 - 1.5 * h)[2] > at(0.5 - 1.5 * h)[0] + 25  # blue
    assert at(0.5 + 1.5 * h)[0] > at(0.5 + 1.5 * h)[2] + 25  # red
    assert at(0.5).max() < 130  # the dark line, or beside it
    assert np.ptp(picture[2, 2]) < 15  # grey


def test_a_slice_shows_right_what_lies_right_and_up_what_lies_up():
    # a small ball off the middle along one axis at a time
    for axis, move, column, row in (
        (2, (1, 0, 0), 1, 0), (2, (0, 1, 0), 0, -1), (0, (0, 1, 0), 0, -1), (0, (0, 0, 1), -1, 0), (1, (1, 0, 0), 1, 0),
        (1, (0, 0, 1), 0, 1),
    ):  # fmt: skip
        both = shapes.ball(0.1, 1)
        x = np.concatenate([both.vertices + np.array(move), both.vertices * 0.4 - np.array(move)])
        mesh = Mesh(x, np.concatenate([both.faces, both.faces + both.n_vertices]))
        field = DistanceField.bake(mesh, 24)
        values = slices.slice_values(field, axis, 0.0, slices.window(field, slices.Scale.of(field)), 0.02)
        inside = np.argwhere(values < -0.05)  # only the larger ball is so deep
        offset = inside.mean(0) / (np.array(values.shape) - 1) - 0.5
        assert np.rint(2.5 * offset).tolist() == [row, column]


def test_colours_step_once_a_cell():
    scale = slices.Scale(1.0, 4.0)
    row = slices.coloured(np.linspace(0.2, 3.8, 400)[None].repeat(3, 0), scale)[1].astype(int)
    changes = np.abs(np.diff(row, axis=0)).sum(1)
    middles = row[[33, 144, 255, 366]]
    assert (changes > 0).sum() < 30  # flat between the lines
    assert len({tuple(c) for c in middles.tolist()}) == 4
    assert (np.diff(middles.sum(1)) < 0).all()  # farther is darker


def test_a_sheet_of_slices_has_all_three(ball):
    picture = np.asarray(slices.slice_sheet(ball, side=SIDE))
    assert picture.shape[1] == pytest.approx(3 * SIDE + 28, abs=3)
    assert picture[SIDE // 2, :: SIDE // 3].std() > 10


@pytest.mark.parametrize(
    ("axis", "at", "size", "said"),
    [(0, 0.01234, 1.0, "x = +12 mm"), (1, -1e-6, 1.0, "y = 0 mm"), (2, -0.00123, 0.02, "z = -1.2 mm")],
)
def test_places_are_told_to_a_thousandth_of_the_size(axis, at, size, said):
    assert slices.place_text(axis, at, size) == said


@pytest.mark.parametrize(("value", "said"), [(0.003, 0.005), (1.0, 1.0), (1.01, 2.0), (0.2, 0.2), (7e-7, 1e-6)])
def test_nice_numbers(value, said):
    assert nice(value) == pytest.approx(said)


def test_heat_goes_from_the_first_colour_to_the_last_and_stays_there():
    heat = Heat(2.0)
    assert (heat.rgb(np.array([0.0, 2.0, 9.0])) == RAMP[[0, -1, -1]]).all()


def test_one_bad_point_in_a_thousand_does_not_pale_the_rest():
    assert Heat.of(np.append(np.full(999, 0.9), 80.0)).top == 1.0


@pytest.mark.compiled
def test_heat_is_where_the_error_is():
    ball = shapes.ball(0.5, 2)
    dented = ball.moved(ball.vertices * np.where(ball.vertices[:, :1] > 0.2, 1.2, 1.0))
    camera = Camera.framing([still(ball)], 1.0, azimuth=0.0, elevation=0.0)
    plain, heated = (
        heat_pictures(ball, ClosestPoints(other), Heat(0.05), [camera], SIDE, SIDE)[0][SIDE // 2].astype(float).mean(1)
        for other in (ball, dented)
    )
    left, right = (heated[part * SIDE // 8] / plain[part * SIDE // 8] for part in (2, 6))
    assert left == pytest.approx(1.0, abs=0.02)
    assert right < 0.5


def test_a_histogram_has_a_bar_for_each_part_that_occurs_and_a_line_at_the_bound():
    svg = histogram_svg(np.array([0.0, 0.001, 0.0305]), 0.04, 0.02)
    assert svg.count("<rect") == 3
    assert svg.count('class="bound"') == 1
    assert "0 mm" in svg


def found(mesh, resolution=12):
    field = DistanceField.bake(mesh, resolution)
    surface = reconstruct(field)
    return field, fidelity(field, surface, field.spacing, 2000 if COMPILED else 100)


def test_the_verdict_says_why_the_mesh_is_missed():
    assert "within the bound" in verdict(found(shapes.ball(0.5, 2))[1])
    assert "thin or sharp" in verdict(found(spike(), 24)[1])
    assert "beside the boundary" in verdict(found(tilted())[1])
    assert len(notes(found(tilted())[1])) == len(notes(found(shapes.ball(0.5, 2))[1])) + 1


def tilted():
    """A sheet that fits no grid."""
    flat = sheet(4)
    return flat.moved(flat.vertices @ np.array([[0.9, 0.3, 0.0], [-0.3, 0.9, 0.2], [0.1, -0.2, 1.0]]))


TITLE = "Field of <a> & b"
ROWS = [("grid", "12 x 12"), ("", "a second <line>")]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    out = tmp_path_factory.mktemp("field") / "field.html"
    write_field_page(out, *found(shapes.bust(), 24), title=TITLE, figures=ROWS)
    return out


@pytest.mark.compiled
def test_every_hole_of_the_page_is_filled_and_nothing_is_fetched(tmp_path):
    page = field_page(*found(shapes.ball(0.5, 1), 6), title=TITLE, figures=ROWS, slices=3, size=(24, 18))
    assert "{{" not in page
    assert "Field of &lt;a&gt; &amp; b" in page
    assert "a second &lt;line&gt;" in page
    assert re.findall(r'(?:src|href)="(?!data:)', page) == []


@pytest.fixture(scope="module")
def visit(browser, path):
    return Visit(browser, path, 1200, 800)


@pytest.mark.compiled
@pytest.mark.browser
class TestInABrowser:
    def test_it_asks_for_nothing_but_itself_and_complains_about_nothing(self, visit, path):
        assert [url for url in visit.requests if not url.startswith("data:")] == [path.as_uri()]
        assert visit.complaints == []
        assert visit.page.title() == TITLE
        assert visit.page.locator("#figures td").all_text_contents() == [value for _, value in ROWS]

    def test_a_slider_changes_its_slice_and_says_where_it_is(self, visit):
        figure = visit.page.locator('figure[data-axis="y"]')
        seen = {}
        for value in ("0", "12"):
            figure.locator("input").fill(value)
            figure.locator("img").evaluate("image => image.decode()")
            visit.drawn()
            pixels = np.asarray(Image.open(io.BytesIO(figure.locator("img").screenshot())).convert("RGB"), float)
            seen[value] = (figure.locator("output").inner_text(), pixels)
        assert seen["0"][0] != seen["12"][0]
        assert np.abs(seen["0"][1] - seen["12"][1]).mean() > 3

    def test_a_click_makes_a_slice_large_and_another_small_again(self, visit):
        image = visit.page.locator('figure[data-axis="x"] img')
        before = image.bounding_box()["width"]
        image.click()
        assert image.bounding_box()["width"] > 1.5 * before
        image.click()
        assert image.bounding_box()["width"] == before

    def test_every_picture_is_there(self, visit):
        sizes = visit.page.evaluate("[...document.images].map(image => image.naturalWidth)")
        assert len(sizes) == 3 + 1 + 4
        assert min(sizes) > 100

    @pytest.mark.parametrize("width", [320, 390, 768])
    def test_on_a_narrow_screen_nothing_sticks_out(self, browser, path, width):
        phone = Visit(browser, path, width, 844, "dark")
        wide = phone.page.evaluate("document.documentElement.scrollWidth")
        dark = phone.page.evaluate("getComputedStyle(document.body).backgroundColor")
        phone.page.close()
        assert wide == width
        assert dark == "rgb(23, 25, 30)"

    def test_without_scripts_the_middle_slices_show(self, browser, path):
        context = browser.new_context(java_script_enabled=False)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(path.as_uri())
        shown = page.locator(".slices img").count(), page.locator(".slices input:visible").count()
        context.close()
        assert shown == (3, 0)
