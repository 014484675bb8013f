"""The page of a comparison: it holds everything, tables are sorted by a click, pictures grow."""

import numpy as np
import pytest

from pliant.report.charts import bars_svg
from pliant.report.compare_page import Part, Shot, Shown, compare_page, write_compare_page
from pliant.report.tables import Column, Table
from report.test_replay import PATIENCE, browser  # noqa: F401

ROWS = [
    {"method": "tree", "class": "A", "recall": 1.0, "cpu": 12.0, "bound": 0.0},
    {"method": "<guess>", "class": "C", "recall": 0.9, "cpu": 3.0, "bound": None},
    {"method": "field", "class": "B", "recall": 0.99, "cpu": 0.2, "bound": 1.5},
]
COLUMNS = (
    Column("method"),
    Column("class"),
    Column("recall", show="{:.3f}"),
    Column("cpu", "CPU-ms", "{:.1f}"),
    Column("bound", show="{:.1f}"),
)


@pytest.fixture
def path(tmp_path):
    picture = np.full((30, 40, 3), 200, np.uint8)
    part = Part(
        Table("compare", "Contacts", COLUMNS, ROWS),
        [1],
        [("boxes", "bones", "there are <none>")],
        bars_svg({"tree": {"ms": 12.0}}, "ms", "time"),
        [Shot("<guess>", "5 missed", picture)],
    )
    shown = Shown("A & B", "One did not.", False, ["<guess> lied"], [part], [("recall", "found")], ["a note"])
    write_compare_page(tmp_path / "page.html", shown)
    return tmp_path / "page.html"


def test_the_page_holds_everything_and_escapes_what_it_is_given(path):
    page = path.read_text("utf-8")
    for word in ("A &amp; B", "&lt;guess&gt; lied", "there are &lt;none&gt;", "data:image/png;base64,", "0.990"):
        assert word in page
    assert "<guess>" not in page
    assert "{{" not in page


@pytest.mark.parametrize(
    ("rows", "wrong", "words"),
    [
        (ROWS, [], "All methods agree with the exact contacts."),
        (ROWS, [0], "No contact is missed or extra; errors of distance exceed the guarantee."),
        ([], [], "No method applies."),
    ],
)
def test_without_pictures_the_page_says_that_methods_agree_only_where_they_do(rows, wrong, words):
    part = Part(Table("compare", "Contacts", COLUMNS, rows), wrong, [], "", [])
    page = compare_page(Shown("A", "", not wrong, [], [part], [], []))
    assert page.count('<p class="quiet">') == page.count(words) == 1


@pytest.mark.browser
def test_a_click_on_a_heading_sorts_and_another_turns_it_round(browser, path):  # noqa: F811
    page, complaints = browser.new_page(viewport={"width": 900, "height": 700}), []
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri())
    first = lambda: page.locator("tbody tr td:first-child").all_inner_texts()  # noqa: E731
    page.get_by_role("button", name="CPU-ms").click()
    assert first() == ["field", "<guess>", "tree"]
    page.get_by_role("button", name="CPU-ms").click()
    assert first() == ["tree", "<guess>", "field"]
    page.get_by_role("button", name="bound").click()
    assert first() == ["tree", "field", "<guess>"]  # what has no figure comes last
    page.locator(".shots button").click()
    assert page.locator(".shots figure.large").count() == 1
    page.close()
    assert complaints == []


@pytest.mark.browser
def test_all_columns_are_seen_at_1280_pixels(browser, tmp_path):  # noqa: F811
    from pliant.audit.comparison import COLUMNS as ALL

    row = {c.key: 24.96 if "f" in c.show or "g" in c.show else 1 << 20 if c.show == "bytes" else 650 for c in ALL}
    rows = [
        row | {"method": name, "class": "C", "counts": "features"} for name in ("tree", "stochastic-tree:quality=0.9")
    ]
    part = Part(Table("compare", "Contacts", ALL, rows), [], [], "", [])
    write_compare_page(tmp_path / "page.html", Shown("A", "", True, [], [part], [], []))
    page = browser.new_page(viewport={"width": 1280, "height": 700})
    page.set_default_timeout(PATIENCE)
    page.goto((tmp_path / "page.html").as_uri())
    seen, whole = page.locator(".wide").evaluate("e => [e.clientWidth, e.scrollWidth]")
    page.close()
    assert whole <= seen
