"""docs/papers.md says of every row how it is selected, what judges it and where it differs; what it names exists."""

import contextlib
import functools
import io
import pathlib
import re

import pytest

from pliant import cli
from pliant.detect.methods import METHODS
from pliant.detect.options import parse_method
from pliant.respond import RESPONSES
from pliant.scenes import SCENES

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "papers.md"
COLUMNS = ("topic", "selected by", "file", "judged by", "our result", "differs, and why")
SECTIONS = 7  # tables of the five papers


def tables() -> list[list[dict[str, str]]]:
    """The tables of the five papers: their rows by the names of the columns."""
    found: list[list[dict[str, str]]] = []
    heads: list[str] = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            heads = []
        elif "selected by" in cells:
            heads = cells
            found.append([])
        elif heads and not set(line) <= set("|-"):
            assert len(cells) == len(heads), line
            found[-1].append(dict(zip(heads, cells, strict=True)))
    return found


def rows() -> list[dict[str, str]]:
    return [row for table in tables() for row in table]


def test_every_row_says_how_it_is_selected_what_judges_it_and_where_it_differs() -> None:
    assert len(tables()) == SECTIONS
    assert len(rows()) > 60
    for row in rows():
        assert all(row[column] not in ("", "-") for column in COLUMNS), row


def test_every_row_is_judged_by_a_test() -> None:
    for row in rows():
        assert re.search(r"`(?:benchmarks/)?tests/\w|`test_\w+`|the same", row["judged by"]), row


def named(kind: str) -> list[str]:
    """What the column `selected by` has in backticks: methods with options, or options of the command line."""
    said = [text for row in rows() for text in re.findall(r"`([^`]+)`", row["selected by"])]
    if kind == "methods":
        return [text for text in said if text.partition(":")[0] in METHODS]
    return [text for text in said if text.startswith("--")]


@pytest.mark.parametrize("text", sorted(set(named("methods"))))
def test_methods_are_selected_by_text_that_is_accepted(text: str) -> None:
    chosen = parse_method(text)  # an unknown option or a wrong value is an error
    assert (chosen.name, len(chosen.options)) == (text.partition(":")[0], text.count("="))


def test_all_methods_of_the_papers_are_on_the_page() -> None:
    page = {text.partition(":")[0] for text in named("methods")}
    assert set(METHODS) - {"brute-force"} - page == set()


@functools.cache
def drape_help() -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        cli.run(["drape", "--help"])
    return out.getvalue()


@pytest.mark.parametrize("text", sorted(set(named("options"))))
def test_options_and_their_values_exist(text: str) -> None:
    option, _, value = text.partition(" ")
    assert re.search(rf"{re.escape(option)}\b", drape_help()), text
    if option.endswith("response"):
        assert value in RESPONSES
    elif value and option != "--friction":
        assert re.search(rf"\b{re.escape(value)}\b", drape_help()), text


def test_scenes_in_italics_exist() -> None:
    said = [name for row in rows() for name in re.findall(r"\*([a-z-]+)\*", row["selected by"])]
    assert len(said) > 10
    assert set(said) - set(SCENES) == set()
