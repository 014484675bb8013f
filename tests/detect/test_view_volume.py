"""A viewing volume finds what is inside a convex tool: the contacts of the rays, and each face that reaches into it."""

import numpy as np
import pytest

import pliant
from conftest import cases
from pliant.detect.queries.view_volume import ViewVolume


def frustum(near: float = 0.02, far: float = 0.06, depth: float = 0.2) -> pliant.Mesh:
    """The viewing volume of a perspective camera: a truncated pyramid along -z."""
    box = pliant.shapes.box((1.0, 1.0, 1.0), (1, 1, 1))
    width = np.where(box.vertices[:, 2] > 0.0, near, far)[:, None]
    x = np.column_stack([2.0 * width * box.vertices[:, :2], depth * box.vertices[:, 2:]])
    return box.moved(x)


def turned(rng) -> np.ndarray:
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return q * np.linalg.det(q)


@pytest.mark.parametrize(
    "tool", [frustum(), pliant.shapes.box((0.1, 0.05, 0.2), (2, 1, 3)), pliant.shapes.ball(0.06, 2)]
)
def test_its_contacts_are_those_of_the_rays(tool, rng):
    organ = pliant.shapes.ball(0.08, 3)
    found = 0
    for _ in range(cases(8)):
        x = tool.vertices @ turned(rng).T + rng.normal(scale=0.05, size=3)
        hits = [
            pliant.detector("image-space", organ, tool, test=test).update(organ.vertices, x).find()
            for test in ("view-volume", "rays")
        ]
        assert hits[0].tobytes() == hits[1].tobytes()
        found += len(hits[0])
    assert found > 0


def test_a_face_is_visible_exactly_where_a_linear_program_finds_a_point_of_it_in_the_volume(rng):
    from scipy.optimize import linprog

    volume, seen = frustum(), 0
    for _ in range(cases(60)):
        view = ViewVolume(volume)
        view.move(volume.vertices @ turned(rng).T)
        corners = rng.normal(scale=0.08, size=(3, 3))
        # barycentric coordinates b >= 0 with sum 1 that minimise the largest height over a plane
        n, d = view.planes[:, :3], view.planes[:, 3]
        best = linprog(
            [0, 0, 0, 1],
            A_ub=np.column_stack([n @ corners.T, -np.ones(len(n))]),
            b_ub=d,
            A_eq=[[1, 1, 1, 0]],
            b_eq=[1],
            bounds=[(0, None)] * 3 + [(None, None)],
        ).fun
        if abs(best) > 1e-9:
            assert view.visible(corners, np.array([[0, 1, 2]], np.int32))[0] == (best < 0.0)
            seen += best < 0.0
    assert seen > 5


def test_a_face_is_visible_although_no_vertex_of_it_is_inside():
    surface = pliant.shapes.box((0.3, 0.02, 0.3), (3, 1, 3))
    tool = pliant.shapes.box((0.02, 0.1, 0.02), (1, 1, 1), centre=(0.037, 0.0, 0.011))
    wrapped = pliant.detector("image-space", surface, tool, test="view-volume")
    wrapped.update(surface.vertices, tool.vertices).find()
    inner = wrapped._detector
    assert len(inner.visible) > 0
    assert not ViewVolume(tool).contains(surface.vertices).any()


REFUSED = {
    "needs a convex obstacle, whose planes clip": {"b": pliant.shapes.torus(0.1, 0.03), "test": "view-volume"},
    "needs two bodies": {"test": "view-volume"},
    "which uses no image": {"b": pliant.shapes.box(0.1, 1), "test": "view-volume", "resolution": 32},
    "'cloth' is open": {"b": pliant.shapes.cloth(0.1, 0.1, 3), "test": "view-volume"},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_no_viewing_volume_is_refused_by_name(why):
    with pytest.raises(ValueError, match=why):
        pliant.detector("image-space", pliant.shapes.ball(0.1, 2), **REFUSED[why])
