"""Checks of the tetrahedra of a soft body: positive volume, and faces that are their surface."""

import numpy as np
from numpy.typing import NDArray

from .mesh import Mesh
from .topology import tet_surface

FLAT = 1e-9  # volume of a tet over its longest edge cubed, below which it is degenerate


def check_tets(mesh: Mesh, label: str) -> None:
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
