"""Tests of kernels for graphics cards: on a card (`make test-gpu`), or on small cases in Numba's simulator, in which
`tests/kernels/test_device.py` runs this folder."""

import pytest

from pliant.kernels import device

collect_ignore = ["test_bench.py"] if device.SIMULATED else []  # 15 s in the simulator


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if item.path.parent.name == "gpu"]
    if here and not device.SIMULATED and (reason := device.missing()):
        for item in here:
            item.add_marker(pytest.mark.skip(reason=reason))
