"""Simulations on the card end every frame with the bits of those on threads, whatever takes part in them."""

import numpy as np
import pytest

from card_scenes import FRAMES, SUBSTEPS, assert_same, scenes
from pliant.simulation import Simulation


@pytest.mark.parametrize("name", list(scenes()))
def test_frames_have_the_bits_of_threads(name: str) -> None:
    scene = scenes()[name]
    on_threads, on_card = (
        Simulation(scene, 0.01, substeps=SUBSTEPS, solver="xpbd", device=where) for where in ("cpu", "cuda")
    )
    assert on_card.device == "cuda"
    touched = 0
    for _ in range(FRAMES):
        one, other = on_threads.step(), on_card.step()
        touched += len(one.contacts)
    assert touched > 10
    np.testing.assert_array_equal(other.x, one.x)
    assert other.contacts.tobytes() == one.contacts.tobytes()
    assert (other.substeps, other.lost, other.slipped, other.time) == (one.substeps, one.lost, one.slipped, one.time)
    assert_same(on_threads, on_card)
