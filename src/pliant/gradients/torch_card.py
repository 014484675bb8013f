"""Nearest features of tensors that live on a graphics card, found there where kernels can run (docs/gpu.md).

`None` stands for what threads have to answer: without the extra `pliant[cuda]`, on a second card, or of a body whose
sides need winding numbers.
"""

import threading
from typing import Any, NamedTuple

import numpy as np
import torch

from ..kernels.gradients.stencils import Stencils

KEPT = 4_000_000  # faces of all bodies that are kept for the next call


class _Kept(NamedTuple):
    """A body, as tensors on the card and as it was prepared; None if it needs threads."""

    vertices: torch.Tensor
    faces: torch.Tensor
    body: Any


_bodies: list[_Kept] = []  # most recently used first
_lock = threading.Lock()


def stencils(points: torch.Tensor, vertices: torch.Tensor, faces: torch.Tensor) -> Stencils | None:
    """The `Stencils`, as tensors, of points (p,n,3) on bodies (q,v,3), where p and q are equal or one of them is 1."""
    if points.device.type != "cuda" or points.device.index not in (0, None) or not points.numel():
        return None
    from ..kernels import device

    if device.missing():
        return None
    p, x = points.detach().double().contiguous(), vertices.detach().double().contiguous()
    parts = []
    with _lock:
        for k in range(max(len(p), len(x))):
            body = _body(x[k if len(x) > 1 else 0], faces)
            if body is None:
                return None
            found = body.stencils(p[k if len(p) > 1 else 0])
            parts.append([torch.as_tensor(array, device=points.device) for array in found])
    if len(parts) == 1:
        return Stencils(*(array[None] for array in parts[0]))
    return Stencils(*(torch.stack(arrays) for arrays in zip(*parts, strict=True)))


def _body(x: torch.Tensor, faces: torch.Tensor) -> Any:
    """The prepared body, that of an earlier call if it has not moved."""
    from .on_card import BodyOnCard

    for k, kept in enumerate(_bodies):
        same = kept.vertices.shape == x.shape and kept.faces.shape == faces.shape
        if same and torch.equal(kept.vertices, x) and torch.equal(kept.faces, faces.to(x.device)):
            _bodies.insert(0, _bodies.pop(k))
            return kept.body
    try:
        body = BodyOnCard(x.cpu().numpy(), faces.cpu().numpy().astype(np.int32))
    except ValueError as error:
        if "its sides need threads" not in str(error) and "too deep" not in str(error):
            raise
        body = None
    _bodies.insert(0, _Kept(x.clone(), faces.to(x.device, copy=True), body))
    while len(_bodies) > 1 and sum(len(each.faces) for each in _bodies) > KEPT:
        _bodies.pop()
    return body
