"""Meshes of other libraries, from stand-ins with their attributes, and from the libraries where they are installed."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import pliant

BALL = pliant.shapes.ball(0.1, 1)
TET = pliant.Mesh.from_tets([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
HAIR = pliant.Mesh.from_lines([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0]], [[0, 1], [1, 2], [3, 4]])
SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [2, 0, 0]])
QUAD, TRIANGLE = [0, 1, 2, 3], [1, 4, 2]


class Tensor:
    """As those of PyTorch on a card that need a gradient: NumPy takes none of these."""

    def __init__(self, value, steps=("detach", "cpu", "numpy")):
        self.value, self.steps = value, steps

    def __array__(self, *_, **__):
        raise TypeError("can't convert a tensor that requires grad")

    def __getattr__(self, name):
        if name in ("__len__", "shape") or not self.steps or name != self.steps[0]:
            raise AttributeError(name)
        left = self.steps[1:]
        return lambda: Tensor(self.value, left) if left else self.value


def same(mesh, vertices, faces):
    np.testing.assert_array_equal(mesh.vertices, vertices)
    np.testing.assert_array_equal(mesh.faces, faces)
    return True


@pytest.mark.parametrize(
    "given",
    [
        (BALL.vertices, BALL.faces),
        (Tensor(BALL.vertices), Tensor(BALL.faces)),
        (BALL.vertices[None], BALL.faces),  # a batch of one, as the models of SMPL return it
        {"v_template": BALL.vertices, "f": BALL.faces.astype(np.uint32), "weights": 0},
        {"vertices": BALL.vertices.tolist(), "faces": BALL.faces.tolist()},
        SimpleNamespace(vertices=BALL.vertices, faces=BALL.faces),
        SimpleNamespace(vertices=Tensor(BALL.vertices[None]), faces=BALL.faces),
        SimpleNamespace(vertices=BALL.vertices, triangles=BALL.faces),
        SimpleNamespace(vertex={"positions": Tensor(BALL.vertices)}, triangle={"indices": Tensor(BALL.faces)}),
        SimpleNamespace(points=BALL.vertices, cells=[SimpleNamespace(type="triangle", data=BALL.faces)]),
        SimpleNamespace(points=BALL.vertices, faces=np.column_stack([np.full(len(BALL.faces), 3), BALL.faces]).ravel()),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_mesh_of_another_library_is_taken_with_its_order(given):
    assert same(pliant.Mesh.from_object(given, "ball"), BALL.vertices, BALL.faces)
    np.testing.assert_array_equal(pliant.closest_point(given, [[0.0, 0.2, 0.0]])[0] < 0.11, [True])


def test_polygons_become_fans_whatever_the_order_of_their_sizes():
    fans = [[0, 1, 2], [0, 2, 3], [1, 4, 2]]
    polygons = SimpleNamespace(points=SQUARE, faces=np.array([4, *QUAD, 3, *TRIANGLE]), lines=np.zeros(0, np.int64))
    blocks = SimpleNamespace(
        points=SQUARE,
        cells=[
            SimpleNamespace(type="vertex", data=np.array([[0]])),
            SimpleNamespace(type="quad", data=np.array([QUAD])),
            SimpleNamespace(type="triangle", data=np.array([TRIANGLE])),
        ],
    )
    grid = SimpleNamespace(
        points=SQUARE, cells=np.array([1, 0, 3, *TRIANGLE, 4, *QUAD]), celltypes=np.array([1, 5, 9], np.uint8)
    )
    assert same(pliant.Mesh.from_object(polygons), SQUARE, fans)
    assert same(pliant.Mesh.from_object(blocks), SQUARE, fans)
    assert same(pliant.Mesh.from_object(grid), SQUARE, [fans[2], *fans[:2]])


def test_tets_come_with_their_surface_and_turned_where_all_are_inverted():
    for corners in (TET.tets, TET.tets[:, [0, 1, 3, 2]]):
        grid = SimpleNamespace(points=TET.vertices, cells=[SimpleNamespace(type="tetra", data=corners)])
        mesh = pliant.Mesh.from_object(grid)
        assert mesh.tet_volumes.min() > 0.0
        assert mesh.issues.closed
        assert mesh.volume == pytest.approx(1 / 6)


def test_lines_are_those_of_polylines():
    lines = np.array([3, 0, 1, 2, 2, 3, 4])
    for given in (
        SimpleNamespace(points=HAIR.vertices, lines=lines, faces=np.zeros(0, np.int64)),
        SimpleNamespace(points=HAIR.vertices, lines=HAIR.lines),
        SimpleNamespace(points=HAIR.vertices, cells=lines, celltypes=np.array([4, 3])),
    ):
        np.testing.assert_array_equal(np.sort(pliant.Mesh.from_object(given).lines, 0), np.sort(HAIR.lines, 0))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            (np.zeros((30, 4, 3)), [[0, 1, 2]]),
            r"other\.vertices has shape \(30, 4, 3\); expected one.*pliant.Clip",
        ),
        (
            SimpleNamespace(points=SQUARE, cells=[SimpleNamespace(type="hexahedron", data=np.arange(8)[None])]),
            r"other\.cells: hexahedron is not taken; expected triangles, quads, polygons, tetra and lines",
        ),
        (SimpleNamespace(points=SQUARE), "expected a Mesh, a mesh of trimesh, Open3D, PyVista or meshio"),
        ({"v": SQUARE}, "expected a Mesh, a mesh of trimesh, Open3D"),
        (([[0.0, 0.0, 0.0]], [[0, 1, 2], [0]]), "expected a Mesh, a mesh of trimesh"),
        (SimpleNamespace(geometry={}), r"give its \.to_mesh\(\)"),
    ],
    ids=str,
)
def test_what_is_no_mesh_is_refused_with_what_is_expected(given, words):
    with pytest.raises(ValueError, match=words):
        pliant.Mesh.from_object(given)


@pytest.mark.parametrize("library", ["trimesh", "open3d", "pyvista", "meshio"])
def test_meshes_go_to_a_library_and_come_back(library):
    pytest.importorskip(library)
    for mesh in (BALL, TET, HAIR):
        if library == "trimesh" and mesh is HAIR:
            with pytest.raises(ValueError, match="consists of lines"):
                mesh.to_trimesh()
            continue
        back = pliant.Mesh.from_object(getattr(mesh, f"to_{library}")())
        np.testing.assert_allclose(back.vertices, mesh.vertices, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(back.faces, mesh.faces)
        np.testing.assert_array_equal(back.lines, mesh.lines)
        np.testing.assert_array_equal(back.tets, mesh.tets if library != "trimesh" else np.zeros((0, 4)))


@pytest.mark.parametrize("name", ["to_trimesh", "to_open3d", "to_pyvista", "to_meshio"])
def test_a_library_that_is_absent_is_named(name, monkeypatch):
    library = name.removeprefix("to_")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        ImportError, match=f"Mesh.{name} needs {library}, which is not installed: pip install {library}"
    ):
        getattr(BALL, name)()


def test_a_tensor_mesh_of_open3d_is_taken():
    open3d = pytest.importorskip("open3d")
    mesh = open3d.t.geometry.TriangleMesh.from_legacy(BALL.to_open3d())
    assert same(pliant.Mesh.from_object(mesh), BALL.vertices.astype(np.float32), BALL.faces)


def test_quads_of_pyvista_and_a_mixed_grid_are_taken():
    pyvista = pytest.importorskip("pyvista")
    box = pyvista.Box()
    assert pliant.Mesh.from_object(box).n_faces == 12
    assert pliant.Mesh.from_object(box.cast_to_unstructured_grid()).volume == pytest.approx(8.0)
