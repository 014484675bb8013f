"""Layers under pixels: an even number in every pose, in order, none dropped; and what lies between two of them."""

import re

import numpy as np
import pytest

from conftest import cases
from detect.made import box, octahedron, wedge
from kernels.test_raster import CUBE, cube_faces, icosphere
from pliant import Mesh
from pliant.detect.queries.depth_image import DepthCamera, LayeredDepthImage, layered_depth_image, screen_of
from pliant.kernels import jit
from pliant.kernels.geometry import raster
from pliant.kernels.queries import strips
from pliant.kernels.queries.depth_image import Screen


def image(x, faces, axis=2, size=8, low=(0.0, 0.0), scale=8.0) -> LayeredDepthImage:
    mesh = Mesh(x, faces)
    seen = np.array([x.min(0), x.max(0)])
    return DepthCamera(mesh).take(mesh.vertices, Screen(axis, *low, scale, scale, size, size), seen)


def wound(layers: LayeredDepthImage) -> np.ndarray:
    """(m,) how often a ray is inside after each layer."""
    sign = np.where(layers.face >= 0, 1, -1)
    before = np.concatenate([[0], np.cumsum(sign)])
    pixel = np.repeat(np.arange(layers.counts.size), layers.counts.ravel())
    return before[1:] - before[layers.start[pixel]]


def naive_layers(x, faces, axis, screen) -> list[list[tuple[float, int]]]:
    """Sorted (depth, face) of every pixel, by the rasteriser's own count of each face alone."""
    u, v = (axis + 1) % 3, (axis + 2) % 3
    points = np.column_stack(
        [(x[:, u] - screen.left) * screen.across, (x[:, v] - screen.top) * screen.down, x[:, axis]]
    )
    out: list[list[tuple[float, int]]] = [[] for _ in range(screen.width * screen.height)]
    for f in range(len(faces)):
        z, face, _ = raster.depth(points, faces[f : f + 1], screen.width, screen.height)
        for k in np.flatnonzero(face.ravel() == 0):
            out[k].append((z.ravel()[k], f))
    return [sorted(rows) for rows in out]


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("flipped", [False, True])
def test_a_cube_whose_diagonals_hit_pixel_centres_has_one_way_in_and_one_way_out_everywhere(axis, flipped):
    layers = image(CUBE, cube_faces(flipped), axis)
    assert (layers.counts == 2).all()
    assert layers.depth.reshape(-1, 2).tolist() == [[0.0, 1.0]] * 64
    sides = layers.face.reshape(-1, 2) >= 0
    assert (sides[:, 0] != sides[:, 1]).all()


@pytest.mark.compiled
def test_closed_meshes_have_an_even_number_of_layers_in_fifty_poses(rng):
    ball = icosphere(3)
    star = octahedron(1).vertices * (1.0 + 0.5 * (np.arange(18) % 2))[:, None], octahedron(1).faces
    shapes = [(CUBE - 0.5, cube_faces(True)), ball, star, (wedge().vertices, wedge().faces)]
    for k in range(50):
        x, faces = shapes[k % 4]
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if k >= 12 else np.eye(3)
        # axis-aligned ones on multiples of 1/32, so that centres of 64 pixels lie on vertices and on edges
        x = x @ turn if k >= 12 else np.round(x * 32.0) / 32.0
        layers = image(x, faces, k % 3, 64, (-1.0, -1.0), 32.0)
        assert (layers.counts % 2 == 0).all(), k
        assert (wound(layers)[layers.start[1:-1][layers.counts.ravel() > 0] - 1] == 0).all(), k


def test_layers_are_those_of_each_face_alone_in_order(rng):
    for k in range(cases(6)):
        x, faces = rng.uniform(-0.2, 1.2, (14, 3)), rng.integers(0, 14, (20, 3)).astype(np.int32)
        x = np.round(x * 16.0) / 16.0 if k % 2 else x
        screen = Screen(k % 3, 0.0, 0.0, 8.0, 8.0, 8, 7)
        mesh = Mesh(x, faces)
        layers = DepthCamera(mesh).take(mesh.vertices, screen, mesh.bounds)
        naive = naive_layers(x, faces, k % 3, screen)
        assert layers.counts.ravel().tolist() == [len(rows) for rows in naive]
        for pixel, rows in enumerate(naive):
            here = slice(layers.start[pixel], layers.start[pixel + 1])
            assert np.abs(layers.depth[here] - [z for z, _ in rows]).max(initial=0.0) < 1e-9
            assert (np.diff(layers.depth[here]) >= 0).all()
            own = np.where(layers.face[here] < 0, ~layers.face[here], layers.face[here])
            assert sorted(own) == sorted(f for _, f in rows)


def test_an_image_of_faces_in_strips_is_that_of_faces_one_by_one(rng):
    # the first image is of faces as they come; coordinates may lie row by row or one by one
    for k in range(cases(6)):
        x, faces = rng.uniform(-0.2, 1.2, (14, 3)), rng.integers(0, 14, (20, 3)).astype(np.int32)
        mesh = Mesh(np.round(x * 16.0) / 16.0 if k % 2 else x, faces)
        camera, screen = DepthCamera(mesh), Screen(k % 3, 0.0, 0.0, 2.0 + k, 2.0 + k, 6, 7)
        images = [
            camera.take(place, screen, mesh.bounds) for place in (mesh.vertices, np.asfortranarray(mesh.vertices))
        ]
        first, second = (image.start.tobytes() + image.depth.tobytes() + image.face.tobytes() for image in images)
        assert first == second


@pytest.mark.compiled
def test_where_many_small_faces_are_hit_none_is_dropped():
    # a strip that winds around a pixel centre: as many hits as corners, more than there is room for
    k = np.arange(20_000)
    x = np.array([[0.1, 0.1, 0.0], [0.9, 0.1, 0.0], [0.1, 0.9, 0.0]])[k % 3] + 1e-4 * k[:, None] * (0.0, 0.0, 1.0)
    mesh = Mesh(x, np.stack([k, k + 1, k + 2], 1)[:-2])
    camera, screen = DepthCamera(mesh), Screen(2, -0.3, -0.3, 2.0, 2.0, 2, 2)
    for _ in range(2):  # faces one by one, faces in strips
        layers = camera.take(mesh.vertices, screen, mesh.bounds)
        assert layers.counts.tolist() == [[0, 0], [0, mesh.n_faces]]
        assert (~layers.face == np.arange(mesh.n_faces)).all()


def test_faces_along_the_rays_are_skipped_by_all(rng):
    turned = box().vertices @ np.array([[0.8, -0.6, 0.0], [0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
    layers = image(turned, box().faces, 2, 64, (-1.0, -1.0), 32.0)
    flat = np.where(layers.face < 0, ~layers.face, layers.face)
    assert set(np.unique(layers.counts)) == {0, 2}
    assert np.abs(np.abs(turned[box().faces[flat]][:, :, 2]) - 0.5).max() < 1e-15


def test_vertices_on_pixel_centres_count_once():
    x, faces = icosphere(0)  # corners at +-1
    layers = image(x, faces, 2, 8, (-0.875, -0.875), 4.0)  # centres at multiples of 1/4, the poles among them
    assert (layers.counts % 2 == 0).all()
    assert layers.counts[3, 3] == 2
    assert layers.depth[layers.start[27] : layers.start[28]].tolist() == [-1.0, 1.0]


def test_at_one_depth_entries_come_before_exits():
    # a sheet of no thickness, whose way out has the lower number
    x = np.array([[0, 0, 0.5], [1, 0, 0.5], [1, 1, 0.5], [0, 1, 0.5]], float)
    layers = image(x, np.array([[0, 1, 2], [0, 2, 3], [0, 2, 1], [0, 3, 2]], np.int32))
    assert (layers.counts == 2).all()
    assert (layers.face.reshape(-1, 2)[:, 0] >= 0).all()
    assert (layers.face.reshape(-1, 2)[:, 1] < 0).all()
    assert layers.volume == 0.0


@pytest.mark.compiled
def test_at_silhouettes_a_ball_is_entered_before_it_is_left(rng):
    x, faces = icosphere(4)
    for k in range(4):
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0] if k else np.eye(3)
        layers = image(x @ turn, faces, k % 3, 128, (-1.0, -1.0), 64.0)
        assert set(np.unique(layers.counts)) <= {0, 2}
        deep = np.diff(layers.depth.reshape(-1, 2), axis=1)[:, 0]
        assert ((layers.face.reshape(-1, 2)[:, 0] >= 0) | (deep < 1e-15)).all()


def test_a_body_larger_than_what_is_looked_at_keeps_its_parity_on_the_border():
    layers = layered_depth_image(box(), axis=2, resolution=8, box=[[0.0, 0.0, -0.2], [0.3, 0.3, 0.1]])
    assert (layers.counts == 2).all()
    assert np.abs(layers.depth.reshape(-1, 2) - (-0.2, 0.1)).max() == 0.0
    assert layers.volume == pytest.approx(0.3**3, rel=1e-6)
    beside = layered_depth_image(box(), axis=2, resolution=8, box=[[0.0, 0.0, 0.6], [0.3, 0.3, 0.9]])
    assert (beside.counts == 2).all()
    assert beside.volume == 0.0


def test_no_layer_is_dropped_however_many_there_are():
    count, one = 60, box()
    x = np.concatenate([one.vertices * (1.0 + 0.01 * k) for k in range(count)])
    faces = np.concatenate([one.faces + 8 * k for k in range(count)])
    layers = image(x, faces, 2, 16, (-0.5, -0.5), 16.0)
    assert (layers.counts == 2 * count).all()
    assert wound(layers).max() == count
    again = image(one.vertices, one.faces, 2, 16, (-0.5, -0.5), 16.0)
    assert (again.counts == 2).all()


def test_far_from_the_origin_a_box_has_the_volume_it_has_at_the_origin():
    for centre in ((0.0, 0.0, 0.0), (148376.0, 1234.0, -223423.0)):
        layers = layered_depth_image(box((1.0, 0.5, 0.25), centre), resolution=32)
        assert layers.volume == pytest.approx(0.125, rel=1e-6)


def test_a_body_that_reaches_far_beyond_a_tiny_box_is_not_bent():
    # a wedge of 4 m whose slope is told at a micrometre: pixels become larger before corners leave their range
    seen = np.array([[1.0, -1e-6, 0.5], [1.0 + 1e-6, 1e-6, 0.5 + 1e-6]])
    mesh = Mesh(wedge(0.1).vertices * 4.0, wedge(0.1).faces)
    layers = layered_depth_image(mesh, axis=1, resolution=64, box=seen)
    assert layers.pixel >= 4.0 / raster.REACH
    assert (layers.counts == 2).all()
    assert screen_of(seen, 1, 64).across > layers.screen.across


@pytest.mark.compiled
def test_the_bits_do_not_depend_on_the_number_of_threads():
    mesh = octahedron(6)
    before, results = jit.threads(), []
    for count in (1, 2):
        jit.set_threads(count)
        camera, screen = DepthCamera(mesh), screen_of(mesh.bounds, 2, 96)
        for _ in range(2):  # faces one by one, faces in strips
            layers = camera.take(mesh.vertices, screen, mesh.bounds)
            results.append((layers.start.tobytes(), layers.depth.tobytes(), layers.face.tobytes()))
    jit.set_threads(before)
    assert results[:2] == results[2:]


@pytest.mark.parametrize(
    ("place", "size", "line"),
    [
        (np.zeros((5, 3)), (4, 4), "x is float64 (5, 3); expected float64 (6, 3)"),
        (np.zeros((6, 3), np.float32), (4, 4), "x is float32 (6, 3); expected float64 (6, 3)"),
        (np.zeros((6, 3)), (0, 4), "a screen of 0 by 4 pixels; expected 1 to 4096"),
        (np.zeros((6, 3)), (4, 4097), "a screen of 4 by 4097 pixels; expected 1 to 4096"),
    ],
)
def test_a_camera_refuses_what_its_kernels_would_read_past(place, size, line):
    mesh = octahedron(0)
    with pytest.raises(ValueError, match=re.escape(line)):
        DepthCamera(mesh).take(place, Screen(2, -1.0, -1.0, 2.0, 2.0, *size), mesh.bounds)


def test_a_fan_of_very_many_faces_is_drawn_as_ever_and_not_strung(monkeypatch):
    turn = np.linspace(0.0, 2.0 * np.pi, 5000, endpoint=False)
    x = np.concatenate([np.zeros((1, 3)), np.stack([np.cos(turn), np.sin(turn), 0.1 * np.cos(3.0 * turn)], 1)])
    k = np.arange(5000)
    mesh = Mesh(x, np.stack([0 * k, 1 + k, 1 + (k + 1) % 5000], 1))
    # which would look at all faces around the middle for each of them
    monkeypatch.setattr(strips, "arrange_in_strips", None)
    camera, screen = DepthCamera(mesh), screen_of(mesh.bounds, 2, 8)
    images = [camera.take(mesh.vertices, screen, mesh.bounds) for _ in range(3)]
    first, *others = [image.start.tobytes() + image.depth.tobytes() + image.face.tobytes() for image in images]
    assert others == [first, first]
    assert len(images[0].face) >= 40
