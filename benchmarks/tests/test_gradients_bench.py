"""The benchmark of gradients: every participant computes the same loss and derivatives."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
from pliant_bench import gradients


@pytest.mark.compiled
def test_losses_and_derivatives_are_those_of_nearest_points() -> None:
    table = gradients.gradients_table(quick=True, repeats=1)
    assert len({row["case"] for row in table.rows}) == 4
    ours = [row for row in table.rows if row["who"].startswith("pliant")]
    assert {row["who"] for row in ours} == {"pliant", "pliant signed_distance"}
    for row in ours:
        assert row["off_loss"] < 1e-10
        assert row["off_points"] < 1e-8
        assert row["off_body"] < 1e-8
