"""Checks that a mesh has the elements of its material: faces, valid tetrahedra, or polylines."""

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh
from .polylines import polylines
from .topology import tet_surface

FLAT = 1e-9  # volume of a tet over its longest edge cubed, below which it is degenerate


def check_elements(mesh: Mesh, label: str, kind: str) -> None:
    """Raise ValueError, naming the body `label`, unless the mesh has the elements of its `kind`: tets of positive
    volume with their surface as faces for "Solid", lines without branches for "Strands", otherwise faces."""
    if kind != "Strands" and len(mesh.lines):
        advice = "they need faces" if kind == "an obstacle" else "give it pliant.Strands, or a mesh with faces"
        raise ValueError(f"body {label!r} has lines, and it is {kind}; {advice}")
    if kind == "Strands":
        if not len(mesh.lines):
            raise ValueError(f"body {label!r} is Strands without lines; use pliant.Mesh.from_lines")
        try:
            polylines(mesh.welded)
        except ValueError as error:
            raise ValueError(f"body {label!r}: {error}") from None
    elif kind == "Solid":
        if not len(mesh.tets):
            raise ValueError(f"body {label!r} is a Solid without tets; use pliant.shapes.bar or pliant.Mesh.from_tets")
        _check_tets(mesh, label)
    elif kind == "Cloth" and len(mesh.tets):
        raise ValueError(f"body {label!r} has tets, and its material is Cloth; give it a pliant.Solid, or no tets")


def _check_tets(mesh: Mesh, label: str) -> None:
    """Raise ValueError, naming the body `label`, unless all tets have a positive volume and their surface is the faces
    of the mesh."""
    x = mesh.vertices[mesh.tets]
    longest = np.linalg.norm(x[:, [0, 0, 0, 1, 1, 2]] - x[:, [1, 2, 3, 2, 3, 3]], axis=2).max(1)
    share = mesh.tet_volumes / np.maximum(longest, 1e-100) ** 3
    flat, inside_out = np.flatnonzero(np.abs(share) <= FLAT), np.flatnonzero(share < -FLAT)
    if len(flat):
        raise ValueError(f"tets[{flat[0]}] of body {label!r} is flat ({len(flat)} are); leave such tets out")
    if len(inside_out):
        k, advice = inside_out[0], "swap two vertices of each"
        detail = f"({len(inside_out)} of {len(mesh.tets)} are)"
        raise ValueError(f"tets[{k}] of body {label!r} is inside out, {mesh.tet_volumes[k]:.3g} m3 {detail}; {advice}")
    wanted, given = (_rolled(faces) for faces in (tet_surface(mesh.welded.tets), mesh.welded.faces))
    if wanted.shape != given.shape or (wanted != given).any():
        detail = f"has {len(given)} faces that are not the surface of its tets, which has {len(wanted)}"
        raise ValueError(f"body {label!r} {detail}; use pliant.Mesh.from_tets")


def _rolled(faces: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return faces in canonical order, each rotated to begin with its lowest vertex."""
    k = np.argmin(faces, 1)[:, None]
    rolled = np.take_along_axis(faces, (k + np.arange(3)) % 3, 1)
    return rolled[np.lexsort(rolled.T[::-1])]
