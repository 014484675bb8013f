"""Isosurface stuffing: angles bounded whatever the function, vertices on it, a closed manifold around positive tets."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from conftest import SEED, cases
from pliant.errors import TooBigError
from pliant.mesh import Mesh
from pliant.mesh.topology import tet_surface
from pliant.shapes import creature, intestine, liver, stuffed, tet_ball, tet_box
from pliant.shapes.lattice import Lattice, lattice_tets
from pliant.shapes.pinches import without_pinches
from pliant.shapes.stuffing import _LIMITS, LARGEST_ANGLE, LEAST_ANGLE, STENCILS, filled
from shapes.quality import edges_through_faces, is_one_closed_body, same

SOFT: dict[str, Callable[[], Mesh]] = {
    "creature": creature,
    "liver": liver,
    "intestine": intestine,
    "ball": tet_ball,
    "box": tet_box,
    "fine creature": lambda: creature(2.0, 0.12),
    "straight gut": lambda: intestine(0.02, 0, 0.1),
}


def dihedral_angles(x: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """(k,6) degrees."""
    p = x[tets]
    sides = [np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a]) for a, b, c in ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))]
    sides = [n / np.linalg.norm(n, axis=1)[:, None] for n in sides]
    between = [np.clip((a * b).sum(1), -1, 1) for a, b in itertools.combinations(sides, 2)]
    return 180.0 - np.degrees(np.arccos(np.stack(between, 1)))


def ball(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(p - (0.1, 0.2, 0.3), axis=1) - 1.0


def around(size: float, **options: object) -> Mesh:
    return stuffed(ball, (-0.9, -0.8, -0.7), (1.1, 1.2, 1.3), size, **options)  # type: ignore[arg-type]


def wild(rng: np.random.Generator) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """Waves about as long as cells: thin walls, bridges, bubbles; and the size of the cells."""
    waves, phase = rng.normal(size=(8, 3)) * rng.uniform(1, 8), rng.uniform(0, 6.3, 8)
    heights, lift = rng.normal(size=8), 0.5 * rng.normal()

    def function(p: np.ndarray) -> np.ndarray:
        rough = np.sin(p @ waves.T + phase) @ heights + lift + 40.0 * np.maximum(np.abs(p).max(1) - 0.7, 0.0)
        return np.minimum(rough, np.linalg.norm(p, axis=1) - 0.3)  # a core, so that there is always something

    return function, 0.25


def cut_at_random(rng: np.random.Generator, n: int = 9) -> tuple[np.ndarray, np.ndarray]:
    """A lattice whose nodes have random signs and whose edges are cut anywhere, often just where a node begins to move:
    what no function is worse than."""
    lattice = Lattice(np.zeros(3), 1.0, (n, n, n))
    cell = np.stack(np.unravel_index(np.arange(lattice.count), lattice.shape), 1)
    free = np.tile(((cell > 1) & (cell < n - 2)).all(1), 2)
    f = np.ones(2 * lattice.count)
    f[free] = np.where(rng.random(free.sum()) < rng.uniform(0.1, 0.9), -1.0, 1.0)
    ends, kind = lattice.cut_edges(f)
    limit = np.array([_LIMITS[0], _LIMITS[1]])[kind]
    pick, few = rng.random(len(ends)), rng.uniform(0.0, 0.25)
    where = np.where(pick < few, limit * (1 - 1e-6), np.where(pick < 0.5, limit * (1 + 1e-6), 0.5))
    where = np.where(pick > 0.8, rng.uniform(limit, 1.0 - limit), where)
    where = np.where(rng.random(len(ends)) < 0.5, where, 1.0 - where)
    return filled(lattice, f, ends, kind, where)[:2]


@pytest.mark.compiled
def test_no_way_to_cut_the_lattice_gives_an_angle_beyond_the_bounds() -> None:
    low, high, longest = 180.0, 0.0, 0.0
    for seed in range(cases(40)):
        x, tets = cut_at_random(np.random.default_rng([SEED, seed]))
        angles = dihedral_angles(x, tets)
        low, high = min(low, angles.min()), max(high, angles.max())
        faces = tet_surface(tets)
        longest = max(longest, np.linalg.norm(x[faces] - x[np.roll(faces, 1, 1)], axis=2).max())
        assert np.linalg.det(x[tets[:, 1:]] - x[tets[:, :1]]).min() > 0.0
    print(f"angles {low:.3f} to {high:.3f} degrees, longest edge of the surface {longest:.3f} cells")
    assert low >= LEAST_ANGLE - 0.01
    assert high <= LARGEST_ANGLE + 0.01
    assert longest < 1.7  # what docs/tets.md says of how far a face can be from the surface


@pytest.mark.compiled
def test_a_wild_function_gives_a_closed_manifold_of_positive_tets() -> None:
    off = total = 0
    for seed in range(cases(25)):
        function, size = wild(np.random.default_rng([SEED, seed]))
        mesh = stuffed(function, [-0.8] * 3, [0.8] * 3, size)
        assert mesh.issues.closed, seed
        assert len(mesh.issues.bow_tie) == 0, seed
        assert mesh.tet_volumes.min() > 0.0
        assert (function(mesh.vertices) < 1e-6).all()
        values = function(mesh.vertices[np.unique(mesh.faces)])
        off, total = off + int((values < -1e-6).sum()), total + len(values)
    print(f"{off} of {total} vertices of the surface lie inside, where it touched itself and tets were taken away")
    assert off < 0.05 * total


@pytest.mark.parametrize("name", SOFT)
def test_a_soft_shape_is_one_closed_body_of_positive_tets_without_flat_ones(name: str) -> None:
    mesh = SOFT[name]()
    assert is_one_closed_body(mesh)
    assert mesh.tet_volumes.min() > 0.0
    assert mesh.tet_volumes.sum() == pytest.approx(mesh.volume, rel=1e-12)
    assert len(np.unique(mesh.tets)) == mesh.n_vertices
    angles = dihedral_angles(mesh.vertices, mesh.tets)
    assert angles.min() > 15.0
    assert angles.max() < 155.0
    assert edges_through_faces(mesh) == 0


def test_vertices_of_the_surface_lie_on_the_function_and_faces_close_to_it() -> None:
    mesh = around(0.2)
    assert np.abs(ball(mesh.vertices[np.unique(mesh.faces)])).max() < 1e-9
    # a chord of length s is s^2 / 8 r from a ball of radius r, a triangle at most s^2 / 6 r
    edges = mesh.vertices[mesh.topology.edges]
    longest = np.linalg.norm(edges[:, 0] - edges[:, 1], axis=1).max()
    middle = mesh.vertices[mesh.faces].mean(1)
    assert -(longest**2) / 6.0 < ball(middle).min() < ball(middle).max() < 0.0


def test_half_the_size_is_a_quarter_of_the_volume_missing() -> None:
    missing = [4.0 / 3.0 * np.pi - around(size).volume for size in (0.2, 0.1)]
    assert 3.0 < missing[0] / missing[1] < 5.0


def test_a_function_with_a_known_slope_is_asked_less_and_answers_the_same() -> None:
    asked = [0, 0]

    def counted(k: int) -> Callable[[np.ndarray], np.ndarray]:
        def function(p: np.ndarray) -> np.ndarray:
            asked[k] += len(p)
            return ball(p)

        return function

    low, high = (-0.9, -0.8, -0.7), (1.1, 1.2, 1.3)
    one, two = stuffed(counted(0), low, high, 0.09), stuffed(counted(1), low, high, 0.09, slope=1.0)
    assert same(one, two)
    assert one.tets.tobytes() == two.tets.tobytes()
    assert asked[1] < 0.9 * asked[0]


def test_the_inside_parts_of_a_lattice_tet_have_the_volume_that_is_cut_off() -> None:
    """Each stencil against the volume by the shares of its cuts: for one corner inside, their product, and so on."""
    x = np.array([[0, 0, 0], [2, 0, 0], [1, 1, -1], [1, 1, 1]], float)
    t = 0.3
    for row, signs in enumerate(itertools.product((-1, 0, 1), repeat=4)):
        points = [*x]
        for i, j in itertools.combinations(range(4), 2):  # a linear function: -0.3 or 0.7 at the corners, or 0
            f = {-1: -t, 0: 0.0, 1: 1.0 - t}
            a, b = f[signs[i]], f[signs[j]]
            points.append(x[i] + a / (a - b) * (x[j] - x[i]) if a * b < 0 else np.full(3, np.nan))
        pieces = [p for p in STENCILS[row] if p[0] >= 0]
        volume = sum(np.linalg.det(np.array(points)[p[1:]] - np.array(points)[p[0]]) for p in pieces)
        inside, outside = signs.count(-1), signs.count(1)
        near, far = t, 1.0 - t  # shares of an edge before and behind its cut, from inside
        share = {
            (0, 0): 0.0,
            (1, 1): near,
            (1, 2): near**2,
            (1, 3): near**3,
            (2, 1): 1.0 - far**2,
            (3, 1): 1.0 - far**3,
            (2, 2): 1.0 - far**2 * (1.0 + 2.0 * near),
        }
        wanted = share[inside, outside] if inside and outside else float(inside > 0)
        assert volume == pytest.approx(4.0 * wanted, rel=1e-12), signs


def test_lattice_tets_fill_space_and_tell_both_sides_the_same_about_a_split() -> None:
    lattice = Lattice(np.zeros(3), 1.0, (6, 6, 6))
    tets = lattice_tets(lattice, np.full(2 * lattice.count, -1.0))
    x = lattice.points(tets.ravel()).reshape(-1, 4, 3)
    six = np.linalg.det(x[:, 1:] - x[:, :1])
    assert len(tets) == 12 * len(lattice.inner())
    assert (six == 0.5).all()  # a twelfth of a cell each
    lengths = np.linalg.norm(x[:, [0, 2]] - x[:, [1, 3]], axis=2)
    assert (lengths == 1.0).all()
    # the corner that the diagonal touches where 2 is outside and 0, 1 inside, and so on
    touched: dict[tuple[int, ...], set[int]] = {}
    for t in tets.tolist():
        for ends, far, start in (((0, 1), 2, 0), ((0, 1), 3, 1), ((2, 3), 0, 3), ((2, 3), 1, 2)):
            touched.setdefault((t[ends[0]], t[ends[1]], t[far]), set()).add(t[start])
    merged: dict[tuple[frozenset[int], int], set[int]] = {}
    for (a, b, c), starts in touched.items():
        merged.setdefault((frozenset((a, b)), c), set()).update(starts)
    assert max(len(starts) for starts in merged.values()) == 1


def test_of_tets_that_touch_in_a_vertex_or_an_edge_the_larger_stays() -> None:
    x = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2], [-1, 0, 0], [0, -1, 0], [0, 0, -1], [0, -1, -1]], float)
    by_vertex = np.array([[0, 4, 6, 5], [0, 1, 2, 3]])
    assert without_pinches(x, by_vertex).tolist() == [[0, 1, 2, 3]]
    by_edge = np.array([[0, 1, 2, 3], [0, 1, 5, 7]])
    assert without_pinches(x, by_edge).tolist() == [[0, 1, 2, 3]]
    by_side = np.array([[0, 1, 2, 3], [0, 2, 1, 6]])
    assert without_pinches(x, by_side).tolist() == by_side.tolist()


def test_two_hollows_that_touch_in_a_point_are_parted_or_joined() -> None:
    lattice = Lattice(np.zeros(3), 1.0, (7, 7, 7))
    f = np.full(2 * lattice.count, -1.0)
    tets = lattice_tets(lattice, f)
    x = lattice.points(np.arange(2 * lattice.count))
    # on two sides of the middle node, a tet taken out
    at = int(np.ravel_multi_index((3, 3, 3), lattice.shape))
    mine = tets[(tets == at).any(1)]
    middle = x[mine].mean(1) - x[at]
    gone = {tuple(mine[np.argmax(middle @ d)]) for d in (np.array([3.0, 1.0, 0.3]), -np.array([3.0, 1.0, 0.3]))}
    hollow = np.array([t for t in tets if tuple(t) not in gone])
    assert len(Mesh.from_tets(x, hollow).issues.bow_tie) == 1
    mended = without_pinches(x, hollow)
    assert len(hollow) - 24 <= len(mended) < len(hollow)
    assert not {"bow-tie", "non-manifold"} & Mesh.from_tets(x, mended).issues.summary().keys()


def test_soft_shapes_are_the_same_bits_on_every_call_and_move_with_their_centre() -> None:
    one, two = stuffed(ball, [-2] * 3, [2] * 3, 0.3), stuffed(ball, [-2] * 3, [2] * 3, 0.3)
    assert same(one, two)
    assert one.tets.tobytes() == two.tets.tobytes()
    assert creature(centre=(1, 2, 3)).bounds == pytest.approx(creature().bounds + np.array([1, 2, 3]))
    assert creature(0.3).bounds == pytest.approx(2 * creature().bounds)


def test_soft_shapes_have_the_sizes_asked_for() -> None:
    animal = creature(1.0)
    assert animal.bounds[:, 2].tolist() == pytest.approx([-0.5, 0.47], abs=0.03)
    assert animal.bounds[0, 1] == pytest.approx(0.0, abs=0.01)
    assert 300 <= creature().n_vertices <= 600
    assert np.ptp(tet_box((0.1, 0.2, 0.3)).bounds, axis=0) == pytest.approx([0.1, 0.2, 0.3], abs=1e-3)
    gut = intestine(0.01, 3, 0.1)
    assert np.ptp(gut.bounds, axis=0) == pytest.approx([0.1 + 0.02, 0.02, 3 * 0.032 + 0.02], abs=0.004)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: around(0.0), "size = 0 must be greater than 0"),
        (lambda: around(1e-4, max_bytes=1e6), "use a larger size"),
        (lambda: around(0.1, max_bytes=1e7), "filling with about 5.... tets needs .* use a larger size"),
        (lambda: around(9.0), "nothing is inside the function at size 9"),
        (lambda: stuffed(ball, (0, 0, 0), (1, 0, 1), 0.1), "must be below high"),
        (lambda: stuffed(ball, (0, 0, 0), (0.5, 0.5, 0.5), 0.1), "expected a box that contains all of its inside"),
        (lambda: stuffed(lambda p: p, [-1] * 3, [1] * 3, 0.5), "returned shape"),
        (lambda: stuffed(lambda p: p[:, 0] * np.nan, [-1] * 3, [1] * 3, 0.5), "is not finite at"),
        (lambda: creature(-1.0), "length"),
        (lambda: creature(1.0, 0.5), "size = 0.5 must be at most 0.2"),
        (lambda: liver(0.0), "length"),
        (lambda: intestine(0.0), "radius"),
        (lambda: intestine(0.01, -1), "bends"),
        (lambda: intestine(0.01, 1, 0.01), "width"),
        (lambda: tet_ball(-1.0), "radius"),
        (lambda: tet_box((1, 2)), "edges"),
        (lambda: tet_box(1.0, rounding=2.0), "rounding"),
    ],
)
def test_a_bad_argument_is_named(make: Callable[[], Mesh], said: str) -> None:
    with pytest.raises((ValueError, TooBigError), match=said):
        make()
