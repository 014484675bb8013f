"""Coverage is exact: every pixel along a shared edge once, and closed meshes an even number of times."""

import numpy as np
import pytest

from conftest import cases
from pliant.kernels import jit
from pliant.kernels.geometry import raster

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
QUADS = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def cube_faces(flipped: bool) -> np.ndarray:
    """12 triangles; `flipped` lays the diagonal of the far side across that of the near one."""
    out = []
    for q, (a, b, c, d) in enumerate(QUADS):
        if flipped and q == 4:
            a, b, c, d = b, c, d, a
        out += [(a, b, c), (a, c, d)]
    return np.array(out, np.int32)


def icosphere(level: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed ball: an octahedron split `level` times."""
    x = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(level):
        middle: dict[tuple[int, int], int] = {}

        def between(a, b, middle=middle):
            key = (min(a, b), max(a, b))
            if key not in middle:
                m = np.add(x[a], x[b])
                x.append(tuple(m / np.linalg.norm(m)))
                middle[key] = len(x) - 1
            return middle[key]

        split = []
        for a, b, c in faces:
            ab, bc, ca = between(a, b), between(b, c), between(c, a)
            split += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = split
    return np.array(x, float), np.array(faces, np.int32)


def naive_covers(corners: list[tuple[int, int]], row: int, column: int) -> bool:
    """Whether the pixel centre, moved right by a hair and down by a hair of a hair, is strictly inside; exact."""
    hair = 1 << 40
    x = (column * raster.SUB + raster.SUB // 2) * hair * hair + hair
    y = (row * raster.SUB + raster.SUB // 2) * hair * hair + 1
    values = []
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1]):
        values.append((bx - ax) * (y - ay * hair * hair) - (by - ay) * (x - ax * hair * hair))
    return all(v > 0 for v in values) or all(v < 0 for v in values)


@pytest.mark.parametrize("flipped", [False, True])
def test_a_cube_whose_diagonals_hit_pixel_centres_has_two_layers_everywhere(flipped):
    count = raster.layers(CUBE * 8.0, cube_faces(flipped), 8, 8)
    assert (count == 2).all()


def test_random_triangles_on_pixel_centres_and_corners_are_covered_as_the_perturbed_centre_says(rng):
    for _ in range(cases(60)):
        # multiples of half a pixel: corners, centres and edges through centres are the rule, not the exception
        corners = rng.integers(-2, 16, (3, 2)) / 2.0
        points = np.column_stack([corners, np.zeros(3)])
        count = raster.layers(points, np.array([[0, 1, 2]], np.int32), 7, 6)
        whole = [(int(x * raster.SUB), int(y * raster.SUB)) for x, y in corners]
        expected = [[naive_covers(whole, r, c) for c in range(7)] for r in range(6)]
        assert (count == np.array(expected)).all(), corners


def test_a_fan_of_triangles_covers_a_square_exactly_once(rng):
    for _ in range(cases(20)):
        inner = rng.integers(1, 16, 2) / 2.0
        points = np.array([[0, 0, 0], [8, 0, 0], [8, 8, 0], [0, 8, 0], [*inner, 0]], float)
        fan = np.array([[0, 1, 4], [1, 2, 4], [4, 2, 3], [3, 0, 4]], np.int32)
        assert (raster.layers(points, fan, 8, 8) == 1).all(), inner


def test_a_closed_ball_has_an_even_number_of_layers_in_every_pose(rng):
    x, faces = icosphere(2)
    for k in range(cases(12)):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if k else np.eye(3)
        points = x @ turn * 7.5 + 8.0
        assert (raster.layers(points, faces, 16, 16) % 2 == 0).all()


def test_faces_seen_edge_on_cover_nothing():
    points = np.array([[0, 0, 0], [8, 0, 1], [4, 0, 5], [3, 3, 0], [3, 3, 2], [3, 3, 9]], float)
    assert raster.layers(points, np.array([[0, 1, 2], [3, 4, 5]], np.int32), 8, 8).sum() == 0


def test_the_nearest_face_wins_and_its_weights_give_the_depth_of_its_plane():
    points = np.array([[0, 0, 5], [16, 0, 5], [0, 16, 5], [0, 0, 1], [16, 0, 9], [0, 16, 1]], float)
    z, face, bary = raster.depth(points, np.array([[0, 1, 2], [3, 4, 5]], np.int32), 8, 8)
    column = np.arange(8) + 0.5
    plane = np.broadcast_to(1 + column / 2, (8, 8))
    covered = np.add.outer(np.arange(8), np.arange(8)) < 15
    assert (face[covered] == np.where(plane < 5, 1, 0)[covered]).all()
    assert np.abs(z - np.minimum(plane, 5))[covered].max() < 1e-12
    assert np.abs(bary[..., 0] - (1 - (column[None] + column[:, None]) / 16))[covered].max() < 1e-6


def test_where_nothing_is_the_depth_is_infinite_and_the_face_minus_one():
    z, face, _ = raster.depth(np.array([[0, 0, 0], [4, 0, 0], [0, 4, 0]], float), np.array([[0, 1, 2]], np.int32), 6, 6)
    assert (np.isinf(z) == (face == -1)).all()
    assert np.isinf(z[5, 5])


def test_faces_that_reach_far_beyond_the_picture_fill_it_without_overflow():
    far = 3e5
    points = np.array([[-far, -far, 2], [far, -far, 2], [0, far, 2]], float)
    z, _, _ = raster.depth(points, np.array([[0, 1, 2]], np.int32), 8, 8)
    assert np.abs(z - 2).max() < 1e-12


def test_the_bits_do_not_depend_on_the_number_of_threads(rng):
    points = rng.uniform(-5, 45, (60, 3))
    faces = rng.integers(0, 60, (40, 3)).astype(np.int32)
    before = jit.threads()
    results = []
    for count in (1, before):
        jit.set_threads(count)
        results.append(b"".join(a.tobytes() for a in raster.depth(points, faces, 40, 40)))
    jit.set_threads(before)
    assert results[0] == results[1]
