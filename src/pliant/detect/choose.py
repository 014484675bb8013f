"""Which method, where nobody names one: the one place that decides, and says why.

The rule is drawn from what `pliant compare` measured; the figures are in docs/compare.md.
"""

from typing import NamedTuple

import numpy as np

from .. import validate
from ..deforming import Skinned
from ..mesh import Mesh
from ..scene import Scene
from .distance_field.detector import finest_cells

AUTO = "auto"


class Chosen(NamedTuple):
    """The name of a method, and the reason in words."""

    name: str
    why: str


def choose_method(a: Mesh, b: Mesh | None = None, within: float = 0.002) -> Chosen:
    """The method for all contacts of mesh `a` with mesh `b` (None: with itself) closer than `within` metres.

    The methods that come into question find the same contacts, all of them; what differs is the cost.
    """
    validate.number("within", within, low=0.0, high=validate.LARGEST)
    meshes = [mesh for mesh in (a, b) if mesh is not None]
    if any(len(np.unique(mesh.faces)) < mesh.n_vertices for mesh in meshes):
        return Chosen("brute-force", "exact, and looks at vertices that no face has")
    return Chosen("tree", f"exact, and the least work for {sum(mesh.n_faces for mesh in meshes)} triangles")


def method_for(scene: Scene) -> Chosen:
    """The method that keeps what is soft from the fixed bodies of a scene."""
    bodies = [scene.bodies[b] for b in scene.fixed]
    shapes = [scene.shapes[b] for b in scene.fixed if b in scene.shapes]
    if any(isinstance(shape, Skinned) for shape in shapes):
        return Chosen("bone-boxes", "bones hold a body; exact, and boxes ride on them")
    if shapes:
        return Chosen("tree", "a body bends, and no bones say how; exact, and follows anything")
    coarse = [body.label for body in bodies if finest_cells(body.mesh, scene.eps) > 1.001 * scene.eps]
    if coarse:
        return Chosen("tree", f"a field of {coarse[0]!r} would be coarser than eps = {scene.eps:g} m; exact")
    return Chosen("distance-field", "all bodies keep their shape; one look-up a point, right to 0.87 of a cell")
