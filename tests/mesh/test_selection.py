"""Selections of vertices: every kind of term, how terms are joined, and what their errors say."""

import numpy as np
import pytest

from pliant import Mesh, select, shapes
from pliant.mesh.boundaries import boundary_loops
from pliant.mesh.marks import Marks

SHEET = shapes.cloth(0.4, 0.4, 5, plane="xy")  # rows of 5, 0.1 m apart, x and y in -0.2..0.2
X = SHEET.vertices


def marked() -> Mesh:
    """The sheet with a group, an attribute and colours."""
    n = SHEET.n_vertices
    colors = np.tile([1.0, 1.0, 1.0], (n, 1))
    colors[3], colors[4] = (0.95, 0.1, 0.0), (0.5, 0.0, 0.0)
    marks = Marks({"Collar": np.array([20, 21], np.int32)}, {"_PIN": np.linspace(0.0, 1.0, n)}, colors)
    return Mesh(X, SHEET.faces, name="sheet", marks=marks)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("ids:1,2,5-7", np.isin(np.arange(25), [1, 2, 5, 6, 7])),
        ("top 10cm", X[:, 1] > 0.05),
        ("bottom 0.02", X[:, 1] < -0.15),
        ("left 30%", X[:, 0] > 0.05),
        ("right 1 mm", X[:, 0] < -0.15),
        ("front 1mm", np.ones(25, bool)),
        ("box:-0.25,-0.25,-1,0,0,1", (X[:, 0] < 0.05) & (X[:, 1] < 0.05)),
        ("sphere: 0, 0, 0, 11cm", np.linalg.norm(X, axis=1) < 0.11),
        ("boundary", np.abs(X).max(1) > 0.15),
        ("boundary & top 1mm", X[:, 1] > 0.15),
        ("all & not boundary", np.abs(X).max(1) < 0.15),
        ("top 1mm + left 1mm & bottom 1mm", (X[:, 1] > 0.15) | ((X[:, 0] > 0.15) & (X[:, 1] < -0.15))),
        ("group:Collar", np.isin(np.arange(25), [20, 21])),
        ("group:collar + ids:0", np.isin(np.arange(25), [0, 20, 21])),
        ("attribute:_PIN", np.linspace(0, 1, 25) > 0.5),
        ("attribute:_PIN>=0.75 + ids:0", (np.linspace(0, 1, 25) >= 0.75) | (np.arange(25) == 0)),
        ("attribute:_PIN = 1", np.arange(25) == 24),
        ("colour:red", np.arange(25) == 3),
        ("color:#800000~0.05", np.arange(25) == 4),
        ("piece 0", np.ones(25, bool)),
    ],
)
def test_a_selection_names_these_vertices(text, wanted):
    assert select(marked(), text).tolist() == np.flatnonzero(wanted).tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("group:Cuff", "has no group 'Cuff'; its groups are: Collar"),
        ("attribute:_HEAT>1", "no attribute '_HEAT'; its attributes are: _PIN"),
        ("colour:mauve", "unknown colour 'mauve'"),
        ("boundary 3", "has 1 boundary loops: boundary 0: 16 vertices, 1.6 m long"),
        ("piece 1", "expected piece 0 to 0"),
        ("ids:25", "vertex 25, but 'sheet' has 25"),
        ("ids:1;2", "is not a row"),
        ("top", "has no length"),
        ("top 3 apples", "expected a length"),
        ("box:0,0,0,1,1", "has 5 numbers; expected 6"),
        ("sphere:9,9,9,0.1", "names no vertex of 'sheet', whose 25 vertices lie between"),
        ("knees", "is not understood; expected ids:"),
        ("top 1mm & knees:3", "expected a length"),
    ],
)
def test_an_error_names_the_selection_and_what_there_is(text, said):
    with pytest.raises(ValueError, match="selection") as caught:
        select(marked(), text)
    assert said in str(caught.value)
    assert text in str(caught.value)


def test_materials_are_groups():
    mesh = Mesh(X, SHEET.faces, material=np.arange(32) // 16, materials=({"name": "silk"}, {"name": "wool"}))
    assert select(mesh, "group:wool").tolist() == np.unique(SHEET.faces[16:]).tolist()


def test_copies_of_a_vertex_at_a_seam_are_selected_together():
    x = np.concatenate([X, X[:1]])
    faces = np.where(SHEET.faces == 0, 25, SHEET.faces)
    both = Mesh(x, np.concatenate([SHEET.faces[:1], faces[1:]]))
    assert select(both, "ids:0").tolist() == [0, 25]


def test_the_boundary_on_a_side_is_the_loop_farthest_to_that_side():
    skirt = shapes.skirt(0.4, spacing=0.04)
    rows = select(skirt, "boundary top")
    assert np.ptp(skirt.vertices[rows, 1]) < 1e-9
    assert skirt.vertices[rows, 1].min() == skirt.vertices[:, 1].max()


def test_a_boundary_loop_without_length_has_a_centre():
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    loops = boundary_loops(Mesh(points, np.array([[0, 1, 2]])))
    assert [(loop.length, loop.centre) for loop in loops] == [(0.0, (0.0, 0.0, 0.0))]


def test_pins_of_a_body_may_be_selections():
    from pliant import Body

    assert Body(SHEET, pins="top 1mm").pins.tolist() == select(SHEET, "top 1mm").tolist()
    assert len(Body(SHEET, pins=["top 1mm", "bottom 1mm"]).pins) == 10
    with pytest.raises(ValueError, match="pins: selection 'x' is not understood"):
        Body(SHEET, pins="x")
