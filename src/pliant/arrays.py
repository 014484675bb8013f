"""Where arrays live: on the host, or on a graphics card, as those of CuPy, PyTorch, JAX and Numba that say so by
`__cuda_array_interface__` or DLPack. Functions that take either compute where their arrays live.

Arrays on a card are used in place, on the default stream; results live there too.
"""

from typing import Any, Literal

import numpy as np

from .validate import LARGEST, choice

DEVICES = ("auto", "cpu", "cuda")
Device = Literal["auto", "cpu", "cuda"]


def chosen(device: str) -> str:
    """Return "cpu" or "cuda" for one of DEVICES: "auto" is the card where there is one. ValueError without a card."""
    choice("device", device, DEVICES)
    if device == "cpu":
        return device
    from .kernels import device as _device

    missing = _device.missing()
    if missing and device == "cuda":
        raise ValueError(f"device = 'cuda' cannot be used, {missing}; device = 'cpu' runs on threads")
    return "cpu" if missing else "cuda"


def on_card(**arrays: Any) -> bool:
    """Whether all arrays live on a card; ValueError if some do and others do not. None counts for nothing."""
    where = {name: _is_there(value) for name, value in arrays.items() if value is not None}
    if len(set(where.values())) > 1:
        card, host = (", ".join(name for name, at in where.items() if at is side) for side in (True, False))
        raise ValueError(f"{card} on the graphics card, {host} on the host; pass all of them in one place")
    there = any(where.values())
    if there:
        chosen("cuda")
    return there


def _is_there(value: Any) -> bool:
    if isinstance(value, np.ndarray | list | tuple | float | int):
        return False
    from .kernels import device as _device  # a query on the host does not need it

    return _device.is_there(value)


def floats(name: str, value: Any, shape: tuple[int | None, ...], *, finite: bool = True) -> Any:
    """Return a view of an array on the card, checked: contiguous, float64, of `shape` (None = any length), and with
    `finite` within +-1e12, which waits for the card."""
    array = of_type(name, value, np.float64, shape)
    if finite and array.size:
        from .kernels import device as _device
        from .kernels.gpu import rows

        first = _device.upload(np.array([array.size]))
        flat = array.reshape(array.size)
        _device.launch(rows.first_beyond, array.size, flat, LARGEST, first)
        at = int(first.copy_to_host()[0])
        if at < array.size:
            where = ", ".join(str(int(i)) for i in np.unravel_index(at, array.shape))
            bad = float(flat[at : at + 1].copy_to_host()[0])
            what = f"= {bad:g} is beyond {LARGEST:g}" if np.isfinite(bad) else f"is not finite ({bad})"
            raise ValueError(f"{name}[{where}] {what}")
    return array


def of_type(name: str, value: Any, dtype: Any, shape: tuple[int | None, ...]) -> Any:
    """Return a view of an array on the card, of this type and shape and contiguous; nothing is converted or copied."""
    from .kernels import device as _device

    array = _device.view(value)
    wanted = "(" + ", ".join("n" if s is None else str(s) for s in shape) + ("," if len(shape) == 1 else "") + ")"
    if array.ndim != len(shape) or any(s is not None and s != a for s, a in zip(shape, array.shape)):
        raise ValueError(f"{name} has shape {tuple(array.shape)}; expected {wanted}")
    if np.dtype(array.dtype) != np.dtype(dtype):
        raise ValueError(f"{name} has dtype {array.dtype}; on the graphics card expected {np.dtype(dtype)}")
    if not array.is_c_contiguous():
        raise ValueError(f"{name} is not contiguous; pass a contiguous copy")
    return array


def result(name: str, out: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Return the array on the card for a result: the caller's `out`, or a new one where that is None."""
    from .kernels import device as _device

    return _device.empty(shape, dtype) if out is None else of_type(name, out, dtype, shape)
