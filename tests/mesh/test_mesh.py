"""Mesh: what it derives from vertices and faces, against cases done by hand."""

import dataclasses
import itertools

import numpy as np
import pytest

from pliant.mesh import Mesh

TETRA = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
OUT = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
CORNERS = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
QUADS = np.array([(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])


def cube(turns: int = 0) -> Mesh:
    """The unit cube; bit q of `turns` lays the diagonal of side q the other way."""
    faces = []
    for q, quad in enumerate(QUADS):
        a, b, c, d = np.roll(quad, turns >> q & 1)
        faces += [(a, b, c), (a, c, d)]
    return Mesh(CORNERS, faces)


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


@pytest.mark.parametrize("turns", range(0, 64, 7))
def test_the_pseudonormal_at_a_cubes_corner_is_its_diagonal_however_the_sides_are_cut(turns: int) -> None:
    mesh = cube(turns)
    assert mesh.vertex_normals == pytest.approx((2.0 * CORNERS - 1.0) / np.sqrt(3.0), abs=1e-15)


def test_the_pseudonormal_of_an_edge_is_the_mean_of_its_two_faces() -> None:
    mesh = cube()
    ends = CORNERS[mesh.topology.edges]
    middle = ends.mean(1) - 0.5
    # a side's middle lies half-way between two faces, a diagonal's at the centre of one
    assert mesh.edge_normals == pytest.approx(middle / np.linalg.norm(middle, axis=1)[:, None], abs=1e-15)


def test_the_apex_of_a_spike_knows_outside_where_its_faces_do_not() -> None:
    base = [(0.1, 0.0, 0.0), (-0.05, 0.0866, 0.0), (-0.05, -0.0866, 0.0)]
    spike = Mesh([*base, (0.0, 0.0, 1.0)], [(0, 1, 3), (1, 2, 3), (2, 0, 3), (0, 2, 1)])
    outside = np.array([0.3, 0.0, 1.05]) - spike.vertices[3]
    by_face = spike.face_normals[:3] @ outside
    assert by_face == pytest.approx([0.152, -0.297, 0.152], abs=1e-3)
    assert spike.vertex_normals[3] @ outside > 0


def test_a_knife_edge_points_along_the_blade() -> None:
    w = 5e-4  # half of a wedge of 1e-3
    blade = Mesh([(0, 0, 0), (0, 1, 0), (-1, 0, w), (-1, 0, -w)], [(0, 1, 2), (1, 0, 3)])
    (sharp,) = np.flatnonzero((blade.topology.edges == (0, 1)).all(1))
    assert blade.edge_normals[sharp] == pytest.approx([1.0, 0.0, 0.0], abs=1e-12)


def test_a_border_edge_has_the_normal_of_its_one_face() -> None:
    mesh = Mesh(TETRA, [[0, 1, 2]])
    assert (mesh.edge_normals == (0.0, 0.0, 1.0)).all()


def test_faces_back_to_back_have_no_pseudonormal() -> None:
    mesh = Mesh(TETRA, [[0, 1, 2], [0, 2, 1]])
    assert (mesh.edge_normals == 0.0).all()
    assert (mesh.vertex_normals == 0.0).all()


def test_a_rotated_mesh_has_rotated_normals(rng: np.random.Generator) -> None:
    mesh, turn = cube(21).moved(rng.normal(size=(8, 3))), rotation(rng)
    turned = mesh.moved(mesh.vertices @ turn.T)
    for name in ("face_normals", "edge_normals", "vertex_normals"):
        assert getattr(turned, name) == pytest.approx(getattr(mesh, name) @ turn.T, abs=1e-12)


@pytest.mark.parametrize("power", [-40, -20, 20, 38])
def test_scaling_by_a_power_of_two_changes_no_bit_of_the_normals(rng: np.random.Generator, power: int) -> None:
    mesh = cube(21).moved(rng.normal(size=(8, 3)))
    other = mesh.moved(mesh.vertices * 2.0**power)
    for name in ("face_normals", "edge_normals", "vertex_normals"):
        assert getattr(other, name).tobytes() == getattr(mesh, name).tobytes()
    assert (other.face_areas == mesh.face_areas * 4.0**power).all()
    assert other.issues.summary() == mesh.issues.summary()


@pytest.mark.parametrize("far", [1e6, 1e9, 1e11])
def test_a_mesh_far_away_is_the_same_mesh(far: float) -> None:
    mesh = cube().moved(CORNERS + np.array([far, 0.0, -far]))
    assert not mesh.issues.summary()
    assert mesh.volume == pytest.approx(1.0, rel=1e-12)
    assert mesh.vertex_normals.tobytes() == cube().vertex_normals.tobytes()


def test_the_volume_is_exact_and_changes_its_sign_with_the_faces() -> None:
    assert Mesh(TETRA, OUT).volume == pytest.approx(1.0 / 6.0, rel=1e-15)
    assert Mesh(TETRA, OUT[:, ::-1]).volume == pytest.approx(-1.0 / 6.0, rel=1e-15)
    assert cube().volume == pytest.approx(1.0, rel=1e-15)


def test_the_box_holds_every_vertex_used_or_not() -> None:
    mesh = Mesh([*TETRA, (-3.0, 0.0, 0.0)], OUT)
    assert mesh.bounds.tolist() == [[-3.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    assert mesh.size == np.sqrt(18.0)


def test_edges_come_once_each_lower_end_first_in_order() -> None:
    edges = cube().topology.edges
    assert len(edges) == 18
    assert (edges[:, 0] < edges[:, 1]).all()
    assert edges.tolist() == sorted(map(list, {tuple(e) for e in edges.tolist()}))


def test_edge_j_of_a_face_joins_its_corners_j_and_j_plus_1() -> None:
    mesh = cube(42)
    ends = np.sort(np.stack([mesh.faces, np.roll(mesh.faces, -1, 1)], 2), 2)
    assert (mesh.topology.edges[mesh.topology.face_edges] == ends).all()


def test_a_hinge_is_an_edge_and_the_two_corners_across_it() -> None:
    mesh = Mesh([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], [(0, 1, 2), (0, 2, 3)])
    assert mesh.topology.hinges.tolist() == [[0, 2, 1, 3]]


def test_every_inner_edge_has_a_hinge_made_of_its_two_faces() -> None:
    mesh = cube(9)
    faces = {frozenset(f) for f in mesh.faces.tolist()}
    hinges = mesh.topology.hinges.tolist()
    assert len(hinges) == 18
    assert all({frozenset((a, b, c)), frozenset((a, b, d))} <= faces and c != d for a, b, c, d in hinges)


def test_the_faces_beside_an_edge_are_those_that_hold_it() -> None:
    mesh = Mesh(TETRA, OUT[:3])
    start, beside = mesh.topology.edge_faces
    for e, ends in enumerate(mesh.topology.edges):
        holding = [f for f, face in enumerate(mesh.faces) if set(ends) <= set(face)]
        assert sorted(beside[start[e] : start[e + 1]]) == holding


def test_neighbours_are_the_other_ends_of_the_edges() -> None:
    start, others = Mesh([*TETRA, (9, 9, 9)], OUT[:1]).topology.neighbours
    lists = [others[start[i] : start[i + 1]].tolist() for i in range(5)]
    assert lists == [[1, 2], [0, 2], [0, 1], [], []]


def test_pieces_are_counted_by_their_faces() -> None:
    two = Mesh([*TETRA, *(TETRA + 5), (9, 9, 9)], [*OUT, *(OUT + 4)])
    assert two.issues.components == 2


ISSUES = {
    "a closed tetrahedron": (TETRA, OUT, {}),
    "open": (TETRA, OUT[:3], {"boundary": 3}),
    "inward": (TETRA, OUT[:, ::-1], {"inward": 1}),
    "one face flipped": (TETRA, [*OUT[:3], OUT[3][::-1]], {"flipped": 3}),
    "one face twice": (TETRA, [*OUT, OUT[0]], {"duplicate": 1, "non-manifold": 3}),
    "a sheet and its back": (TETRA[:3], [[0, 1, 2], [0, 2, 1]], {"duplicate": 1}),
    "a vertex to spare": ([*TETRA, (5, 5, 5)], OUT, {"unreferenced": 1}),
    "a straight triangle": ([(0, 0, 0), (1, 0, 0), (3, 0, 0)], [[0, 1, 2]], {"degenerate": 1, "boundary": 3}),
    "three pages on a spine": (
        [*TETRA, (0, 0, -1)],
        [[0, 1, 2], [1, 0, 3], [0, 1, 4]],
        {"non-manifold": 1, "boundary": 6},
    ),
    "two tips that touch": ([*TETRA, *-TETRA[1:]], [*OUT, (0, 4, 5), (0, 6, 4), (4, 6, 5), (5, 6, 0)], {"bow-tie": 1}),
    "a cloud of points": (TETRA, [], {"unreferenced": 4}),
}


@pytest.mark.parametrize("name", ISSUES)
def test_issues_are_counted_exactly(name: str) -> None:
    x, faces, expected = ISSUES[name]
    assert Mesh(x, faces).issues.summary() == expected


def test_issues_say_where() -> None:
    mesh = Mesh([*TETRA, (2, 0, 0), (5, 5, 5)], [*OUT[:3], OUT[0], (0, 1, 4)])
    found = mesh.issues
    assert (found.duplicate.tolist(), found.degenerate.tolist(), found.unreferenced.tolist()) == ([3], [4], [5])
    assert mesh.topology.edges[found.non_manifold].tolist() == [[0, 1], [1, 2]]


def test_an_open_border_alone_is_a_property_and_no_defect() -> None:
    assert not Mesh(TETRA, OUT[:3]).issues
    assert not Mesh(TETRA, OUT[:3]).issues.closed
    assert Mesh(TETRA, OUT[:, ::-1]).issues


@pytest.mark.parametrize("face", [(0, 0, 1), (1, 0, 1), (2, 2, 2)])
def test_a_face_that_repeats_a_corner_is_degenerate_and_makes_nothing_infinite(face: tuple[int, int, int]) -> None:
    mesh = Mesh(TETRA, [*OUT, face])
    assert mesh.issues.degenerate.tolist() == [4]
    for name in ("face_normals", "edge_normals", "vertex_normals"):
        assert np.isfinite(getattr(mesh, name)).all()
    assert mesh.volume == pytest.approx(1.0 / 6.0)


def test_a_face_without_area_does_not_turn_its_neighbours_normals() -> None:
    split = Mesh([*TETRA, (0.5, 0.0, 0.0)], [*OUT, (0, 4, 1)])
    assert split.vertex_normals[:4] == pytest.approx(Mesh(TETRA, OUT).vertex_normals, abs=1e-15)


def test_issues_read_as_a_sentence() -> None:
    assert str(Mesh(TETRA, OUT).issues) == "no issues"
    assert str(Mesh(TETRA, OUT[:3]).issues) == "3 boundary edges (open)"
    assert str(Mesh(TETRA, OUT[:, ::-1]).issues) == "inside out (faces point inward)"


def soup(mesh: Mesh) -> Mesh:
    """Every face with corners of its own, as in an STL file."""
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3))


def test_welding_a_soup_gives_the_body_back() -> None:
    split = soup(cube())
    assert split.issues.summary() == {"seams": 28}
    assert split.welded.n_vertices == 8
    assert split.welded.volume == cube().volume
    assert split.issues.closed


def test_welded_results_go_back_to_the_files_vertices() -> None:
    split = soup(cube(5))
    assert split.welded.vertices[split.weld_index].tobytes() == split.vertices.tobytes()


def test_welded_vertices_keep_the_order_of_first_appearance() -> None:
    mesh = Mesh([(2, 0, 0), (1, 0, 0), (2, 0, 0), (0, 0, 0), (1, 0, 0)], [(0, 1, 3), (2, 4, 3)])
    assert mesh.weld_index.tolist() == [0, 1, 0, 2, 1]
    assert mesh.welded.vertices[:, 0].tolist() == [2.0, 1.0, 0.0]


def test_equal_numbers_weld_and_near_ones_do_not() -> None:
    tiny = np.nextafter(0.0, 1.0)
    mesh = Mesh([(0.0, 0.0, 0.0), (-0.0, 0.0, -0.0), (tiny, 0.0, 0.0)], [])
    assert mesh.weld_index.tolist() == [0, 0, 1]


def test_a_mesh_without_seams_is_its_own_weld() -> None:
    mesh = cube()
    assert mesh.welded is mesh


def test_a_mesh_is_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        cube().vertices = CORNERS  # type: ignore[misc]


def test_moving_keeps_everything_but_the_positions() -> None:
    mesh = dataclasses.replace(cube(), name="crate", uv=np.zeros((12, 3, 2)))
    moved = mesh.moved(CORNERS + 1.0)
    assert (moved.name, moved.faces.tolist()) == ("crate", mesh.faces.tolist())
    assert moved.bounds.tolist() == [[1.0] * 3, [2.0] * 3]
    assert moved.uv is not None


def test_moving_needs_a_place_for_every_vertex() -> None:
    with pytest.raises(ValueError, match=r"^vertices has shape \(7, 3\); expected \(8, 3\)$"):
        cube().moved(CORNERS[:7])


def test_a_mesh_introduces_itself() -> None:
    assert repr(cube()) == "<Mesh 'mesh': 8 vertices, 12 faces, diagonal 1.73 m>"


def test_the_surface_of_tets_is_what_only_one_of_them_has_seen_from_outside():
    one = Mesh.from_tets(TETRA, [[0, 1, 2, 3]])
    assert one.volume == pytest.approx(1 / 6)
    assert one.tet_volumes == pytest.approx([1 / 6])
    # a second one on the slanted side
    two = Mesh.from_tets([*TETRA, [1.0, 1.0, 1.0]], [[0, 1, 2, 3], [1, 2, 3, 4]], name="two")
    assert (two.n_faces, two.name, two.issues.closed) == (6, "two", True)
    assert two.volume == pytest.approx(two.tet_volumes.sum()) == pytest.approx(1 / 6 + 1 / 3)
    with pytest.raises(ValueError, match=r"tets\[0\] shares a face with 2 others; expected one at most"):
        Mesh.from_tets([*TETRA, [1, 1, 1], [2, 2, 2]], [[0, 1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 5]])
    with pytest.raises(ValueError, match=r"tets\[0, 3\] = 4 but there are 4 vertices"):
        Mesh.from_tets(TETRA, [[0, 1, 2, 4]])


def test_inside_a_mesh_of_tets_no_vertex_is_lone_and_the_surface_comes_first():
    # a cube around its middle, which is vertex 0
    middle, corners = np.full((1, 3), 0.5), cube()
    # faces look outward, away from the middle
    tets = np.concatenate([corners.faces[:, ::-1] + 1, np.zeros((12, 1), int)], 1)
    mesh = Mesh.from_tets(np.concatenate([middle, CORNERS]), tets)
    assert not mesh.issues
    assert mesh.weld_index.tolist() == [8, 0, 1, 2, 3, 4, 5, 6, 7]
    assert (mesh.welded.vertices[mesh.weld_index] == mesh.vertices).all()
    assert (mesh.welded.tet_volumes == mesh.tet_volumes).all()
    assert mesh.surface.n_vertices == 8
    assert (mesh.surface.vertices == CORNERS).all()
    assert mesh.surface.volume == pytest.approx(1.0)
    assert mesh.welded.welded is mesh.welded
    assert corners.surface is corners.welded
