"""Every file of data/bad: what it loads as, to the count, or where and why it is refused."""

import pathlib

import pytest

from conftest import DATA
from pliant.errors import MeshFileError
from pliant.io import load

BAD = DATA / "bad"

# vertices, faces, components, issues
LOADS = {
    "draco_cube_quads.obj": (8, 12, 1, {}),
    "draco_cube_quads.ply": (8, 12, 1, {}),
    "draco_deg_faces.obj": (6, 4, 1, {"degenerate": 1, "non-manifold": 1, "unreferenced": 1, "boundary": 5}),
    "draco_degenerate_mesh.obj": (3, 1, 1, {"degenerate": 1, "non-manifold": 1, "seams": 2}),
    "draco_delim_test.ply": (24, 12, 1, {"boundary": 4, "seams": 15}),
    "draco_empty_name.obj": (3, 1, 1, {"boundary": 3}),
    "draco_eof_test.obj": (3, 1, 1, {"boundary": 3}),
    "draco_extra_vertex.obj": (10, 3, 3, {"unreferenced": 1, "boundary": 9}),
    "draco_multiple_isolated_triangles.obj": (15, 5, 5, {"boundary": 15}),
    "draco_multiple_tetrahedrons.obj": (20, 20, 5, {}),
    "draco_non_manifold_wrap.obj": (10, 12, 1, {"non-manifold": 1, "boundary": 8}),
    "draco_octagon.obj": (8, 6, 1, {"boundary": 8}),
    "draco_test_nm.obj": (114, 170, 1, {"bow-tie": 2, "unreferenced": 17, "boundary": 30}),
    "draco_test_nm_trans.obj": (114, 170, 1, {"bow-tie": 2, "unreferenced": 17, "boundary": 30}),
    "draco_triangle.obj": (3, 1, 1, {"boundary": 3}),
    "gc_fan3.obj": (5, 3, 1, {"non-manifold": 1, "boundary": 6}),
    "gc_hourglass_ico.obj": (23, 40, 1, {"bow-tie": 1}),
    "gc_lego.ply": (1649, 3072, 1, {"boundary": 224}),
    "gc_moebius.obj": (280, 448, 1, {"flipped": 4, "boundary": 112}),
    "gc_triple_vierbein.obj": (75, 108, 1, {"non-manifold": 20, "flipped": 3, "boundary": 60}),
    "synth/duplicate_faces.obj": (642, 1360, 1, {"duplicate": 80, "non-manifold": 151}),
    "synth/flattened_to_plane.obj": (
        642,
        1280,
        1,
        {"degenerate": 26, "duplicate": 300, "non-manifold": 536, "seams": 210},
    ),
    "synth/hole.obj": (642, 1260, 1, {"boundary": 42}),
    "synth/inward.obj": (642, 1280, 1, {"inward": 1}),
    "synth/mixed_orientation.obj": (642, 1280, 1, {"flipped": 509}),
    "synth/nested_inner_inward.obj": (1284, 2560, 2, {}),
    "synth/offset_1e8.obj": (642, 1280, 1, {}),
    "synth/scale_1e-12.obj": (642, 1280, 1, {}),
    "synth/scale_1e12.obj": (642, 1280, 1, {}),
    "synth/single_triangle.obj": (3, 1, 1, {"boundary": 3}),
    "synth/two_overlapping.obj": (1284, 2560, 2, {}),
    "synth/unreferenced.obj": (643, 1280, 1, {"unreferenced": 1}),
    "synth/unwelded.obj": (3840, 1280, 1, {"seams": 3198}),
    "synth/zero_area.obj": (
        644,
        1283,
        1,
        {"degenerate": 3, "duplicate": 1, "non-manifold": 1, "boundary": 2, "seams": 1},
    ),
    "trimesh_7_8ths_cube.stl": (72, 24, 1, {"seams": 58}),
    "trimesh_bunny.ply": (8171, 16301, 1, {"duplicate": 87, "non-manifold": 150, "unreferenced": 25, "boundary": 123}),
    "trimesh_busted.STL": (11634, 3878, 1, {"seams": 9693}),
    "trimesh_comments.off": (8, 12, 1, {}),
    "trimesh_insulated.msh": (67, 111, 1, {"boundary": 21}),
    "trimesh_jacked.obj": (8, 12, 1, {}),
    "trimesh_joined_tetrahedra.obj": (5, 8, 1, {"duplicate": 1, "non-manifold": 3}),
    "trimesh_multibody.stl": (96, 32, 2, {"flipped": 12, "seams": 76}),
    "trimesh_nancolor.obj": (8, 12, 1, {}),
    "trimesh_negative_indices.obj": (8, 12, 1, {}),
    "trimesh_origin_inside.STL": (84, 28, 1, {"seams": 68}),
    "trimesh_polygonfaces.obj": (5, 3, 1, {"boundary": 5}),
    "trimesh_soup.stl": (300, 100, 100, {"boundary": 300}),
    "trimesh_whitespace.off": (8, 12, 1, {}),
}

# where, a part of why
REFUSED = {
    "draco_float_inf_point_cloud.ply": ("vertex 0", "vertex 0 = (-409, 249, inf) is not finite"),
    "draco_inf_nan.obj": ("line 1", "vertex 0 = (inf, nan, inf) is not finite"),
    "synth/index_out_of_range.obj": ("line 1923", "vertex index 653, but there are 642 vertices"),
    "synth/inf_vertex.obj": ("line 6", "vertex 5 = (0.723607, inf, -0.525725) is not finite"),
    "synth/nan_vertex.obj": ("line 6", "vertex 5 = (nan, nan, nan) is not finite"),
    "synth/vertices_only.obj": ("", "no faces (642 vertices)"),
    "trimesh_empty.obj": ("", "no faces (0 vertices)"),
    "trimesh_empty.ply": ("", "no faces (0 vertices)"),
    "trimesh_empty.stl": ("", "no faces (0 vertices)"),
    "trimesh_face_in_group_name.obj": ("", "no faces (1 vertices)"),
    "trimesh_notenoughindices.obj": ("line 9", "a face needs at least 3 corners, found 2"),
    "trimesh_points_bin.ply": ("", "no faces (5 vertices)"),
}


@pytest.mark.parametrize("name", LOADS)
def test_a_defective_file_loads_with_its_defects_counted(data: pathlib.Path, name: str) -> None:
    mesh = load(data / "bad" / name)
    issues = mesh.issues
    assert (mesh.n_vertices, mesh.n_faces, issues.components, issues.summary()) == LOADS[name]


@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_file_is_refused_with_the_place_and_the_reason(data: pathlib.Path, name: str) -> None:
    where, why = REFUSED[name]
    with pytest.raises(MeshFileError) as error:
        load(data / "bad" / name)
    assert error.value.where == where
    assert why in error.value.why
    assert error.value.path == str(data / "bad" / name)


def test_no_bad_file_is_without_an_expectation(data: pathlib.Path) -> None:
    found = {path.relative_to(BAD).as_posix() for path in BAD.rglob("*") if path.is_file()}
    assert found == LOADS.keys() | REFUSED.keys()
