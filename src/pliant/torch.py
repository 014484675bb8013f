"""Differentiable signed distances, penetration, contact gaps, inside tests, and drapes,
of PyTorch tensors (docs/gradients.md, docs/gradients-of-drapes.md).

Needs the extra: `pip install "pliant[torch]"`.
"""

from typing import Literal

from .contacts import Contacts
from .gradients import arguments as _arguments
from .gradients import formulas as _formulas
from .gradients.contact_batches import ContactBatch
from .gradients.drape import DifferentiableDrape

try:
    import torch  # after the kernels, which make idle threads sleep: those of PyTorch read that once
except ImportError as error:
    raise ImportError('pliant.torch needs PyTorch, which is not installed: pip install "pliant[torch]"') from error

from .gradients import torch_distance as _distance
from .gradients import torch_drape as _drape
from .gradients import torch_operations as _operations

__all__ = ["drape", "gaps", "inside", "penetration", "self_penetration", "signed_distance", "winding_number"]


def signed_distance(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """Signed distances (..., n) of points (..., n, 3) from bodies (..., v, 3) with the faces (m,3), metres.

    Negative inside, as `pliant.closest_point`. Differentiable with respect to points and vertices, twice and more
    often; leading axes are broadcast. float32 or float64, computed in float64.
    """
    _arguments.check_surface(_operations.described, points=points, vertices=vertices, faces=faces)
    return _distance.signed_distance(points, vertices, faces)


def penetration(
    points: torch.Tensor,
    vertices: torch.Tensor,
    faces: torch.Tensor,
    *,
    clearance: float | torch.Tensor = 0.0,
    power: float = 2.0,
    reduction: Literal["sum", "mean", "none"] = "sum",
) -> torch.Tensor:
    """Penalty for points nearer to a body than `clearance`, metres: the sum (...,) over points of
    max(clearance - distance, 0)^power.

    Zero where all points keep the clearance. The distance is that of `signed_distance`, exact however deep a point is.
    `clearance`: a number or a tensor that is broadcast to (..., n). `reduction`: "sum" or "mean" over the n points of
    each body, "none" for the values (..., n).
    """
    _arguments.check_surface(_operations.described, points=points, vertices=vertices, faces=faces)
    shape = (*torch.broadcast_shapes(points.shape[:-2], vertices.shape[:-2]), points.shape[-2])
    _arguments.check_penalty(clearance, power, reduction, torch.Tensor, tuple(shape))
    distance = _distance.signed_distance(points, vertices, faces, clearance)
    values = _formulas.powers(torch, clearance - distance, power)
    if reduction == "none":
        return values
    total = _operations.total(values)
    return total / max(values.shape[-1], 1) if reduction == "mean" else total


def self_penetration(vertices: torch.Tensor, faces: torch.Tensor, *, power: float = 2.0) -> torch.Tensor:
    """Penalty for bodies (..., v, 3) that penetrate themselves: the sum (...,) of depth^power over what is too deep.

    Of a closed body, the depths of vertices inside of other parts of it, measured to the boundary of the union; and of
    any body, the depths of crossing triangles: the shortest way to bring them in front of each other. Zero if nothing
    crosses. Touching, and coplanar triangles that overlap, do not count.
    """
    _arguments.check_surface(_operations.described, vertices=vertices, faces=faces)
    _arguments.check_penalty(0.0, power, "sum", torch.Tensor)
    inside = _formulas.powers(torch, -_distance.signed_distance(vertices, vertices, faces, 0.0), power)
    crossing = _formulas.powers(torch, _distance.crossing_depths(vertices, faces), power)
    return _operations.total(inside) + _operations.total(crossing)


def gaps(contacts: Contacts | ContactBatch, x: torch.Tensor) -> torch.Tensor:
    """Signed gaps (..., n) of contact records at positions x (..., v, 3): normal · (sum of weights x - anchor), metres;
    or of a batch (`pliant.find_contact_batch`) at positions of each of its poses.

    Linear in x: weights and normals stay those of the records, so that the first derivative is that of the distance at
    the positions where the contacts were found.
    """
    rows, weights, normal, offset = _arguments.linear_gaps(contacts, _operations.described("x", x))
    at = _operations.corners_of_poses(x, torch.from_numpy(rows).to(x.device))
    weights, normal, offset = (torch.from_numpy(a).to(x) for a in (weights, normal, offset))
    return ((weights[..., None] * at).sum(-2) * normal).sum(-1) - offset


def winding_number(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """Winding numbers (..., n) of bodies around points; without derivatives. Exact integers for closed surfaces."""
    _arguments.check_surface(_operations.described, points=points, vertices=vertices, faces=faces)
    return _operations.winding_number(points, vertices, faces)


def inside(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """(..., n) whether points are inside of bodies: whether the winding number exceeds 1/2."""
    return winding_number(points, vertices, faces) > 0.5


def drape(drape: DifferentiableDrape, frames: int, **inputs: torch.Tensor | float) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions and velocities (frames+1,n,3) of a run of cloth (docs/gradients-of-drapes.md), differentiable with
    respect to all inputs that are tensors.

    inputs: those of `DrapeValues`: x, v, rest, stretch, stretch_weft, shear, bend, density, damping, air, friction,
    pins, body. Computed in float64; the result has the dtype and device of the first tensor, rounded once. First
    derivatives in reverse mode only.
    """
    return _drape.frames_of(_drape.check_drape(drape), frames, inputs)
