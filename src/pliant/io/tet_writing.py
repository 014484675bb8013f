"""Writing tet meshes, or triangle meshes without tets, as Gmsh .msh, MEDIT .mesh and VTK .vtk; ascii, all digits."""

import os

import numpy as np
from numpy.typing import NDArray

from ..files import atomic_write
from ..mesh import Mesh
from .writing import write_rows

Path = str | os.PathLike[str]
_ROWS = 4096  # lines formatted per write


def write_gmsh(path: Path, mesh: Mesh) -> None:
    """Write version 4.1, one block of nodes and one of elements."""
    rows, dim, kind = (mesh.tets, 3, 4) if len(mesh.tets) else (mesh.faces, 2, 2)
    n, k = mesh.n_vertices, len(rows)
    with atomic_write(path) as stream:
        stream.write(b"$MeshFormat\n4.1 0 8\n$EndMeshFormat\n")
        stream.write(f"$Nodes\n1 {n} 1 {n}\n{dim} 1 0 {n}\n".encode())
        stream.write("".join(f"{tag}\n" for tag in range(1, n + 1)).encode())
        write_rows(stream, "", mesh.vertices)
        stream.write(f"$EndNodes\n$Elements\n1 {k} 1 {k}\n{dim} 1 {kind} {k}\n".encode())
        for text in _lines(np.column_stack([np.arange(k), rows]) + 1):
            stream.write(text)
        stream.write(b"$EndElements\n")


def write_medit(path: Path, mesh: Mesh) -> None:
    name, rows = ("Tetrahedra", mesh.tets) if len(mesh.tets) else ("Triangles", mesh.faces)
    with atomic_write(path) as stream:
        stream.write(f"MeshVersionFormatted 2\nDimension 3\nVertices\n{mesh.n_vertices}\n".encode())
        for k in range(0, mesh.n_vertices, _ROWS):
            part = mesh.vertices[k : k + _ROWS].tolist()
            stream.write("".join(" ".join(map(repr, row)) + " 0\n" for row in part).encode())
        stream.write(f"{name}\n{len(rows)}\n".encode())
        for text in _lines(np.column_stack([rows + 1, np.zeros(len(rows), np.int64)])):
            stream.write(text)
        stream.write(b"End\n")


def write_vtk(path: Path, mesh: Mesh) -> None:
    """Write legacy version 3.0, which all VTK readers support."""
    rows, kind = (mesh.tets, 10) if len(mesh.tets) else (mesh.faces, 5)
    k, wide = rows.shape
    title = " ".join(mesh.name.split())[:200] or "mesh"
    title = title.encode("ascii", "replace").decode()
    with atomic_write(path) as stream:
        stream.write(f"# vtk DataFile Version 3.0\n{title}\nASCII\nDATASET UNSTRUCTURED_GRID\n".encode())
        stream.write(f"POINTS {mesh.n_vertices} double\n".encode())
        write_rows(stream, "", mesh.vertices)
        stream.write(f"CELLS {k} {k * (wide + 1)}\n".encode())
        for text in _lines(np.column_stack([np.full(k, wide), rows])):
            stream.write(text)
        stream.write(f"CELL_TYPES {k}\n".encode() + f"{kind}\n".encode() * k)


def _lines(rows: NDArray[np.int64]) -> list[bytes]:
    """Format integers, one row per line, in chunks."""
    form = " ".join(["%d"] * rows.shape[1]) + "\n"
    return [
        "".join(form % tuple(row) for row in rows[k : k + _ROWS].tolist()).encode() for k in range(0, len(rows), _ROWS)
    ]
