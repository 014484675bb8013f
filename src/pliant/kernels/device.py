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


def card_name() -> str:
    """The card that kernels run on, in words."""
    from .gpu import card

    found = card.examine()
    return str(found.name) + (f", compute capability {found.capability}" if found.capability else "")


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
    if not isinstance(value, np.ndarray):
        return value
    array = np.ascontiguousarray(value)
    return _allocated(lambda: _cuda().to_device(array), array.nbytes)


def empty(shape, dtype=np.float64):
    """An uninitialised array on the card."""
    count = int(np.prod(shape, dtype=np.int64))
    return _allocated(lambda: _cuda().device_array(shape, dtype), count * np.dtype(dtype).itemsize)


def zeros(shape, dtype=np.float64):
    return upload(np.zeros(shape, dtype))


def _allocated(allocate, size: int):
    """Allocate memory; MemoryError names the bytes that were asked for and those that are free."""
    try:
        return allocate()
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error).upper().replace(" ", "_"):
            raise
        free = _cuda().current_context().get_memory_info().free
        raise MemoryError(
            f"the graphics card has {free / 2**30:.3g} GiB free; {size / 2**30:.3g} GiB are needed"
        ) from None


def is_there(value) -> bool:
    """Whether an array lives on a card: it has `__cuda_array_interface__`, or says so by DLPack."""
    if SIMULATED and hasattr(value, "copy_to_host"):
        return True
    if hasattr(value, "__cuda_array_interface__"):
        return True
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and int(where()[0]) == _CUDA_OF_DLPACK


def view(value):
    """The same memory as an array that kernels take; no copy."""
    cuda = _cuda()
    if SIMULATED or isinstance(value, cuda.cudadrv.devicearray.DeviceNDArray):
        return value
    if hasattr(value, "__cuda_array_interface__"):
        return cuda.as_cuda_array(value)
    there = cuda.cudadrv.devicearray.StridedMemoryView.from_dlpack(value, stream_ptr=_SAME_STREAM)
    dtype = np.dtype(there.dtype)
    strides = None if there.strides is None else tuple(each * dtype.itemsize for each in there.strides)
    described = {"shape": tuple(there.shape), "strides": strides, "typestr": dtype.str, "version": 3}
    return cuda.from_cuda_array_interface(described | {"data": (there.ptr, there.readonly)}, owner=(value, there))


def synchronize() -> None:
    """Wait until everything launched so far is done."""
    _cuda().synchronize()


_CUDA_OF_DLPACK = 2  # its number of CUDA devices
_SAME_STREAM = -1  # of DLPack: the producer need not wait


def _cuda():
    from .gpu import card

    return card.module()
