"""Tables and charts: the same figures for a reader, a program and a spreadsheet."""

import csv
import html.parser
import io
import re
import xml.etree.ElementTree as tree

import numpy as np
import pytest

from pliant.report.charts import bars_svg, curves_svg
from pliant.report.tables import BYTES, Chart, Column, Report, Table
from pliant.report.tables_page import tables_page, write_files

SVG = "{http://www.w3.org/2000/svg}"
COLUMNS = (
    Column("who"),
    Column("seconds", show="{:.2f}"),
    Column("bytes", "memory", BYTES),
    Column("median", show="{:.3f}", detail=True),
)
ROWS = [
    {"who": 'a <b> & "c", d', "seconds": 0.123456789, "bytes": 2048, "median": 0.5},
    {"who": "pliant", "seconds": 12.0, "bytes": None},
]
TABLE = Table("speed", "How fast", COLUMNS, ROWS)


def test_readers_see_rounded_figures_and_no_details() -> None:
    assert (TABLE.headings, TABLE.right) == (["who", "seconds", "memory"], ["seconds", "memory"])
    assert TABLE.texts() == [['a <b> & "c", d', "0.12", "2 KiB"], ["pliant", "12.00", ""]]


def test_a_spreadsheet_gets_every_digit_back() -> None:
    first, second = csv.DictReader(io.StringIO(TABLE.csv()))
    assert (first["who"], float(first["seconds"]), float(first["median"])) == (ROWS[0]["who"], 0.123456789, 0.5)
    assert (second["bytes"], second["median"]) == ("", "")


def test_bars_are_as_long_as_the_logarithm_of_their_value() -> None:
    svg = bars_svg({"one": {"x": 0.1, "<y>": 10.0}, "two": {"x": 1.0}}, "s", "Bars")
    rects = [r for r in tree.fromstring(svg).iter(f"{SVG}rect") if r.find(f"{SVG}title") is not None]
    width = {r.find(f"{SVG}title").text: float(r.get("width")) for r in rects}
    assert set(width) == {"x: 0.1 s", "<y>: 10 s", "x: 1 s"}
    assert width["<y>: 10 s"] - width["x: 1 s"] == pytest.approx(width["x: 1 s"] - width["x: 0.1 s"], abs=0.2)


def test_a_curve_of_slope_two_is_parallel_to_the_dashed_line() -> None:
    points = [(n, 1e-6 * n**2) for n in (100, 200, 400, 800)]
    paths = [p.get("d") for p in tree.fromstring(curves_svg({"a": points}, ("n", "s"), "C", 2.0)).iter(f"{SVG}path")]
    slopes = []
    for path in paths:
        x, y = zip(*(map(float, pair.split()) for pair in path.removeprefix("M").split("L")))
        slopes.append((y[-1] - y[0]) / (x[-1] - x[0]))
    assert slopes[0] == pytest.approx(slopes[1], rel=0.01)


def test_figures_at_the_ends_of_curves_do_not_cover_each_other() -> None:
    curves = {name: [(1.0, 1.0), (10.0, value)] for name, value in zip("abcd", (5.0, 5.1, 5.2, 90.0))}
    texts = list(tree.fromstring(curves_svg(curves, ("n", "s"), "C")).iter(f"{SVG}text"))
    at = {t.text: float(t.get("y")) for t in texts if t.text in ("5", "5.1", "5.2", "90")}
    assert np.diff([at[said] for said in ("90", "5.2", "5.1", "5")]).min() > 12.5


class Tags(html.parser.HTMLParser):
    """Open tags must be closed in order."""

    EMPTY = ("meta", "link", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag


@pytest.fixture
def report() -> Report:
    chart = Chart("speed", "A chart", bars_svg({"one": {"x": 1.0}}, "s", "Bars"))
    return Report(
        title="Speed & <more>",
        findings=["fast {{style}}"],
        tables=[TABLE],
        charts=[chart],
        notes=["a note"],
        about={"machine": "2-core"},
    )


def test_the_page_is_well_formed_escaped_and_asks_nobody_for_more(report) -> None:
    page = tables_page(report)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "Speed &amp; &lt;more&gt;" in page
    assert "fast {{style}}" in page
    assert re.findall(r"<script|(?:src|href)=.?(?!.?data:)[^ >]*", page) == []
    assert re.sub(r"http://www\.w3\.org/2000/svg", "", page).count("http") == 1  # http-equiv


def test_files_hold_table_chart_and_what_they_were_measured_on(report, tmp_path) -> None:
    written = write_files(tmp_path / "2-core", report, "peers")
    assert sorted(p.name for p in written) == ["peers.json", "speed.csv", "speed.svg"]
    assert (tmp_path / "2-core" / "speed.csv").read_text("utf-8") == TABLE.csv()
    assert tree.parse(tmp_path / "2-core" / "speed.svg").getroot().tag == f"{SVG}svg"
