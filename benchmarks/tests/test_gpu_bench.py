"""The benchmark of graphics cards where there is none."""

import pytest

from pliant.kernels import device
from pliant_bench import gpu


def test_without_a_card_the_reason_is_said(monkeypatch) -> None:
    monkeypatch.setattr(device, "missing", lambda: "no graphics card: get one")
    with pytest.raises(ValueError, match="the benchmark of graphics cards cannot run: no graphics card: get one"):
        gpu.gpu_table()
