"""Scenes with height grids instead of fields, judged by the exact surface; class B: no deeper than the bound."""

import pytest

from pliant.scenes import SCENES
from pliant.simulation import Simulation
from pliant.simulation.record import record

pytestmark = pytest.mark.compiled


def deepest(name: str, frames: int, resolution: int, **options) -> tuple[float, float]:
    """The least exact distance of the cloth, and the grids' bound; metres. The grids alone keep the cloth out."""
    scene = SCENES[name](resolution=resolution, self_contact="off")
    sim = Simulation(scene, method="height-grid", options=options)
    result = record(sim, frames)
    assert result.n_contacts.max() > 5
    return float(result.least_distance.min()), sim.detectors[0].grids.bound


@pytest.mark.parametrize("options", [{"directions": ("+y",)}, {}], ids=["from above", "from all sides"])
def test_a_cloth_on_the_face_stays_outside(options):
    least, _ = deepest("cloth-on-face", 80, 30, **options)
    assert least > 0.0


@pytest.mark.parametrize("name", ["tablecloth-on-ball", "tablecloth-on-bust", "cloth-on-box-corner"])
def test_a_tablecloth_gets_no_deeper_than_the_bound(name):
    least, bound = deepest(name, 80, 22)
    assert least > -bound


def test_a_ball_that_spins_takes_its_grids_along():
    least, bound = deepest("spinning-ball", 150, 16)
    assert least > -bound


@pytest.mark.long
@pytest.mark.parametrize("name", ["cloth-on-face", "tablecloth-on-ball", "tablecloth-on-bust", "spinning-ball"])
def test_250_frames_at_full_size_get_no_deeper_than_the_bound(name):
    least, bound = deepest(name, 250, 48)
    assert least > -bound
