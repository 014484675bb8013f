"""The study of `fix` on dancing characters measures what `fix` can know."""

import pathlib

import numpy as np
import pytest

STUDIES = pathlib.Path(__file__).parents[2] / "benchmarks" / "studies"
pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(not STUDIES.is_dir(), reason="the studies are part of the repository only"),
]


def test_strain_is_measured_against_the_rest_lengths_of_the_mesh_that_fix_is_given(monkeypatch):
    pytest.importorskip("pliant_bench")
    monkeypatch.syspath_prepend(str(STUDIES))
    import dancing

    one = dancing.case("mannequin/T-shirt", 600, 4, None)
    gauge = dancing.Gauge(one.worn, one.body.mesh, dancing.ROOM)
    assert np.abs(gauge.strain(one.garment.mesh.welded.vertices)).max() < 1e-12
