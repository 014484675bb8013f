"""Corners of bodies under triangles of cloth, which detectors of points miss: they hold cloth, and are contacts."""

import numpy as np
import pytest

import pliant
from pliant import contacts
from pliant.cli.run_warnings import run_warnings
from pliant.mesh import Mesh
from pliant.simulation.record import record

APEX = 4  # vertex of the spike
SPIKE = Mesh(
    np.array([[-0.05, 0, -0.05], [0.05, 0, -0.05], [0.05, 0, 0.05], [-0.05, 0, 0.05], [0.02, 0.3, 0.01]]),
    np.array([[0, 4, 1], [1, 4, 2], [2, 4, 3], [3, 4, 0], [0, 1, 2], [0, 2, 3]], np.int32),
)


def on_spike(method: str, **options) -> pliant.Simulation:
    """A sheet of four by four vertices, 2 cm above a spike that is under the interior of a triangle."""
    sheet = pliant.shapes.cloth(0.3, 0.3, 4)
    above = sheet.moved(sheet.vertices + np.array([0.0, 0.32, 0.0]))
    scene = pliant.Scene([pliant.Body(above), pliant.Body(SPIKE, obstacle=True)])
    return pliant.Simulation(scene, method=method, **options)


@pytest.mark.parametrize("options", [{}, {"solver": "xpbd"}], ids=["implicit", "xpbd"])
def test_a_spike_that_holds_a_sheet_is_among_the_contacts(options):
    sim = on_spike("distance-field", **options)
    *_, frame = sim.run(12)
    apex = sim.scene.first[1] + APEX
    found = frame.contacts
    on_apex = (found["kind"] == contacts.VERTEX_FACE) & (found["vertices"][:, 0] == apex)
    assert on_apex.any()
    assert (found["bodies"][on_apex] == [1, 0]).all()
    assert (sim.detect(sim.state)["distance"] > sim.scene.eps).all()  # no point of the sheet is in contact
    assert np.allclose((contacts.gap(found, frame.x) * found["normal"]).sum(1), found["distance"], atol=1e-3)


def test_no_contact_is_reported_twice():
    sim = on_spike("bvh")
    for frame in sim.run(12):
        vertices = np.sort(frame.contacts["vertices"], 1)
        assert len(np.unique(vertices, axis=0)) == len(vertices)
    assert len(vertices)


def test_a_sheet_on_a_spike_has_touched_it():
    result = record(on_spike("distance-field"), 12)
    assert result.n_contacts.max() > 0
    assert not any("never touched" in line for line in run_warnings(result))
