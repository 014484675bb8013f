"""Warp and weft: their directions, and stretch, shear and bending along each against closed forms."""

import dataclasses

import numpy as np
import pytest

from pliant.dynamics import ClothDynamics
from pliant.dynamics.weave import warp_directions
from pliant.kernels.dynamics import cloth as kernels
from pliant.mesh import Mesh
from pliant.scene import Body, Cloth, Scene
from pliant.shapes import cloth, skirt

WOVEN = Cloth(stretch=2000.0, stretch_weft=700.0, shear=50.0, bend=4e-4, bend_weft=1e-4)


def turned(mesh: Mesh, angle: float) -> Mesh:
    """The same mesh with texture coordinates in metres, turned by `angle`."""
    p = mesh.vertices[:, [0, 2]] * (1.0, -1.0)
    c, s = np.cos(angle), np.sin(angle)
    return dataclasses.replace(mesh, uv=(p @ np.array([[c, -s], [s, c]]))[mesh.faces])


def test_the_warp_runs_along_v_of_the_texture_whatever_the_triangulation():
    sheet = cloth(0.4, 0.3, 9, irregular=True)
    assert np.abs(warp_directions(sheet) - (0.0, 0.0, -1.0)).max() < 1e-12
    assert np.abs(warp_directions(sheet, "u") - (1.0, 0.0, 0.0)).max() < 1e-12
    bias = warp_directions(turned(sheet, np.pi / 4))
    assert np.abs(np.abs(bias) - (np.sqrt(0.5), 0.0, np.sqrt(0.5))).max() < 1e-12


def test_without_texture_the_warp_of_a_garment_runs_down_and_that_of_flat_cloth_along_x():
    garment = dataclasses.replace(skirt(0.4), uv=None)
    assert np.abs(warp_directions(garment)[:, 1]).min() > 0.75
    flat = dataclasses.replace(cloth(0.4, 0.3, 9), uv=None)
    assert (warp_directions(flat) == (1.0, 0.0, 0.0)).all()
    assert np.abs(np.abs(warp_directions(flat, "y")[:, 0]) - 1.0).max() == 0.0  # y is perpendicular: the next axis


def test_faces_without_texture_area_take_an_axis():
    sheet = cloth(0.4, 0.3, 5)
    uv = sheet.uv.copy()
    uv[:7] = 0.5
    found = warp_directions(dataclasses.replace(sheet, uv=uv))
    assert (found[:7] == (1.0, 0.0, 0.0)).all()
    assert np.abs(found[7:] - (0.0, 0.0, -1.0)).max() < 1e-12


def test_a_warp_along_texture_coordinates_needs_some():
    with pytest.raises(ValueError, match="needs texture coordinates"):
        Body(dataclasses.replace(cloth(), uv=None), warp="u")


@pytest.mark.parametrize("angle", [0.0, 0.4, np.pi / 4])
def test_the_energy_of_a_uniform_deformation_is_that_of_warp_weft_and_shear(rng, angle):
    sheet = turned(cloth(0.4, 0.3, 7, irregular=True), angle)
    f = np.array([[1.03, 0.02], [-0.01, 0.98], [0.05, 0.0]]) + rng.normal(scale=0.01, size=(3, 2))
    flat = sheet.vertices[:, [0, 2]] * (1.0, -1.0)
    x = flat @ f.T
    weft, warp = (f @ (np.cos(t), np.sin(t)) for t in (angle, angle + np.pi / 2))
    n_u, n_v = np.linalg.norm(warp), np.linalg.norm(weft)
    strains = np.array([n_u - 1.0, n_v - 1.0, warp @ weft / (n_u * n_v)])
    expected = 0.5 * 0.12 * (strains**2 * (2000.0, 700.0, 50.0)).sum()
    dynamics = ClothDynamics(Scene([Body(sheet, material=WOVEN)]))
    assert kernels.membrane_energy(dynamics.membrane, x) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize("stuff", [WOVEN, Cloth()])
@pytest.mark.parametrize("direction", ["warp", "weft"])
def test_a_sheet_bent_along_a_direction_settles_to_the_energy_of_its_rigidity(irregular, stuff, direction):
    side, n = 0.5, 14
    flat = cloth(side, side, n, irregular=irregular)
    h = ClothDynamics(Scene([Body(flat, material=stuff)])).hinges
    # the linear theory of plates, by dense least squares: a unit curvature, held at both ends, free everywhere else
    along = flat.vertices[:, 0 if direction == "weft" else 2]
    rows = np.zeros((len(h.vertices), flat.n_vertices))
    np.put_along_axis(rows, h.vertices.astype(int), h.weights / np.sqrt(h.compliance)[:, None], 1)
    free = np.abs(along) < side / 2 - 1.2 * side / (n - 1)
    target = rows @ (0.5 * along**2)
    settled = target - rows[:, free] @ np.linalg.lstsq(rows[:, free], target)[0]
    rigidity = stuff.bend_by_direction[direction == "weft"]
    # hinges at the ends are missing
    assert settled @ settled == pytest.approx(rigidity * side**2 * (1.0 - 1.0 / (n - 1)), rel=0.08)
