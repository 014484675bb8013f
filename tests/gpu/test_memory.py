"""Memory of the card that has been given back is used again, and freed where it is lacking."""

import gc
from types import ModuleType

import numpy as np
import pytest

from pliant.kernels import device


@pytest.fixture
def memory() -> ModuleType:
    device.zeros(1)
    from pliant.kernels.gpu import memory

    return memory


class Block:
    """Memory of a card of 100 000 bytes."""

    free = 100_000

    def __init__(self, size: int) -> None:
        self.size = 0
        if size > Block.free:
            raise RuntimeError("CUDA_ERROR_OUT_OF_MEMORY")
        self.size = size
        Block.free -= size

    def __del__(self) -> None:
        Block.free += self.size


def test_blocks_are_hardly_larger_than_asked_and_few_sizes_cover_all(memory) -> None:
    sizes = np.unique(np.random.default_rng(0).integers(1, 1 << 40, 2000) >> np.arange(2000) % 40)
    rooms = np.array([memory.rounded(int(size)) for size in sizes])
    assert (rooms >= sizes).all()
    assert (rooms <= np.maximum(1.125 * sizes + 1, sizes + memory.LEAST)).all()
    assert len({memory.rounded(size) for size in range(1, 1 << 20, 100)}) < 100


def test_what_was_given_back_is_taken_again_and_freed_where_it_is_lacking(memory) -> None:
    pool = memory.Pool(Block, 60_000)
    first = pool.lease(8_000)
    block = first.block
    other = pool.lease(8_000)
    assert other.block is not block
    del first
    assert pool.size == memory.rounded(8_000)
    again = pool.lease(8_100)
    assert again.block is block
    del block, again, other
    assert pool.size == 2 * memory.rounded(8_000)
    whole = pool.lease(90_000)  # does not fit beside what is kept
    assert pool.size == 0
    with pytest.raises(RuntimeError, match="OUT_OF_MEMORY"):
        pool.lease(50_000)
    del whole  # more than the pool keeps
    gc.collect()
    assert (pool.size, Block.free) == (0, 100_000)


def test_a_lease_that_ends_while_the_pool_is_busy_is_kept_later(memory) -> None:
    pool = memory.Pool(Block, 60_000)
    lease = pool.lease(1_000)
    with pool._lock:  # as where garbage is collected within `lease`
        del lease
        assert pool.size == 0
    assert pool.lease(1_000).block is not None
    assert pool.size == memory.rounded(1_000)
