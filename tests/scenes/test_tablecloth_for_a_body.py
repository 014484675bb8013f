"""A tablecloth for any body: as large and as stiff as the body asks for."""

import numpy as np
import pytest

from pliant import Cloth, Simulation, shapes
from pliant.scenes import drape, tablecloth_material, tablecloth_scene, tablecloths


@pytest.mark.compiled
@pytest.mark.parametrize("size", [0.01, 0.2, 1.0, 5.0, 30.0])
def test_it_hangs_alike_at_every_size(size):
    """Over a ball of 1 mm to 3 m; things four times as large take twice the time."""
    ball = shapes.ball(0.1, 2)
    scene = tablecloth_scene(ball.moved(ball.vertices * size), resolution=9)
    cloth = scene.bodies[0].mesh
    # against its weight, cloth over 1 mm is rigid in shear: solved exactly, so coarse a mesh cannot drape over a ball
    solver = "xpbd" if size < 0.1 else "implicit"
    sim = Simulation(scene, 0.01 * size**0.5, substeps=10, solver=solver)
    for _ in range(120):
        frame = sim.step()
    hangs = np.ptp(frame.x[: cloth.n_vertices], axis=0) / np.ptp(cloth.vertices[:, 0])
    assert hangs == pytest.approx([0.92, 0.53, 0.91], abs=0.04)  # cotton over 1 mm stands like card: 1.00, 0.04, 1.00


def test_what_is_said_of_its_material_is_not_chosen_again():
    body = shapes.ball(1.0, 2)
    chosen = tablecloth_material(body)
    assert chosen.bend > 10 * Cloth().bend
    assert (chosen.density, chosen.stretch, chosen.air) == (Cloth().density, Cloth().stretch, Cloth().air)
    said = tablecloth_material(body, bend=1e-5, density=0.3)
    assert (said.bend, said.density, said.damping) == (1e-5, 0.3, chosen.damping)
    assert tablecloth_material(body, density=0.4).bend == pytest.approx(2 * chosen.bend)


def test_at_75_cm_it_is_cotton():
    chosen = tablecloth_material(shapes.box((0.75 / 1.6, 0.1, 0.1), 2))
    assert chosen.bend == pytest.approx(Cloth().bend, rel=0.02)
    assert chosen.damping == pytest.approx(Cloth().damping)


def test_tablecloths_are_still_found_where_they_were():
    for name in ("tablecloth_for", "tablecloth_material", "tablecloth_scene", "tablecloth_side"):
        with pytest.warns(DeprecationWarning, match=rf"drape\.{name} is now pliant\.scenes\.tablecloths\.{name}"):
            assert getattr(drape, name) is getattr(tablecloths, name)
