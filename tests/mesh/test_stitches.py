"""Stitches: how two boundaries are matched."""

import numpy as np
import pytest

from pliant import Scene, Stitches, select, shapes
from pliant.mesh.stitches import sewn
from pliant.scene import Body


def sheet(count: int, z: float):
    return shapes.cloth(0.4, 0.4, count, plane="xy", centre=(0.0, 0.0, z))


def side(mesh, text):
    return select(mesh, text)


def test_boundaries_of_equal_counts_are_matched_vertex_to_vertex():
    a, b = sheet(5, 0.1), sheet(5, -0.1)
    (found,) = sewn(a, side(a, "left 1mm"), b, side(b, "left 1mm"), (0, 1))
    assert (a.vertices[found.rows, :2] == b.vertices[found.onto[:, 0], :2]).all()
    assert found.share.tolist() == [0.0] * 5


@pytest.mark.parametrize(("one", "two"), [(5, 9), (9, 5), (5, 8)])
def test_boundaries_of_different_counts_are_matched_by_arc_length(one, two):
    meshes = sheet(one, 0.1), sheet(two, -0.1)
    (found,) = sewn(meshes[0], side(meshes[0], "left 1mm"), meshes[1], side(meshes[1], "left 1mm"), (0, 1))
    finer, coarser = (meshes[b].vertices for b in found.bodies)
    ends = coarser[found.onto]
    points = (1.0 - found.share)[:, None] * ends[:, 0] + found.share[:, None] * ends[:, 1]
    assert len(found) == max(one, two)
    np.testing.assert_allclose(points[:, :2], finer[found.rows, :2], atol=1e-12)


def test_a_boundary_that_runs_the_other_way_is_turned_round():
    a = sheet(5, 0.1)
    b = sheet(5, -0.1)
    b = b.moved(b.vertices * [1.0, -1.0, 1.0])
    (found,) = sewn(a, side(a, "left 1mm"), b, side(b, "left 1mm"), (0, 1))
    assert (a.vertices[found.rows, :2] == b.vertices[found.onto[:, 0], :2]).all()


def test_closed_loops_are_turned_to_the_nearest_position():
    tube = shapes.skirt(0.4, flare=0.0, spacing=0.04)
    top, bottom = select(tube, "boundary top"), select(tube, "boundary bottom")
    turned = tube.moved(tube.vertices - [0.0, 0.4, 0.0])
    (found,) = sewn(tube, bottom, turned, np.roll(select(turned, "boundary top"), 7), (0, 1))
    assert len(found) == len(top)
    gaps = np.linalg.norm(tube.vertices[found.rows] - turned.vertices[found.onto[:, 0]], axis=1)
    widths = np.ptp(tube.vertices[bottom][:, [0, 2]], axis=0)
    assert gaps.max() < 0.5 * widths.min()  # opposite vertices would be a width apart


def test_several_seams_are_paired_with_the_nearest():
    a, b = sheet(5, 0.1), sheet(5, -0.1)
    both = "left 1mm + right 1mm"
    found = sewn(a, side(a, both), b, side(b, both), (0, 1))
    assert [len(each) for each in found] == [5, 5]
    for each in found:
        assert (a.vertices[each.rows, :2] == b.vertices[each.onto[:, 0], :2]).all()


def test_the_two_sides_of_a_dart_are_sewn_up_to_its_tip():
    a = sheet(5, 0.0)
    (found,) = sewn(a, side(a, "left 1mm"), a, side(a, "top 1mm"))
    (tip,) = side(a, "left 1mm & top 1mm")
    assert len(found) == 4
    assert tip not in found.rows


def test_the_inside_of_a_sheet_cannot_be_sewn():
    a = sheet(5, 0.1)
    with pytest.raises(ValueError, match="stitches join boundaries"):
        sewn(a, side(a, "ids:12,13"), a, side(a, "left 1mm"))


def test_stitches_that_do_not_exist_are_refused():
    a = sheet(3, 0.0)
    with pytest.raises(ValueError, match="joins vertex 4 to itself"):
        Stitches.pairs([[0, 1], [4, 4]])
    with pytest.raises(ValueError, match="body 1 is not cloth"):
        Scene([Body(a), Body(shapes.ball(0.1, 1), obstacle=True)], stitches=[Stitches.pairs([[0, 1]], (0, 1))])
    with pytest.raises(ValueError, match="has 9 vertices"):
        Scene([Body(a)], stitches=[Stitches.pairs([[0, 9]])])
