"""What all pages share: one head, and holes that are filled once."""

import importlib.resources
import json
import re

import pytest

from pliant.report.page import fill_template, script_data, static

STATIC = importlib.resources.files("pliant.report").joinpath("static")
BODIES = sorted(p.name for p in STATIC.iterdir() if p.name.endswith(".html") and p.name != "head.html")
HOLES = {name: set(re.findall(r"\{\{(\w+)\}\}", static(name))) for name in BODIES}


def empty(name: str, **options: object) -> str:
    parts = dict.fromkeys(HOLES[name] - {"title", "script", "made"}, "")
    return fill_template(name, "a <b> & c", (), parts, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", BODIES)
def test_every_page_has_the_one_head_and_none_of_its_own(name: str) -> None:
    assert static(name).startswith("<body")
    assert empty(name).startswith(static("head.html").split("{{")[0])


@pytest.mark.parametrize("name", BODIES)
def test_a_title_is_text_wherever_it_stands(name: str) -> None:
    page = empty(name)
    assert "<title>a &lt;b&gt; &amp; c</title>" in page
    assert "a <b>" not in page


def test_a_page_may_run_scripts_only_where_it_has_some() -> None:
    assert "script-src" not in empty("tables.html")
    assert "script-src 'unsafe-inline'" in empty("compare.html", scripts=("compare.js",))


def test_what_fills_a_hole_is_not_looked_at_again() -> None:
    parts = dict.fromkeys(HOLES["tables.html"] - {"title", "made"}, "") | {"notes": "{{title}} {{nothing}}"}
    assert "{{title}} {{nothing}}" in fill_template("tables.html", "t", (), parts)


def test_a_part_that_every_page_fills_alike_is_refused() -> None:
    with pytest.raises(ValueError, match="'style'"):
        fill_template("tables.html", "t", (), {"style": ""})


def test_no_text_in_the_data_of_a_script_can_close_it() -> None:
    data = {"a": "</script><script>", "b": [1, None]}
    assert "<" not in script_data(data)
    assert json.loads(script_data(data)) == data


@pytest.mark.parametrize("name", sorted(p.name for p in STATIC.iterdir() if p.name.endswith(".css")))
def test_a_colour_of_the_base_is_set_there_alone(name: str) -> None:
    names = re.compile(r"--([a-z]+):")
    own, base = (set(names.findall(static(each))) for each in (name, "base.css"))
    assert name == "base.css" or not own & base
