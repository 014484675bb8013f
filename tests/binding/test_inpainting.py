"""Laplacian and inpainting against dense solutions, and on meshes with every defect."""

import numpy as np
import pytest

import pliant
from pliant.binding.inpainting import inpaint, largest_influences, smooth_seam
from pliant.binding.laplacian import LARGEST, SMALLEST, laplacian


def sheet(rng, n=5):
    """A wavy sheet of nearly equilateral triangles."""
    i, j = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    x = np.stack([i + 0.5 * j, 0.1 * rng.normal(size=(n, n)), 0.87 * j], 2).reshape(-1, 3)
    a = (i * n + j)[:-1, :-1].ravel()
    return x, np.concatenate([np.stack([a, a + n, a + 1], 1), np.stack([a + 1, a + n, a + n + 1], 1)])


def dense_energy(x, faces):
    """The energy matrix by angles, one triangle at a time."""
    n = len(x)
    stiffness, area = np.zeros((n, n)), np.zeros(n)
    for face in faces:
        area[face] += np.linalg.norm(np.cross(x[face[1]] - x[face[0]], x[face[2]] - x[face[0]])) / 6.0
        for k in range(3):
            i, j, o = face[k], face[(k + 1) % 3], face[(k + 2) % 3]
            u, v = x[i] - x[o], x[j] - x[o]
            angle = np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v))
            for a, b, s in ((i, j, -1), (j, i, -1), (i, i, 1), (j, j, 1)):
                stiffness[a, b] += s * 0.5 / np.tan(angle)
    return stiffness + area.sum() * stiffness @ np.diag(1.0 / area) @ stiffness


def test_the_solution_is_that_of_a_dense_solve(rng):
    x, faces = sheet(rng)
    energy = dense_energy(x, faces)
    known = np.zeros(len(x), bool)
    known[rng.permutation(len(x))[:12]] = True
    weights = np.zeros((len(x), 3))
    # smooth data: the minimiser stays within 0..1, so that clipping does nothing
    given = 1.0 / (1.0 + np.exp(-0.4 * (x[:, :1] - 3.0)))
    weights[known] = np.column_stack([0.2 + 0.4 * given, 0.4 - 0.4 * given, np.full(len(x), 0.4)])[known]
    expected = np.linalg.solve(energy[np.ix_(~known, ~known)], -energy[np.ix_(~known, known)] @ weights[known])
    assert expected.min() > 0.0
    found = inpaint(laplacian(x, faces), weights, known, ~known)
    np.testing.assert_allclose(found[~known], expected, atol=1e-9)


def test_a_change_of_the_solution_costs_energy(rng):
    x, faces = sheet(rng)
    known = np.arange(len(x)) % 3 == 0
    weights = np.zeros((len(x), 1))
    weights[known] = 1.0
    weights = inpaint(laplacian(x, faces), weights, known, ~known)
    np.testing.assert_allclose(weights, 1.0, atol=1e-9)  # constants have no energy
    energy = laplacian(x, faces).energy().toarray()
    assert np.linalg.eigvalsh(energy)[0] > -1e-9
    assert np.linalg.matrix_rank(energy, tol=1e-9) == len(x) - 1


@pytest.mark.parametrize("defect", ["sliver", "point", "repeated corner", "duplicate", "non-manifold", "tiny", "huge"])
def test_defects_leave_weights_finite_and_between_the_given_ones(rng, defect):
    x, faces = sheet(rng)
    last = len(x) - 1
    if defect == "sliver":
        x[7] = 0.5 * (x[6] + x[8])
    elif defect == "point":
        x[faces[4]] = x[faces[4][0]]
    elif defect == "repeated corner":
        faces = np.concatenate([faces, [[3, 3, 4], [5, 5, 5]]])
    elif defect == "duplicate":
        faces = np.concatenate([faces, faces[:6], faces[:3, ::-1]])
    elif defect == "non-manifold":
        faces = np.concatenate([faces, [[0, 6, last], [0, 6, 12], [6, 12, last]]])
    elif defect == "tiny":
        x *= 1e-9
    else:
        x *= 1e9
    operator = laplacian(x, faces)
    edges = -operator.stiffness.toarray()[np.triu_indices(len(x), 1)]
    edges = edges[edges != 0.0]
    assert SMALLEST <= edges.min() <= edges.max() <= LARGEST
    known = np.zeros(len(x), bool)
    known[[0, 1, 2, last, last - 1]] = True
    weights = np.zeros((len(x), 2))
    weights[[0, 1, 2], 0] = weights[[last, last - 1], 1] = 1.0
    found = inpaint(operator, weights, known, ~known)
    assert np.isfinite(found).all()
    assert found.min() >= 0.0
    np.testing.assert_allclose(found.sum(1), 1.0, atol=1e-12)


def test_smoothing_changes_only_vertices_near_the_seam_and_keeps_sums():
    mesh = pliant.shapes.cloth(1.0, 1.0, 21)
    edges = mesh.topology.edges
    lengths = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    unknown = mesh.vertices[:, 0] > 0.01
    step = np.where(unknown, 1.0, 0.0)
    weights = np.column_stack([step, 1.0 - step])
    out = smooth_seam(edges, lengths, weights, unknown, 0.1, 8)
    moved = np.abs(out - weights).max(1) > 0.0
    assert moved.any()
    assert np.abs(mesh.vertices[moved, 0]).max() < 0.16
    np.testing.assert_allclose(out.sum(1), 1.0, atol=1e-12)
    jump = [np.abs(w[edges[:, 0]] - w[edges[:, 1]]).max() for w in (weights, out)]
    assert jump[1] < 0.5 * jump[0]
    assert smooth_seam(edges, lengths, weights, unknown, 0.1, 0) is weights


def test_pruning_keeps_the_largest_weights(rng):
    weights = rng.dirichlet(np.full(9, 0.6), 50)
    joints, kept, lost = largest_influences(weights, 4)
    for row, chosen, share, rest in zip(weights, joints, kept, lost):
        order = np.argsort(-row)[:4]
        assert set(order) == set(chosen)
        np.testing.assert_allclose(share, row[chosen] / row[order].sum())
        np.testing.assert_allclose(rest, 1.0 - row[order].sum(), atol=1e-12)
