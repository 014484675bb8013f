"""The documentation speaks the language of its glossary: no page uses a word that the glossary has retired."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
GLOSSARY = ROOT / "docs" / "glossary.md"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += sorted(page for page in (ROOT / "docs").rglob("*.md") if page != GLOSSARY)
# retired for one meaning, and in good use for another: a key of a dictionary, layers of garments, a tree of calls
BOTH = {"look", "question", "meet", "tree", "box", "oriented", "walk", "live", "layers", "judge", "soft", "key", "hand"}
BOTH |= {"lot", "promise", "slope", "ear", "face", "tempo", "on the way", "fastened", "26-dop", "set out", "elasticity"}


def rows() -> list[list[str]]:
    lines = [line for line in GLOSSARY.read_text().splitlines() if line.startswith("|") and "---" not in line]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def retired() -> list[str]:
    """The words and phrases of the last column, without what stands in brackets."""
    words = {w.strip() for *_, last in rows() for w in re.sub(r"\(.*?\)", "", last).split(",")}
    return sorted(words - BOTH - {"", "earlier word"})


def prose(page: pathlib.Path) -> str:
    """A page without code, targets of links, comments, and titles of works."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"<!--.*?-->|`[^`]*`", "", text, flags=re.DOTALL)
    return re.sub(r"\]\([^)]*\)|(?<!\*)\*[^*\n]+\*(?!\*)", "]", text)


def test_every_term_has_a_definition_and_stands_once() -> None:
    terms = [term.strip() for cells in rows() for term in cells[0].replace("*", "").split(",")]
    assert [t for t in terms if terms.count(t) > 1 and t != "term"] == []
    assert [cells[0] for cells in rows() if len(cells) != 3 or not cells[1]] == []
    assert len(terms) > 80


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_page_uses_a_retired_word(page: pathlib.Path) -> None:
    text = prose(page)
    found = [w for w in retired() if re.search(rf"\b{re.escape(w)}s?\b", text, re.IGNORECASE)]
    assert found == []


def test_a_retired_word_is_found() -> None:
    assert {"small step", "border", "way out", "the same bits"} <= set(retired())
