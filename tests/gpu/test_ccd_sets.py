"""On a card, no contact of the sets with exact truth is missed, and times of impact are those of threads."""

import itertools

import numpy as np
import pytest

import ccd_sets
from pliant import geometry
from pliant.kernels import device

FIND = {"vertex-face": geometry.vertex_face_impact, "edge-edge": geometry.edge_edge_impact}
COPIES = tuple(itertools.product(itertools.permutations(range(3)), itertools.product((1.0, -1.0), repeat=3)))


@pytest.mark.parametrize("name", ["hard", *ccd_sets.FRAMES])
@pytest.mark.parametrize("kind", ccd_sets.KINDS)
def test_no_contact_of_any_symmetry_copy_is_missed(data, kind: str, name: str) -> None:
    start, end, truth = ccd_sets.queries(data, kind) if name == "hard" else ccd_sets.pairs(data, name, kind)
    copies = [[np.ascontiguousarray(p[..., order] * signs) for p in (start, end)] for order, signs in COPIES]
    both = [np.concatenate(each) for each in zip(*copies, strict=True)]
    hit, time = (each.copy_to_host() for each in FIND[kind](*map(device.upload, both)))
    missed = np.tile(truth, len(COPIES)) & ~hit
    print(f"{kind}, {name}: {len(hit)} queries, {missed.sum()} missed")
    assert truth.any()
    assert not missed.any()
    on_host = FIND[kind](start, end)
    np.testing.assert_array_equal(hit[: len(truth)], on_host[0])
    np.testing.assert_array_equal(time[: len(truth)], on_host[1])
