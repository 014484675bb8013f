"""Tests of kernels for graphics cards: on a card (`make test-gpu`), or on small cases in Numba's simulator, in which
`tests/kernels/test_device.py` runs this folder."""

import pytest

from pliant.kernels import device

# 15 s in the simulator, memory that it has not, a hundred thousand queries, and tensors on a card
TOO_MUCH = ["test_bench.py", "test_card_memory.py", "test_ccd_sets.py", "test_torch.py"]
collect_ignore = TOO_MUCH if device.SIMULATED else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent.name == "gpu"]
    if here and not device.SIMULATED and (reason := device.missing()):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=reason))
