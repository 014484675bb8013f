"""Ball, box, torus, bowl: closed, outward, in the right place."""

from collections.abc import Callable

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.shapes import ball, bowl, box, torus
from shapes.quality import is_one_closed_body, same, smallest_angles

SOLIDS: dict[str, Callable[[], Mesh]] = {
    "ball": ball,
    "icosahedron": lambda: ball(1.0, 0),
    "box": box,
    "one-cell box": lambda: box((1, 2, 3), 1),
    "uneven box": lambda: box(0.5, (1, 2, 3)),
    "torus": torus,
    "coarse torus": lambda: torus(1.0, 0.4, 5, 3),
    "bowl": bowl,
    "coarse bowl": lambda: bowl(0.2, 0.1, 3),
    "thin bowl": lambda: bowl(0.2, 0.004, 8),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_a_solid_is_one_closed_outward_body_without_defects(name: str) -> None:
    assert is_one_closed_body(SOLIDS[name]())


@pytest.mark.parametrize("name", ["ball", "box", "torus", "bowl"])
def test_a_solid_at_default_size_has_no_slivers(name: str) -> None:
    assert smallest_angles(SOLIDS[name]()).min() > 25


@pytest.mark.parametrize("name", SOLIDS)
def test_a_solid_is_the_same_bits_on_every_call(name: str) -> None:
    assert same(SOLIDS[name](), SOLIDS[name]())


def test_every_vertex_of_the_ball_is_at_its_radius() -> None:
    mesh = ball(0.7, 3, centre=(1, 2, 3))
    assert np.allclose(np.linalg.norm(mesh.vertices - (1, 2, 3), axis=1), 0.7, atol=1e-14)


def test_volumes_approach_the_closed_forms() -> None:
    assert ball(1.0, 5).volume == pytest.approx(4 / 3 * np.pi, rel=2e-3)
    assert box((1, 2, 3), 4).volume == pytest.approx(6.0, rel=1e-14)
    assert torus(1.0, 0.3, 200, 100).volume == pytest.approx(2 * np.pi**2 * 0.3**2, rel=2e-3)


def test_the_bowl_stands_on_its_foot_and_its_cavity_is_a_hemisphere() -> None:
    mesh = bowl(0.3, 0.03, 24)
    top = 0.315
    inside = mesh.vertices[
        (np.linalg.norm(mesh.vertices - (0, top, 0), axis=1) < 0.3 + 1e-9) & (mesh.vertices[:, 1] < top)
    ]
    assert mesh.bounds[0, 1] == 0.0
    assert inside[:, 1].min() == pytest.approx(0.015)
    assert np.allclose(np.linalg.norm(inside - (0, top, 0), axis=1), 0.3)
    assert len(inside) > mesh.n_vertices / 4


def test_the_wall_of_a_thin_coarse_bowl_does_not_cut_through_itself() -> None:
    mesh = bowl(0.3, 0.003, 3)
    middle = mesh.vertices[mesh.faces].mean(1)
    radius = np.linalg.norm(middle - (0, 0.3015, 0), axis=1)
    outward = (mesh.face_normals * (middle - (0, 0.3015, 0))).sum(1) > 0
    wall = (middle[:, 1] > 0.1) & (middle[:, 1] < 0.3)
    assert radius[wall & outward].min() > 0.3 > radius[wall & ~outward].max()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ball(-1.0), "radius"),
        (lambda: ball(1.0, 2.5), "subdivisions"),
        (lambda: box((1, 2)), "size"),
        (lambda: box((1, 0, 1)), r"size\[1\]"),
        (lambda: box(1.0, 0), r"divisions\[0\]"),
        (lambda: box(1.0, (1, 2)), "divisions"),
        (lambda: torus(0.1, 0.2), "minor"),
        (lambda: torus(0.3, 0.1, 2), "around"),
        (lambda: bowl(0.3, 0.5), "thickness"),
        (lambda: bowl(centre=(0, 0, float("inf"))), "centre"),
    ],
)
def test_a_bad_argument_is_named(make: Callable[[], Mesh], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
