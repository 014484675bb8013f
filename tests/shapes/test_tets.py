"""Bar and cylinder: filled with positive tets, closed and outward around them, in the right place."""

from collections.abc import Callable

import numpy as np
import pytest

from pliant.mesh import Mesh
from pliant.shapes import bar, cylinder
from shapes.quality import is_one_closed_body, same

FILLED: dict[str, Callable[[], Mesh]] = {
    "bar": bar,
    "one-cell bar": lambda: bar(1.0, 1),
    "uneven bar": lambda: bar((1, 2, 3), (3, 2, 5), centre=(1, 0, 0)),
    "cylinder": cylinder,
    "coarse cylinder": lambda: cylinder(0.2, 0.1, 1),
    "flat cylinder": lambda: cylinder(0.5, 0.01, 2),
    "fine cylinder": lambda: cylinder(0.05, 0.12, 5),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_filled_body_is_one_closed_outward_body_without_defects(name: str) -> None:
    assert is_one_closed_body(FILLED[name]())


@pytest.mark.parametrize("name", FILLED)
def test_tets_are_positive_and_fill_what_the_faces_enclose(name: str) -> None:
    mesh = FILLED[name]()
    assert mesh.tet_volumes.min() > 0.3 * mesh.tet_volumes.max()
    assert mesh.tet_volumes.sum() == pytest.approx(mesh.volume, rel=1e-12)
    assert len(np.unique(mesh.tets)) == mesh.n_vertices


@pytest.mark.parametrize("name", FILLED)
def test_every_side_of_a_tet_has_one_other_tet_or_is_a_face(name: str) -> None:
    mesh = FILLED[name]()
    sides = np.sort(mesh.tets[:, [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]].reshape(-1, 3), 1)
    kinds, count = np.unique(sides, axis=0, return_counts=True)
    assert (kinds[count == 1] == np.unique(np.sort(mesh.faces, 1), axis=0)).all()
    assert count.max() <= 2


@pytest.mark.parametrize("name", FILLED)
def test_a_filled_body_is_the_same_bits_on_every_call(name: str) -> None:
    one, two = FILLED[name](), FILLED[name]()
    assert same(one, two)
    assert one.tets.tobytes() == two.tets.tobytes()


@pytest.mark.parametrize("name", ["bar", "cylinder"])
def test_at_default_size_no_tet_is_a_sliver(name: str) -> None:
    mesh = FILLED[name]()
    x = mesh.vertices[mesh.tets]
    longest = np.linalg.norm(x[:, [0, 0, 0, 1, 1, 2]] - x[:, [1, 2, 3, 2, 3, 3]], axis=2).max(1)
    assert (6.0 * np.sqrt(2.0) * mesh.tet_volumes / longest**3).min() > 0.3  # 1 is regular


def test_sizes_and_places_are_what_was_asked_for() -> None:
    log = bar((1, 2, 3), (3, 2, 5), centre=(1, 0, 0))
    assert log.bounds == pytest.approx(np.array([[0.5, -1.0, -1.5], [1.5, 1.0, 1.5]]))
    assert len(log.tets) == 5 * 3 * 2 * 5
    post = cylinder(0.2, 0.6, 6, centre=(0, 1, 0))
    assert post.bounds == pytest.approx(np.array([[-0.2, 0.7, -0.2], [0.2, 1.3, 0.2]]))
    assert post.volume == pytest.approx(np.pi * 0.2**2 * 0.6, rel=0.01)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bar((1, 2)), "size"),
        (lambda: bar((1, 0, 1)), r"size\[1\]"),
        (lambda: bar(1.0, (1, 2)), "divisions"),
        (lambda: bar(1.0, 0), r"divisions\[0\]"),
        (lambda: bar(1.0, 4000), "lower the divisions"),
        (lambda: cylinder(0.0), "radius"),
        (lambda: cylinder(1.0, -1.0), "height"),
        (lambda: cylinder(1.0, 1.0, 0), "resolution"),
        (lambda: cylinder(1e-3, 1e3, 500), "lower the resolution"),
    ],
)
def test_a_bad_argument_is_named(make: Callable[[], Mesh], said: str) -> None:
    with pytest.raises((ValueError, MemoryError), match=said):
        make()
