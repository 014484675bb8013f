"""Tets inside closed surfaces: what they promise, what is lost and said, what is refused."""

import logging

import numpy as np
import pytest

import pliant
from pliant import shapes
from pliant.errors import TooBigError
from pliant.fill import dihedral_angles, fill_and_measure
from pliant.mesh import Mesh
from pliant.shapes.stuffing import LARGEST_ANGLE, LEAST_ANGLE
from shapes.quality import is_one_closed_body, same

pytestmark = pytest.mark.compiled

SURFACES = {
    "ball": (shapes.ball(0.5, 3), 0.1),
    "box": (shapes.box((0.2, 0.3, 0.1)), 0.02),
    "torus": (shapes.torus(), 0.06),
    "bowl": (shapes.bowl(0.3, 0.06, 12), 0.025),
    "tets again": (shapes.bar(), 0.03),
}


def split(mesh: Mesh) -> Mesh:
    """Every face with vertices of its own, as STL has them."""
    return Mesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(3 * mesh.n_faces).reshape(-1, 3), name=mesh.name)


@pytest.mark.parametrize("name", SURFACES)
def test_tets_fill_the_surface_and_lie_on_it(name: str) -> None:
    surface, size = SURFACES[name]
    mesh, loss = fill_and_measure(surface, size)
    assert is_one_closed_body(mesh)
    assert mesh.tet_volumes.min() > 0.0
    distance = pliant.closest_point(surface, mesh.vertices)[0]
    outside = np.unique(mesh.faces)
    assert np.abs(distance[outside]).max() < 1e-9
    assert distance.max() < 1e-9
    angles = dihedral_angles(mesh)
    assert LEAST_ANGLE - 0.01 < angles.min() < angles.max() < LARGEST_ANGLE + 0.01
    # faces are flat and edges of the surface cut off: within a cell
    assert np.abs(pliant.closest_point(mesh.surface, surface.surface.vertices)[0]).max() == loss.farthest < size
    assert loss.warning == ""
    assert -0.02 < loss.lost_share < 0.08


def test_vertices_split_at_seams_change_nothing() -> None:
    surface, size = SURFACES["torus"]
    assert same(pliant.fill_with_tets(surface, size), pliant.fill_with_tets(split(surface), size))


def test_a_size_may_be_in_words_and_without_one_nothing_is_lost() -> None:
    surface, _ = SURFACES["torus"]
    assert same(pliant.fill_with_tets(surface, "60mm"), pliant.fill_with_tets(surface, 0.06))
    mesh, loss = fill_and_measure(surface)
    assert 6_000 < len(mesh.tets) < 12_000
    assert loss.warning == ""


def test_a_thin_part_asks_for_smaller_cells_where_no_size_is_given() -> None:
    """A ball and a thin stick: lost in coarse cells, there without a size."""
    spike = shapes.box((0.03, 0.6, 0.03), (1, 20, 1), centre=(0, 0.8, 0))
    ball = shapes.ball(0.2, 2)
    both = Mesh(
        np.concatenate([ball.vertices, spike.vertices]), np.concatenate([ball.faces, spike.faces + ball.n_vertices])
    )
    coarse, lost = fill_and_measure(both, 0.06)
    assert "2 connected pieces have become 1" in lost.warning
    assert coarse.bounds[1, 1] < 0.3
    mesh, loss = fill_and_measure(both)
    assert loss.warning == ""
    assert mesh.bounds[1, 1] == pytest.approx(1.1, abs=2 * loss.size)


def test_what_is_lost_is_said(caplog: pytest.LogCaptureFixture) -> None:
    surface = shapes.box((0.4, 0.4, 0.03), (8, 8, 1))
    plate = Mesh(
        np.concatenate([surface.vertices, shapes.ball(0.2, 2, centre=(0, 0.5, 0)).vertices]),
        np.concatenate([surface.faces, shapes.ball(0.2, 2).faces + surface.n_vertices]),
        name="plate",
    )
    with caplog.at_level(logging.WARNING, "pliant"):
        pliant.fill_with_tets(plate, 0.07)
    assert "plate: " in caplog.text
    assert "of the volume is lost" in caplog.text
    assert "use a smaller size" in caplog.text


def test_a_surface_that_crosses_itself_is_filled_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    one, two = shapes.ball(0.3, 2), shapes.ball(0.3, 2, centre=(0.3, 0, 0))
    both = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))
    with caplog.at_level(logging.WARNING, "pliant"):
        pliant.fill_with_tets(both, 0.08)
    assert "pairs of its faces intersect" in caplog.text


def test_what_has_no_inside_or_no_room_is_refused() -> None:
    ball = shapes.ball(0.5, 2)
    with pytest.raises(ValueError, match=r"not closed \(.*boundary edges"):
        pliant.fill_with_tets(Mesh(ball.vertices, ball.faces[1:]))
    with pytest.raises(ValueError, match="inside out"):
        pliant.fill_with_tets(Mesh(ball.vertices, ball.faces[:, ::-1]))
    with pytest.raises(ValueError, match="no faces"):
        pliant.fill_with_tets(Mesh(ball.vertices, np.zeros((0, 3), int)))
    with pytest.raises(ValueError, match=r"thinner than a cell of 0.3 m everywhere \(about 0.019"):
        pliant.fill_with_tets(shapes.box((1, 1, 0.02)), 0.3)
    with pytest.raises(ValueError, match="expected a length such as 2mm"):
        pliant.fill_with_tets(ball, "tiny")
    with pytest.raises(ValueError, match="size = 0 must be greater than 0"):
        pliant.fill_with_tets(ball, 0.0)
    with pytest.raises(TooBigError, match="use a larger size or raise max_bytes"):
        pliant.fill_with_tets(ball, 1e-4, max_bytes=1e9)


def test_progress_is_told_of_every_point() -> None:
    seen: list[int] = []
    pliant.fill_with_tets(shapes.ball(0.5, 2), 0.2, progress=seen.append)
    assert sum(seen) > 500
    assert min(seen) > 0
