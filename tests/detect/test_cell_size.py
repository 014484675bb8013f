"""The work of baking fields is limited: cells over all parts of a body, and solid angles of bodies with many holes."""

import numpy as np
import pytest

from pliant import DistanceField, Mesh, shapes
from pliant.detect.fields.basis import Basis
from pliant.detect.fields.cell_size import MOST_ANGLES, MOST_CELLS, WIDEST_BAND, cell_sizes
from pliant.detect.fields.sign_test import SignTest


def cells(parts: list[Mesh], sizes: list[float]) -> float:
    around = 2.0 * WIDEST_BAND
    return sum(float(np.prod((p.bounds[1] - p.bounds[0]) / h + around)) for p, h in zip(parts, sizes, strict=True))


def torn(share: float, rng: np.random.Generator) -> Mesh:
    """Two overlapping spheres in one mesh, from which a share of the faces is missing."""
    one, two = shapes.ball(1.0, 3), shapes.ball(1.0, 3, centre=(0.5, 0.0, 0.0))
    mesh = Mesh(np.concatenate([one.vertices, two.vertices]), np.concatenate([one.faces, two.faces + one.n_vertices]))
    return Mesh(mesh.vertices, mesh.faces[rng.random(mesh.n_faces) >= share], name="torn")


def test_cells_are_as_fine_as_asked_where_the_limits_allow_it() -> None:
    assert cell_sizes([shapes.ball(0.2)], 0.003) == [0.003]


def test_all_parts_of_a_body_share_one_limit_of_cells() -> None:
    limb = shapes.box((0.2, 1.0, 0.2))
    for count in (1, 8, 60):
        parts = [limb] * count
        assert cells(parts, cell_sizes(parts, 1e-5)) <= 1.02 * MOST_CELLS**3


def test_a_body_with_many_holes_gets_fewer_nodes(rng) -> None:
    body = torn(0.3, rng)
    (size,) = cell_sizes([body], 1e-3)
    nodes = 2.0 * WIDEST_BAND * body.face_areas.sum() / size**2
    assert nodes * body.welded.topology.loose.sum() <= MOST_ANGLES
    assert size > 1.5 * cell_sizes([torn(0.0, rng)], 1e-3)[0]


def test_a_body_too_large_for_cells_is_named_with_its_length() -> None:
    with pytest.raises(ValueError, match=r"mesh 'huge' is 1.98e\+12 m long: check its units, or use method bvh"):
        DistanceField.bake(
            Mesh(0.99e12 * shapes.ball(1.0, 1).vertices, shapes.ball(1.0, 1).faces, name="huge"), spacing=6e9
        )


@pytest.mark.parametrize("share", [0.0, 0.004])
def test_signs_of_whole_bricks_are_those_of_their_nodes(share, rng, monkeypatch) -> None:
    body, told = torn(share, rng), []
    made = DistanceField.bake(body, 96, band=12.0, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert len(told) > 2
    whole = []
    original = SignTest._sign_of_bricks

    def node_by_node(self, some, has_rim):
        whole.append(original(self, some, has_rim)[1].mean())
        return np.zeros(len(some.b), np.int8), np.zeros(len(some.b), np.bool_)

    monkeypatch.setattr(SignTest, "_sign_of_bricks", node_by_node)
    other = DistanceField.bake(body, 96, band=12.0)
    assert Basis.of(body.welded).sign_test is not None
    assert np.mean(whole) > 0.2
    for name in ("values", "rim", "jump", "index"):
        np.testing.assert_array_equal(getattr(made.grid, name), getattr(other.grid, name))
