"""Text files as editors, exporters and people leave them: comments, byte order marks, blank lines, other line ends."""

import pathlib
from collections.abc import Callable

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant.errors import MeshFileError

X = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.5]]
FACES = [[0, 1, 2], [1, 3, 2]]
# what the defect's own file holds: a comment above the keyword
COMMENT_FIRST = "# a comment\nOFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
ROWS = "0 0 0\n1 0 0\n0 1 0\n1 1 0.5\n"
TETS = "0 0 0\n1 0 0\n0 1 0\n0 0 1\n"
FILES = {
    ".off": f"OFF\n4 2 0\n{ROWS}3 0 1 2\n3 1 3 2\n",
    ".obj": "".join(f"v {row}\n" for row in ROWS.splitlines()) + "f 1 2 3\nf 2 4 3\n",
    ".ply": "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    f"element face 2\nproperty list uchar int vertex_indices\nend_header\n{ROWS}3 0 1 2\n3 1 3 2\n",
    ".stl": "solid a b\n"
    + "".join(
        "facet normal 0 0 1\nouter loop\n"
        + "".join("vertex " + " ".join(map(str, X[v])) + "\n" for v in face)
        + "endloop\nendfacet\n"
        for face in FACES
    )
    + "endsolid a b\n",
    ".mesh": "MeshVersionFormatted 1\nDimension 3\nVertices\n4\n"
    + "".join(f"{row} 0\n" for row in TETS.splitlines())
    + "Tetrahedra\n1\n1 2 3 4 0\nEnd\n",
    ".msh": "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n"
    + "".join(f"{k + 1} {row}\n" for k, row in enumerate(TETS.splitlines()))
    + "$EndNodes\n$Elements\n1\n1 4 0 1 2 3 4\n$EndElements\n",
    ".vtk": f"# vtk DataFile Version 3.0\ntitle\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n{TETS}"
    "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n",
    ".node": "4 3 0 0\n" + "".join(f"{k + 1} {row}\n" for k, row in enumerate(TETS.splitlines())),
}
ELEMENTS = "1 4 0\n1 1 2 3 4\n"  # of the .node file


def _after_first(text: str, line: str) -> str:
    first, rest = text.split("\n", 1)
    return f"{first}\n{line}\n{rest}"


# changes that leave what a text file says as it is, and the kinds of files that know no such thing
Change = Callable[[str], str]
EVERYWHERE: dict[str, Change] = {
    "as it is": lambda t: t,
    "trailing spaces": lambda t: t.replace("\n", "  \t\n"),
    "blank line at the end": lambda t: t + "\n \n",
    "blank line first": lambda t: "\n \n" + t,
    "indented": lambda t: "".join(f"  {line}\n" for line in t.splitlines()),
    "many spaces": lambda t: t.replace(" ", "    "),
    "tabs": lambda t: t.replace(" ", "\t"),
}
COMMENTS: dict[str, Change] = {
    "comment first": lambda t: "# a comment\n" + t,
    "comments and blank lines first": lambda t: "\n  # OFF solid ply\n\n#\n" + t,
}
INSIDE: dict[str, Change] = {
    "comment second": lambda t: _after_first(t, "  # 1 2 3"),
    "comment at the end": lambda t: t + "# the end",
    "comments on lines of their own": lambda t: t.replace("\n", "\n# note 3\n"),
    "comments behind the words": lambda t: t.replace("\n", " # note 3\n"),
    "blank lines between": lambda t: t.replace("\n", "\n \t\n"),
}
LAST: dict[str, Change] = {  # one of these after all others
    "as they are": lambda t: t,
    "CRLF": lambda t: t.replace("\n", "\r\n"),
    "CR": lambda t: t.replace("\n", "\r"),
    "no line break at the end": lambda t: t.rstrip("\n"),
}
NO_COMMENTS = {".ply", ".vtk"}  # formats whose text has none, before or between
NONE_INSIDE = {*NO_COMMENTS, ".msh"}


def changes(kind: str) -> dict[str, Change]:
    found = dict(EVERYWHERE)
    found |= {} if kind in NO_COMMENTS else COMMENTS
    found |= {} if kind in NONE_INSIDE else INSIDE
    if kind == ".stl":  # the name of a solid may hold anything, so nothing behind it is a comment
        del found["comments behind the words"]
    return found


def read(folder: pathlib.Path, kind: str, change: Callable[[str], str], mark: bytes = b"") -> pliant.Mesh:
    path = folder / f"a{kind}"
    path.write_bytes(mark + change(FILES[kind]).encode())
    if kind == ".node":
        (folder / "a.ele").write_bytes(mark + change(ELEMENTS).encode())
    return pliant.load(path)


def right(mesh: pliant.Mesh, kind: str) -> None:
    if kind in (".off", ".obj", ".ply"):
        assert mesh.vertices.tolist() == X
        assert mesh.faces.tolist() == FACES
    elif kind == ".stl":
        assert mesh.vertices[mesh.faces].tolist() == [[X[v] for v in face] for face in FACES]
    else:
        assert mesh.vertices.tolist() == [[float(v) for v in row.split()] for row in TETS.splitlines()]
        assert mesh.tets.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "byte order mark"])
@pytest.mark.parametrize("kind", FILES)
def test_a_text_file_says_the_same_however_it_is_laid_out(tmp_path: pathlib.Path, kind: str, mark: bytes) -> None:
    for change in changes(kind).values():
        for last in LAST.values():
            right(read(tmp_path, kind, lambda t, c=change, e=last: e(c(t)), mark), kind)  # type: ignore[misc]


@pytest.mark.parametrize("kind", FILES)
def test_layouts_add_up(tmp_path: pathlib.Path, kind: str, rng: np.random.Generator) -> None:
    _add_up(tmp_path, kind, rng, cases(10))


@pytest.mark.long
@pytest.mark.parametrize("kind", FILES)
def test_layouts_add_up_for_long(tmp_path: pathlib.Path, kind: str, rng: np.random.Generator) -> None:
    _add_up(tmp_path, kind, rng, cases(2000))


def _add_up(folder: pathlib.Path, kind: str, rng: np.random.Generator, count: int) -> None:
    known = changes(kind)
    for _ in range(count):
        names = rng.choice(list(known), 3).tolist()
        last = str(rng.choice(list(LAST)))

        def change(text: str, names: list[str] = names, last: str = last) -> str:
            for name in names:
                text = known[name](text)
            return LAST[last](text)

        mark = b"\xef\xbb\xbf" if rng.random() < 0.5 else b""
        try:
            right(read(folder, kind, change, mark), kind)
        except (MeshFileError, AssertionError) as error:
            raise AssertionError(f"{names}, {last}, {mark!r}: {error}") from error


@pytest.mark.long
@pytest.mark.parametrize("kind", [".off", ".obj", ".ply", ".stl"])
def test_what_another_reader_accepts_is_read_as_it_reads_it(
    tmp_path: pathlib.Path, kind: str, rng: np.random.Generator
) -> None:
    trimesh = pytest.importorskip("trimesh")
    everything, agreed = EVERYWHERE | COMMENTS | INSIDE, 0
    for _ in range(cases(300)):
        text = FILES[kind]
        for name in rng.choice(list(everything), int(rng.integers(1, 3))):
            text = everything[str(name)](text)
        text = LAST[str(rng.choice(list(LAST)))](text)
        path = tmp_path / f"b{kind}"
        path.write_bytes(text.encode())
        try:
            theirs = trimesh.load(path, process=False, force="mesh")
        except Exception:  # whatever it raises, it refuses
            continue
        if len(theirs.faces) != len(FACES):  # it lost a part of the file
            continue
        mine = pliant.load(path)
        np.testing.assert_allclose(mine.vertices[mine.faces], theirs.vertices[theirs.faces])
        agreed += 1
    assert agreed > 0


def test_the_file_of_the_defect_is_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "comment_first.off"
    path.write_text(COMMENT_FIRST)
    assert pliant.load(path).faces.tolist() == [[0, 1, 2]]


OFFS = {
    "OFF": ("", ""),
    "off": ("", ""),
    "COFF": ("", " 255 0 0 255"),
    "NOFF": ("", " 0 0 1"),
    "CNOFF": ("", " 0 0 1 1 0 0 1"),
    "NCOFF": ("", " 0 0 1 1 0 0 1"),
    "STOFF": ("", " 0.5 0.5"),
    "STCNOFF": ("", " 0 0 1 1 0 0 1 0.5 0.5"),
    "4OFF": (" 1", ""),
    "C4OFF": (" 1", " 255 0 0 255"),
}


@pytest.mark.parametrize("head", OFFS)
@pytest.mark.parametrize("counts", ["\n4 2 0", " 4 2 0", " #\n# 1\n4 2 0 # note", "\n4 2", "\n4\n2\n0", "\n4 2 5"])
def test_every_kind_of_off_is_read(tmp_path: pathlib.Path, head: str, counts: str) -> None:
    four, more = OFFS[head]
    rows = "".join(f"{row}{four}{more}\n" for row in ROWS.splitlines())
    path = tmp_path / "a.off"
    path.write_text(f"{head}{counts}\n{rows}3 0 1 2 255 0 0\n3 1 3 2 # last\n")
    right(pliant.load(path), ".off")


def test_the_keyword_of_an_off_may_be_left_out(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.off"
    path.write_text("# counts first\n" + FILES[".off"].removeprefix("OFF\n"))
    right(pliant.load(path), ".off")


def test_the_first_vertex_of_an_obj_survives_a_byte_order_mark(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.obj"
    path.write_bytes(b"\xef\xbb\xbf" + FILES[".obj"].encode() + b"v 5 5 5\n")  # so that no index is beyond the end
    assert pliant.load(path).vertices.tolist() == [*X, [5, 5, 5]]


@pytest.mark.parametrize("word", ["F", "fo"])
def test_an_obj_face_is_never_passed_over_for_its_spelling(tmp_path: pathlib.Path, word: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(FILES[".obj"].replace("f 2", f"{word} 2"))
    right(pliant.load(path), ".obj")


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind not in (".ply", ".node")])
@pytest.mark.parametrize("code", ["utf-16", "utf-16-be"])
def test_text_of_two_bytes_a_character_is_named(tmp_path: pathlib.Path, kind: str, code: str) -> None:
    path = tmp_path / f"a{kind}"
    path.write_bytes(("\ufeff" if code == "utf-16-be" else "").encode(code) + FILES[kind].encode(code))
    with pytest.raises(MeshFileError, match=r"UTF-16.*save it as UTF-8"):
        pliant.load(path)


@pytest.mark.parametrize("tail", ["\0", "\x1a", "\0\0\r\n"])
def test_an_ascii_stl_may_end_in_nul_or_ctrl_z(tmp_path: pathlib.Path, tail: str) -> None:
    right(read(tmp_path, ".stl", lambda t: t + tail), ".stl")


def test_gmsh_comments_may_come_before_the_format(tmp_path: pathlib.Path) -> None:
    right(read(tmp_path, ".msh", lambda t: "$Comments\nnot $Nodes yet\n$EndComments\n" + t), ".msh")


def test_medit_keywords_are_read_in_any_case(tmp_path: pathlib.Path) -> None:
    for change in (str.lower, str.upper):
        right(read(tmp_path, ".mesh", change), ".mesh")
