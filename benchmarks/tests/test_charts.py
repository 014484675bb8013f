"""Charts of the documentation are drawn from the tables beside them, and are those of a fresh checkout."""

import importlib
import pathlib
import re
import xml.etree.ElementTree as ET

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOWN = sorted(
    {
        (page.parent / target).resolve()
        for page in (ROOT / "docs").rglob("*.md")
        for target in re.findall(r"\]\(([^)]+\.svg)\)", page.read_text("utf-8"))
    }
)


@pytest.mark.parametrize("path", SHOWN, ids=lambda p: p.stem)
def test_a_chart_that_a_page_shows_is_drawn_from_its_table(path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks" / "studies"))
    svg = importlib.import_module("charts").svg_of(path.with_suffix(".csv"))
    drawing = ET.fromstring(svg)
    shapes = [part for part in drawing.iter() if part.tag.rpartition("}")[2] in ("path", "rect", "circle")]
    assert len(shapes) > 4
    # `python benchmarks/studies/charts.py` draws the committed ones anew
    assert path.read_text("utf-8") == svg + "\n"
    assert drawing.get("aria-label")


def test_the_charts_of_a_fresh_checkout_are_those_of_the_tables_and_small() -> None:
    assert len(SHOWN) > 30
    assert sum(path.stat().st_size for path in (ROOT / "benchmarks" / "results").rglob("*.svg")) < 400_000
