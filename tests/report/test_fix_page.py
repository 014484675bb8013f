"""The page of a fix: before and after by one camera, what changed; it asks nobody."""

import dataclasses
import json
import re

import numpy as np
import pytest

from pliant import Clip, Mesh, fix, shapes
from pliant.audit.views import fix_view
from pliant.report.fix_page import fix_page
from report.test_check_page import hot, picture
from report.test_replay import Visit, browser

__all__ = ["browser"]  # a fixture

BALL = shapes.ball(0.5, 2)
pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def fixed():
    """A sheet that is carried a tenth of a metre into a ball, and out again."""
    cloth = shapes.cloth(1.4, 1.4, 15)
    x = cloth.vertices + np.array([0.003, 0.45, 0.001])
    frames = np.stack([x - np.array([0.0, 0.05 * t, 0.0]) for t in range(3)])
    return fix(Clip(cloth, frames), BALL, fps=10.0)


def test_rows_and_changes_are_those_of_the_two_checks(fixed):
    rows = {name: (before, after) for name, before, after in fixed.comparison}
    assert rows["deepest"] == (f"{1e3 * fixed.before.worst_depth:.3g} mm", "0 mm")
    assert rows["vertices inside, most in a frame"][1] == "0"
    assert set(fixed.facts) == set(rows) | {"moved", "edge strain", "bending", "jitter"}


def test_text_of_the_mesh_cannot_break_the_page():
    named = Mesh(shapes.cloth(0.2, 0.2, 5).vertices, shapes.cloth(0.2, 0.2, 5).faces, name="</script><b>x")
    page = fix_page(fix_view(fix(named)))
    assert "</script><b>" not in page
    assert page.count("{{") == 0


def test_a_series_that_only_one_check_has_is_shown_alone(fixed):
    found = fix_view(fixed)
    less = {name: some for name, some in found.after.series.items() if name != "intersects itself"}
    page = fix_page(dataclasses.replace(found, after=dataclasses.replace(found.after, series=less)))
    series = re.search(r'"series": ?(\[.*?\]\}\])', page)[1]
    assert [("after" in each) for each in json.loads(series)] == [name in less for name in found.before.series]


@pytest.fixture(scope="module")
def path(fixed, tmp_path_factory):
    out = tmp_path_factory.mktemp("fix") / "report.html"
    fixed.to_html(out)
    return out


@pytest.fixture(scope="module")
def visit(browser, path):
    return Visit(browser, path, 920, 480)


@pytest.mark.browser
def test_side_by_side_only_before_is_hot_and_each_alone_fills_the_picture(visit):
    visit.page.evaluate("pliant.look('both')")
    visit.page.evaluate("pliant.goTo(0)")
    x, y, w, h = picture(visit)

    def heat(which: str, left: float, right: float) -> float:
        visit.page.evaluate(f"pliant.look('{which}')")
        shot = visit.show(2)[y + h // 3 : y + 2 * h // 3, x + int(left * w) : x + int(right * w)]
        return float(hot(shot).mean())

    assert heat("both", 0.15, 0.35) > 0.3
    assert heat("both", 0.65, 0.85) < 0.1  # the ring is red, too
    assert heat("before", 0.4, 0.6) > 0.3
    assert heat("after", 0.4, 0.6) < 0.1


@pytest.mark.browser
def test_a_place_is_ringed_on_both_sides(visit):
    visit.page.evaluate("pliant.look('both')")
    visit.page.evaluate("pliant.goTo(0)")
    visit.drawn()
    x, _, w, _ = picture(visit)
    boxes = [ring.bounding_box() for ring in visit.page.locator(".ring").all()]
    assert [box["x"] + box["width"] / 2 - x for box in boxes] == pytest.approx([w / 4, 3 * w / 4], abs=3)


@pytest.mark.browser
def test_charts_and_figures_tell_before_and_after(visit, fixed):
    visit.show(2)
    shown = visit.page.locator(".chart output").first.inner_text()
    assert shown == f"{1e3 * fixed.before.frames[2].deepest:.3g} → 0 mm"
    assert visit.page.locator(".plot").first.locator("path").count() == 4
    assert visit.page.locator("#figures thead th").all_inner_texts() == ["before", "after"]
    assert "jitter" in visit.page.inner_text("#changes")
    assert visit.page.locator("#changes .bar").count() > 3


@pytest.mark.browser
def test_it_asks_for_nothing_and_fits_a_phone(browser, visit, path):
    assert [url for url in visit.requests if not url.startswith("data:")] == [path.as_uri()]
    phone = Visit(browser, path, 390, 844, "dark")
    wide = phone.page.evaluate("document.documentElement.scrollWidth")
    looked = phone.page.evaluate("pliant.looked")
    phone.page.close()
    assert wide <= 390
    assert looked == "after"
    assert visit.complaints + phone.complaints == []
