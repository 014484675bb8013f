"""Meshes of other libraries, swapped and misspelt arguments, contacts as a table: it works, or is told."""

import pathlib
import types

import numpy as np
import pytest

import pliant
from pliant.arguments import check_arguments
from pliant.mesh import as_mesh

BOX = pliant.shapes.box(0.4, 1)
SHEET = pliant.shapes.cloth(0.3, 0.3, 3, centre=(0.0, 0.205, 0.0))


def other(mesh: pliant.Mesh, kind: str) -> object:
    """The mesh as another library holds it."""
    if kind == "pair":
        return mesh.vertices, mesh.faces
    if kind == "lists":
        return [mesh.vertices.tolist(), mesh.faces.tolist()]
    if kind == "object":
        return types.SimpleNamespace(vertices=mesh.vertices, faces=mesh.faces)
    return pytest.importorskip("trimesh").Trimesh(mesh.vertices, mesh.faces, process=False)


ASKED = {
    "find_contacts": lambda a, b: pliant.find_contacts(a, b, method="brute-force", within=0.01),
    "self": lambda a, b: pliant.find_contacts(b, method="brute-force", within=0.01),
    "detector": lambda a, b: pliant.detector("brute-force", a, b, within=0.01).find(),
    "choose_method": lambda a, b: pliant.choose_method(a, b),
    "intersections": lambda a, b: pliant.intersections(a, b),
    "closest_point": lambda a, b: pliant.closest_point(b, SHEET.vertices),
    "collision_free_step": lambda a, b: pliant.collision_free_step(a, SHEET.vertices, SHEET.vertices - 0.1),
    "overlap": lambda a, b: pliant.overlap(b, b, resolution=4).volume,
    "fill_with_tets": lambda a, b: pliant.fill_with_tets(b, 0.3).vertices,
    "Body": lambda a, b: pliant.Scene([pliant.Body(a), pliant.Body(b, obstacle=True)]).masses,
    "Clip": lambda a, b: pliant.Clip(a, SHEET.vertices[None]).mesh.faces,
    "DistanceField": lambda a, b: pliant.DistanceField.bake(b, 6).values,
    "HeightGrid": lambda a, b: pliant.HeightGrid.of_mesh(b, resolution=4).sample(SHEET.vertices),
    "HeightGrids": lambda a, b: pliant.HeightGrids.around(b, resolution=4).sample(SHEET.vertices),
    "check": lambda a, b: pliant.check(a, b).frames[0].inside,
    "compare": lambda a, b: len(pliant.compare(a, b, within=0.01, frames=1, methods=["brute-force"]).roles),
    "drape": lambda a, b: pliant.drape(a, b, 1, substeps=1, method="brute-force", measure=False).clips[0].frames,
}


@pytest.mark.parametrize("kind", ["trimesh", "pair", "lists", "object"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_has_vertices_and_faces_is_a_mesh_everywhere(asked, kind):
    plain, given = ASKED[asked](SHEET, BOX), ASKED[asked](other(SHEET, kind), other(BOX, kind))
    for one, two in zip(plain, given, strict=True) if isinstance(plain, tuple) else [(plain, given)]:
        np.testing.assert_array_equal(one, two)


def test_a_trimesh_is_saved(tmp_path):
    pliant.save(tmp_path / "a.obj", other(BOX, "trimesh"))
    assert pliant.load(str(tmp_path / "a.obj")).faces.tolist() == BOX.faces.tolist()


WRONG = {
    "swapped save": (lambda: pliant.save(BOX, "a.obj"), "path and mesh of save are swapped; write save(path, mesh)"),
    "swapped load": (
        lambda: pliant.Simulation.load(pliant.Scene([pliant.Body(SHEET)]), "a.npz"),
        "path and scene of Simulation.load are swapped; write Simulation.load(path, scene)",
    ),
    "swapped detector": (lambda: pliant.detector(SHEET, "bvh"), "method and a of detector are swapped"),
    "a path": (lambda: pliant.find_contacts("a.obj"), "not the name of a file: pliant.load('a.obj')"),
    "a pathlib path": (lambda: pliant.check(pathlib.Path("a.obj")), "garment = PosixPath('a.obj'); expected a mesh"),
    "a body": (lambda: pliant.find_contacts(pliant.Body(SHEET)), "a is a Body; expected a Mesh: give its .mesh"),
    "a mesh in a scene": (
        lambda: pliant.Scene([SHEET]),
        "bodies[0] is a Mesh; expected a Body: pliant.Body(mesh) for cloth, pliant.Body(mesh, obstacle=True) for",
    ),
    "no list": (lambda: pliant.Scene(np.array(3)), "bodies is an array of shape (); expected a list of Body"),
    "one body": (lambda: pliant.Scene(pliant.Body(SHEET)), "bodies is a Body; expected a list of Body"),
    "a mode": (
        lambda: pliant.Scene([pliant.Body(SHEET)], self_contact="save"),
        "unknown self_contact 'save'; did you mean 'safe'?",
    ),
    "a method": (
        lambda: pliant.Simulation(pliant.Scene([pliant.Body(SHEET)]), method="bv"),
        "unknown method 'bv'; did you mean 'bvh'?",
    ),
    "an option": (
        lambda: pliant.detector("bvh", SHEET, arty=4),
        "method 'bvh' has no option 'arty'; did you mean 'arity'? one of: arity, cull, leaf, margin, max_bytes,",
    ),
    "an option of a scene": (lambda: pliant.Scene([], frictoin=1), "Scene has no option 'frictoin'; did you mean"),
    "options of a run": (
        lambda: pliant.Simulation(
            pliant.Scene([pliant.Body(SHEET), pliant.Body(BOX, obstacle=True)]), method="bvh", options={"within": 1.0}
        ),
        "method 'bvh' has no option 'within'",
    ),
    "options that nobody reads": (
        lambda: pliant.Simulation(pliant.Scene([pliant.Body(SHEET)]), detectors=[], options={"cull": False}),
        "pass options or detectors, not both",
    ),
    "a length": (
        lambda: pliant.find_contacts(SHEET, within="2mm"),
        "within = '2mm' is not a number; lengths are in metres: 0.002",
    ),
    "an option by position": (
        lambda: pliant.find_contacts(SHEET, BOX, 0.01),
        "find_contacts takes only a and b by position; give others by name: method=, within=",
    ),
    "too much by position": (
        lambda: pliant.load("a.obj", 1, 2, 3),
        "load takes only path by position; give others by name: ",
    ),
    "a flag": (lambda: pliant.detector("bvh", SHEET, cull="no"), "cull = 'no'; expected True or False"),
    "a number": (lambda: pliant.load(123), "path = 123; expected the name of a file"),
    "a field": (
        lambda: pliant.detector("distance-field", SHEET, BOX, field=BOX),
        "field is a Mesh; expected a DistanceField, AdaptiveField, PlanarField or FilledField, or one of: bri",
    ),
    "a dt": (lambda: pliant.Simulation(pliant.Scene([pliant.Body(SHEET)]), 1e300), "dt = 1e+300 must be in"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_one_sentence(case):
    call, said = WRONG[case]
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert said.replace("PosixPath", type(pathlib.Path()).__name__) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_folder_is_no_mesh_file(tmp_path):
    with pytest.raises(pliant.MeshFileError, match="is a folder; give the name of a file in it"):
        pliant.load(tmp_path)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_wrong_numbers_in_a_mesh_of_another_library_are_named_by_their_place(bad):
    x = BOX.vertices.copy()
    x[3, 1] = bad
    with pytest.raises(ValueError, match=r"^b\.vertices\[3, 1\] "):
        pliant.find_contacts(SHEET, (x, BOX.faces))


def test_a_mesh_is_not_copied_at_the_door():
    assert as_mesh("a", BOX) is BOX


def test_a_door_keeps_the_name_the_signature_and_the_answer_of_a_function():
    @check_arguments
    def twice(n: int, *, loud: bool = False) -> str:
        """Doc."""
        return f"{2 * n}{'!' if loud else ''}"

    assert twice(np.int64(2), loud=np.True_) == "4!"
    assert twice(3.0) == "6"
    assert (twice.__name__, twice.__doc__) == ("twice", "Doc.")
    with pytest.raises(ValueError, match=r"n = 1\.5 must be a whole number"):
        twice(1.5)
    with pytest.raises(TypeError, match=r"has no option 'lod'; did you mean 'loud'\? one of: loud, n"):
        twice(1, lod=True)


def test_contacts_become_a_table_of_columns():
    found = pliant.find_contacts(SHEET, BOX, method="brute-force", within=0.01)
    table = pliant.contacts.table(found)
    assert len(found) > 0
    assert all(column.shape == (len(found),) for column in table.values())
    np.testing.assert_array_equal(np.stack([table[f"normal_{k}"] for k in "xyz"], 1), found["normal"])
    np.testing.assert_array_equal(np.stack([table[f"vertices_{k}"] for k in range(4)], 1), found["vertices"])
    np.testing.assert_array_equal(table["distance"], found["distance"])
    assert set(table["kind"]) <= set(pliant.contacts.KINDS)
    widths = (max(int(np.prod(found.dtype[name].shape)), 1) for name in found.dtype.names if name != "spare")
    assert sum(widths) == len(table)


def test_a_table_of_contacts_is_a_data_frame():
    pandas = pytest.importorskip("pandas")
    found = pliant.find_contacts(SHEET, BOX, method="brute-force", within=0.01)
    frame = pandas.DataFrame(pliant.contacts.table(found))
    assert len(frame) == len(found)
    assert float(frame["distance"].min()) == found["distance"].min()
    assert len(pandas.DataFrame(pliant.contacts.table(pliant.contacts.empty()))) == 0
