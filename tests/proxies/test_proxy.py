"""Proxies: clean manifold sheets of any garment, thick or not."""

import dataclasses

import numpy as np
import pytest

import pliant
from pliant import Mesh, shapes
from pliant.mesh.boundaries import boundary_loops
from pliant.mesh.marks import Marks
from pliant.proxies.proxy import Proxy
from proxies.garments import joined, sheet, thickened, tube


def check(made: Proxy, count: int, loops: int) -> None:
    """A manifold of about this number of vertices and triangles of similar size, with this number of openings."""
    mesh = made.mesh
    top = mesh.topology
    corners = mesh.vertices[mesh.faces]
    squares = ((corners - np.roll(corners, 1, 1)) ** 2).sum((1, 2))
    assert abs(mesh.n_vertices / count - 1.0) < 0.15
    assert (top.n_faces_at_edge <= 2).all()
    assert (top.orientation_sum[top.n_faces_at_edge == 2] == 0).all()
    assert len(boundary_loops(mesh)) == loops
    assert (4.0 * np.sqrt(3.0) * mesh.face_areas / squares).min() > 0.4  # 1: equilateral
    assert made.intersecting_pairs == 0


def test_a_proxy_has_as_many_vertices_as_asked_for_on_the_surface_and_the_same_openings() -> None:
    garment = tube(96, 48)
    made = pliant.proxy(garment, 300)
    check(made, 300, 2)
    away = np.hypot(made.mesh.vertices[:, 0], made.mesh.vertices[:, 2])
    assert np.abs(away - 0.15).max() < 0.0005
    loops = [sorted(loop.length for loop in boundary_loops(mesh)) for mesh in (garment, made.mesh)]
    assert np.allclose(*loops, rtol=0.02)


def test_corners_of_a_panel_are_kept() -> None:
    made = pliant.proxy(sheet(0.6, 0.4, 61, 41), 200)
    check(made, 200, 1)
    for x, z in ((0.0, 0.0), (0.6, 0.0), (0.6, 0.4), (0.0, 0.4)):
        assert np.abs(made.mesh.vertices - (x, 0.0, z)).sum(1).min() == 0.0


@pytest.mark.parametrize("thickness", [0.001, 0.008])
def test_two_layers_and_a_rim_become_their_middle_surface(thickness: float) -> None:
    middle = tube(72, 36)
    made = pliant.proxy(thickened(middle, thickness), 300)
    check(made, 300, 2)
    assert made.merged == 1
    assert abs(made.thickness / thickness - 1.0) < 0.03
    assert np.abs(pliant.closest_point(middle, made.mesh.vertices)[0]).max() < 0.05 * thickness


def test_a_closed_surface_without_layers_stays_closed() -> None:
    made = pliant.proxy(shapes.ball(0.3, 4), 300)
    check(made, 300, 0)
    assert made.merged == 0


def test_buttons_are_left_out() -> None:
    button = shapes.ball(0.006, 1)
    buttons = [button.moved(button.vertices + np.array([0.0, 0.05 * k, 0.155])) for k in range(1, 7)]
    made = pliant.proxy(joined(thickened(tube(72, 36), 0.003), *buttons), 300)
    check(made, 300, 2)
    assert (made.merged, made.left_out, made.wrap.shells) == (1, 6, 6)


def with_duplicates(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, np.concatenate([mesh.faces, mesh.faces[::3], mesh.faces[::5, ::-1]]))


def with_degenerate_faces(mesh: Mesh) -> Mesh:
    """Faces of one point and of a line, and a vertex in the middle of an edge between two faces of no area."""
    x, faces = mesh.vertices, mesh.faces.copy()
    a, b, c = faces[100]
    faces[100] = a, len(x), c
    more = [[len(x), b, c], [b, len(x), a], [5, 5, 5], [0, 0, 1]]
    return Mesh(np.concatenate([x, [0.5 * (x[a] + x[b])]]), np.concatenate([faces, more]))


def turned_at_random(mesh: Mesh) -> Mesh:
    back = np.random.default_rng(2).random(mesh.n_faces) < 0.3
    return Mesh(mesh.vertices, np.where(back[:, None], mesh.faces[:, ::-1], mesh.faces))


def with_a_ruffle(mesh: Mesh) -> Mesh:
    """A ring of faces attached to the middle of the tube, where three faces meet at every edge."""
    rings = 48
    ring = np.arange(rings // 2, mesh.n_vertices, rings)
    k = np.arange(len(ring))
    outer, after = mesh.n_vertices + k, np.roll(k, -1)
    ruffle = [np.stack([ring, ring[after], outer[after]], 1), np.stack([ring, outer[after], outer], 1)]
    x = np.concatenate([mesh.vertices, mesh.vertices[ring] * (1.2, 1.0, 1.2)])
    return Mesh(x, np.concatenate([mesh.faces, *ruffle]))


def with_a_missing_face(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices, np.delete(mesh.faces, 1000, 0))


def with_tiny_triangles(mesh: Mesh) -> Mesh:
    return mesh.moved(
        np.column_stack([mesh.vertices[:, 0], 0.4 * (mesh.vertices[:, 1] / 0.4) ** 6, mesh.vertices[:, 2]])
    )


def as_soup(mesh: Mesh) -> Mesh:
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3))


DEFECTS = (
    with_duplicates,
    with_degenerate_faces,
    turned_at_random,
    with_a_ruffle,
    with_a_missing_face,
    with_tiny_triangles,
    as_soup,
)


@pytest.mark.parametrize("spoil", DEFECTS)
def test_a_garment_with_defects_has_a_clean_proxy_that_carries_all_of_it(spoil) -> None:
    garment = spoil(tube(96, 48))
    made = pliant.proxy(garment, 300)
    check(made, 300, 2)
    assert np.abs(made.wrap.place(made.mesh.vertices) - garment.vertices).max() < 1e-12


def test_a_garment_smaller_than_its_proxy_is_simulated_itself() -> None:
    garment = tube(16, 8)
    made = pliant.proxy(garment, 5000)
    assert made.is_garment
    assert str(made) == "tube itself: it has 128 vertices"


def test_the_proxy_of_a_worn_garment_does_not_cut_into_the_body() -> None:
    garment, body = tube(96, 48), shapes.ball(0.149, 4, centre=(0.0, 0.2, 0.0))

    def least(mesh: Mesh) -> float:
        points = np.concatenate([mesh.vertices, mesh.vertices[mesh.topology.edges].mean(1)])
        return float(pliant.closest_point(body, points)[0].min())

    plain, worn = (pliant.proxy(garment, 100, body=each).mesh for each in (None, body))
    assert least(garment) > 0.0 > least(plain)
    assert least(worn) > 0.0


def test_groups_colours_and_the_direction_of_the_warp_are_taken_over() -> None:
    garment = sheet(0.6, 0.4, 61, 41)
    x, _, z = garment.vertices.T
    given = Marks({"hem": np.flatnonzero(z == 0.0).astype(np.int32)}, {"_PIN": x}, np.column_stack([x, x, z]))
    turned = np.stack([z, -x], 1)[garment.faces]  # u along z
    made = pliant.proxy(dataclasses.replace(garment, uv=turned, marks=given), 200).mesh
    assert (made.vertices[made.marks.groups["hem"], 2] < 0.006).all()
    assert len(made.marks.groups["hem"]) > 5
    assert np.abs(made.marks.attributes["_PIN"] - made.vertices[:, 0]).max() < 0.006
    assert np.abs(made.uv - made.vertices[made.faces][:, :, [2, 0]] * (1.0, -1.0)).max() < 1e-9


def test_the_same_garment_has_the_same_proxy() -> None:
    one, two = (pliant.proxy(tube(96, 48), 300).mesh for _ in range(2))
    assert (one.vertices == two.vertices).all()
    assert (one.faces == two.faces).all()


def test_what_is_no_surface_is_refused() -> None:
    line = Mesh(np.column_stack([np.arange(50.0), np.zeros((50, 2))]), [[k, k + 1, k] for k in range(49)])
    with pytest.raises(ValueError, match="no triangle with three different corners"):
        pliant.proxy(line, 20)
    flat = Mesh(line.vertices, [[k, k + 1, k + 2] for k in range(48)])
    with pytest.raises(ValueError, match="has no area"):
        pliant.proxy(flat, 20)
    with pytest.raises(ValueError, match="vertices = 3"):
        pliant.proxy(tube(), 3)
    with pytest.raises(ValueError, match="not a surface of triangles"):
        pliant.proxy(shapes.bar((0.2, 0.1, 0.1), (2, 2, 2)), 20)
