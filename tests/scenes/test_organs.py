"""Organs: a gut dragged over itself never passes through itself; a liver gives way to a tool that presses it."""

import numpy as np
import pytest

from conftest import DATA
from pliant.scenes import SCENES
from pliant.scenes.organs import liver
from pliant.simulation import Simulation
from pliant.simulation.measure.intersection_statistics import IntersectionStatistics
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled


def test_a_gut_is_dragged_over_itself_by_active_pairs_without_a_triangle_meeting_another():
    scene = SCENES["intestine"](resolution=2)
    sim = Simulation(scene, substeps=4, method="tree", self_method="active-pairs", self_response="projection")
    count, touched, x = IntersectionStatistics(scene, sim.state.x), 0, sim.state.x.copy()
    for frame in sim.run(100):
        assert count.at(frame.x) == (0, 0), frame.index
        pair = frame.contacts["bodies"]
        touched = max(touched, int((pair[:, 0] == pair[:, 1]).sum()))
    assert touched > 5
    held = scene.gripped_rows
    assert np.linalg.norm(sim.state.x[held] - x[held], axis=1).min() > 0.03
    assert sim.self_contact.failed_substeps == 0


def test_a_liver_gives_way_to_the_tool_and_nothing_of_it_is_inside():
    scene = SCENES["liver"](resolution=8)
    sim = Simulation(scene, substeps=8, method="tree")
    tool, before = scene.rows(1), sim.state.x[scene.rows(0)].copy()
    result = record(sim, 100)
    assert result.least_distance.min() > -0.25 * scene.eps
    assert max(result.n_contacts) > 3
    tip = sim.state.x[tool][:, 1].min()
    near = np.hypot(*(before - sim.state.x[tool][np.argmin(sim.state.x[tool][:, 1])])[:, [0, 2]].T) < 0.03
    assert before[near, 1].max() > tip + 0.01, "the tool is lower than the liver was"


def test_a_surface_without_tets_is_refused():
    from pliant.shapes import ball

    with pytest.raises(ValueError, match="has no tets; fill it"):
        liver(organ=ball(0.1))


@pytest.mark.long
def test_a_liver_from_a_file_gives_way_too():
    path = DATA / "tets" / "sofa_liver.msh"
    if not path.is_file():
        pytest.skip("no ../shared/data beside the checkout")
    import pliant

    scene = liver(organ=pliant.load(path))
    result = record(Simulation(scene), 150)
    assert result.least_distance.min() > -scene.eps


@pytest.mark.long
def test_the_whole_drag_by_the_guard_alone_never_meets():
    scene = SCENES["intestine"]()
    sim = Simulation(scene)
    count = IntersectionStatistics(scene, sim.state.x)
    for frame in sim.run(250):
        assert count.at(frame.x) == (0, 0), frame.index
    assert sim.self_contact.failed_substeps == 0
