"""Readers on files made here: what they accept, what they refuse, and what they say."""

import gzip
import pathlib
import time

import numpy as np
import pytest

from pliant.errors import MeshFileError
from pliant.io import load, save, size_warning
from pliant.mesh import Mesh

TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"


def put(folder: pathlib.Path, name: str, content: str | bytes) -> pathlib.Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def link(path: pathlib.Path, target: pathlib.Path) -> None:
    try:
        path.symlink_to(target)
    except OSError:
        pytest.skip("this account may not make symbolic links")


def refused(path: pathlib.Path, **options: object) -> MeshFileError:
    with pytest.raises(MeshFileError) as error:
        load(path, **options)  # type: ignore[arg-type]
    assert str(path) in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("text", "faces"),
    [
        ("f 1 2 3", [[0, 1, 2]]),
        ("f 1/1 2/1 3/1", [[0, 1, 2]]),
        ("f 1//1 2//1 3//1", [[0, 1, 2]]),
        ("f -3 -2 -1", [[0, 1, 2]]),
        ("f 1 2 \\\n3", [[0, 1, 2]]),
        ("f 1 2 3 # done", [[0, 1, 2]]),
        ("g a f 1 2 3\nf 3 2 1", [[2, 1, 0]]),
        ("v 1 1 0\nf 1 2 4 3", [[0, 1, 3], [0, 3, 2]]),
        ("s off\nl 1 2\np 1\ncurv 0 1\nf 1 2 3", [[0, 1, 2]]),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_obj_faces_in_every_spelling(tmp_path: pathlib.Path, text: str, faces: list[list[int]], ending: str) -> None:
    content = (TRIANGLE + "vt 0.5 0.25\nvn 0 0 1\n" + text + "\n").replace("\n", ending)
    assert load(put(tmp_path, "a.obj", content)).faces.tolist() == faces


def test_a_negative_obj_index_counts_from_the_line_it_stands_in(tmp_path: pathlib.Path) -> None:
    later = "v 5 0 0\nv 6 0 0\nv 5 1 0\n"
    mesh = load(put(tmp_path, "a.obj", TRIANGLE + "f -3 -2 -1\n" + later + "f -3 -2 -1\n"))
    assert mesh.faces.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("f 1 2 4", "line 4", "vertex index 4, but there are 3 vertices"),
        ("f 1 2 0", "line 4", "vertex index 0 or before the first"),
        ("f 1 2 -4", "line 4", "before the first"),
        ("f 1/9 2/1 3/1", "line 4", "texture coordinate index 9"),
        ("f 1 2", "line 4", "at least 3 corners, found 2"),
        ("f 1 2 x", "line 4", "expected face corners"),
        ("v 1 two 3\nf 1 2 3", "line 4", "expected numbers x y z"),
        ("v 1 2\nf 1 2 3", "line 4", "expected numbers x y z"),
        ("v 1_0 2 3\nf 1 2 3", "line 4", "expected numbers x y z"),
        ("f 1 2 3\nv nan 0 0", "line 5", "vertex 3 = (nan, 0, 0) is not finite"),
        ("f 1 2 3\n\nv 0 2e12 0", "line 6", "is beyond 1e+12"),
        ("", "", "no faces (3 vertices)"),
    ],
)
def test_a_bad_obj_line_is_named(tmp_path: pathlib.Path, text: str, where: str, why: str) -> None:
    error = refused(put(tmp_path, "a.obj", TRIANGLE + text))
    assert error.where == where
    assert why in error.why


def test_obj_materials_have_the_colours_of_the_library_beside_it(tmp_path: pathlib.Path) -> None:
    put(tmp_path, "a.mtl", "newmtl red\nKd 1 0 0\nmap_Kd red.png\nnewmtl broken\nKd x y z\n")
    mesh = load(put(tmp_path, "a.obj", f"mtllib a.mtl\n{TRIANGLE}f 1 2 3\nusemtl red\nf 1 2 3\nusemtl broken\nf 1 2 3"))
    assert mesh.materials == (
        {"name": "red", "color": [1.0, 0.0, 0.0], "texture": "red.png"},
        {"name": "broken"},
        {"name": "default"},
    )
    assert mesh.material is not None
    assert mesh.material.tolist() == [2, 0, 1]


@pytest.mark.parametrize("name", ["../a.mtl", "sub/../../a.mtl", "link.mtl", "..\\a.mtl", "/etc/passwd", "gone.mtl"])
def test_an_obj_library_outside_the_folder_is_not_read(tmp_path: pathlib.Path, name: str) -> None:
    put(tmp_path, "a.mtl", "newmtl red\nKd 1 0 0\n")
    folder = tmp_path / "models"
    folder.mkdir()
    link(folder / "link.mtl", tmp_path / "a.mtl")
    mesh = load(put(folder, "a.obj", f"mtllib {name}\n{TRIANGLE}usemtl red\nf 1 2 3"))
    assert mesh.materials == ({"name": "red"},)


PLY_HEAD = (
    "ply\nformat {0} 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    "element face {1}\nproperty list uchar int vertex_indices\nend_header\n"
)
SQUARE = "0 0 0\n1 0 0\n1 1 0\n0 1 0\n"


def binary_ply(order: str, polygons: list[list[int]]) -> bytes:
    name = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], order + "f4").tobytes()
    rows = [bytes([len(p)]) + np.array(p, order + "i4").tobytes() for p in polygons]
    return PLY_HEAD.format(name, len(polygons)).encode() + x + b"".join(rows)


@pytest.mark.parametrize(
    "polygons", [[[0, 1, 2]], [[0, 1, 2, 3]], [[0, 1, 2, 3], [0, 1, 2]], [[0, 1, 2], [0, 1, 2, 3]]]
)
def test_ply_is_the_same_mesh_in_ascii_and_both_byte_orders(tmp_path: pathlib.Path, polygons: list[list[int]]) -> None:
    text = PLY_HEAD.format("ascii", len(polygons)) + SQUARE
    text += "".join(f"{len(p)} {' '.join(map(str, p))}\n" for p in polygons)
    meshes = [
        load(put(tmp_path, "a.ply", text)),
        load(put(tmp_path, "mac.ply", text.replace("\n", "\r"))),
        load(put(tmp_path, "l.ply", binary_ply("<", polygons))),
        load(put(tmp_path, "b.ply", binary_ply(">", polygons))),
    ]
    faces = [[p[0], p[k], p[k + 1]] for p in polygons for k in range(1, len(p) - 1)]
    assert [mesh.faces.tolist() for mesh in meshes] == [faces] * 4
    assert all(np.array_equal(mesh.vertices, meshes[0].vertices) for mesh in meshes)


def test_ply_strips_turn_every_second_triangle(tmp_path: pathlib.Path) -> None:
    head = PLY_HEAD.format("ascii", 1).replace("element face", "element tristrips")
    mesh = load(put(tmp_path, "a.ply", head + "0 0 0\n1 0 0\n0 1 0\n1 1 0\n" + "8 0 1 2 3 -1 1 3 2\n"))
    assert mesh.faces.tolist() == [[0, 1, 2], [2, 1, 3], [1, 3, 2]]


@pytest.mark.parametrize("size", range(0, len(binary_ply("<", [[0, 1, 2], [0, 2, 3]])), 3))
def test_a_cut_ply_is_refused_wherever_it_is_cut(tmp_path: pathlib.Path, size: int) -> None:
    refused(put(tmp_path, "a.ply", binary_ply("<", [[0, 1, 2], [0, 2, 3]])[:size]))


@pytest.mark.parametrize("order", ["ascii", "binary_little_endian"])
def test_a_declared_count_beyond_the_file_is_refused_before_memory_is_asked_for(
    tmp_path: pathlib.Path, order: str
) -> None:
    head = PLY_HEAD.format(order, 1).replace("vertex 4", "vertex 4000000000")
    start = time.process_time()
    error = refused(put(tmp_path, "a.ply", head + SQUARE + "3 0 1 2\n"))
    assert "truncated" in error.why
    assert time.process_time() - start < 0.5


STL = """solid box
facet normal 0 0 1
outer loop
vertex 0 0 0
vertex 1 0 0
vertex 0 1 0
endloop
endfacet
endsolid box
"""


def test_a_binary_stl_may_start_with_solid(tmp_path: pathlib.Path) -> None:
    save(tmp_path / "a.stl", Mesh(np.eye(3), [[0, 1, 2]]))
    data = (tmp_path / "a.stl").read_bytes()
    mesh = load(put(tmp_path, "b.stl", b"solid, really binary".ljust(80) + data[80:]))
    assert np.array_equal(mesh.vertices, np.eye(3))


def test_an_ascii_stl_of_two_solids_is_one_mesh(tmp_path: pathlib.Path) -> None:
    assert load(put(tmp_path, "a.stl", STL + STL.upper())).n_faces == 2


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (STL[:-13], "no 'endsolid'"),
        (STL.replace("vertex 1 0 0\n", ""), "needs 3 vertices, found 2"),
        (STL.replace("vertex 1 0 0", "vertex 1 0"), "vertex x y z"),
        (STL.replace("vertex 1 0 0", "vertex 1 0 inf"), "not finite"),
        (b"\0" * 80 + b"\x02\0\0\0" + b"\0" * 60, "2 triangles declared"),
        (b"\0" * 80 + b"\x01\0\0\0" + b"\0" * 160, "1 triangles declared"),
        (b"\0" * 10, "neither ascii nor binary"),
    ],
)
def test_a_bad_stl_is_refused(tmp_path: pathlib.Path, content: str | bytes, why: str) -> None:
    assert why in refused(put(tmp_path, "a.stl", content)).why


@pytest.mark.parametrize(
    "head",
    [
        "OFF\n4 1 0\n",
        "OFF 4 1 0\n",
        "# c\nOFF".replace("# c\n", "\n") + " # c\n\n4 1 0 # n\n",
        "COFF\n4 1 0\n",
        "STCNOFF\n4 1\n",
    ],
)
def test_off_heads_in_every_spelling(tmp_path: pathlib.Path, head: str) -> None:
    mesh = load(put(tmp_path, "a.off", head + SQUARE + "4 0 1 2 3 0.5 0.5 0.5\n"))
    assert mesh.faces.tolist() == [[0, 1, 2], [0, 2, 3]]


@pytest.mark.parametrize(
    ("text", "where", "why"),
    [
        ("OFF\n4 2 0\n" + SQUARE + "3 0 1 2\n", "line 2", "but 5 lines follow"),
        ("OFF\n4 1 0\n" + SQUARE + "3 0 1 4\n", "line 7", "but there are 4 vertices"),
        ("OFF\n4 1 0\n" + SQUARE + "5 0 1 2\n", "line 7", "expected a face"),
        ("OFF\n4 1 0\n0 0\n" + SQUARE, "line 3", "expected numbers x y z"),
        ("OFF BINARY\n", "line 1", "binary OFF"),
        ("PLY\n", "line 1", "does not start with 'OFF'"),
        ("OFF\nfour faces\n", "line 2", "expected the counts"),
    ],
)
def test_a_bad_off_line_is_named(tmp_path: pathlib.Path, text: str, where: str, why: str) -> None:
    error = refused(put(tmp_path, "a.off", text))
    assert (error.where, why in error.why) == (where, True)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone.obj", "no such file"),
        ("folder.obj", "is a folder"),
        ("a.xyz", "one of: .obj, .ply, .stl, .off, .glb, .gltf"),
        ("a", "unknown extension ''"),
        ("empty.obj", "the file is empty"),
        ("nul\0.obj", "cannot be opened"),
    ],
)
def test_what_cannot_be_opened_is_refused_with_a_reason(tmp_path: pathlib.Path, name: str, why: str) -> None:
    (tmp_path / "folder.obj").mkdir()
    put(tmp_path, "empty.obj", "")
    assert why in refused(tmp_path / name).why


def test_a_gzipped_file_is_the_same_mesh(tmp_path: pathlib.Path) -> None:
    content = (TRIANGLE + "f 1 2 3\n").encode()
    halves = gzip.compress(content[:20]) + gzip.compress(content[20:])  # members one after another are one file
    assert load(put(tmp_path, "A.OBJ.GZ", halves)).faces.tolist() == [[0, 1, 2]]


def test_a_gzip_bomb_is_refused_while_it_is_small(tmp_path: pathlib.Path) -> None:
    bomb = gzip.compress(b"v 0 0 0\n" * 4_000_000)
    start = time.process_time()
    error = refused(put(tmp_path, "a.obj.gz", bomb), max_bytes=1 << 20)
    assert "unpacks to more than 1 MiB" in error.why
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize("cut", [5, 20, 30])
def test_a_cut_gzip_stream_is_refused(tmp_path: pathlib.Path, cut: int) -> None:
    whole = gzip.compress((TRIANGLE + "f 1 2 3\n").encode())
    assert "gzip" in refused(put(tmp_path, "a.obj.gz", whole[:cut])).why


def test_a_file_larger_than_the_limit_is_not_read(tmp_path: pathlib.Path) -> None:
    assert "limit 10 B" in refused(put(tmp_path, "a.obj", TRIANGLE), max_bytes=10).why


@pytest.mark.parametrize(
    ("units", "factor"), [("mm", 0.001), ("cm", 0.01), ("in", 0.0254), ("ft", 0.3048), (2.0, 2.0), ("3", 3.0)]
)
def test_units_are_scaled_to_metres(tmp_path: pathlib.Path, units: str | float, factor: float) -> None:
    mesh = load(put(tmp_path, "a.obj", TRIANGLE + "f 1 2 3"), units=units)
    assert np.array_equal(mesh.vertices, factor * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]))


@pytest.mark.parametrize(("up", "axis"), [("x", 0), ("y", 1), ("z", 2)])
def test_the_named_axis_ends_up_as_y_without_mirroring(tmp_path: pathlib.Path, up: str, axis: int) -> None:
    path = put(tmp_path, "a.obj", "v 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3")
    turned = load(path, up=up).vertices
    assert turned[axis].tolist() == [0, 1, 0]
    assert np.linalg.det(turned) == 1.0


@pytest.mark.parametrize("options", [{"units": "furlong"}, {"units": 0}, {"units": -1.0}, {"up": "w"}])
def test_unknown_units_and_axes_are_value_errors(tmp_path: pathlib.Path, options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"one of: (m|x)"):
        load(put(tmp_path, "a.obj", TRIANGLE + "f 1 2 3"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("height", "said"),
    [(1731.0, "the mesh is 1731 m tall; is it in millimetres? use --units mm"), (173.0, "use --units cm"),
     (1.7, None), (0.0005, "only 0.0005 m")],
)  # fmt: skip
def test_an_implausible_size_is_told(height: float, said: str | None) -> None:
    warning = size_warning(Mesh([[0, 0, 0], [0.1 * height, 0, 0], [0, height, 0]], [[0, 1, 2]]))
    assert warning is None if said is None else said in str(warning)


@pytest.mark.parametrize("kind", ["glb", "ply", "npz", "off", "msh", "vtk"])
def test_a_file_with_the_ending_of_another_kind_is_told(tmp_path, kind):
    corners = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    save(tmp_path / f"a.{kind}", Mesh.from_tets(corners, [[0, 1, 2, 3]]))
    wrong = "obj" if kind != "off" else "ply"
    (tmp_path / f"a.{kind}").rename(tmp_path / f"b.{wrong}")
    with pytest.raises(MeshFileError, match=rf"it begins like a \.{kind} file"):
        load(tmp_path / f"b.{wrong}")
