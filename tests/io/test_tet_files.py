"""Tets from every format that holds them: the same mesh from each, what is refused and how, and written again."""

import gzip
import logging
import pathlib
import zlib

import numpy as np
import pytest

import tet_files
from conftest import DATA
from pliant import shapes
from pliant.errors import MeshFileError
from pliant.io import load, save
from pliant.mesh import Mesh
from tet_files import TETS, X

FILES = tet_files.everything()
TETS_DATA = DATA / "tets"

# vertices, faces, tets, issues
REAL = {
    "armadillo_4k.ele": (1180, 2102, 3717, {}),
    "armadillo_4k.node": (1180, 2102, 3717, {}),
    "bullet_banana.vtk": (725, 1100, 2395, {}),
    "bullet_ditto.vtk": (2580, 2968, 10415, {}),
    "bullet_torus.vtk": (1036, 1002, 4436, {}),
    "ipc_32770_octocat.msh": (6133, 8554, 21426, {}),
    "ipc_bar-651.msh": (292, 580, 651, {}),
    "ipc_bunny.msh": (4670, 6266, 19379, {}),
    "ipc_cow_head.msh": (1328, 1986, 5029, {}),
    "ipc_cube.msh": (8, 12, 6, {}),
    "ipc_erleben_spike.msh": (5, 6, 2, {}),
    "ipc_erleben_wedge.msh": (6, 8, 3, {}),
    "ipc_hammer.msh": (2705, 4090, 9683, {}),
    "ipc_mat20x20.msh": (800, 1596, 2166, {}),
    "ipc_sphere1K.msh": (1760, 2474, 6851, {}),
    "ipc_tet.msh": (4, 4, 1, {}),
    "ipc_torus.msh": (200, 400, 491, {}),
    "octopus-low.mesh": (452, 898, 1140, {}),
    "sofa_6_tetra_bad.msh": (17, 24, 6, {"bow-tie": 5, "inverted": 1}),
    "sofa_liver-smooth.obj": (2194, 4384, 0, {}),
    "sofa_liver.msh": (181, 276, 596, {}),
    "sofa_liver.obj": (181, 274, 0, {"unreferenced": 42}),
    "sofa_liver2.msh": (507, 860, 1493, {}),
    "sofa_raptorTetra_8418.vtu": (2996, 5750, 8418, {"non-manifold": 9, "bow-tie": 6, "unreferenced": 3}),
}


def put(folder: pathlib.Path, ending: str, content: bytes) -> pathlib.Path:
    """The file, and beside one of TetGen's its partner."""
    path = folder / f"made{ending}"
    path.write_bytes(content)
    if ending in (".node", ".ele"):
        other = {".node": ".ele", ".ele": ".node"}[ending]
        path.with_suffix(other).write_bytes({".node": tet_files.node, ".ele": tet_files.ele}[other](1))
    return path


def refused(path: pathlib.Path) -> MeshFileError:
    with pytest.raises(MeshFileError) as error:
        load(path)
    assert pathlib.Path(error.value.path).stem == path.stem
    return error.value


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("packed", [False, True])
def test_every_format_gives_the_same_tets(tmp_path: pathlib.Path, name: str, packed: bool) -> None:
    ending, content = FILES[name]
    path = put(tmp_path, ending, content)
    if packed:
        path = path.with_name(path.name + ".gz")
        path.write_bytes(gzip.compress(content))
    mesh = load(path)
    assert mesh.vertices.tolist() == X.tolist()
    assert mesh.tets.tolist() == TETS.tolist()
    assert (mesh.n_faces, mesh.volume) == (6, pytest.approx(mesh.tet_volumes.sum()))
    assert mesh.issues.summary() == {"unreferenced": 1}


@pytest.mark.parametrize("base", [0, 1])
@pytest.mark.parametrize("named", [".node", ".ele"])
def test_tetgen_counts_from_0_or_1_and_either_file_may_be_named(tmp_path: pathlib.Path, base: int, named: str) -> None:
    (tmp_path / "a.node").write_bytes(tet_files.node(base))
    (tmp_path / "a.ele").write_bytes(tet_files.ele(base))
    assert load(tmp_path / f"a{named}").tets.tolist() == TETS.tolist()


def test_a_tetgen_file_without_its_partner_says_which_one_is_missing(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.node").write_bytes(tet_files.node(0))
    assert "a.ele is not in the same folder" in refused(tmp_path / "a.node").why


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_loads_with_the_counts_of_its_header(data: pathlib.Path, name: str) -> None:
    mesh = load(data / "tets" / name)
    assert (mesh.n_vertices, mesh.n_faces, len(mesh.tets), mesh.issues.summary()) == REAL[name]


def test_no_file_of_the_folder_is_without_an_expectation(data: pathlib.Path) -> None:
    assert {path.name for path in (data / "tets").iterdir()} == REAL.keys()


def test_without_tets_triangles_and_quadrilaterals_are_the_mesh(tmp_path: pathlib.Path) -> None:
    text = (
        tet_files.gmsh_2()
        .replace(b" 4 1 7 1 2 3 5\n", b" 3 1 7 1 2 3 5\n")
        .replace(b" 4 1 7 2 3 5 8\n", b" 15 1 7 2\n")
    )
    mesh = load(put(tmp_path, ".msh", text))
    assert mesh.faces.tolist() == [[0, 2, 1], [0, 1, 3], [0, 1, 2], [0, 2, 3]]
    assert len(mesh.tets) == 0


@pytest.mark.parametrize("mesh", [shapes.creature(), shapes.bar(), shapes.ball(0.3, 2)], ids=lambda mesh: mesh.name)
@pytest.mark.parametrize("ending", [".msh", ".mesh", ".vtk", ".npz"])
def test_what_is_written_comes_back_bit_for_bit(tmp_path: pathlib.Path, mesh: Mesh, ending: str) -> None:
    mesh = mesh.moved(mesh.vertices / 3.0 + (1e-7, -1e5, 0.1))
    save(tmp_path / f"a{ending}", mesh)
    back = load(tmp_path / f"a{ending}")
    assert back.vertices.tobytes() == mesh.vertices.tobytes()
    assert back.tets.tobytes() == mesh.tets.tobytes()
    assert back.faces.tobytes() == mesh.faces.tobytes()


def test_tets_that_are_all_inside_out_are_turned_with_a_note(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    turned = tet_files.medit().replace(b"1 2 3 4 1\n2 3 4 5 1", b"2 1 3 4 1\n3 2 4 5 1")
    with caplog.at_level(logging.INFO, "pliant"):
        mesh = load(put(tmp_path, ".mesh", turned))
    assert "all tets are inverted" in caplog.text
    assert mesh.tet_volumes.min() > 0.0
    assert mesh.volume > 0.0


def test_a_tet_listed_in_the_wrong_order_is_counted_and_its_faces_still_look_outward(tmp_path: pathlib.Path) -> None:
    turned = tet_files.medit().replace(b"2 3 4 5 1", b"3 2 4 5 1")
    mesh = load(put(tmp_path, ".mesh", turned))
    assert mesh.tets[1].tolist() == [2, 1, 3, 4]
    assert mesh.issues.inverted.tolist() == [1]
    assert mesh.issues.summary() == {"unreferenced": 1, "inverted": 1}
    assert mesh.volume == pytest.approx(np.abs(mesh.tet_volumes).sum())
    assert "1 inverted tets (tets 1)" in str(mesh.issues)


def test_a_tet_bent_inside_out_is_counted_and_its_faces_stay(tmp_path: pathlib.Path) -> None:
    bent = tet_files.medit().replace(b"1.0 1.0 1.0 0\n", b"0.1 0.1 0.1 0\n")  # through the side between the two
    mesh = load(put(tmp_path, ".mesh", bent))
    assert mesh.issues.summary() == {"unreferenced": 1, "inverted": 1}
    assert mesh.tet_volumes.sum() == pytest.approx(mesh.volume)


def test_a_flat_tet_is_counted_whatever_the_rounding_says(tmp_path: pathlib.Path) -> None:
    flat = tet_files.medit().replace(b"1.0 1.0 1.0 0\n", b"0.3 0.3 0.4 0\n")  # on the side between the two
    mesh = load(put(tmp_path, ".mesh", flat))
    assert mesh.issues.flat.tolist() == [1]
    assert len(mesh.issues.inverted) == 0


def test_the_first_rows_of_many_inverted_tets_are_named() -> None:
    bar = shapes.bar()
    wrong = bar.tets.copy()
    wrong[[4, 7, 9, 30]] = wrong[[4, 7, 9, 30]][:, [1, 0, 2, 3]]
    assert "4 inverted tets (tets 4, 7, 9, ...)" in str(Mesh(bar.vertices, bar.faces, wrong).issues)


# name of the file above, what is replaced by what, the place (@: the line where that is) and a part of the reason
BAD = [
    ("gmsh 1", b"$NOD\n6", b"$NOD\n1000000000", "@", "1000000000 nodes declared"),
    ("gmsh 1", b"4 1 1 4 1 2", b"4 1 1 5 1 2", "@", "has 4 nodes, not 5"),
    ("gmsh 1", b"$ELM\n5", b"$ELM\n6", "end of file", "6 elements declared, 5 found"),
    ("gmsh 1", b"$ELM\n5", b"$ELM\n4", "line 16", "4 elements declared, but more numbers follow"),
    ("gmsh 1", b"$ELM", b"$XYZ", "end of file", "no section $ELM"),
    ("gmsh 2", b"2.2 0 8", b"4.0 0 8", "@", "version 4.0 is not read; save it as version 4.1 or 2.2"),
    ("gmsh 2", b"2.2 0 8", b"3 0 8", "@", "version 3 is not read"),
    ("gmsh 2", b"2.2 0 8", b"2.2 0 4", "@", "expected 8"),
    ("gmsh 2", b"13 0.5 0.25", b"13 nan 0.25", "@", "vertex 5 = (nan, 0.25, -0.125) is not finite"),
    ("gmsh 2", b"13 0.5 0.25", b"13 1_0 0.25", "@", "'1_0' is not a number"),
    ("gmsh 2", b"13 0.5 0.25", b"12.5 0.5 0.25", "@", "the node number is 12.5"),
    ("gmsh 2", b" 4 1 7 2 3 5 8", b" 4 1 7 2 3 5 9", "@", "a tetrahedron has node 9, but there is no such node"),
    ("gmsh 2", b" 4 1 7 2 3 5 8", b" 5 1 7 2 3 5 8 1 1 1 1", "@", "hexahedra (type 5) are not read"),
    ("gmsh 2", b" 4 1 7 2 3 5 8", b" 11 1 7 2 3 5 8", "@", "tetrahedra of 10 nodes (type 11) are not read"),
    ("gmsh 2", b" 4 1 7 2 3 5 8", b" 4 -1 2 3 5 8", "@", "the number of tags is negative (-1)"),
    ("gmsh 2", b" 4 1 7 2 3 5 8", b" 4 1 7 2 3 99999999999999999999 8", "@", "is not a whole number"),
    ("gmsh 2", b"$Elements\n6", b"$Elements\n600000000", "@", "600000000 elements declared"),
    ("gmsh 2", b"$Elements\n6", b"$Elements\n5", "", "5 elements declared, but more numbers follow"),
    ("gmsh 2", b"$Nodes\n6", b"$Nodes\nsix", "@", "'six' is not a whole number"),
    ("gmsh 2 binary", b"$Nodes\n6", b"$Nodes\n999999999", "", "999999999 nodes need"),
    ("gmsh 2 binary", b"$Elements", b"$Elephants", "end of file", "no section $Elements"),
    ("gmsh 4", b"2 6 1 13", b"2 6000000000 1 13", "@", "6000000000 nodes declared"),
    ("gmsh 4", b"2 6 1 13", b"2000000000 6 1 13", "@", "2000000000 blocks of nodes declared"),
    ("gmsh 4", b"2 6 1 13", b"2 5 1 13", "@", "5 nodes declared, but the blocks have 6"),
    ("gmsh 4", b"3 5 1 5", b"3 4 1 5", "@", "4 elements declared, but the blocks have 5"),
    ("gmsh 4", b"1.0 0.0 0.0 0.5", b"nan 0.0 0.0 0.5", "@", "vertex 1 = (nan, 0, 0) is not finite"),
    ("gmsh 4", b"3 1 0 4", b"3 1 0 -4", "@", "a block of -4 nodes"),
    ("gmsh 4", b"3 1 4 2", b"3 1 5 2", "@", "hexahedra (type 5)"),
    ("gmsh 4", b"3 1 4 2", b"3 1 4 20000000", "@", "elements of a block declared"),
    ("medit", b"MeshVersion", b"MashVersion", "@", "not a MEDIT file"),
    ("medit", b"Dimension\n3", b"Dimension\n2", "@", "expected dimension 3"),
    ("medit", b"Vertices\n6", b"Vertices\n1000000000", "@", "1000000000 vertices declared"),
    ("medit", b"Vertices\n6", b"Nothing\n6", "end of file", "no section 'Vertices'"),
    ("medit", b"2 3 4 5 1", b"2 3 4 7 1", "@", "a tetrahedron has node 7"),
    ("medit", b"2 3 4 5 1", b"2 3 4 0 1", "@", "a tetrahedron has node 0"),
    ("medit", b"Edges\n1", b"Hexahedra\n1", "@", "hexahedra are not read"),
    ("tetgen", b"6 3 1 1", b"1000000000 3 1 1", "@", "1000000000 points declared"),
    ("tetgen", b"6 3 1 1", b"6 2 1 1", "@", "expected dimension 3"),
    ("tetgen", b"3 0.0 1.0", b"4 0.0 1.0", "@", "expected point 3, found 4"),
    ("tetgen", b"1 0.0 0.0", b"5 0.0 0.0", "@", "expected 0 or 1"),
    ("tetgen tets", b"2 4 1\n", b"2 10 1\n", "@", "10 nodes"),
    ("tetgen tets", b"2 2 3 4 5", b"2 2 3 4 7", "@", "a tet has node 7; expected a whole number in 1..6"),
    ("tetgen tets", b"2 2 3 4 5", b"2 2 3 4 nan", "@", "a tet has node nan"),
    ("tetgen tets", b"2 4 1\n", b"3 4 1\n", "", "truncated?"),
    ("vtk", b"Version 3.0", b"Version 6.0", "@", "version 6.0 is not read"),
    ("vtk", b"# vtk", b"# vtx", "@", "not a VTK file"),
    ("vtk", b"ASCII", b"ASKII", "@", "expected ASCII or BINARY"),
    ("vtk", b"UNSTRUCTURED_GRID", b"POLYDATA", "@", "'DATASET POLYDATA' is not read"),
    ("vtk", b"POINTS 6 double", b"POINTS 6 quad", "@", "unknown type 'quad'"),
    ("vtk", b"POINTS 6", b"POINTS 6000000000", "@", "6000000000 points declared"),
    ("vtk", b"4 1 2 3 4", b"4 1 2 3 6", "cell 2", "a tetrahedron has node 6"),
    ("vtk", b"4 1 2 3 4", b"9 1 2 3 4", "line 13", "reaches beyond"),
    ("vtk", b"\n10\n", b"\n12\n", "cell 1", "hexahedra (type 12) are not read"),
    ("vtk", b"\n10\n", b"\n5\n", "cell 1", "cell 1 is a triangle of 4 nodes; expected 3"),
    ("vtk", b"CELL_TYPES 4", b"CELL_TYPES 3", "line 23", "expected POINTS, CELLS or CELL_TYPES, found '5'"),
    ("vtk 5", b"OFFSETS vtktypeint64\n0 2", b"OFFSETS vtktypeint64\n0 9", "offsets", "rise from 0 to 13"),
    ("vtk 5", b"CONNECTIVITY", b"CONNECTION", "@", "expected CONNECTIVITY"),
    ("vtu", b'UnstructuredGrid" version', b'PolyData" version', "", "found 'PolyData'"),
    ("vtu", b"</Cells>", b"</Sells>", "@", "mismatched tag"),
    ("vtu", b'<Piece NumberOfPoints="6"', b'<Piece NumberOfPoints="7"', "", "has 18 values; expected 21"),
    ("vtu", b'NumberOfCells="4"', b'NumberOfCells="4e9"', "", "expected a whole number"),
    ("vtu", b'NumberOfCells="4"', b'NumberOfCells="4000000000000"', "", "more than"),
    ("vtu", b"0 1 0 1 2 3", b"0 1 0 1 2 9", "", "a cell has node 9, but there are 6 points"),
    ("vtu", b"Float64", b"Float128", "", "type 'Float128'; one of"),
    ("vtu", b'<?xml version="1.0"?>', b'<!DOCTYPE a [<!ENTITY b "ccc">]>', "@", "document type declarations"),
    ("vtu base64", b"AAAA", b"A*AA", "", "bad base64"),
    ("vtu base64 packed", b"vtkZLibData", b"vtkLZ4Data", "", "save it with zlib"),
    ("vtu raw", b'offset="0"', b'offset="90000"', "", "truncated?"),
    ("vtu raw", b'offset="0"', b'offset="-1"', "", "expected a whole number"),
]


@pytest.mark.parametrize(("name", "old", "new", "where", "why"), BAD)
def test_a_broken_file_is_refused_with_the_place_and_the_reason(
    tmp_path: pathlib.Path, name: str, old: bytes, new: bytes, where: str, why: str
) -> None:
    ending, content = FILES[name]
    assert old in content
    broken = content.replace(old, new, 1)
    error = refused(put(tmp_path, ending, broken))
    assert why in error.why
    if where == "@":
        same = next(k for k in range(len(content)) if content[k] != broken[k])
        where = f"line {content[:same].count(10) + 1}"
    if where:
        assert error.where == where


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere_before_its_tets_end_is_refused(tmp_path: pathlib.Path, name: str) -> None:
    ending, content = FILES[name]
    for stop in range(1, len(content) // 2, 7):
        refused(put(tmp_path, ending, content[:stop]))


def test_binary_medit_is_refused_with_what_to_do(tmp_path: pathlib.Path) -> None:
    (tmp_path / "a.meshb").write_bytes(b"\1\0\0\0")
    assert "save it as ascii" in refused(tmp_path / "a.meshb").why


def test_tets_without_a_surface_or_with_a_side_of_three_are_refused(tmp_path: pathlib.Path) -> None:
    twice = tet_files.medit().replace(b"2 3 4 5 1", b"1 2 3 4 1")
    assert "duplicate tets?" in refused(put(tmp_path, ".mesh", twice)).why
    thrice = tet_files.medit().replace(b"solid\n2", b"solid\n3").replace(b"2 3 4 5 1", b"2 3 4 5 1\n2 3 4 6 1")
    assert "shares a face with 2 others" in refused(put(tmp_path, ".mesh", thrice)).why


def test_a_small_vtu_cannot_unpack_into_a_large_one(tmp_path: pathlib.Path) -> None:
    """A block that declares few bytes and holds many, and one that declares many."""
    bomb = zlib.compress(bytes(50_000_000), 9)
    content = tet_files.vtu("raw", packed=True)
    start = content.index(b"_", content.index(b"<AppendedData")) + 1
    for declared in (40, 50_000_000, 4_000_000_000):
        numbers = np.array([1, declared, declared, len(bomb)], "<u4").tobytes()
        error = refused(put(tmp_path, ".vtu", content[:start] + numbers + bomb))
        assert "block" in error.why
