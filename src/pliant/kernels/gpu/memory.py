"""Memory of the card that arrays have given back, kept for those to come, because the card waits where memory is
allocated and freed.

All work is on the default stream, so that memory can be used again at once: what comes later runs later.
"""

import collections
import threading
import weakref

import numpy as np

from .card import cuda
from .simulated import SIMULATED

SHARE = 5  # at most this part of the memory of the card is kept
STEPS = 8  # sizes between a power of two and the next; blocks are at most an eighth larger than asked
LARGE = 1 << 28  # bytes from which on blocks are multiples of `LARGE // STEPS`
LEAST = 512  # bytes


def rounded(size: int) -> int:
    """The size of the block for so many bytes."""
    size = max(size, LEAST)
    step = LARGE // STEPS if size >= LARGE else max(LEAST, (1 << (size.bit_length() - 1)) // STEPS)
    return -(-size // step) * step


class Pool:
    """Blocks of memory, of which those not in use are kept. `allocate` returns a block, which is freed when the last
    reference to it has gone; `flush` is called when blocks were dropped and their memory is wanted."""

    def __init__(self, allocate, most: int, flush=lambda: None) -> None:
        self._allocate, self.most, self._flush = allocate, most, flush
        self._kept: dict[int, list] = {}
        self.size = 0  # bytes kept
        self._returned: collections.deque = collections.deque()
        self._lock = threading.Lock()

    def lease(self, size: int) -> "Lease":
        """A block of at least so many bytes. It is kept for others when the lease is no longer referenced."""
        room = rounded(size)
        with self._lock:
            self._keep_returned()
            kept = self._kept.get(room)
            if kept:
                self.size -= room
                return Lease(self, room, kept.pop())
        try:
            return Lease(self, room, self._allocate(room))
        except Exception:
            if not self.size:
                raise
        self.clear()  # what is kept may be what is lacking
        return Lease(self, room, self._allocate(room))

    def take_back(self, room: int, block) -> None:
        """Keep a block. Garbage is collected at any time and in any thread, also where the lock is held in this one."""
        self._returned.append((room, block))
        if self._lock.acquire(blocking=False):
            try:
                self._keep_returned()
            finally:
                self._lock.release()

    def _keep_returned(self) -> None:
        """Keep what has come back; where that is too much, nothing else."""
        while self._returned:
            room, block = self._returned.popleft()
            if room > self.most:
                continue
            if self.size + room > self.most:
                self._kept, self.size = {}, 0
            self._kept.setdefault(room, []).append(block)
            self.size += room

    def clear(self) -> None:
        """Free what is kept."""
        with self._lock:
            self._returned.clear()
            self._kept, self.size = {}, 0
        self._flush()


class Lease:
    """A block in use, as long as this object is referenced."""

    def __init__(self, pool: Pool, room: int, block) -> None:
        self.block = block
        weakref.finalize(self, pool.take_back, room, block).atexit = False


_pools: dict[int, Pool] = {}  # by card


def pool() -> Pool:
    """The pool of the current card."""
    context = cuda.current_context()
    known = _pools.get(context.device.id)
    if known is None:
        pending = getattr(context.memory_manager, "deallocations", None)  # what numba-cuda has not freed yet
        known = _pools[context.device.id] = Pool(
            lambda size: cuda.device_array(size, np.uint8),
            context.get_memory_info().total // SHARE,
            pending.clear if pending is not None else lambda: None,
        )
    return known


def array(shape, dtype):
    """An uninitialised array on the card, in memory of the pool."""
    dtype = np.dtype(dtype)
    shape = (int(shape),) if np.ndim(shape) == 0 else tuple(int(each) for each in shape)
    strides = tuple(int(np.prod(shape[k + 1 :], dtype=np.int64)) * dtype.itemsize for k in range(len(shape)))
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if SIMULATED or not size:
        return cuda.device_array(shape, dtype)
    driver, lease = cuda.cudadrv.driver, pool().lease(size)
    at = driver.binding.CUdeviceptr(lease.block.device_ctypes_pointer.value)
    memory = driver.MemoryPointer(cuda.current_context(), at, size=size, owner=lease)
    return cuda.cudadrv.devicearray.DeviceNDArray(shape=shape, strides=strides, dtype=dtype, gpu_data=memory)


def free() -> float:
    """Bytes of the card that are free, with what was kept, which is freed."""
    if not SIMULATED:
        pool().clear()
    return cuda.current_context().get_memory_info().free
