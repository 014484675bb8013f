import numpy as np
import pytest

from pliant.scenes import SCENES
from pliant_bench import real_time
from pliant_bench.newton_peer import Falling


def test_newton_is_given_the_grid_of_the_scene():
    scene, drop = SCENES[real_time.SCENE](resolution=8), real_time.drop(8)
    nx, ny = drop.size
    i, j = np.meshgrid(np.arange(nx), np.arange(ny))
    grid = np.array(drop.corner) + drop.h * np.stack([i.ravel(), 0 * i.ravel(), -j.ravel()], 1)
    cloth = scene.bodies[0].mesh.vertices
    assert np.allclose(np.array(sorted(grid.round(6).tolist())), np.array(sorted(cloth.round(6).tolist())), atol=2e-6)


def test_newton_starts_from_the_same_positions_above_the_same_body():
    pytest.importorskip("newton")
    drop = real_time.drop(8)
    for solver in real_time.PEERS:
        x = Falling(drop, solver).positions()
        cloth = SCENES[real_time.SCENE](resolution=8).bodies[0].mesh.vertices
        assert np.allclose(x.min(0), cloth.min(0), atol=1e-5)
        assert np.allclose(x.max(0), cloth.max(0), atol=1e-5)


def test_a_bar_needs_time_and_strain():
    row = {"ms": 30.0, "cpu": 4.0, "strain_95": 0.9, "strain_most": 2.9}
    assert real_time.bar(row) == "stretch"
    assert real_time.bar(row | {"strain_most": 3.1}) == "must"
    assert real_time.bar(row | {"strain_95": 2.1}) == "missed"
    assert real_time.bar(row | {"cpu": 11.0}) == "missed"
