"""The seam to graphics cards: the kernels of this package, compiled for CUDA from the same sources.

    import pliant.kernels.device as device

    if not device.missing():
        bricks = device.twin("fields.bricks_at")
        view = device.upload(field_view)
        device.launch(bricks.sample_each, len(points), view, points, distance, gradient)

Nothing of CUDA is imported before the first call. The environment variable NUMBA_ENABLE_CUDASIM=1 runs all of it in
Numba's simulator, for tests.
"""

import numpy as np

from .gpu.simulated import SIMULATED

CLEARED = 1 << 12  # numbers from which on zeros are written on the card, not copied to it


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


def launch(function, count: int, *args, stream=None) -> None:
    """Run `function` of a twin with one thread per iteration; arrays in `args` and in their tuples are on the card."""
    from .gpu.entries import launch

    launch(function, count, *args, stream=stream)


def recorded(work):
    """The launches of `work`, which has run before, as one graph that a call launches again."""
    _cuda()
    from .gpu.graphs import recorded

    return recorded(work)


def upload(value):
    """Copy an array to the card, or all arrays of a tuple; numbers stay, and so do arrays that are already there."""
    if isinstance(value, tuple):
        parts = (upload(part) for part in value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return value
    array = np.ascontiguousarray(value)
    if not array.size:
        return empty(array.shape, array.dtype)
    there, flat = empty(array.size, array.dtype), array.ravel()
    # axes of length 1 may have the stride 0, which numba-cuda takes for a repetition
    there.copy_to_device(flat if array.size > 1 else flat.copy())
    return there.reshape(array.shape)


def empty(shape, dtype=np.float64):
    """An uninitialised array on the card. MemoryError names the bytes that were asked for and those that are free."""
    _cuda()
    from .gpu import memory

    try:
        return memory.array(shape, dtype)
    except Exception as error:
        if "OUT_OF_MEMORY" not in str(error).upper().replace(" ", "_"):
            raise
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    raise MemoryError(f"the graphics card has {memory.free() / 2**30:.3g} GiB free; {size / 2**30:.3g} GiB are needed")


def zeros(shape, dtype=np.float64):
    """An array on the card, all zero."""
    count = int(np.prod(shape, dtype=np.int64))
    if count < CLEARED:
        return upload(np.zeros(shape, dtype))
    from .gpu import rows

    array = empty(count, dtype)
    launch(rows.clear, count, array)
    return array.reshape(shape)


def exclusive_sums(values):
    """The sums (n+1,) i8 of the integers before each of `values` (n,), and of all, on the card."""
    from .gpu.scan import exclusive_sums

    start = empty(len(values) + 1, np.int64)
    exclusive_sums(values, start)
    return start


def check_room(size: int, what: str) -> None:
    """Raise MemoryError if the card has not as many bytes free as `what` needs."""
    _cuda()
    from .gpu import memory

    free = memory.free()
    if size > free:
        raise MemoryError(
            f"{what} needs {size / 2**30:.3g} GiB of the graphics card, which has {free / 2**30:.3g} GiB free"
        )


def is_driver_error(error: BaseException) -> bool:
    """Whether an exception says that the card or its driver failed, rather than the program."""
    return type(error).__name__ in ("CudaAPIError", "CUDAError", "GraphError")


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


def part(array, first: int, last: int):
    """Rows first..last-1 of an array on the card, the same memory; its own slices may not be empty."""
    return array[first:last] if last > first else empty((0, *array.shape[1:]), array.dtype)


def field(records, name: str):
    """A field of all records (n,) on the card, as a strided array of the same memory; no copy."""
    if SIMULATED:
        return type(records)(records._ary[name])
    part, offset = records.dtype.fields[name][:2]
    shape, step = (len(records), *part.shape), records.strides[0]
    inner = tuple(np.empty(part.shape, part.base).strides)
    return _described(records, offset, shape, (step, *inner), part.base)


def retyped(array, dtype):
    """The same memory as numbers of another type of the same size."""
    if SIMULATED:
        return type(array)(array._ary.view(dtype))
    return _described(array, 0, array.shape, None, np.dtype(dtype))


def words(records):
    """Records (n,) on the card as rows of integers (n,k) i8, the same memory."""
    each = records.dtype.itemsize // 8
    if SIMULATED:
        return type(records)(records._ary.view(np.int64).reshape(len(records), each))
    return _described(records, 0, (len(records), each), None, np.dtype(np.int64))


def _described(owner, offset: int, shape, strides, dtype):
    """An array at `offset` bytes in the memory of another."""
    data = {"data": (owner.device_ctypes_pointer.value + offset, False), "version": 3}
    described = {"shape": shape, "strides": strides, "typestr": dtype.str} | data
    return _cuda().from_cuda_array_interface(described, owner=owner)


def synchronize() -> None:
    """Wait until everything launched so far is done."""
    _cuda().synchronize()


_CUDA_OF_DLPACK = 2  # its number of CUDA devices
_SAME_STREAM = -1  # of DLPack: the producer need not wait


def _cuda():
    from .gpu import card

    return card.module()
