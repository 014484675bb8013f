"""Which method, where nobody names one: the one place that decides, and says why.

The rule is drawn from what `pliant compare` measured; the figures are in docs/compare.md.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import validate
from ..deforming import Skinned
from ..door import door
from ..mesh import Mesh
from ..scene import Scene
from .distance_field.detector import finest_cells

AUTO = "auto"
# boxes on bones pay where many bones share a body; on a walking mannequin 19 bones take half of the tree's time, and 8
# twice as much, as a body of one bone or of morph targets does, or five times (docs/compare.md)
BONES, SHARE = 12, 0.4
FEW = 2000  # triangles of a body that any method looks through in no time, bones or not


class Chosen(NamedTuple):
    """The name of a method, and the reason in words."""

    name: str
    why: str


@door
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
    without = [b for b in scene.fixed if not _boned(scene.shapes.get(b)) and scene.bodies[b].mesh.n_faces > FEW]
    if any(_boned(shape) for shape in shapes) and not without:
        return Chosen("bone-boxes", "bones hold a body; exact, and boxes ride on them")
    if without and any(isinstance(shape, Skinned) for shape in shapes):
        return Chosen("tree", f"{_boneless(scene.shapes.get(without[0]))}; exact, and follows anything")
    if shapes:
        return Chosen("tree", "a body bends, and few bones say how, or none; exact, and follows anything")
    coarse = [body.label for body in bodies if finest_cells(body.mesh, scene.eps) > 1.001 * scene.eps]
    if coarse:
        return Chosen("tree", f"a field of {coarse[0]!r} would be coarser than eps = {scene.eps:g} m; exact")
    return Chosen("distance-field", "all bodies keep their shape; one look-up a point, right to 0.87 of a cell")


def _shares(shape: Skinned) -> NDArray[np.float64]:
    """Of the vertices, what each bone that holds any holds more than others do: largest first."""
    held = np.bincount(shape.joints[:, 0]) / max(len(shape.joints), 1)
    return np.sort(held[held > 0.0])[::-1]


def _boned(shape: Any) -> bool:
    """Whether bones part a body well enough for boxes on them."""
    if not isinstance(shape, Skinned) or shape.character.morphs:
        return False
    shares = _shares(shape)
    return len(shares) >= BONES and bool(shares[0] <= SHARE)


def _boneless(shape: Any) -> str:
    """Why boxes on bones would not pay."""
    if not isinstance(shape, Skinned):
        return "a body has no bones" if shape is None else "a body bends, and no bones say how"
    if shape.character.morphs:
        return "morph targets move a body, not its bones alone"
    shares = _shares(shape)
    most = f", one of them {shares[0]:.0%} of it" if len(shares) > 1 else " alone"
    return f"{len(shares)} bone{'s' * (len(shares) != 1)} hold{'s' * (len(shares) == 1)} a body{most}"
