"""The signed distance of PyTorch tensors: by formulas that PyTorch differentiates, or by a first derivative of our own.

Within the region of a feature, the first derivative needs only the direction to the nearest point and its weights. It
serves plain calls of `backward`. Where more than that may be asked for (second derivatives, `torch.func`,
`torch.compile`), the formulas serve, which cost more memory and time.
"""

import math
from typing import Any

import torch
from torch.autograd import forward_ad

from ..kernels.gradients.stencils import CREASE, Stencils
from . import formulas
from .torch_operations import added, corners, crossings, near_stencils, stencils


def signed_distance(
    points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor, within: float | torch.Tensor = math.inf
) -> torch.Tensor:
    """Signed distances (..., n) of validated tensors. Those of points outside, beyond `within`, need not be known: they
    may be reported as the largest value of `within`."""
    lead, faces = torch.broadcast_shapes(points.shape[:-2], vertices.shape[:-2]), faces.to(points.device)
    p, x = (_in_one_axis(tensor, lead) for tensor in (points, vertices))
    if _transformed():
        found = stencils(p, x, faces)
        d = by_formulas(p.double(), x.double(), faces, found, found.kind == CREASE).to(points.dtype)
    else:
        d = _SignedDistance.apply(p, x, faces, _largest(within) if isinstance(within, torch.Tensor) else within)
    return d.reshape(*lead, points.shape[-2])


def _largest(clearance: torch.Tensor) -> float:
    if not clearance.isfinite().all():
        raise ValueError("clearance has values that are not finite; expected metres")
    return float(clearance.max()) if clearance.numel() else 0.0


def crossing_depths(vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    """Depths (..., k) of the crossing triangles of bodies (..., v, 3), validated; 0 where a body has fewer than k."""
    x = _in_one_axis(vertices, vertices.shape[:-2])
    found = crossings(x, faces, faces.shape[0] if _transformed() else None)
    depths = formulas.crossing_depths(torch, corners(x.double(), found.rows), found).to(x.dtype)
    return depths.reshape(*vertices.shape[:-2], depths.shape[-1])


def _in_one_axis(tensor: torch.Tensor, lead: torch.Size) -> torch.Tensor:
    """A tensor (..., n, 3) with all leading axes in one, whose length is 1 if it is the same along all of `lead`."""
    if tensor.shape[:-2].numel() == 1:
        return tensor.reshape(1, *tensor.shape[-2:])
    return tensor.expand(*lead, *tensor.shape[-2:]).flatten(0, len(lead) - 1)


def _transformed() -> bool:
    """Whether a transformation of torch.func, torch.compile or forward-mode differentiation is at work."""
    return (
        torch.compiler.is_compiling()
        or torch._C._functorch.peek_interpreter_stack() is not None
        or forward_ad._current_level >= 0
    )


def by_formulas(
    p: torch.Tensor, x: torch.Tensor, faces: torch.Tensor, found: Any, creased: torch.Tensor | None
) -> torch.Tensor:
    """Signed distances (p,n) of points (p,n,3) with known stencils on bodies (q,v,3); `creased` (p,n) where there may
    be creases."""
    d = formulas.distances(torch, p, corners(x, found.rows), found)
    if creased is None:
        return d
    used = found.planes >= 0
    triangles = corners(x, faces.long()[found.planes.clamp(min=0)])
    return torch.where(creased, formulas.crease_distances(torch, p, triangles, used), d)


class _SignedDistance(torch.autograd.Function):
    """The signed distances (p,n) of points (p,n,3) from bodies (q,v,3)."""

    @staticmethod
    def forward(
        ctx: Any, points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor, within: float
    ) -> torch.Tensor:
        found = near_stencils(points, vertices, faces, within)
        ctx.save_for_backward(points, vertices, faces, *found)
        return found.distance.to(points.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        points, vertices, faces, *arrays = ctx.saved_tensors
        found: Any = Stencils(*arrays)
        if torch.is_grad_enabled():
            return (*_differentiable(ctx, gradient, points, vertices, faces, found), None, None)
        return (*_first(ctx, gradient.double(), points, vertices, faces, found), None, None)


def _differentiable(
    ctx: Any, gradient: torch.Tensor, points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor, found: Any
) -> list[torch.Tensor | None]:
    """The first derivatives as functions that can be differentiated again."""
    asked = [tensor for tensor, need in zip((points, vertices), ctx.needs_input_grad) if need]
    creased = found.kind == CREASE
    d = by_formulas(points.double(), vertices.double(), faces, found, creased if creased.any() else None)
    parts = iter(torch.autograd.grad(d.to(points.dtype), asked, gradient, create_graph=True))
    return [next(parts) if need else None for need in ctx.needs_input_grad[:2]]


def _first(
    ctx: Any, gradient: torch.Tensor, points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor, found: Any
) -> list[torch.Tensor | None]:
    """The first derivatives: the nearest point moves with its weights, and otherwise at right angles to the direction.
    Creases, whose nearest points slide along several faces, are added by their formula."""
    by_point, by_vertex = ctx.needs_input_grad[:2]
    push = gradient[..., None] * found.direction
    of_points = push.sum(0, keepdim=True) if points.shape[0] < len(push) else push
    if not by_vertex:
        return [of_points.to(points.dtype), None]
    many = vertices.shape[0] > 1
    of_vertices = added(push, found, vertices.shape, CREASE)
    creased = found.kind == CREASE
    if creased.any():
        body, row = creased.nonzero(as_tuple=True)
        used = found.planes[body, row]
        triangles = faces.long()[used.clamp(min=0)]
        if many:
            triangles = triangles + (body * vertices.shape[1])[:, None, None]
        with torch.enable_grad():
            at = vertices.double().reshape(-1, 3).index_select(0, triangles.reshape(-1)).detach().requires_grad_()
            p = points.expand(len(push), -1, -1)[body, row].double()
            d = formulas.crease_distances(torch, p, at.reshape(-1, 3, 3, 3), used >= 0)
        (more,) = torch.autograd.grad(d, at, gradient[body, row])
        of_vertices.index_add_(0, triangles.reshape(-1), more)
    return [of_points.to(points.dtype) if by_point else None, of_vertices.reshape(vertices.shape).to(vertices.dtype)]
