"""Faces in strips: every one once, its corners in order."""

import numpy as np

from conftest import cases
from kernels.test_raster import icosphere
from pliant import validate
from pliant.kernels.mesh import adjacency
from pliant.kernels.queries import strips


def strung(faces, n):
    faces = validate.read_only(faces)  # as those of a mesh
    count = np.zeros(n + 1, np.int32)
    adjacency.count_faces(faces, count)
    start, ring = np.cumsum(count, dtype=np.int32), np.empty(faces.size, np.int32)
    adjacency.fill_rings(faces, start.copy(), ring)
    strip, owner = np.full(faces.size, -1, np.int32), np.full(faces.size, -1, np.int32)
    length = strips.arrange_in_strips(faces, start, ring, strip, owner)
    return strip[:length], owner[:length]


def named(strip, owner):
    """Numbers (m,) of faces and their corners (m,3), by what is written of them."""
    k = np.flatnonzero(owner >= 0)
    i, j = owner[k] & 3, owner[k] >> 2 & 3
    return owner[k] >> 4, np.stack([strip[k - 2 + i], strip[k - 2 + j], strip[k + 1 - i - j]], 1)


def test_every_face_is_in_a_strip_once_with_its_corners_in_order(rng):
    # anyhow: faces twice, edges of many faces, corners twice in a face
    for _ in range(cases(30)):
        faces = rng.integers(0, 7, (25, 3)).astype(np.int32)
        own, corners = named(*strung(faces, 7))
        assert np.sort(own).tolist() == list(range(25))
        assert corners.tolist() == faces[own].tolist()


def test_a_ball_is_named_by_little_more_than_a_corner_a_face():
    x, faces = icosphere(2)
    assert len(strung(faces, len(x))[0]) < 1.5 * len(faces)
