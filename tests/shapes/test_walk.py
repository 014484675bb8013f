"""The mannequin's walk: on the ground, closed, and as people walk."""

import numpy as np
import pytest

from pliant import Character, shapes


@pytest.fixture(scope="module")
def walker() -> Character:
    return shapes.walking_mannequin(0.7)


def test_the_soles_are_on_the_ground_at_any_time(walker: Character) -> None:
    lowest = [walker.shape("walk", t)[:, 1].min() for t in np.linspace(0.0, 1.1, 60)]
    assert min(lowest) > -0.002
    assert max(lowest) < 0.006


def test_the_stride_ends_as_it_began_and_as_fast(walker: Character) -> None:
    clip = walker.clips["walk"]
    start, near, back, end = walker.skin_matrices_at("walk", [0.0, 1e-5, clip.duration - 1e-5, clip.duration])
    assert np.abs(start - end).max() < 1e-12
    assert np.abs((near - start) - (end - back)).max() < 1e-8


def test_the_left_side_does_half_a_stride_later_what_the_right_did(walker: Character) -> None:
    mirror = np.diag([-1.0, 1.0, 1.0])
    now, later = walker.skin_matrices_at("walk", [0.3, 0.3 + 0.55])
    for left in [name for name in walker.names if name.endswith(".left")]:
        j, k = walker.names.index(left), walker.names.index(left.replace("left", "right"))
        turned = mirror @ now[j] @ np.diag([-1.0, 1.0, 1.0, 1.0])
        assert np.abs(turned - later[k])[:, :3].max() < 1e-3


def test_an_arm_is_ahead_when_the_leg_of_its_side_is_behind(walker: Character) -> None:
    x = walker.shape("walk", 0.0)
    held = walker.joints[:, 0]

    def ahead(name: str) -> float:
        return float(x[held == walker.names.index(name), 2].mean())

    assert ahead("foot.left") > ahead("hips") + 0.2 > ahead("foot.right") + 0.4
    assert ahead("hand.right") > ahead("hips") + 0.1
    assert ahead("hand.left") < ahead("hips") + 0.05
