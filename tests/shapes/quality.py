"""What every shape must be, measured."""

import numpy as np

from pliant.mesh import Mesh


def smallest_angles(mesh: Mesh) -> np.ndarray:
    """(m,) the smallest angle of each face, degrees."""
    x = mesh.vertices[mesh.faces]
    ahead = np.roll(x, -1, 1) - x
    behind = np.roll(x, 1, 1) - x
    wide = np.linalg.norm(np.cross(ahead, behind), axis=2)
    return np.degrees(np.arctan2(wide, (ahead * behind).sum(2))).min(1)


def is_one_closed_body(mesh: Mesh) -> bool:
    found = mesh.issues
    return not found.summary() and found.components == 1 and mesh.volume > 0


def same(a: Mesh, b: Mesh) -> bool:
    return (
        a.vertices.tobytes() == b.vertices.tobytes()
        and a.faces.tobytes() == b.faces.tobytes()
        and (a.uv is b.uv is None or a.uv.tobytes() == b.uv.tobytes())
    )
