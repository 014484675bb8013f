"""Shells that are inside out beside others: parts that were mirrored, with or without openings."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from pliant import Mesh, load, save, shapes
from pliant.detect.queries.closest_point import ClosestPoints
from pliant.detect.queries.shell_orientation import inside_out, outward_body, with_reversed
from wild import ball, joined_shells, opened, post


def mesh(*parts):
    """The mesh of shells (vertices, faces, whether its faces are reversed), and the shell of each face."""
    x, faces = joined_shells([(x, f[:, ::-1] if wrong else f) for x, f, wrong in parts])
    turn = Rotation.from_euler("xyz", [0.3, 1.1, -0.4]).as_matrix()
    return Mesh(x @ turn.T + 0.7, faces), np.repeat(np.arange(len(parts)), [len(f) for _, f, _ in parts])


TRUNK, ARM, EYE = post(0.0, 1.1, 0.2), ball(0.18, [0.25, 0.7, 0.0]), ball(0.05, [0.0, 0.5, 0.1])
CUT = opened(post(0.0, 1.1, 0.2), lambda c: c[:, 1] < 1.09)
FACE = opened(ball(0.4, [0.0, 2.0, 0.0], 3), lambda c: c[:, 2] > -0.1)
BAG = opened(ball(0.08, [0.0, 0.6, 0.0]), lambda c: c[:, 2] < 0.03)
CARD = np.array([[-0.2, 0.5, 0.7], [0.2, 0.5, 0.7], [0.2, 0.9, 0.7]]), np.array([[0, 1, 2]])
CASES = {
    "nothing": ([(*TRUNK, False), (*ARM, False)], []),
    "a limb": ([(*TRUNK, False), (*ARM, True)], [1]),
    "the larger part": ([(*TRUNK, True), (*ARM, False)], [0]),
    "all": ([(*TRUNK, True), (*ARM, True)], [0, 1]),
    "a cavity": ([(*TRUNK, False), (*EYE, True)], []),
    "a cavity in a body that is inside out": ([(*TRUNK, True), (*EYE, False)], [0, 1]),
    "a cut neck": ([(*CUT, True), (*ARM, False)], [0]),
    "a cut neck with a limb that is inside out": ([(*CUT, False), (*ARM, True)], [1]),
    "a face without a back": ([(*TRUNK, False), (*FACE, True)], [1]),
    "a mouth in a cut neck": ([(*CUT, False), (*BAG, True)], []),
    "a card": ([(*TRUNK, False), (CARD[0], CARD[1], True)], []),
    "duplicate faces": ([(*TRUNK, False), (ARM[0], np.concatenate([ARM[1], ARM[1][:9]]), True)], [1]),
}


def doubled(part):
    return part[0], np.concatenate([part[1], part[1][:, ::-1]])


def halved(part):
    """Mirrored without reversing the faces of one half."""
    x, faces = part
    return x, np.where((x[faces].mean(1)[:, 0] > 0.02)[:, None], faces[:, ::-1], faces)


@pytest.mark.parametrize("case", CASES)
def test_the_shells_that_are_inside_out_are_found(case):
    parts, expected = CASES[case]
    body, shell = mesh(*parts)
    turned = inside_out(body)
    assert np.unique(shell[turned]).tolist() == expected
    assert np.isin(shell, expected).tolist() == turned.tolist()


def test_a_body_with_a_limb_turned_has_the_inside_of_the_one_modelled_right():
    right, _ = mesh((*TRUNK, False), (*ARM, False))
    wrong, _ = mesh((*TRUNK, False), (*ARM, True))
    points = right.vertices[::3] + 0.1 * np.random.default_rng(1).normal(size=(len(right.vertices[::3]), 3))
    signs = ClosestPoints(right).signs(points)
    assert np.array_equal(ClosestPoints(outward_body(wrong)).signs(points), signs)
    assert (ClosestPoints(wrong).signs(points) != signs).any()


@pytest.mark.parametrize("damage", [doubled, halved])
@pytest.mark.parametrize("way", [1, -1])
def test_double_sided_shells_and_halves_that_were_mirrored_have_their_inside(damage, way):
    right, _ = mesh((*TRUNK, False), (*ARM, False))
    wrong, _ = mesh((*damage((TRUNK[0], TRUNK[1][:, ::way])), False), (*ARM, False))
    points = right.vertices[::3] + 0.1 * np.random.default_rng(2).normal(size=(len(right.vertices[::3]), 3))
    signs = ClosestPoints(right).signs(points)
    assert np.array_equal(ClosestPoints(outward_body(wrong)).signs(points), signs)
    assert (ClosestPoints(wrong).signs(points) != signs).any()


@pytest.mark.parametrize("part", [CARD, FACE])
def test_open_sheets_with_two_sides_stay_as_they_are(part):
    body, _ = mesh((*TRUNK, False), (*doubled(part), False))
    assert not inside_out(body).any()


def test_walls_between_boxes_and_surfaces_without_two_sides_stay_as_they_are():
    box = shapes.box((1.0, 1.0, 1.0))
    two, _ = mesh((box.vertices, box.faces, False), (box.vertices + np.eye(3)[0], box.faces, False))
    assert not inside_out(two).any()
    angle = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)[:, None]
    ring = np.concatenate([np.cos(angle), np.sin(angle), 0.0 * angle], 1)
    off = 0.3 * (ring * np.cos(angle / 2) + np.array([0.0, 0.0, 1.0]) * np.sin(angle / 2))
    k = np.arange(23)
    strip = np.concatenate([np.stack([k, k + 1, k + 25], 1), np.stack([k, k + 25, k + 24], 1)])
    moebius = np.concatenate([strip, [[23, 24, 0], [23, 0, 47]]])
    assert not inside_out(Mesh(np.concatenate([ring - off, ring + off]), moebius)).any()


def test_texture_coordinates_stay_at_their_corners():
    ball_ = shapes.ball(0.1, 2)
    uv = ball_.vertices[ball_.faces][..., :2]
    wrong = Mesh(ball_.vertices, ball_.faces[:, ::-1], uv=uv[:, ::-1])
    turned = outward_body(wrong)
    assert np.array_equal(turned.vertices[turned.faces][..., :2], turned.uv)
    assert outward_body(turned) is turned


@pytest.mark.parametrize("ending", [".obj", ".glb"])
def test_reversed_faces_are_written_as_the_file_has_them(tmp_path, ending):
    two = ({"name": "red", "color": (1.0, 0.0, 0.0)}, {"name": "blue", "color": (0.0, 0.0, 1.0)})
    sheet = shapes.cloth(1.0, 1.0, 5)
    sheet = Mesh(sheet.vertices, sheet.faces, material=np.arange(sheet.n_faces) % 2, materials=two)
    save(tmp_path / f"sheet{ending}", sheet)
    given = load(tmp_path / f"sheet{ending}")
    turned = with_reversed(given, np.arange(given.n_faces) % 3 == 0)
    assert not np.array_equal(turned.faces, given.faces)
    save(tmp_path / f"out{ending}", turned.moved(turned.vertices + 1.0))
    out = load(tmp_path / f"out{ending}")
    np.testing.assert_array_equal(out.faces, given.faces)
    np.testing.assert_array_equal(out.material, given.material)
    np.testing.assert_allclose(out.vertices, given.vertices + 1.0, atol=1e-6)
