"""The referee of T1 sees what is missing, what is off and what is on the wrong side."""

import numpy as np
import pytest

import pliant
from pliant_bench.truth import Truth, node_values

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def field() -> pliant.DistanceField:
    return pliant.DistanceField.bake(pliant.shapes.torus(0.3, 0.1, 40, 20), 32)


@pytest.fixture(scope="module")
def truth(field) -> Truth:
    return Truth.of(field.mesh, np.array(field.origin), field.spacing, field.band, 3000)


def test_values_at_nodes_are_those_of_the_unpacked_grid_in_either_storage(field, truth) -> None:
    dense = pliant.DistanceField.bake(field.mesh, 32, storage="dense")
    i, j, k = np.unravel_index(np.arange(0, field.values.size, 7), field.shape)
    nodes = np.stack([i, j, k], 1).astype(np.int32)
    expected = field.values[i, j, k].astype(float) / field.spacing
    np.testing.assert_array_equal(node_values(field, nodes), expected)
    np.testing.assert_array_equal(node_values(dense, nodes), expected)


def test_the_truth_holds_distances_of_all_sizes_on_both_sides(truth) -> None:
    counts = np.histogram(truth.distance, 6, (-3.0, 3.0))[0]
    assert len(truth.distance) == len(np.unique(truth.nodes, axis=0)) == 3000
    assert counts.min() > 150


def test_a_good_bake_passes(field, truth) -> None:
    said = truth.judge(node_values(field, truth.nodes))
    assert (said["covered"], said["wrong_signs"]) == (1.0, 0)
    assert said["error_max_cells"] < 1e-5


def test_each_fault_is_counted(field, truth) -> None:
    said = node_values(field, truth.nodes)
    far = np.flatnonzero(np.abs(said) > 1.0)
    said[far[:30]] = np.nan
    said[far[30:37]] *= -1.0
    said[far[40]] += 0.25 * np.sign(said[far[40]])
    judged = truth.judge(said)
    assert (judged["covered"], judged["wrong_signs"]) == (pytest.approx(0.99), 7)
    assert judged["error_max_cells"] == pytest.approx(0.25, abs=1e-5)
