"""What readers keep for selections: groups, attributes, vertex colours and lines."""

import numpy as np
import pytest

from characters import Made
from pliant import load, save, select, shapes

OBJ = """o Shirt
v 0 0 0 1 0 0
v 1 0 0 0 1 0
v 0 1 0 0 0 1
v 1 1 0
v 2 0 0
g front collar
usemtl silk
f 1 2 3
g back
usemtl wool
f 2 4 3
f 2 5 4
l 1 5 4
l -1 -2
"""


def rows(mesh, text):
    return select(mesh, text).tolist()


def test_groups_objects_materials_colours_and_lines_of_an_obj(tmp_path):
    (tmp_path / "a.obj").write_text(OBJ)
    mesh = load(tmp_path / "a.obj")
    assert rows(mesh, "group:front") == rows(mesh, "group:collar") == rows(mesh, "group:silk") == [0, 1, 2]
    assert rows(mesh, "group:back") == [1, 2, 3, 4]
    assert rows(mesh, "group:Shirt") == [0, 1, 2, 3, 4]
    assert rows(mesh, "colour:green") == [1]
    assert mesh.marks.lines.tolist() == [[0, 4], [4, 3], [4, 3]]


def test_a_part_of_an_obj_keeps_its_own_marks(tmp_path):
    (tmp_path / "a.obj").write_text(OBJ)
    mesh = load(tmp_path / "a.obj", part="back")
    assert rows(mesh, "group:back") == [0, 1, 2, 3]
    assert rows(mesh, "group:front") == [0, 1]
    assert rows(mesh, "colour:blue") == [1]
    assert mesh.marks.lines.tolist() == [[3, 2], [3, 2]]


def test_colours_that_are_not_numbers_do_not_make_a_file_unreadable(tmp_path):
    (tmp_path / "a.obj").write_text("v 0 0 0 a b c\nv 1 0 0\nv 0 1 0\nf 1 2 3\nl 1 x\nl 1 9\n")
    mesh = load(tmp_path / "a.obj")
    assert not mesh.marks


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian"])
def test_colours_attributes_and_edges_of_a_ply(tmp_path, kind):
    header = (
        f"ply\nformat {kind} 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
        "property uchar red\nproperty uchar green\nproperty uchar blue\nproperty float pin\n"
        "element face 1\nproperty list uchar int vertex_indices\n"
        "element edge 1\nproperty int vertex1\nproperty int vertex2\nend_header\n"
    )
    vertices = [(0, 0, 0, 255, 0, 0, 1.0), (1, 0, 0, 0, 255, 0, 0.25), (0, 1, 0, 0, 0, 255, 0.0)]
    if kind == "ascii":
        text = "".join(" ".join(map(str, v)) + "\n" for v in vertices) + "3 0 1 2\n0 2\n"
        body = text.encode()
    else:
        cell = np.dtype([("x", "<f4", 3), ("c", "u1", 3), ("p", "<f4")])
        body = np.array([(v[:3], v[3:6], v[6]) for v in vertices], cell).tobytes()
        body += b"\x03" + np.array([0, 1, 2, 0, 2], "<i4").tobytes()
    (tmp_path / "a.ply").write_bytes(header.encode() + body)
    mesh = load(tmp_path / "a.ply")
    assert rows(mesh, "colour:blue") == [2]
    assert rows(mesh, "attribute:pin>=0.25") == [0, 1]
    assert mesh.marks.lines.tolist() == [[0, 2]]


def gltf(tmp_path, **attributes):
    made = Made()
    x = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4")
    primitive = {"attributes": {"POSITION": made.accessor(x, "VEC3")}}
    for name, (values, kind, normalized) in attributes.items():
        primitive["attributes"][name] = made.accessor(values, kind, normalized=normalized)
    made.json["meshes"].append({"name": "cloth", "primitives": [primitive]})
    made.json["nodes"].append({"mesh": 0, "name": "Cape"})
    return load(made.save(tmp_path / "a.gltf"))


def test_custom_attributes_colours_and_names_of_a_gltf(tmp_path):
    mesh = gltf(
        tmp_path,
        _PIN=(np.array([0.0, 0.6, 1.0], "<f4"), "SCALAR", False),
        COLOR_0=(np.array([[255, 0, 0, 255], [0, 0, 0, 255], [255, 255, 255, 255]], "u1"), "VEC4", True),
    )
    assert rows(mesh, "attribute:_PIN>0.5") == [1, 2]
    assert rows(mesh, "colour:red") == [0]
    assert rows(mesh, "group:Cape") == rows(mesh, "group:cloth") == [0, 1, 2]


def test_colours_of_a_gltf_are_converted_from_linear(tmp_path):
    half = np.full((3, 3), 0.2140411, "<f4")  # #808080 is 0.216 linearly
    mesh = gltf(tmp_path, COLOR_0=(half, "VEC3", False))
    assert len(select(mesh, "colour:#808080~0.01")) == 3


def test_an_attribute_of_the_wrong_length_is_left_out(tmp_path):
    mesh = gltf(tmp_path, _PIN=(np.array([0.0, 1.0], "<f4"), "SCALAR", False))
    assert dict(mesh.marks.attributes) == {}


def test_groups_and_lines_are_written_to_obj_and_read_again(tmp_path):
    shirt = shapes.shirt_panels(spacing=0.05)
    save(tmp_path / "shirt.obj", shirt)
    again = load(tmp_path / "shirt.obj")
    assert again.marks.lines.tolist() == shirt.marks.lines.tolist()
    assert rows(again, "group:front") == rows(shirt, "group:front")
    assert again.faces.tolist() == shirt.faces.tolist()
