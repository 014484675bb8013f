"""Flips and refinement keep what must be kept."""

import numpy as np

from pliant.mesh import Mesh
from pliant.shapes import ball, cloth
from pliant.shapes.tidy import flipped_to_delaunay, refined
from shapes.quality import is_one_closed_body, smallest_angles


def test_refining_a_patch_keeps_the_body_closed_and_its_shape(rng: np.random.Generator) -> None:
    mesh = ball(1.0, 2)
    for mask in (mesh.vertices[mesh.faces][:, 0, 1] > 0.3, rng.random(mesh.n_faces) < 0.2):
        fine = Mesh(*refined(mesh.vertices, mesh.faces, mask))
        assert is_one_closed_body(fine)
        assert np.isclose(fine.volume, mesh.volume, rtol=1e-12)
        assert fine.n_faces > mesh.n_faces + 3 * mask.sum() - 1


def test_flips_make_a_jittered_cloth_delaunay_and_keep_its_area(rng: np.random.Generator) -> None:
    mesh = cloth(resolution=20)
    x = mesh.vertices.copy()
    inner = ~mesh.topology.boundary_vertices
    x[inner] += rng.uniform(-0.3, 0.3, (inner.sum(), 3)) * (1, 0, 1) / 19
    after = Mesh(x, flipped_to_delaunay(x, mesh.faces, rounds=20))
    assert not after.issues
    assert np.isclose(after.face_areas.sum(), 1.0)
    assert np.array_equal(flipped_to_delaunay(x, after.faces), after.faces)
    assert smallest_angles(after).min() > smallest_angles(mesh.moved(x)).min()
    # Delaunay: no vertex in the circle around a face (checked against all vertices)
    for a, b, c in x[after.faces][:, :, [0, 2]]:
        m = 2 * np.array([b - a, c - a])
        centre = np.linalg.solve(m, [b @ b - a @ a, c @ c - a @ a])
        assert np.linalg.norm(x[:, [0, 2]] - centre, axis=1).min() > np.linalg.norm(a - centre) * (1 - 1e-5)
