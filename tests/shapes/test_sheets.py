"""Cloth: counts, border, orientation, angles."""

import numpy as np
import pytest

from conftest import SEED, cases
from pliant.shapes import cloth
from shapes.quality import same, smallest_angles


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("plane", ["xz", "xy"])
def test_cloth_covers_its_rectangle_facing_one_way(irregular: bool, plane: str) -> None:
    mesh = cloth(2.0, 1.0, 13, irregular=irregular, plane=plane, centre=(1, 2, 3))
    normal = (0, 1, 0) if plane == "xz" else (0, 0, 1)
    assert mesh.n_vertices == 13 * 7
    assert (mesh.face_normals @ normal > 0.999999).all()
    assert mesh.face_areas.sum() == pytest.approx(2.0)
    assert np.allclose(mesh.bounds.mean(0), (1, 2, 3))


def test_default_cloth_has_the_1296_particles_of_36_by_36() -> None:
    assert cloth().n_vertices == 1296


def test_irregular_cloth_has_good_angles_and_no_defect_for_any_seed() -> None:
    for seed in range(SEED, SEED + cases(5)):
        mesh = cloth(irregular=True, seed=seed)
        angles = smallest_angles(mesh)
        assert not mesh.issues
        assert mesh.issues.components == 1
        assert len(mesh.issues.boundary) == 4 * 35
        assert angles.min() > 8
        assert np.percentile(angles, 1) > 15


def test_seeds_give_different_irregular_cloths_and_the_same_seed_the_same_bits() -> None:
    assert same(cloth(irregular=True, seed=1), cloth(irregular=True, seed=1))
    assert not same(cloth(irregular=True, seed=1), cloth(irregular=True, seed=2))


def test_texture_coordinates_are_the_position_in_the_rectangle() -> None:
    mesh = cloth(2.0, 1.0, (5, 4), irregular=True, plane="xy")
    flat = mesh.vertices[mesh.faces][:, :, :2] / (2.0, 1.0) + 0.5
    assert mesh.uv is not None
    assert np.allclose(mesh.uv, flat)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"width": 0.0}, "width"),
        ({"height": float("nan")}, "height"),
        ({"resolution": 1}, "resolution"),
        ({"resolution": (3, 2.5)}, r"resolution\[1\]"),
        ({"resolution": (3, 2, 1)}, "resolution"),
        ({"plane": "yz"}, "plane"),
        ({"seed": -1}, "seed"),
        ({"centre": (0, 0)}, "centre"),
    ],
)
def test_a_bad_argument_is_named(bad: dict, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        cloth(**bad)
