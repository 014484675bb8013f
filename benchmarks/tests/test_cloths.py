"""The cloth that is measured on: no layer crosses another, and steps do what their names say."""

import numpy as np
import pytest

from pliant_bench import cloths, referee

pytestmark = pytest.mark.compiled


@pytest.mark.parametrize("state", cloths.STATES)
def test_piles_have_the_layers_they_should_and_no_crossing(state: str) -> None:
    mesh = cloths.pile(30, 30, state)
    assert referee.self_crossings(mesh.vertices, mesh.faces) == 0
    near = [len(pairs) for pairs in referee.near_pairs(mesh, 0.6 * cloths.H)]
    assert (max(near) > 0) == (state != "flat")
    assert np.ptp(mesh.vertices[:, 2]) > {"flat": 0.0, "folded": 0.02, "crumpled": 0.08}[state]


def test_a_step_that_misses_is_free_and_one_that_hits_is_not() -> None:
    mesh = cloths.pile(6, 20, "folded")
    pairs = referee.all_pairs(mesh)
    x = mesh.vertices
    steps = [referee.first_impact(mesh, x, cloths.stepped(x, kind), pairs) for kind in ("miss", "hit")]
    assert steps[0] == 1.0
    assert 0.0 < steps[1] < 1.0


def test_both_places_have_the_same_pairs() -> None:
    mesh = cloths.pile(6, 20, "crumpled")
    there, here = (referee.near_pairs(mesh.moved(x), 0.6 * cloths.H) for x in cloths.poses(mesh.vertices))
    assert referee.differ(there, here) == referee.differ(here, here)
    assert np.abs(cloths.poses(mesh.vertices)[1] - mesh.vertices).max() == pytest.approx(0.5 * cloths.H)
