"""Meshes of other libraries: arrays from their objects, and their objects from a Mesh.

Objects are recognised by their attributes, so that none of these libraries is imported to read one; `to_...` imports
the library that it names. Positions and elements are converted, other attributes are not.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..errors import optional
from .issues import tet_turns
from .polygons import fan

if TYPE_CHECKING:
    from .mesh import Mesh

WANTED = "a Mesh, a mesh of trimesh, Open3D, PyVista or meshio, or a pair (vertices, faces)"
# cell types of VTK, which PyVista has, and their names in meshio
_VTK = {1: "vertex", 2: "vertex", 3: "line", 4: "polyline", 5: "triangle", 7: "polygon", 9: "quad", 10: "tetra"}
_TAKEN = ("line", "polyline", "triangle", "quad", "polygon", "tetra")
# names of vertices and faces in a dict or an .npz file; the second are those of the models of SMPL
_NAMES = (("vertices", "faces"), ("v_template", "f"), ("v", "f"))


class Arrays(NamedTuple):
    """The parts of a mesh, as given."""

    vertices: Any
    faces: Any = None
    tets: Any = None
    lines: Any = None


def arrays_of(value: Any) -> Arrays | None:
    """Return the arrays of an object of another library, of a dict or of a pair; None for anything else."""

    def has(name: str) -> bool:
        return hasattr(value, name)

    if isinstance(value, (tuple, list)):
        pair = _pair(value) if len(value) == 2 else None
        return None if pair is None else Arrays(*pair)
    if isinstance(value, Mapping):
        found = next((names for names in _NAMES if all(name in value for name in names)), None)
        return None if found is None else Arrays(_one(value[found[0]]), host(value[found[1]]))
    if has("vertices") and has("faces"):  # trimesh
        return Arrays(_one(value.vertices), host(value.faces))
    if has("vertices") and has("tetras"):  # Open3D
        return Arrays(host(value.vertices), tets=host(value.tetras))
    if has("vertices") and has("triangles"):
        return Arrays(host(value.vertices), host(value.triangles))
    if has("vertex") and has("triangle"):  # a tensor mesh of Open3D
        return Arrays(host(value.vertex["positions"]), host(value.triangle["indices"]))
    if has("points") and has("cells"):  # meshio, and unstructured grids of PyVista
        return _cells(value)
    if has("points") and (has("faces") or has("lines")):  # surfaces of PyVista, and polylines of both
        return _padded(value)
    return None


def host(value: Any) -> NDArray[Any]:
    """Return an array; of a tensor its values in the memory of the processor, without its gradient."""
    for step in ("detach", "cpu"):
        if callable(getattr(value, step, None)):
            value = getattr(value, step)()
    if not isinstance(value, np.ndarray) and callable(getattr(value, "numpy", None)):
        value = value.numpy()
    return np.asarray(value)


def _one(value: Any) -> NDArray[Any]:
    """Return vertices (n,3) of an array that may be a batch of one, as models of bodies return it."""
    array = host(value)
    if array.ndim != 3:
        return array
    if len(array) != 1:
        raise ValueError(
            f"vertices has shape {array.shape}; expected one mesh, (n, 3): give vertices[0], and for a motion "
            "pliant.Clip((vertices[0], faces), vertices)"
        )
    return array[0]


def _pair(value: Any) -> tuple[NDArray[Any], NDArray[Any]] | None:
    try:
        vertices, faces = (host(part) for part in value)
    except ValueError:  # rows that differ in length
        return None
    if faces.ndim != 2 or vertices.ndim not in (1, 2, 3):
        return None
    return _one(vertices), faces


def _cells(value: Any) -> Arrays:
    """The cells of a meshio.Mesh, or of an unstructured grid of PyVista."""
    kinds = getattr(value, "celltypes", None)
    if kinds is None:
        blocks = [(str(block.type), host(block.data)) for block in value.cells]
    else:
        counts, corners = _unpadded(value.cells)
        first, kinds = np.cumsum(counts) - counts, np.asarray(kinds)
        blocks = []
        for kind, count in np.unique(np.column_stack([kinds, counts]), axis=0):
            at = first[(kinds == kind) & (counts == count)]
            blocks.append((_VTK.get(int(kind), f"type {kind} of VTK"), corners[at[:, None] + np.arange(count)]))
    return _of_blocks(host(value.points), blocks)


def _of_blocks(points: NDArray[Any], blocks: list[tuple[str, NDArray[Any]]]) -> Arrays:
    faces, tets, lines = [], [], []
    for kind, rows in blocks:
        if kind == "vertex" or not rows.size:
            continue
        if kind not in _TAKEN or rows.ndim != 2:
            raise ValueError(f"cells: {kind} is not taken; expected triangles, quads, polygons, tetra and lines")
        if kind == "tetra":
            tets.append(rows)
        elif kind in ("line", "polyline"):
            lines += [np.stack([rows[:, k], rows[:, k + 1]], 1) for k in range(rows.shape[1] - 1)]
        else:
            corners, _ = fan(np.full(len(rows), rows.shape[1]))
            faces.append(rows.ravel()[corners])
    if tets:
        inside = np.concatenate(tets)
        turns = tet_turns(validate.floats("points", points, (None, 3)), inside)
        return Arrays(points, tets=inside[:, [0, 1, 3, 2]] if turns.size and (turns <= 0).all() else inside)
    if faces:
        return Arrays(points, np.concatenate(faces))
    return Arrays(points, lines=np.concatenate(lines) if lines else np.zeros((0, 2), np.int64))


def _padded(value: Any) -> Arrays:
    """The polygons of a surface of PyVista, each with its number of corners in front; or lines, of Open3D without."""
    points, lines = host(value.points), host(getattr(value, "lines", np.zeros(0, np.int64)))
    polygons = host(getattr(value, "faces", np.zeros(0, np.int64)))
    if polygons.size:
        counts, corners = _unpadded(polygons)
        return Arrays(points, corners[fan(counts)[0]])
    if lines.ndim == 2:
        return Arrays(points, lines=lines)
    counts, corners = _unpadded(lines)
    follows = np.ones(len(corners), np.bool_)
    follows[np.cumsum(counts) - counts] = False
    second = np.flatnonzero(follows)
    return Arrays(points, lines=np.stack([corners[second - 1], corners[second]], 1))


def _unpadded(cells: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of corners and the corners of cells in the layout of VTK: 3, a, b, c, 4, a, b, c, d, ..."""
    flat, counts, at = host(cells).astype(np.int64).ravel(), [], 0
    alike = int(flat[0]) + 1 if flat.size else 1
    if len(flat) % alike == 0 and (flat[::alike] == alike - 1).all():
        return np.full(len(flat) // alike, alike - 1), flat.reshape(-1, alike)[:, 1:].ravel()
    while at < len(flat):
        counts.append(flat[at])
        at += int(flat[at]) + 1
    sizes = np.array(counts, np.int64)
    corner = np.ones(len(flat), np.bool_)
    corner[np.cumsum(sizes + 1) - sizes - 1] = False
    return sizes, flat[corner]


# -- the other way; arrays of a Mesh are read-only, so that each library gets copies -----------------------------------


def to_trimesh(mesh: "Mesh") -> Any:
    library = optional("trimesh", "Mesh.to_trimesh")
    if len(mesh.lines):
        raise ValueError("the mesh consists of lines; a trimesh.Trimesh has triangles")
    return library.Trimesh(mesh.vertices.copy(), mesh.faces.copy(), process=False)  # which would merge vertices


def to_open3d(mesh: "Mesh") -> Any:
    library = optional("open3d", "Mesh.to_open3d")
    points = library.utility.Vector3dVector(mesh.vertices.copy())
    if len(mesh.lines):
        return library.geometry.LineSet(points, library.utility.Vector2iVector(mesh.lines.copy()))
    if len(mesh.tets):
        return library.geometry.TetraMesh(points, library.utility.Vector4iVector(mesh.tets.copy()))
    return library.geometry.TriangleMesh(points, library.utility.Vector3iVector(mesh.faces.copy()))


def to_pyvista(mesh: "Mesh") -> Any:
    library = optional("pyvista", "Mesh.to_pyvista")
    if len(mesh.tets):
        return library.UnstructuredGrid({library.CellType.TETRA: mesh.tets.copy()}, mesh.vertices.copy())
    if len(mesh.lines):
        return library.PolyData(mesh.vertices.copy(), lines=_with_counts(mesh.lines))
    return library.PolyData(mesh.vertices.copy(), _with_counts(mesh.faces))


def _with_counts(rows: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.column_stack([np.full(len(rows), rows.shape[1]), rows]).ravel()


def to_meshio(mesh: "Mesh") -> Any:
    library = optional("meshio", "Mesh.to_meshio")
    blocks = [("tetra", mesh.tets.copy()), ("line", mesh.lines.copy()), ("triangle", mesh.faces.copy())]
    return library.Mesh(mesh.vertices.copy(), next(([block] for block in blocks if len(block[1])), []))
