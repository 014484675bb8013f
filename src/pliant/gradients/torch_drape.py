"""A differentiable drape as a function of PyTorch tensors."""

from typing import Any

import numpy as np
import torch

from ..arguments import wrong
from .drape import DifferentiableDrape
from .drape.values import NAMES


def frames_of(drape: DifferentiableDrape, frames: int, tensors: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return positions and velocities (frames+1,n,3) of a run, of the dtype and device of the first tensor."""
    names = [name for name in NAMES if isinstance(tensors.get(name), torch.Tensor)]
    numbers = {name: value for name, value in tensors.items() if name not in names}
    for name in names:
        if not tensors[name].dtype.is_floating_point:
            raise ValueError(
                f"{name} has dtype {str(tensors[name].dtype).removeprefix('torch.')}; expected real numbers"
            )
    x, v = _Drape.apply(drape, frames, numbers, names, *(tensors[name] for name in names))
    return x, v


class _Drape(torch.autograd.Function):
    """Computed in float64 and rounded once."""

    @staticmethod
    def forward(
        ctx: Any, drape: Any, frames: int, numbers: dict[str, Any], names: list[str], *tensors: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        given = {name: tensor.detach().cpu().double().numpy() for name, tensor in zip(names, tensors, strict=True)}
        ctx.tape, ctx.names = drape.run(frames, **numbers, **given), names
        ctx.like = [(tensor.dtype, tensor.device) for tensor in tensors]
        dtype, device = ctx.like[0] if ctx.like else (torch.float64, torch.device("cpu"))
        x, v = (torch.tensor(array, dtype=dtype, device=device) for array in (ctx.tape.x, ctx.tape.v))
        return x, v

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, of_x: torch.Tensor, of_v: torch.Tensor) -> Any:
        found = ctx.tape.backward(*(of.detach().cpu().double().numpy() for of in (of_x, of_v)))
        parts = []
        for k, (name, (dtype, device)) in enumerate(zip(ctx.names, ctx.like, strict=True)):
            value = np.asarray(getattr(found, name))
            parts.append(torch.tensor(value, dtype=dtype, device=device) if ctx.needs_input_grad[4 + k] else None)
        return (None, None, None, None, *parts)


def check_drape(drape: Any) -> DifferentiableDrape:
    if not isinstance(drape, DifferentiableDrape):
        raise wrong("drape", drape, "a pliant.DifferentiableDrape")
    return drape
