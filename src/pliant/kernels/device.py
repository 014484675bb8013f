"""The seam to graphics cards: the kernels of this package, compiled for CUDA from the same sources.

    from pliant.kernels import device

    if not device.missing():
        bricks = device.twin("fields.bricks_at")
        view = device.upload(field_view)
        device.launch(bricks.sample_each, len(points), view, points, distance, gradient)

Nothing of CUDA is imported before the first call. The environment variable NUMBA_ENABLE_CUDASIM=1 runs all of it in
Numba's simulator, for tests.
"""

import numpy as np

from .gpu.simulated import SIMULATED


def missing() -> str:
    """What is missing for kernels to run on a card, with how to get it, in one line; empty if nothing is."""
    from .gpu import card

    found = card.examine()
    return f"{found.missing}: {found.advice}" if found.missing else ""


def twin(module: str):
    """A module of this package, for example "fields.bricks_at", with its kernels for the card."""
    _cuda()
    from .gpu.sources import twin

    return twin(module)


def launch(function, count: int, *args, stream=0) -> None:
    """Run `function` of a twin with one thread per iteration; arrays in `args` and in their tuples are on the card."""
    from .gpu.entries import launch

    launch(function, count, *args, stream=stream)


def upload(value):
    """Copy an array to the card, or all arrays of a tuple; numbers stay, and so do arrays that are already there."""
    if isinstance(value, tuple):
        parts = (upload(part) for part in value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return _cuda().to_device(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value


def empty(shape, dtype=np.float64):
    """An uninitialised array on the card."""
    return _cuda().device_array(shape, dtype)


def is_there(value) -> bool:
    """Whether an array lives on a card: it has `__cuda_array_interface__`, or says so by DLPack."""
    if hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA_OF_DLPACK


def view(value):
    """The same memory as an array that kernels take; no copy."""
    cuda = _cuda()
    if SIMULATED or cuda.is_cuda_array(value):
        return value if SIMULATED else cuda.as_cuda_array(value)
    raise TypeError(f"expected an array on the card with __cuda_array_interface__, found {type(value).__name__}")


def synchronize() -> None:
    """Wait until everything launched so far is done."""
    _cuda().synchronize()


_CUDA_OF_DLPACK = 2  # its number of CUDA devices


def _cuda():
    from .gpu import card

    return card.module()
