"""Patches that are passed over: contacts are the same bits with and without, on everything that folds."""

import numpy as np
import pytest

from conftest import cases
from detect import made
from pliant import Mesh
from pliant.detect.base import Side
from pliant.detect.bvh.cones import Cones
from pliant.detect.bvh.leaf_mesh import LeafMesh
from pliant.detect.detectors.bvh import BvhDetector
from pliant.kernels import jit
from pliant.kernels.bvh import cones as kernels
from pliant.kernels.jit import COMPILED
from pliant.mesh.topology import triangles_across_edges
from pliant.state import State

FOLDS = cases(20 if COMPILED else 2)


def found(mesh, x, within, cull, **tree):
    """The contacts of a mesh with itself at x, and the detector that found them."""
    detector, state = BvhDetector(Side(mesh), within=within, cull=cull, **tree), State.at(x)
    # without the compiler, faces without area divide by zero aloud
    with np.errstate(all="ignore"):
        return detector.update(state).find(state), detector


def both(mesh, x, within, **tree):
    """Contacts, the same with culling and without, and the detector that passed over patches."""
    plain, _ = found(mesh, x, within, False, **tree)
    culled, detector = found(mesh, x, within, True, **tree)
    assert culled.tobytes() == plain.tobytes()
    return culled, detector


def share(detector):
    """Of triangles whose walk starts behind a patch."""
    return float((detector.near.cones._begin != detector.near._begin).mean())


def whole(detector):
    """Whether nothing at all is walked."""
    return bool((detector.near.cones._begin == len(detector.near.a.tree.nodes)).all())


def strip(turns=1.1, across=7, along=89, rise=0.02):
    """The annular strip of a little more than one turn: all normals agree, and its ends cross."""
    r, a = np.meshgrid(np.linspace(1, 2, across), np.linspace(0, 2 * np.pi * turns, along), indexing="ij")
    x = np.stack([r * np.cos(a), r * np.sin(a), rise * (r - 1.5) * a / (2 * np.pi)], 2).reshape(-1, 3)
    i, j = (k.reshape(-1) for k in np.meshgrid(np.arange(across - 1), np.arange(along - 1), indexing="ij"))
    at = i * along + j
    faces = [np.stack([at, at + along, at + along + 1], 1), np.stack([at, at + along + 1, at + 1], 1)]
    return Mesh(x, np.concatenate(faces), name="strip")


def fold(x, rng):
    """Waves in random directions, then creases of random sharpness about random lines."""
    x = x @ made.rotation(rng).T
    for _ in range(3):
        k, lift = rng.normal(size=3) * rng.uniform(1, 9), rng.normal(size=3)
        x = x + 0.3 * rng.random() / np.linalg.norm(k) * np.sin(x @ k + rng.uniform(0, 7))[:, None] * lift
    for _ in range(rng.integers(0, 4)):
        n, up = made.rotation(rng)[:2]
        beyond = np.maximum((x - x.mean(0)) @ n - rng.uniform(-0.3, 0.3), 0.0)
        angle = rng.uniform(0, np.pi)
        x = x + beyond[:, None] * ((np.cos(angle) - 1) * n + np.sin(angle) * up)
    return x


def check_folds(rng, n):
    met = passed = 0
    for k in range(n):
        rest = made.sheet(int(rng.integers(4, 20)), noise=0.0)
        x, h = fold(rest.vertices, rng), 1.0 / np.sqrt(rest.n_faces / 2)
        rest = rest if k % 3 else rest.moved(x)
        contacts, detector = both(rest, x, h * rng.choice([0.0, 1e-6, 0.1, 0.3, 0.6, 1.2]))
        met, passed = met + (len(contacts) > 0), passed + (share(detector) > 0)
    return met / n, passed / n


def test_random_folds_have_the_same_contacts_with_and_without(rng):
    met, passed = check_folds(rng, FOLDS)
    assert not COMPILED or min(met, passed) > 0.3


@pytest.mark.long
@pytest.mark.compiled
def test_200_random_folds_have_the_same_contacts_with_and_without(rng):
    met, passed = check_folds(rng, 200)
    assert min(met, passed) > 0.3


@pytest.mark.parametrize("within", [0.0, 1e-9, 1e-3, 0.01, 0.05])
def test_ends_of_an_annular_strip_that_cross_are_found(within):
    contacts, detector = both(strip(), strip().vertices, within)
    assert len(contacts) > 0
    assert share(detector) > 0.3


def test_the_annular_strip_lies_in_a_narrow_cone_and_only_its_contour_shows_that_it_crosses():
    _, detector = found(strip(), strip().vertices, 0.01, True)
    patches, n = detector.near.cones.patches, strip().n_faces
    axis = kernels.axis_of(patches.scaled_normals, 0, n, False)
    assert axis[2] > 0.999
    assert kernels.all_face_along(patches.scaled_normals, 0, n, axis, 0.01, False)
    still = kernels.PatchMotion(strip().vertices.copy(), np.zeros((0, 3)), np.zeros((0, 6)))
    kernels.project(still, patches.rows, patches.start[0], patches.start[1], axis, patches.seen)
    assert not kernels.contour_clear(patches.seen, patches.start[0], patches.start[1], 0.01, 0.0)
    assert not whole(detector)


def test_a_strip_bent_to_a_c_is_passed_over_until_the_gap_between_its_ends_is_asked_for():
    mesh = strip(turns=0.99, rise=0.0)
    gap = 2 * np.sin(0.01 * np.pi)  # between the inner corners of the ends
    for within, all_of_it in [(gap * (1 - 1e-6), True), (gap * (1 + 1e-6), False)]:
        contacts, detector = found(mesh, mesh.vertices, within, True)
        assert whole(detector) == all_of_it
        assert (len(contacts) == 0) == all_of_it
        assert contacts.tobytes() == found(mesh, mesh.vertices, within, False)[0].tobytes()


@pytest.mark.parametrize("away", [0.0, 1e5])
def test_a_flat_sheet_is_passed_over_as_a_whole_up_to_its_least_altitude(rng, away):
    mesh, turned = made.sheet(12), made.rotation(rng)
    x, altitude = mesh.vertices @ turned.T + away, np.sqrt(0.5) / 12
    assert whole(found(mesh, x, altitude * (1 - 1e-6), True)[1])
    contacts, detector = both(mesh, x, altitude * (1 + 1e-6))
    assert len(contacts) > 0
    assert share(detector) == 0.0


def test_a_ball_is_walked_only_where_patches_meet(rng):
    ball = made.octahedron(4 if COMPILED else 2)
    assert share(both(ball, ball.vertices, 0.01)[1]) > 0.5
    squashed = ball.vertices * [1.0, 0.002, 1.0]
    contacts, _ = both(ball, squashed, 0.01)
    assert len(contacts) > 0


def test_faces_that_look_the_other_way_are_no_patch(rng):
    mesh = made.sheet(8)
    faces = mesh.faces.copy()
    faces[::7] = faces[::7, ::-1]
    assert not whole(both(Mesh(mesh.vertices, faces), mesh.vertices, 0.05)[1])
    assert whole(both(Mesh(mesh.vertices, mesh.faces[:, ::-1]), mesh.vertices, 0.05)[1])


def test_a_pillow_with_a_hole_whose_sides_look_the_same_way_is_no_patch():
    # all normals agree and the only contour, the hole, is simple; that both faces at the rim lie on one side tells
    a = np.arange(16) * np.pi / 8
    ring = np.stack([np.cos(a), np.sin(a), 0.0 * a], 1)
    x = np.concatenate([2.0 * ring, ring, 1.2 * ring + np.array([0.0, 0.0, 0.05]), np.zeros((1, 3))])
    k, m = np.arange(16), np.roll(np.arange(16), -1)
    sides = [[np.stack([i + k, k, m], 1), np.stack([i + k, m, i + m], 1)] for i in (16, 32)]
    pillow = Mesh(x, np.concatenate([*sides[0], *sides[1], np.stack([16 + k, 16 + m, np.full(16, 48)], 1)]))
    contacts, detector = both(pillow, x, 0.1)
    assert len(contacts) > 0
    assert detector.near.cones.patches.start[1] == 0


def test_sheets_that_cross_in_a_common_line_of_edges_are_no_patch():
    mesh = made.sheet(8)
    x = np.concatenate([mesh.vertices, mesh.vertices[:, [1, 0, 2]]])
    cross = Mesh(x, np.concatenate([mesh.faces, mesh.faces + mesh.n_vertices]))
    both(cross, x, 0.05)
    # the second sheet comes down to the first like the leaves of a book
    x = np.concatenate([mesh.vertices, mesh.vertices + 0.02 * np.abs(mesh.vertices[:, [1, 0, 1]])])
    contacts, _ = both(cross, x, 0.01)
    assert len(contacts) > 0


def test_faces_without_area_are_never_passed_over(rng):
    mesh = made.sheet(8)
    x = mesh.vertices.copy()
    middle = np.flatnonzero(np.abs(x).max(1) < 0.2)
    x[middle] = x[middle[0]]
    contacts, detector = both(mesh, x, 0.01)
    assert len(contacts) > 0
    assert not whole(detector)
    both(Mesh(x, mesh.faces), x, 0.01)


def test_sheets_and_loose_points_of_one_mesh_meet_each_other():
    mesh = made.sheet(8)
    n = mesh.n_vertices
    up = np.array([0.0, 0.004, 0.0])
    x = np.concatenate([mesh.vertices, mesh.vertices + up, mesh.vertices[:5] + 0.5 * up])
    contacts, _ = both(Mesh(x, np.concatenate([mesh.faces, mesh.faces + n])), x, 0.01)
    assert len(contacts) > 0


def test_copies_of_a_vertex_that_came_apart_are_no_longer_inside_a_patch():
    left, right = made.sheet(8), made.sheet(8)
    n = left.n_vertices
    x = np.concatenate([left.vertices, right.vertices + np.array([1.0, 0.0, 0.0])])
    mesh = Mesh(x, np.concatenate([left.faces, right.faces + n]))
    assert whole(both(mesh, mesh.vertices, 0.05)[1])
    x = mesh.vertices.copy()
    seam = n + np.flatnonzero((right.vertices[:, 0] == -0.5) & (np.abs(right.vertices[:, 2]) < 0.45))
    x[seam] -= [0.15, 0.0, 0.0]  # the right half slides into the left one, its ends stay
    contacts, detector = both(mesh, x, 0.01)
    assert len(contacts) > 0
    assert not whole(detector)


def test_a_tube_seen_from_its_end_has_two_contours_and_is_walked():
    a = np.arange(80) * 2 * np.pi / 80
    rings = [np.stack([r * np.cos(a), r * np.sin(a), 0.0 * a], 1) for r in (1.0, 2.0)]
    k, m = np.arange(80), np.roll(np.arange(80), -1)
    faces = np.concatenate([np.stack([k, 80 + k, 80 + m], 1), np.stack([k, 80 + m, m], 1)])
    mesh = Mesh(np.concatenate(rings), faces)
    _, detector = found(mesh, mesh.vertices, 0.01, True)
    assert detector.near.cones.patches.start[1] == 0
    assert share(detector) > 0.5


@pytest.mark.parametrize("scale", [1e-180, 1e-90, 1e-20, 1e11])
def test_extreme_sizes_have_the_same_contacts(scale):
    mesh = strip(across=4, along=40)
    both(Mesh(mesh.vertices * scale, mesh.faces), mesh.vertices * scale, 0.05 * scale)


def test_contours_are_the_edges_with_one_face_in_the_patch(rng):
    soup = Mesh(rng.normal(size=(12, 3)), rng.integers(0, 12, (60, 3)))
    for mesh in [made.sheet(6), made.octahedron(2), made.wavy_sheet(7), soup]:
        leaf_mesh = LeafMesh(mesh.vertices, mesh.topology, mesh.weld_index)
        patches = Cones(leaf_mesh, fewest=2).patches
        for i, node in enumerate(leaf_mesh.tree.nodes):
            corners = leaf_mesh.leaves.corners[node["first"] : node["first"] + node["count"]]
            loop = patches.rows[patches.start[i] : patches.start[i + 1]].tolist()
            expected = one_loop(corners.tolist()) if node["count"] >= 2 else None
            # a node that a third face touches from outside is left out, too
            assert loop == [] or (expected is not None and turned(loop) == turned(expected))
            assert loop != [] or expected is None or mesh is soup


def one_loop(faces):
    """The contour of a patch, or None where it is not one loop or the patch is no surface."""
    sides = [(f[k], f[(k + 1) % 3]) for f in faces for k in range(3)]
    if len({*sides}) < len(sides) or any(a == b for a, b in sides):
        return None
    after = [(a, b) for a, b in sides if (b, a) not in {*sides}]
    if not after or len({a for a, _ in after}) < len(after):
        return None
    loop = [after[0][0]]
    while (b := dict(after)[loop[-1]]) != loop[0]:
        loop.append(b)
    return loop if len(loop) == len(after) else None


def turned(loop):
    """From its lowest vertex on."""
    k = loop.index(min(loop))
    return loop[k:] + loop[:k]


def test_a_contour_is_clear_when_no_vertex_is_near_an_edge_and_no_edges_cross(rng):
    clear = 0
    for _ in range(300):
        n = int(rng.integers(3, 40))
        least = rng.uniform(0.0, 3.0) / n
        a = np.arange(n) * 2 * np.pi / n
        p = np.stack([np.cos(a), np.sin(a)], 1) * rng.uniform(0.6, 1.4, (n, 1)) + rng.normal(size=(n, 2)) * 3 / n
        assert kernels.contour_clear(p, 0, n, least, 0.0) == (least_gap(p) > least)
        clear += least_gap(p) > least
    assert 60 < clear < 240


def least_gap(p):
    """The least distance of a vertex of a polygon from an edge that does not hold it; 0 where edges cross."""
    n = len(p)
    edges = [(p[j], p[(j + 1) % n]) for j in range(n)]
    turn = lambda a, b, c: np.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))  # noqa: E731
    for i, (a, b) in enumerate(edges):
        for c, d in edges[i + 2 : n - (i == 0)]:
            if turn(a, b, c) != turn(a, b, d) and turn(c, d, a) != turn(c, d, b):
                return 0.0
    gap = np.inf
    for j, (a, b) in enumerate(edges):
        r = np.delete(p, [j, (j + 1) % n], 0) - a
        t = np.clip(r @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
        gap = min(gap, np.linalg.norm(r - t[:, None] * (b - a), axis=1).min())
    return gap


def test_mates_of_a_face_are_beyond_its_sides():
    faces = np.array([[0, 1, 2], [1, 3, 2], [3, 1, 4], [1, 3, 5], [6, 7, 8], [8, 7, 6], [9, 9, 10]], np.int32)
    expected = [[-1, 1, -1], [-2, -1, 0], [-2, -1, -1], [-2, -1, -1], [5, 5, 5], [4, 4, 4], [-2, -2, -2]]
    assert triangles_across_edges(faces).tolist() == expected


@pytest.mark.compiled
def test_the_same_patches_are_proved_on_one_thread_and_on_two(rng):
    mesh = made.sheet(30)
    x = fold(mesh.vertices, rng)
    _, detector = found(mesh, x, 0.005, True)
    begin = detector.near.cones._begin.copy()
    jit.set_threads(1)
    try:
        assert (detector.near.cones.begin(0.005) == begin).all()
    finally:
        jit.set_threads(2)
    assert (detector.near.cones.begin(0.005) == begin).all()


def test_the_whole_patch_is_proved_without_stored_normals_exactly_if_it_is_with_them(rng):
    mesh, size, proved = made.sheet(16), 1.0 / 16, []
    leaf_mesh = LeafMesh(mesh.vertices.copy(), mesh.topology, mesh.weld_index)
    cones = Cones(leaf_mesh)
    corners, nodes, patches = leaf_mesh.leaves.corners, leaf_mesh.tree.nodes, cones.patches
    for k in range(cases(20 if COMPILED else 2)):
        x = mesh.vertices.copy()
        x[:, 1] = rng.uniform(0.0, 0.2) * np.sin(x @ rng.normal(size=3) * rng.uniform(1, 6))
        leaf_mesh.move_along(x, 0.3 * size * (k % 2) * rng.random() * rng.normal(size=x.shape))
        bvh = leaf_mesh.motion
        motion = kernels.PatchMotion(bvh.x, bvh.drift, bvh.node_drifts)
        for least in size * rng.uniform(0.0, 1.0, 6):
            begin = leaf_mesh.self_traversal_start
            count = kernels.skip_proved_patches(nodes, corners, patches, motion, least, cones.fewest, begin)
            proved.append(count == 1 and bool((begin == len(nodes)).all()))
            patches.scaled_normals[:] = np.nan
            assert kernels.whole_is_proved(corners, patches, motion, least) == proved[-1]
    assert 0.05 < np.mean(proved) < 0.95
