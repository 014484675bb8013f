"""Memory of a card: its arrays use again what others have given back, and no more is taken than there is."""

import gc

import pytest

from pliant.kernels import device


def test_an_array_takes_the_memory_of_one_that_has_gone_but_not_of_its_views() -> None:
    device.zeros(1)
    from pliant.kernels.gpu import memory

    memory.pool().clear()
    array = device.empty((1000, 3))
    at, part = array.device_ctypes_pointer.value, device.part(array, 10, 20)
    del array
    gc.collect()
    other = device.empty((1000, 3))
    assert other.device_ctypes_pointer.value != at
    del part
    gc.collect()
    assert device.empty((3000,)).device_ctypes_pointer.value == at


def test_more_than_the_card_has_is_one_clear_error() -> None:
    with pytest.raises(MemoryError, match=r"the graphics card has [\d.]+ GiB free; 9.1e\+03 GiB are needed"):
        device.empty(int(9100 * 2**30 / 8))
