"""Sums, sorting and trees that only the card has."""

import numpy as np
import pytest

from pliant import shapes
from pliant.detect.bvh.boxes_on_card import BoxesOnCard, parents_of
from pliant.kernels import device


@pytest.mark.parametrize("count", [0, 1, 257, 3_000_000])
def test_sums_are_those_of_numpy(rng, count: int) -> None:
    values = rng.integers(0, 9, min(count, 700) if device.SIMULATED else count).astype(np.int32)
    found = device.exclusive_sums(device.upload(values)).copy_to_host()
    np.testing.assert_array_equal(found, np.concatenate([[0], np.cumsum(values)]))


@pytest.mark.parametrize(("count", "most"), [(1, 5), (3, 0), (300, 6), (2_000_000, 1 << 40)])
def test_sorting_keeps_the_order_of_equal_keys(rng, count: int, most: int) -> None:
    from pliant.kernels.gpu.sort import sort_by_key

    if device.SIMULATED:
        count, most = min(count, 300), min(most, 4000)
    keys, payload = rng.integers(0, most, count, endpoint=True), np.arange(count, dtype=np.int32)
    found = sort_by_key(device.upload(keys), device.upload(payload), most)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(found[0].copy_to_host(), keys[order])
    np.testing.assert_array_equal(found[1].copy_to_host(), order)


@pytest.mark.parametrize("count", [1, 2, 60, 1_000_000])
def test_a_tree_that_is_built_there_contains_each_triangle_in_one_leaf(rng, count: int) -> None:
    from pliant.kernels.gpu.boxes import FIRST, SKIP

    cloth = shapes.cloth(1.0, 1.0, resolution=5 if device.SIMULATED else 800)
    faces = np.concatenate([cloth.faces[:count], cloth.faces[: count // 3]])  # some at the same place
    faces = faces[: 40 if device.SIMULATED else len(faces)]
    tree = BoxesOnCard.built(device.upload(faces), device.upload(cloth.vertices))
    box, link, leaf = (array.copy_to_host() for array in tree.at)
    order, skip, nodes = tree.order.copy_to_host(), link[:, SKIP], np.arange(2 * len(faces) - 1)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(faces)))
    np.testing.assert_array_equal(link[leaf][:, [SKIP, FIRST]], np.stack([leaf + 1, np.arange(len(faces))], 1))
    box = box[:, :6]
    assert (parents_of(skip)[1:] >= 0).all()
    corners = cloth.vertices[faces[order]].astype(np.float32)
    np.testing.assert_array_equal(box[leaf], np.concatenate([corners.min(1), corners.max(1)], 1))
    inner = nodes[skip > nodes + 1]
    one, two = box[inner + 1], box[skip[inner + 1]]
    np.testing.assert_array_equal(box[inner, :3], np.minimum(one, two)[:, :3])
    np.testing.assert_array_equal(box[inner, 3:], np.maximum(one, two)[:, 3:])
