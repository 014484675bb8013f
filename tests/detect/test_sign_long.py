"""RELIABILITY D1 at full size: the side of 50 000 points, nodes and samples a mesh, judged by the winding number."""

import numpy as np
import pytest

import pliant
from conftest import DATA, SEED, cases
from detect.made import sliver_ball, spike, spiky_star, thin_plate, wedge
from pliant.detect.queries.closest_point import ClosestPoints, surface_of
from pliant.kernels import vec
from pliant.kernels.jit import kernel, prange
from pliant.kernels.queries.surface import winding_number

pytestmark = [pytest.mark.long, pytest.mark.compiled]
FILES = (
    "meshes/armadillo_29170.obj",
    "meshes/bunny_closed_6598.obj",
    "meshes/cube_48.obj",
    "meshes/fish_1886.obj",
    "meshes/penguin_6720.obj",
    "meshes/skull_10312.obj",
    "meshes/sphere_1280.obj",
    "meshes/spot_1654.obj",
    "meshes/torus_4608.obj",
    "human/body.obj",
    "morph/fsaverage5_pial_lh.ply",
)
MADE = {
    **{f"star {h:g}": lambda h=h: spiky_star(h, 2) for h in (0.2, 0.6, 2.0, 5.0, 20.0)},
    "star of all faces": lambda: spiky_star(3.0, 2, 1),
    "spike": spike,
    "slivers": sliver_ball,
    "thin plate": thin_plate,
    "wedge": wedge,
    "thin wedge": lambda: wedge(1e-5),
    "bust": lambda: pliant.shapes.bust(0.5),
}


@kernel(parallel=True)
def windings(surface, points, out):
    for i in prange(len(points)):
        out[i] = winding_number(surface, vec.load(points, i))


def around(mesh, count, rng):
    """Half of the points close to edges and vertices, half anywhere in a box a little larger than the mesh."""
    faces = mesh.vertices[mesh.faces[rng.integers(0, mesh.n_faces, count // 2)]]
    on = np.einsum("ij,ijk->ik", rng.dirichlet(0.05 * np.ones(3), count // 2), faces)
    scale = mesh.size * 10.0 ** rng.uniform(-5, -1, (count // 2, 1))
    near = on + rng.normal(size=(count // 2, 3)) * scale
    low, high = mesh.bounds
    return np.concatenate([near, low - 0.1 * mesh.size + rng.random((count // 2, 3)) * (high - low + 0.2 * mesh.size)])


def named(name):
    if name in MADE:
        return MADE[name]()
    if not DATA.is_dir():
        pytest.skip("no ../shared/data beside the checkout")
    return pliant.load(DATA / name)


@pytest.mark.parametrize("name", [*FILES, *MADE])
def test_the_side_of_every_point_is_that_of_its_winding_number(name):
    mesh = named(name)
    points = around(mesh, cases(50_000), np.random.default_rng(SEED))
    distance = ClosestPoints(mesh).query(points)[0]
    winding = np.empty(len(points))
    windings(surface_of(mesh.welded), points, winding)
    judged = np.abs(distance) > 1e-6 * mesh.size
    assert ((distance < 0.0) != (winding > 0.5))[judged].sum() == 0


@pytest.mark.parametrize("name", [*FILES, *MADE])
def test_no_node_and_no_sample_of_a_field_has_the_wrong_sign(name):
    mesh, rng = named(name), np.random.default_rng(SEED)
    field = pliant.DistanceField.bake(mesh, 96)
    values, origin, h = field.values.ravel(), np.array(field.origin), field.spacing
    nodes = rng.choice(np.flatnonzero(np.abs(values) > 1e-6 * mesh.size), cases(50_000))
    points = origin + h * np.stack(np.unravel_index(nodes, field.shape), 1)
    # half of what is around the surface by up to the band lies beyond the field's own error of 0.866 cells
    faces = mesh.vertices[mesh.faces[rng.integers(0, mesh.n_faces, 3 * cases(50_000))]]
    near = np.einsum("ij,ijk->ik", rng.dirichlet(0.2 * np.ones(3), len(faces)), faces)
    near = near + rng.normal(size=near.shape) * 1.2 * h
    said, true = field.sample(near)[0], ClosestPoints(mesh).query(near)[0]
    judged = np.flatnonzero(~np.isnan(said) & (np.abs(true) > 0.866 * h))[: cases(50_000)]
    told = np.concatenate([values[nodes], said[judged]])
    winding = np.empty(len(told))
    windings(surface_of(mesh.welded), np.concatenate([points, near[judged]]), winding)
    print(f"\n{name}: {len(nodes)} nodes, {len(judged)} samples")
    assert ((told < 0.0) != (winding > 0.5)).sum() == 0
    valid = ~np.isnan(said)
    assert np.abs(said - true)[valid].max() <= 0.8661 * h
