"""Queries as operations of PyTorch, with what `torch.compile` and `torch.func.vmap` need to know about them.

This is the seam between PyTorch and the place where queries run. Tensors of a graphics card are answered there where
`torch_card` can, and go through the CPU otherwise.
"""

from typing import Any

import numpy as np
import torch

from ..arguments import wrong
from ..kernels.gradients import stencils as _kernels
from ..kernels.gradients.crossings import Crossings
from ..kernels.gradients.stencils import Stencils
from . import bodies, torch_card
from .arguments import Described
from .crossings import find_crossings

MAPPED = "faces are mapped by vmap; expected the same faces for all bodies: in_dims=None"
CHUNK = 256  # values that are summed one after the other


def described(name: str, tensor: Any) -> Described:
    if not isinstance(tensor, torch.Tensor):
        raise wrong(name, tensor, "a torch.Tensor")
    if tensor.layout != torch.strided:
        raise ValueError(f"{name} has layout {tensor.layout}; expected a dense tensor: {name}.to_dense()")
    return Described(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."), str(tensor.device))


def near_stencils(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor, within: float) -> Any:
    """The `stencils` of points inside or within a distance; not for transformations."""
    if within == np.inf:
        return stencils(points, vertices, faces)
    there = torch_card.stencils(points, vertices, faces)
    if there is not None:
        return there
    found = bodies.find_stencils(_array(points), _array(vertices), faces.cpu().numpy(), within=within)
    return Stencils(*(torch.from_numpy(array).to(points.device) for array in found))


def stencils(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> Any:
    """The `Stencils`, as tensors, of points (p,n,3) on bodies (q,v,3), where p and q are equal or one of them is 1."""
    return Stencils(*_stencils(points.detach(), vertices.detach(), faces))


@torch.library.custom_op("pliant::stencils", mutates_args=())
def _stencils(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> list[torch.Tensor]:
    limits, there = bodies.DOUBLE, torch_card.stencils(points, vertices, faces)
    if there is not None:
        return list(there)
    found = bodies.find_stencils(_array(points), _array(vertices), faces.cpu().numpy(), limits)
    return [torch.from_numpy(array).to(points.device) for array in found]


@_stencils.register_fake
def _(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> list[torch.Tensor]:
    shape = (max(points.shape[0], vertices.shape[0]), points.shape[1])
    kinds = ((), torch.uint8), ((3,), torch.int64), ((), torch.float64), ((3,), torch.float64)
    more = ((3,), torch.float64), ((3,), torch.int64), ((), torch.float64)
    return [points.new_empty((*shape, *width), dtype=dtype) for width, dtype in (*kinds, *more)]


@_stencils.register_vmap
def _(
    info: Any, where: tuple[int | None, ...], points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor
) -> Any:
    if where[2] is not None:
        raise ValueError(MAPPED)
    given = [_mapped(tensor, at) for tensor, at in zip((points, vertices), where)]
    lead = np.broadcast_shapes(*(tensor.shape[:2] for tensor in given))
    flat = [(t if t.shape[:2] == (1, 1) else t.expand(*lead, *t.shape[2:])).flatten(0, 1) for t in given]
    found = _stencils(*flat, faces)
    return [tensor.reshape(*lead, *tensor.shape[1:]) for tensor in found], [0] * len(found)


def crossings(vertices: torch.Tensor, faces: torch.Tensor, most: int | None) -> Any:
    """The `Crossings` of bodies (q,v,3), as tensors; `most` as in `find_crossings`."""
    if most is None:
        found = find_crossings(_array(vertices), faces.cpu().numpy())
        return Crossings(*(torch.from_numpy(array).to(vertices.device) for array in found))
    return Crossings(*_crossings(vertices.detach(), faces, most))


@torch.library.custom_op("pliant::crossings", mutates_args=())
def _crossings(vertices: torch.Tensor, faces: torch.Tensor, most: int) -> list[torch.Tensor]:
    found = find_crossings(_array(vertices), faces.cpu().numpy(), most)
    return [torch.from_numpy(array).to(vertices.device) for array in found]


@_crossings.register_fake
def _(vertices: torch.Tensor, faces: torch.Tensor, most: int) -> list[torch.Tensor]:
    shape, kinds = (vertices.shape[0], most), (((), torch.uint8), ((4,), torch.int64), ((), torch.float64))
    return [vertices.new_empty((*shape, *width), dtype=dtype) for width, dtype in kinds]


@_crossings.register_vmap
def _(info: Any, where: Any, vertices: torch.Tensor, faces: torch.Tensor, most: int) -> Any:
    if where[1] is not None:
        raise ValueError(MAPPED)
    x = _mapped(vertices, where[0])
    found = _crossings(x.flatten(0, 1), faces, most)
    return [tensor.reshape(*x.shape[:2], *tensor.shape[1:]) for tensor in found], [0] * len(found)


@torch.library.custom_op("pliant::winding_number", mutates_args=())
def _winding_number(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    found = bodies.winding_numbers(_array(points), _array(vertices), faces.cpu().numpy())
    return torch.from_numpy(found).to(points)


@_winding_number.register_fake
def _(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    return points.new_empty((*np.broadcast_shapes(points.shape[:-2], vertices.shape[:-2]), points.shape[-2]))


@_winding_number.register_vmap
def _(
    info: Any, where: tuple[int | None, ...], points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor
) -> Any:
    if where[2] is not None:
        raise ValueError(MAPPED)
    given = [_mapped(tensor, at) for tensor, at in zip((points, vertices), where)]
    most = max(tensor.ndim for tensor in given)
    given = [t.reshape(t.shape[0], *[1] * (most - t.ndim), *t.shape[1:]) for t in given]
    return _winding_number(*given, faces), 0


def winding_number(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> torch.Tensor:
    return _winding_number(points.detach(), vertices.detach(), faces)


def _mapped(tensor: torch.Tensor, at: int | None) -> torch.Tensor:
    """A tensor with the axis that vmap maps in front, of length 1 where there is none."""
    return tensor[None] if at is None else tensor.movedim(at, 0)


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().numpy().astype(np.float64)


def gathered(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Vertices (..., *rows.shape, 3) of x (..., v, 3), the same rows in all bodies."""
    return x.index_select(-2, rows.reshape(-1)).reshape(*x.shape[:-2], *rows.shape, 3)


def added(push: torch.Tensor, found: Any, shape: torch.Size, skipped: int) -> torch.Tensor:
    """The sum (q*v,3) of minus the pushes (p,n,3) of points at the corners of their features, for bodies of `shape`
    (q,v,3). Those of features of the kind `skipped` are left out."""
    if push.is_cuda:
        return _added_there(push, found, shape, skipped)
    out = np.zeros(shape)
    away, arrays = (-push).numpy(), Stencils(*(array.numpy() for array in found))
    for k in range(len(away)):
        at = out[k if shape[0] > 1 else 0]
        _kernels.add_pushes(Stencils(*(array[k] for array in arrays)), away[k], skipped, at)
    return torch.from_numpy(out).reshape(-1, 3)


def _added_there(push: torch.Tensor, found: Any, shape: torch.Size, skipped: int) -> torch.Tensor:
    """As `added`, of tensors on a graphics card; rows are sorted there, so that sums have a fixed order."""
    weights = found.weights.masked_fill((found.kind == skipped)[..., None], 0.0)
    parts, rows = (-push)[..., None, :] * weights[..., None], found.rows
    if shape[0] > 1:
        rows = rows + (torch.arange(shape[0], device=push.device) * shape[1])[:, None, None]
    out = torch.zeros((shape[0] * shape[1], 3), dtype=push.dtype, device=push.device)
    return out.index_put_((rows.reshape(-1),), parts.reshape(-1, 3), accumulate=True)


def corners_of_poses(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Vertices (..., k, 4, 3) of x (..., v, 3) by rows (k,4), the same in all poses, or (..., k, 4)."""
    if rows.ndim == 2:
        return gathered(x, rows)
    return corners(x.reshape(-1, *x.shape[-2:]), rows.reshape(-1, *rows.shape[-2:])).reshape(*rows.shape, 3)


def corners(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Vertices (p,...,3) of bodies x (q,v,3) by rows (p,...) of each, where q is p or 1."""
    if x.shape[0] > 1:
        start = torch.arange(x.shape[0], device=x.device) * x.shape[1]
        rows = rows + start.reshape(-1, *[1] * (rows.ndim - 1))
    return x.flatten(0, -2).index_select(0, rows.flatten()).reshape(*rows.shape, 3)


def total(values: torch.Tensor) -> torch.Tensor:
    """The sum over the last axis, bitwise the same on any number of threads: of chunks, and of their sums."""
    while values.shape[-1] > CHUNK:
        pad = -values.shape[-1] % CHUNK
        values = torch.nn.functional.pad(values, (0, pad))
        values = values.reshape(*values.shape[:-1], -1, CHUNK).sum(-1)
    return values.sum(-1)
