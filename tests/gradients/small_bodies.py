"""Small bodies and points around them, for comparisons with exact distances."""

import numpy as np

import pliant

TET = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
BOX = pliant.shapes.box((1.0, 1.0, 1.0), 1)


def tetrahedron(rng, scale=1.0):
    """(4,3) corners with positive volume."""
    while True:
        x = scale * rng.normal(size=(4, 3))
        volume = np.linalg.det(x[1:] - x[0])
        if abs(volume) > 0.1 * scale**3:
            return x if volume > 0 else x[[0, 2, 1, 3]]


def case(rng, kind):
    """Vertices, faces and a point: of a tetrahedron, an open soup, a bumpy box, a sheet, or one with defects."""
    if kind == 0:
        x, faces = tetrahedron(rng), TET
    elif kind == 1:
        x, faces = rng.normal(size=(7, 3)), rng.permuted(np.tile(np.arange(7), (4, 1)), axis=1)[:, :3]
    elif kind == 2:
        x, faces = BOX.vertices + 0.1 * rng.normal(size=BOX.vertices.shape), BOX.faces
    elif kind == 3:  # slivers, faces without area, vertices at the same place
        x, faces = tetrahedron(rng), np.concatenate([TET, [[0, 1, 1], [4, 5, 6], [2, 3, 7]]])
        on = x[1] + rng.normal(size=(1, 1)) * 1e-9 * (x[2] - x[1])
        x = np.concatenate([x, 2.0 + x[:1], 2.0 + x[:1] + [[1, 0, 0]], 2.0 + x[:1] + [[0.5, 1e-8, 0]], on])
    else:  # large coordinates, small body
        x, faces = 100.0 + tetrahedron(rng, 0.01), TET
    low, high = x[:4].min(0), x[:4].max(0)
    point = rng.uniform(low - 0.5 * (high - low), high + 0.5 * (high - low))
    return x, np.asarray(faces), point
