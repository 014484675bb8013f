"""The viewing volume of a tool: the half-spaces of a convex body, whose planes clip what is not inside it.

After J. C. Lombardo, M.-P. Cani, F. Neyret (*Real-time Collision Detection for Virtual Surgery*, 1999), who render the
organ into an orthographic or perspective viewing volume around the tool; whatever is not clipped away collides. Here
any convex polyhedron is a viewing volume, and the clipping is done on the CPU.
"""

import numpy as np
from numpy.typing import NDArray

from ...kernels.queries import view_volume as _kernels
from ...mesh import Mesh

Floats = NDArray[np.float64]
CONVEX = 1e-9  # of the size of the body: height of a vertex over a plane up to which the body is convex
_SAME = 1e-9  # difference of two unit normals, and of the offsets over the size, of faces in one plane


class ViewVolume:
    """The clipping planes of a closed convex mesh with outward faces; ValueError if it is not convex."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh.welded
        normals, x = self.mesh.face_normals, self.mesh.vertices
        offsets = (normals * x[self.mesh.faces[:, 0]]).sum(1) / max(mesh.size, 1e-300)
        keys = np.round(np.column_stack([normals, offsets]) / _SAME / 8.0)
        _, first = np.unique(keys, axis=0, return_index=True)
        self._faces = np.sort(first[np.any(normals[first], 1)])  # one face for each plane
        self.planes = np.zeros((0, 4))
        self.move(x)

    def move(self, x: Floats) -> None:
        """Set the positions (n,3) of the vertices."""
        a, b, c = (x[self.mesh.faces[self._faces, k]] for k in range(3))
        n = np.cross(b - a, c - a)
        n /= np.linalg.norm(n, axis=1)[:, None]
        self.planes = np.ascontiguousarray(np.column_stack([n, (n * a).sum(1)]))
        over = float((x @ n.T - self.planes[:, 3]).max(initial=0.0))
        if not over <= CONVEX * max(self.mesh.size, float(np.abs(x).max())):
            raise ValueError(
                f"test='view-volume' needs a convex obstacle, whose planes clip; a vertex of {self.mesh.name!r} is "
                f"{over:.3g} m over the plane of a face; use test='rays'"
            )

    def contains(self, points: Floats) -> NDArray[np.bool_]:
        """Return which points (n,3) are inside."""
        out = np.empty(len(points), np.bool_)
        _kernels.mark_inside(self.planes, np.ascontiguousarray(points), out)
        return out

    def visible(self, x: Floats, faces: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which of the faces (m,3) at positions x (n,3) are partly or wholly inside."""
        out = np.empty(len(faces), np.bool_)
        _kernels.mark_visible(self.planes, np.ascontiguousarray(x), faces, out)
        return out
