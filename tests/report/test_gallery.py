"""The gallery: every run with its picture or its error, sorted by any column, in any browser."""

import html.parser
import re

import pytest

from pliant.report.gallery import Card, gallery_html, label, text, write_gallery
from report.test_replay import PATIENCE
from report.test_replay import browser as _browser

browser = _browser
PIXEL = "data:image/gif;base64,R0lGODlhAQABAIAAAP///wAAACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw=="
COLUMNS = ("number", "body", "friction", "penetration_m", "notes", "error")
ROWS = [
    {"number": 1, "body": "ball", "friction": 0.5, "penetration_m": 0.002, "notes": "", "error": None},
    {"number": 2, "body": "<box>", "friction": 0.25, "notes": "slow", "error": "no </script> & such file"},
    {"number": 3, "body": "ball", "friction": 10.0, "penetration_m": 0.0, "notes": "", "error": None},
]
CARDS = [Card(row, PIXEL if row["error"] is None else "", {"drape.glb": "runs/x/drape.glb"}) for row in ROWS]
PAGE = {
    "title": "Balls & <boxes>",
    "lines": ["3 drapes, 1 failed"],
    "columns": COLUMNS,
    "displayed": ["body", "friction"],
    "cards": CARDS,
}


def test_pictures_beside_the_page_are_named_and_it_says_so():
    beside = [Card(row, "runs/x/thumbnail.jpg", {}) for row in ROWS]
    page = gallery_html(**(PAGE | {"cards": beside}))
    assert page.count('src="runs/x/thumbnail.jpg"') == 3
    assert "pictures are read from the folder next to this page" in page
    assert "this page is self-contained" not in page


class Tags(html.parser.HTMLParser):
    """Open tags must be closed in order; addresses are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.addresses += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "link", "img", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_asks_for_nothing_from_elsewhere():
    tags = Tags()
    page = gallery_html(**PAGE)
    tags.feed(page)
    assert tags.open == []
    assert all(re.match(r"data:|runs/x/", address) for address in tags.addresses)
    assert len(re.findall("<article", page)) == len(re.findall("<tr data-n", page)) == 3


def test_what_failed_says_why_and_nothing_in_it_is_code():
    page = gallery_html(**PAGE)
    assert page.count("no &lt;/script&gt; &amp; such file") == 2  # card and row
    assert page.count("</script>") == 2  # the keys and the code of the page itself
    assert "<box>" not in page


def test_metres_are_shown_as_millimetres_and_numbers_with_four_digits():
    assert label("penetration_m") == "penetration, mm"
    assert label("fastest_at_end_m_per_s") == "fastest at end m per s"
    found = [text("penetration_m", 0.0012345), text("x", 123456), text("file_bytes", 2048), text("x", None)]
    assert found == ["1.234", "123,456", "2 KiB", "–"]


@pytest.mark.browser
def test_it_sorts_by_any_column_both_ways_and_keeps_what_is_missing_last(browser, tmp_path):
    write_gallery(tmp_path / "g.html", **PAGE)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    said = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("console", lambda line: said.append(line.text))
    page.goto((tmp_path / "g.html").as_uri())

    def order():
        both = "[...document.querySelectorAll('%s')].filter(e => !e.hidden).map(e => Number(e.dataset.n) + 1)"
        cards, rows = (page.evaluate(both % what) for what in ("#cards > *", "#rows > *"))
        assert cards == rows
        return cards

    assert order() == [1, 2, 3]
    page.select_option("#by", label="friction")
    assert order() == [2, 1, 3]
    page.click("#turn")
    assert order() == [3, 1, 2]
    page.click("th button:text('penetration, mm')")
    assert order() == [3, 1, 2]
    page.click("th button:text('penetration, mm')")
    assert order() == [1, 3, 2]
    page.check("#only")
    assert order() == [2]
    assert said == []
    page.close()


JUDGED = [
    {"number": 1, "garment": "goodskirt.obj", "penetration_m": 0.0, "self_pairs_most": 0, "within_limits": True,
     "error": None},
    {"number": 2, "garment": "skirt.obj", "self_pairs_most": 3, "within_limits": False, "broken": "3 <pairs>",
     "error": None},
]  # fmt: skip
CHECK_NOTES = [(), ("body 'b' is inside out",)]


def judged():
    columns = ["number", "garment", "self_pairs_most", "penetration_m", "within_limits", "broken", "error"]
    cards = [Card(row, PIXEL, {}, notes) for row, notes in zip(JUDGED, CHECK_NOTES, strict=True)]
    return {"title": "x", "lines": [], "columns": columns, "displayed": columns[1:5], "cards": cards}


def test_what_is_beyond_its_limits_says_so_and_what_could_not_be_judged():
    page = gallery_html(**judged())
    assert (
        page.count('<p class="error">3 &lt;pairs&gt;</p>') == page.count('<td class="error">3 &lt;pairs&gt;</td>') == 1
    )
    assert page.count('<p class="quiet">body &#x27;b&#x27; is inside out</p>') == 1
    assert page.count('<article class="card beyond"') == page.count('<tr data-n="1" class="beyond"') == 1
    assert '<label class="only"><input type="checkbox" id="only"> over the limits only</label>' in page


@pytest.mark.browser
def test_a_name_that_fits_is_not_broken_and_those_beyond_their_limits_are_shown_alone(browser, tmp_path):
    write_gallery(tmp_path / "g.html", **judged())
    page = browser.new_page(viewport={"width": 950, "height": 800})
    page.set_default_timeout(PATIENCE)
    page.goto((tmp_path / "g.html").as_uri())
    names = page.locator(".card dd:first-of-type")
    assert names.all_text_contents() == ["goodskirt.obj", "skirt.obj"]
    drawn = "() => [...document.querySelectorAll('.card dd')].every(e => e.getClientRects().length)"
    page.wait_for_function(drawn)  # a card is laid out when it comes into view
    long, short = (names.nth(k).evaluate("e => e.getClientRects()[0].height") for k in (0, 1))
    lines = names.first.evaluate("e => { const r = document.createRange(); r.selectNodeContents(e);"
                                 " return new Set([...r.getClientRects()].map(b => b.top)).size; }")  # fmt: skip
    assert (long, lines) == (short, 1)
    page.check("#only")
    assert page.locator("#cards > :visible h3").all_text_contents() == ["run 2"]
    page.close()
