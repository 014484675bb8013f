"""Automatic choice of the detection method, with the reason for it.

The rule follows from measurements of `pliant compare`; the figures are in docs/compare.md.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import renamed, validate
from ..arguments import check_arguments
from ..mesh import Mesh
from .options import MethodChoice, parse_method

if TYPE_CHECKING:
    from ..motion.deforming import Skinned
    from ..scene import Scene

AUTO = "auto"
# Bone-attached bounding boxes pay off if many bones move a body. On a walking mannequin with 19 bones they take half
# the time of the BVH, with 2 to 8 bones about twice its time, with one bone the same time; on a ball, twice its time
# with one bone and three to five times with morph targets (docs/compare.md).
BONES, SHARE = 12, 0.4  # fewest bones, and largest share of the vertices that one bone may dominate
FEW = 2000  # triangles of a body that any method processes in negligible time


@check_arguments
def choose_method(a: Mesh, b: Mesh | None = None, within: float = 0.002) -> MethodChoice:
    """Choose the method for all contacts of mesh `a` with mesh `b` (None: with itself) within `within` metres: always
    bvh, which is exact, includes vertices that belong to no face, and is the fastest of the exact methods on the meshes
    of docs/compare.md.
    """
    validate.number("within", within, low=0.0, high=validate.LARGEST)
    triangles = a.n_faces + (0 if b is None else b.n_faces)
    return MethodChoice("bvh", f"exact for any triangle meshes, here of {triangles} triangles")


def resolve_method_for_scene(scene: "Scene", method: str | MethodChoice | None = AUTO) -> MethodChoice:
    """Return the method for contacts with the obstacles of a scene, by its name in METHODS, and the reason.

    "auto" and None leave the choice to `choose_method_for_scene`; another name, with or without options as in
    `bvh:volume=sphere`, was requested; a `MethodChoice` keeps its reason.
    """
    if isinstance(method, MethodChoice):
        return method
    if method is None or method.lower() == AUTO:
        return choose_method_for_scene(scene)
    return parse_method(method)


def choose_method_for_scene(scene: "Scene") -> MethodChoice:
    """Choose the method for contacts of deformables with the static and kinematic bodies of a scene."""
    from ..motion.deforming import Skinned
    from .fields.cell_size import cell_sizes
    from .fields.sampled import is_too_coarse

    bodies = [scene.bodies[b] for b in scene.obstacles]
    if bodies and all(body.heights is not None for body in bodies):
        return MethodChoice("height-grid", "the obstacles are height images; one lookup per point")
    motions = scene.deforming_motions
    shapes = [motions[b] for b in scene.obstacles if b in motions]
    large = [b for b in scene.obstacles if scene.bodies[b].mesh.n_faces > FEW]
    without = [b for b in large if not _suits_bone_boxes(motions.get(b))]
    if any(_suits_bone_boxes(shape) for shape in shapes) and not without:
        return MethodChoice("bone-boxes", "a body is skinned; exact, with bone-attached bounding boxes")
    if without and any(isinstance(shape, Skinned) for shape in shapes):
        return MethodChoice("bvh", f"{_reason_against_bone_boxes(motions.get(without[0]))}; exact for any motion")
    if shapes:
        return MethodChoice("bvh", f"{_reason_against_bone_boxes(shapes[0])}; exact for any motion")
    coarse = [body.label for body in bodies if is_too_coarse(cell_sizes([body.mesh], scene.eps)[0], scene.eps)]
    if coarse:
        return MethodChoice(
            "bvh", f"a distance field of {coarse[0]!r} would be coarser than eps = {scene.eps:g} m; exact"
        )
    return MethodChoice("distance-field", "all bodies are rigid; one lookup per point, error at most 0.87 cells")


def _shares(shape: "Skinned") -> NDArray[np.float64]:
    """The share of the vertices that each bone dominates (has the largest weight of), in descending order."""
    held = np.bincount(shape.joints[:, 0]) / max(len(shape.joints), 1)
    return np.sort(held[held > 0.0])[::-1]


def _suits_bone_boxes(shape: Any) -> bool:
    """Return whether the bones divide a body finely enough for bone-attached bounding boxes."""
    from ..motion.deforming import Skinned

    if not isinstance(shape, Skinned) or shape.character.morphs:
        return False
    shares = _shares(shape)
    return len(shares) >= BONES and bool(shares[0] <= SHARE)


def _reason_against_bone_boxes(shape: Any) -> str:
    """The reason why bone-attached bounding boxes would not pay off."""
    from ..motion.deforming import Skinned

    if not isinstance(shape, Skinned):
        return "a body has no bones" if shape is None else "a body deforms without bones"
    if shape.character.morphs:
        return "morph targets deform a body in addition to its bones"
    shares = _shares(shape)
    most = f", one of them {shares[0]:.0%} of it" if len(shares) > 1 else " alone"
    return f"{len(shares)} bone{'s' * (len(shares) != 1)} move{'s' * (len(shares) == 1)} a body{most}"


__getattr__ = renamed.module(
    __name__,
    {
        "Chosen": f"{__name__}:MethodChoice",
        "method_for": f"{__name__}:choose_method_for_scene",
        "resolve_method": f"{__name__}:resolve_method_for_scene",
    },
)
