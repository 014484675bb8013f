"""Cloth against closed forms and standard tests of textiles, small and fast; the study has the tables of the page."""

import pathlib

import numpy as np
import pytest

import pliant

STUDIES = pathlib.Path(__file__).parents[2] / "benchmarks" / "studies"
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not STUDIES.is_dir(), reason="the studies are part of the repository only"),
]


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(str(STUDIES))
    import validation

    return validation


@pytest.mark.parametrize("direction", ["warp", "weft"])
def test_a_hanging_strip_stretches_by_its_weight_over_the_stiffness_of_its_direction(study, direction):
    measured, exact = study.strip(pliant.Cloth.named("denim"), direction, n=9)
    assert measured == pytest.approx(exact, rel=0.02)


def test_the_heavy_elastica_is_that_of_peirce_at_41_degrees(study):
    across, down = study.elastica(2.0)
    assert np.degrees(np.arctan2(down, across)) == pytest.approx(41.5, abs=0.05)
    assert study.elastica(0.2)[1] == pytest.approx(0.2**4 / 8, rel=1e-3)  # a stiff beam


@pytest.mark.parametrize("direction", ["warp", "weft"])
def test_the_bending_length_of_a_cantilever_is_that_of_its_rigidity(study, direction):
    measured, exact = study.cantilever(pliant.Cloth(bend=6e-5, bend_weft=2e-5), direction, n=17)
    assert measured == pytest.approx(exact, rel=0.02)


def test_a_strip_cut_on_the_bias_stretches_by_its_shear(study):
    measured, exact = study.bias(pliant.Cloth.named("denim"), n=21)
    assert measured == pytest.approx(exact, rel=0.02)


def test_a_strip_swings_with_the_period_of_a_heavy_chain_and_loses_little_energy(study):
    measured, exact, left = study.swing(4, n=17, periods=2)
    assert measured == pytest.approx(exact, rel=0.02)
    assert 0.8 < left <= 1.0


@pytest.mark.parametrize(
    ("friction", "degrees", "method"),
    [(0.2, 20.0, "distance-field"), (0.4, 20.0, "distance-field"), (0.2, 20.0, "bvh")],
)
def test_a_sheet_slides_down_a_slope_by_coulombs_law_and_sticks_below_its_angle(study, friction, degrees, method):
    measured, exact = study.slope(friction, degrees, method=method)
    assert measured == pytest.approx(exact, rel=0.02, abs=1e-4)  # m; it settles on its contacts first


def test_the_stiffer_a_disc_the_higher_its_drape_coefficient(study):
    limp, stiff = (study.cusick(pliant.Cloth(bend=bend), spacing=0.02, seconds=0.8) for bend in (1e-5, 3e-4))
    assert 20.0 < limp[0] < stiff[0] - 15.0 < 90.0
