"""Groups of faces that stand: no box is smaller than its group, and images are those of all faces, to the bit."""

import re

import numpy as np
import pytest

from conftest import cases
from detect.made import octahedron
from kernels.test_raster import CUBE, cube_faces, icosphere
from pliant import Mesh
from pliant.detect.queries.depth_image import DepthCamera, LayeredDepthImage, screen_of
from pliant.detect.queries.static_depth_image import StaticDepthCamera
from pliant.kernels import jit
from pliant.kernels.queries import static_depth_image as groups
from pliant.kernels.queries.depth_image import Screen


def bits(image: LayeredDepthImage) -> tuple[bytes, bytes, bytes]:
    return image.start.tobytes(), image.depth.tobytes(), image.face.tobytes()


def asked(mesh: Mesh) -> StaticDepthCamera:
    """One that asks groups however many they are."""
    camera = StaticDepthCamera(mesh)
    camera.many = 2.0
    return camera


def some_mesh(rng, kind: int) -> Mesh:
    """Faces anywhere, a ball, faces on the centres of pixels, slivers; and far from the origin."""
    if kind % 4 == 1:
        x, faces = icosphere(2)
        return Mesh(x @ np.linalg.qr(rng.normal(size=(3, 3)))[0], faces)
    x, faces = rng.uniform(-1.0, 1.0, (14, 3)), rng.integers(0, 14, (30, 3)).astype(np.int32)
    if kind % 4 == 2:
        x = np.round(x * 8.0) / 8.0
    if kind % 4 == 3:
        x[:, rng.integers(3)] *= rng.choice([0.0, 1e-9, 1e-300])
    return Mesh(x + (rng.choice([0.0, 148376.0], 3) if kind >= 8 else 0.0), faces)


def some_screen(rng, mesh: Mesh, axis: int) -> Screen:
    """Around the mesh, on a part of it or far beside it; pixels from a thousandth of it to a hundred times as large."""
    middle = mesh.vertices[rng.integers(mesh.n_vertices)] + rng.choice([0.0, 0.3, 40.0], p=[0.4, 0.5, 0.1])
    across, down = 2.0 ** rng.integers(-7, 10, 2)
    width, height = (int(n) for n in rng.integers(1, 20, 2))
    left, top = middle[(axis + 1) % 3] - 0.5 * width / across, middle[(axis + 2) % 3] - 0.5 * height / down
    return Screen(axis, float(left), float(top), float(across), float(down), width, height)


def test_an_image_of_groups_is_that_of_all_faces(rng):
    hits = 0
    for kind in range(cases(24)):
        mesh = some_mesh(rng, kind % 12)
        every, some = DepthCamera(mesh), asked(mesh)
        some._camera.take = None  # which would be all faces again
        for axis in (0, 1, 2):
            for _ in range(3):
                screen = some_screen(rng, mesh, axis)
                image = some.take(screen, mesh.bounds)
                assert bits(image) == bits(every.take(mesh.vertices, screen, mesh.bounds)), (kind, screen)
                hits += len(image.face)
    assert hits > 500


def test_boxes_are_never_smaller_than_the_corners_of_their_faces(rng):
    for kind in range(cases(12)):
        camera = StaticDepthCamera(some_mesh(rng, kind))
        corner, ends, box, origin, step = camera.groups
        used = ends[:, None] >> np.arange(10) & 1
        used = (used[:, :8] | used[:, 1:9] | used[:, 2:]).astype(bool)[:, None]
        x = corner.reshape(-1, 3, 8)
        low, high = (origin[:, None] + box[k : k + 3] * step[:, None] for k in (0, 3))
        slack = 1e-15 * np.abs(camera.x).max()  # of these very sums
        assert (low - slack <= np.where(used, x, np.inf).min(2).T).all()
        assert (high + slack >= np.where(used, x, -np.inf).max(2).T).all()
        assert int(sum(bin(bits).count("1") for bits in ends)) == camera._camera.mesh.n_faces


def test_groups_between_pixel_centres_are_not_asked():
    camera = StaticDepthCamera(octahedron(4))
    few, many = (screen_of(camera._camera.mesh.bounds, 2, size) for size in (4, 256))
    parts = [groups.estimated_fraction(camera.groups, screen, camera._chosen) for screen in (few, many)]
    assert parts[0] < 0.2
    assert parts[1] > 0.9


def test_where_most_groups_would_be_asked_all_faces_are():
    mesh = octahedron(2)
    camera, screen = StaticDepthCamera(mesh), screen_of(mesh.bounds, 1, 64)
    taken = []
    every = camera._camera.take
    camera._camera.take = lambda *args: taken.append(args) or every(*args)
    image = camera.take(screen, mesh.bounds)
    assert len(taken) == 1
    assert bits(image) == bits(DepthCamera(mesh).take(mesh.vertices, screen, mesh.bounds))


def test_faces_that_cover_many_pixels_are_filled_and_layers_beyond_the_box_moved_to_it():
    mesh = Mesh(CUBE, cube_faces(False))
    seen = np.array([[0.0, 0.0, 0.25], [1.0, 1.0, 0.5]])
    camera = asked(mesh)
    for clip, depths in ((True, [0.25, 0.5]), (False, [0.0, 1.0])):
        image = camera.take(Screen(2, 0.0, 0.0, 8.0, 8.0, 8, 8), seen, clip)
        assert image.depth.reshape(-1, 2).tolist() == [depths] * 64


def test_a_screen_far_beyond_what_boxes_tell_is_drawn_by_all_faces():
    mesh = Mesh(np.array([[-1e7, -1e7, 0.0], [1e7, -1e7, 0.0], [0.0, 1e7, 1.0]]), np.array([[0, 1, 2]]))
    screen = Screen(2, 0.0, 0.0, 1.0, 1.0, 4, 4)
    camera = asked(mesh)
    assert groups.estimated_fraction(camera.groups, screen, camera._chosen) == np.inf
    expected = DepthCamera(mesh).take(mesh.vertices, screen, mesh.bounds)
    assert bits(camera.take(screen, mesh.bounds)) == bits(expected)
    assert len(expected.face) == 16


def test_what_stands_is_a_copy():
    mesh = octahedron(1)
    x = mesh.vertices + 0.125
    camera, screen = StaticDepthCamera(mesh, x), screen_of(mesh.bounds, 0, 4)
    before = bits(DepthCamera(mesh).take(x.copy(), screen, mesh.bounds))
    x[:] = 0.0
    assert bits(camera.take(screen, mesh.bounds)) == before


def test_a_fan_that_is_not_strung_is_cut_into_groups_too():
    turn, k = np.linspace(0.0, 2.0 * np.pi, 5000, endpoint=False), np.arange(5000)
    x = np.concatenate([np.zeros((1, 3)), np.stack([np.cos(turn), np.sin(turn), 0.1 * np.cos(3.0 * turn)], 1)])
    mesh = Mesh(x, np.stack([0 * k, 1 + k, 1 + (k + 1) % 5000], 1))
    screen = screen_of(mesh.bounds, 2, 8)
    image = asked(mesh).take(screen, mesh.bounds)
    assert bits(image) == bits(DepthCamera(mesh).take(mesh.vertices, screen, mesh.bounds))
    assert len(image.face) >= 40


@pytest.mark.compiled
def test_the_bits_do_not_depend_on_the_number_of_threads():
    mesh = octahedron(6)
    before, results = jit.threads(), []
    camera = asked(mesh)
    for size in (16, 96):
        screen = screen_of(mesh.bounds, 2, size)
        expected = bits(DepthCamera(mesh).take(mesh.vertices, screen, mesh.bounds))
        for count in (1, 2):
            jit.set_threads(count)
            results.append(bits(camera.take(screen, mesh.bounds)) == expected)
    jit.set_threads(before)
    assert results == [True] * 4


def test_a_camera_refuses_what_its_kernels_would_read_past():
    mesh = octahedron(0)
    with pytest.raises(ValueError, match=re.escape("a screen of 4 by 4097 pixels; expected 1 to 4096")):
        StaticDepthCamera(mesh).take(Screen(2, -1.0, -1.0, 2.0, 2.0, 4, 4097), mesh.bounds)
    with pytest.raises(ValueError, match=re.escape("x")):
        StaticDepthCamera(mesh, np.zeros((5, 3)))
