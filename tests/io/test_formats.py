"""The table of formats decides: documentation, help texts and errors name exactly the extensions that it has."""

import pathlib
import re

import pytest

import pliant
from pliant.cli import drape, field, fix, tets
from pliant.errors import MeshFileError
from pliant.io.formats import (
    FORMATS,
    READ,
    WITH_PARTS,
    WRITTEN,
    WRITTEN_ANIMATIONS,
    WRITTEN_TETS,
    function,
)

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def named(text: str | None) -> set[str]:
    """The extensions of the table in a text."""
    return set(re.findall(r"(?<![\w*])\.[a-z0-9]+\b", (text or "").replace(".vat.", "."))) & set(FORMATS)


def parameter(docstring: str | None, name: str) -> str:
    """The text of one parameter of a command."""
    found = re.search(rf"^    {name}\n((?:        .*\n)+)", docstring or "", re.MULTILINE)
    assert found is not None
    return found[1]


def test_every_function_of_the_table_exists():
    for kind in FORMATS.values():
        for name in (kind.read, kind.write, kind.write_animation):
            assert name is None or callable(function(name))


def test_the_page_on_files_has_the_columns_of_the_table():
    lines = (DOCS / "files.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `.")]
    columns: dict[str, set[str]] = {"read": set(), "write": set(), "clips": set()}
    for endings, *cells in rows:
        for column, cell in zip(columns.values(), cells):
            if cell and not cell.startswith("("):
                column |= named(endings)
    assert columns == {"read": set(READ), "write": set(WRITTEN), "clips": set(WRITTEN_ANIMATIONS)}


@pytest.mark.parametrize(
    ("text", "endings"),
    [
        (pliant.load.__doc__.split("`units`")[0], READ),
        (pliant.save.__doc__, WRITTEN),
        (pliant.save_animation.__doc__, WRITTEN_ANIMATIONS),
        (parameter(drape.drape.__doc__, "out"), WRITTEN_ANIMATIONS),
        (parameter(fix.fix.__doc__, "out"), {*WRITTEN, *WRITTEN_ANIMATIONS}),
        (parameter(field.field.__doc__, "reconstruct"), WRITTEN),
        (parameter(tets.tets.__doc__, "out"), WRITTEN_TETS),
        (
            re.search(r"\| `-o`, `--out` \| the animation.*", (DOCS / "command-line.md").read_text("utf-8"))[0],
            WRITTEN_ANIMATIONS,
        ),
        (re.search(r"\| `-o`, `--out` \| the tetra.*", (DOCS / "command-line.md").read_text("utf-8"))[0], WRITTEN_TETS),
        (
            re.search(r"Several frames are written as .*?\. ", (DOCS / "fix.md").read_text("utf-8"))[0],
            WRITTEN_ANIMATIONS,
        ),
    ],
    ids=["load", "save", "save_animation", "drape", "fix", "field", "tets", "page drape", "page tets", "page fix"],
)
def test_a_text_names_the_extensions_of_the_table(text, endings):
    assert named(text) == set(endings)


def test_errors_name_the_extensions_of_the_table(tmp_path):
    mesh = pliant.shapes.ball(0.1, 1)
    (tmp_path / "mesh.txt").touch()
    (tmp_path / "mesh.ply").touch()
    with pytest.raises(MeshFileError) as read:
        pliant.load(tmp_path / "mesh.txt")
    with pytest.raises(ValueError, match="cannot write a mesh") as written:
        pliant.save("mesh.pc2", mesh)
    with pytest.raises(ValueError, match="cannot write an animation") as animated:
        pliant.save_animation("mesh.ply", [pliant.Clip(mesh, mesh.vertices[None])], 30.0)
    with pytest.raises(MeshFileError) as part:
        pliant.load(tmp_path / "mesh.ply", part="Skirt")
    found = [named(str(each.value).partition("; ")[2]) for each in (read, written, animated, part)]
    assert found == [set(READ), set(WRITTEN), set(WRITTEN_ANIMATIONS), set(WITH_PARTS)]
