"""Bodies that share a volume: measured in every frame, drawn, printed."""

import numpy as np
import pytest

from pliant import Mesh
from pliant.motion.deforming import Recorded
from pliant.scene import Body, Scene
from pliant.scenes import SCENES
from pliant.shapes import box
from pliant.simulation import Simulation
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled


def passing() -> Simulation:
    """A box of 1 m slides through another one, 0.1 m a frame, from 1.25 m away."""
    one = box((1.0, 1.0, 1.0), (2, 2, 2))
    x = one.vertices + np.array([-1.25, 0.0, 0.0])
    frames = np.stack([x + np.array([0.1 * k, 0.0, 0.0]) for k in range(25)])
    slides = Body(one.moved(x), obstacle=True, motion=Recorded(0.1 * np.arange(25), frames), name="slides")
    scene = Scene([slides, Body(one, obstacle=True, name="stands")], overlaps=[(0, 1)], overlap_resolution=16)
    return Simulation(scene, 0.1, substeps=1, method="tree")


def test_the_shared_volume_of_each_frame_is_that_of_the_boxes():
    result = record(passing(), 24)
    (shared,) = result.shared
    exact = np.maximum(0.0, 1.0 - np.abs(0.1 * np.arange(25) - 1.25))
    assert (np.abs(shared.volume - exact) <= shared.bound + 1e-9).all()
    assert shared.volume == pytest.approx(exact, abs=1e-6)
    told = result.summary["shared"][0]
    assert told["most_frame"] in (12, 13)
    assert told["frames_shared"] == 20
    assert told["most_m3"] == pytest.approx(0.95, rel=1e-6)
    assert result.facts["intersection volume, at most"].startswith("950.000 ± ")
    assert "particles" not in result.facts


def test_what_is_drawn_is_a_mesh_in_the_frames_that_share_something_and_nothing_in_the_others():
    (shared,) = record(passing(), 24).shared
    assert [isinstance(mesh, Mesh) for mesh in shared.meshes] == (shared.volume > 0.0).tolist()
    low, high = shared.meshes[12].bounds  # which rounding makes smaller, and a pixel larger
    assert np.abs(low - (-0.55, -0.5, -0.5)).max() < 0.15
    assert np.abs(high - (0.45, 0.5, 0.5)).max() < 0.15
    assert [text == "none" for text in shared.readings[:4]] == [True, True, True, False]


def test_two_figures_are_apart_at_first_share_something_when_they_meet_and_part():
    scene = SCENES["two-figures"]()
    (shared,) = record(Simulation(scene, 0.4, substeps=1, method="tree"), 4).shared
    assert shared.volume[[0, 4]].tolist() == [0.0, 0.0]
    assert 0.001 < shared.volume[2] < 0.05
    assert (shared.bound < 0.1 * shared.volume.max()).all()


def test_a_pair_of_bodies_that_are_not_there_is_named():
    with pytest.raises(ValueError, match=r"overlaps\[0, 1\] = 3 but there are 1 bodies"):
        Scene([Body(box((1.0, 1.0, 1.0), (1, 1, 1)), obstacle=True)], overlaps=[(0, 3)])


def test_a_body_with_itself_and_a_resolution_of_nothing_are_refused():
    bodies = [Body(box((1.0, 1.0, 1.0), (1, 1, 1)), obstacle=True)] * 2
    with pytest.raises(ValueError, match=r"overlaps\[1\] = \(1, 1\) is a body with itself"):
        Scene(bodies, overlaps=[(0, 1), (1, 1)])
    with pytest.raises(ValueError, match="overlap_resolution = 0 must be in 1"):
        Scene(bodies, overlaps=[(0, 1)], overlap_resolution=0)
    for name in ("resolution", "count"):
        with pytest.raises(ValueError, match=f"{name} = 0 must be"):
            SCENES["creatures"](**{name: 0})
