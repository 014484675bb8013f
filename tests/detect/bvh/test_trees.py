"""Trees answer as brute force does: all volumes, builds, arities, updates; scenes made to break them (G4, G5, 3.8)."""

import itertools

import numpy as np
import pytest

from conftest import SEED, cases
from detect.bvh.adversarial import (
    DIRECTIONS,
    SCENES,
    boxes,
    extent,
    grid,
    identical,
    moved,
    overlaps,
    scattered,
    surely_near,
)
from naive import whole
from pliant.detect.bvh.build import ARITIES, BUILDS, VOLUMES
from pliant.detect.bvh.tree import build_tree, find_pairs, refit, tree_of
from pliant.detect.bvh.tree_options import UPDATES
from pliant.detect.bvh.update import MovingTree
from pliant.kernels import jit
from pliant.kernels.geometry.eigen import principal_axes

PRODUCT = list(itertools.product(VOLUMES, BUILDS, ARITIES, UPDATES))


def options(rng, volume, split, arity):
    return {"volume": volume, "split": split, "arity": arity, "leaf": int(rng.integers(1, 6))}


def items_of(tree):
    """Volumes of the elements in their own order."""
    out = np.empty_like(tree.items)
    out[tree.order] = tree.items
    return out


def matrix(found, m):
    out = np.zeros((m, m), bool)
    out[found.pairs[:, 0], found.pairs[:, 1]] = True
    assert out.sum() == len(found.pairs), "a pair came twice"
    return out


def check_frame(tree, x, y, faces, within):
    """Nothing missing, nothing twice; nothing extra but what a lazy tree may add."""
    found = matrix(tree.pairs(within=within), len(faces))
    upper = np.triu(np.ones_like(found), 1)
    near = surely_near(x, y, faces, within) & upper
    assert not (near & ~found).any(), "pairs that touch are missing"
    if tree.update == "lazy" and tree.tree.items.shape[1] in DIRECTIONS:
        # a new sphere or oriented box may lie otherwise than the old one
        fresh = tree_of(x, faces, y, volume=tree.options["volume"])
        assert not (overlaps(items_of(fresh), within) & upper & ~found).any()
    assert np.array_equal(found, overlaps(items_of(tree.tree), within + 2.0 * tree.moved) & upper)


def check_two(tree, x, y, faces, within):
    """Two trees, each over half of the elements."""
    half = len(faces) // 2
    if half:
        one, other = (MovingTree(x, f, y, **tree.options) for f in (faces[:half], faces[half:]))
        cross = np.zeros((half, len(faces) - half), bool)
        pairs = one.pairs(other, within=within).pairs
        cross[pairs[:, 0], pairs[:, 1]] = True
        both = np.concatenate([items_of(one.tree), items_of(other.tree)])
        assert np.array_equal(cross, overlaps(both, within)[:half, half:])


def check_scene(case):
    rng = np.random.default_rng([SEED, case])
    volume, split, arity, update = PRODUCT[(case * 7919) % len(PRODUCT)]
    x, faces = SCENES[case % len(SCENES)](rng, int(rng.integers(4, 40)))
    faces = np.ascontiguousarray(faces, np.int32)
    size = extent(x)
    y = moved(rng, x, case % 4) if case % 3 == 0 else x
    margin = 0.08 * size if case % 2 else 0.0
    tree = MovingTree(x, faces, y, update=update, margin=margin, **options(rng, volume, split, arity))
    for frame in range(3):
        within = (0.0, 0.1 * size, 1e-9 * size)[(case + frame) % 3]
        check_frame(tree, x, y, faces, within)
        assert np.isfinite(tree.tree.nodes["bounds"]).all()
        x = moved(rng, x, int(rng.integers(0, 4)))
        y = moved(rng, y, 0) if case % 3 == 0 else x
        tree.move(x, y)
    check_frame(tree, x, y, faces, 0.0)
    check_two(tree, x, y, faces, (0.0, 0.1 * size)[case % 2])


def run_scenes(cases):
    for case in cases:
        try:
            check_scene(case)
        except AssertionError as error:
            way = PRODUCT[(case * 7919) % len(PRODUCT)]
            raise AssertionError(f"scene {case} of PLIANT_SEED={SEED}, {way}") from error


def test_pairs_are_those_of_brute_force_for_every_volume_build_arity_and_update():
    run_scenes(range(cases(1260)))


@pytest.mark.long
def test_pairs_are_those_of_brute_force_on_20000_scenes():
    run_scenes(range(1260, 1260 + cases(20000)))


def test_these_scenes_hold_the_whole_product():
    assert len({(case * 7919) % len(PRODUCT) for case in range(1260)}) == len(PRODUCT)


def holds(outer, inner):
    """Whether one volume contains another, in exact numbers: whole ones, all multiplied by the same power of two."""
    k = len(outer)
    if k == 4:
        (o, i), _ = whole(outer, inner)
        return i[3] <= o[3] and sum((a - b) ** 2 for a, b in zip(o[:3], i[:3])) <= (o[3] - i[3]) ** 2
    if k == 15:
        (o, i), shift = whole(outer, inner)
        for signs in itertools.product((-1, 1), repeat=3):
            corner = [
                (i[c] - o[c] << shift) + sum(s * i[3 + a] * i[6 + 3 * a + c] for a, s in enumerate(signs))
                for c in range(3)
            ]
            limits = (o[3 + a] << 2 * shift for a in range(3))
            if any(abs(sum(corner[c] * o[6 + 3 * a + c] for c in range(3))) > most for a, most in enumerate(limits)):
                return False
        return True
    h = k // 2
    return bool((outer[:h] <= inner[:h]).all() and (outer[h:] >= inner[h:]).all())


@pytest.mark.parametrize("volume", VOLUMES)
def test_parents_contain_their_children_and_leaves_their_elements_exactly(volume, rng):
    for case, scene in enumerate(SCENES):
        x, faces = scene(rng, 12)
        y = moved(rng, x, case % 4)
        tree = tree_of(x, faces.astype(np.int32), y, volume=volume, leaf=2, arity=ARITIES[case % 3])
        bounds, skip = tree.nodes["bounds"], tree.nodes["skip"]
        for i, (first, count) in enumerate(zip(tree.nodes["first"], tree.nodes["count"])):
            if skip[i] == i + 1:
                assert all(holds(bounds[i], tree.items[q]) for q in range(first, first + count))
            else:
                j = i + 1
                while j < skip[i]:
                    assert holds(bounds[i], bounds[j])
                    j = skip[j]


@pytest.mark.parametrize("volume", VOLUMES)
def test_volumes_contain_the_corners_of_their_elements_exactly(volume, rng):
    for case, scene in enumerate(SCENES):
        x, faces = scene(rng, 10)
        y = moved(rng, x, case % 4)
        tree = tree_of(x, faces.astype(np.int32), y, volume=volume)
        k = tree.items.shape[1]
        for q, f in enumerate(tree.order):
            for p in (*x[faces[f]], *y[faces[f]]):
                if k in DIRECTIONS:
                    along = np.concatenate(DIRECTIONS[k]).astype(int).tolist()
                    (p, low, high), _ = whole(p, tree.items[q, : k // 2], tree.items[q, k // 2 :])
                    values = [sum(c * v for c, v in zip(n, p)) for n in along]
                    assert all(a <= v <= b for a, v, b in zip(low, values, high))
                elif k == 4:
                    assert holds(tree.items[q], [*p, 0.0])
                else:
                    assert holds(tree.items[q], [*p, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1])


def test_boxes_are_tight(rng):
    for case, scene in enumerate(SCENES):
        x, faces = scene(rng, 20)
        y = moved(rng, x, case % 4)
        tree = tree_of(x, faces.astype(np.int32), y)
        assert np.array_equal(items_of(tree), np.concatenate(boxes(x, y, faces), 1))
        if len(faces):
            assert np.array_equal(tree.nodes["bounds"][0, :3], np.concatenate([x[faces], y[faces]]).min((0, 1)))


@pytest.mark.parametrize("split", BUILDS)
@pytest.mark.parametrize("count", [0, 1, 2, 3, 200])
def test_equal_middles_are_halved(split, count):
    x, faces = identical(np.random.default_rng(SEED), count)
    tree = tree_of(x, faces.astype(np.int32), split=split, leaf=1)
    assert sorted(tree.order) == list(range(count))
    depth = np.zeros(len(tree.nodes), int)
    skip = tree.nodes["skip"]
    for i in range(len(skip)):
        j = i + 1
        while j < skip[i]:
            depth[j], j = depth[i] + 1, skip[j]
    assert depth.max(initial=0) <= 2 * np.log2(max(count, 1)) + 1


def deform(x, t):
    """A sheet that rolls up, breathes and turns inside out as t goes from 0 to 1."""
    turn, r = 5.0 * t * (x[:, 0] - x[:, 0].mean()), 1.0 + 0.3 * np.sin(7.0 * t)
    return np.stack([r * np.sin(turn) / max(5.0 * t, 1e-3), r * x[:, 1], (1.0 - np.cos(turn)) / max(5.0 * t, 1e-3)], 1)


def check_frames(volume, split, frames):
    """Refitted and rebuilt trees give one set of pairs, on every frame; and refitting is the same as being new."""
    x, faces = grid(7)
    x, faces = x / 7.0, faces.astype(np.int32)
    trees = [
        MovingTree(x, faces, update=update, worse=None, volume=volume, split=split, leaf=2) for update in UPDATES[:3]
    ]
    for t in np.linspace(0.0, 1.0, frames):
        x_t = deform(x, t)
        fresh = tree_of(x_t, faces, volume=volume, split=split, leaf=2)
        wanted = find_pairs(fresh, within=0.02).pairs
        for tree in trees:
            assert np.array_equal(tree.move(x_t).pairs(within=0.02).pairs, wanted)
        first = trees[0].tree
        again = tree_of(deform(x, 0.0), faces, volume=volume, split=split, leaf=2)
        refit(again, x_t, faces)
        assert np.isfinite(first.nodes["bounds"]).all()
        if np.array_equal(first.order, again.order):
            assert np.array_equal(first.nodes["bounds"], again.nodes["bounds"])


@pytest.mark.compiled
@pytest.mark.parametrize("volume", VOLUMES)
def test_refitting_gives_the_pairs_of_rebuilding(volume):
    check_frames(volume, "longest-median", 25)


@pytest.mark.long
@pytest.mark.parametrize("split", BUILDS)
@pytest.mark.parametrize("volume", VOLUMES)
def test_refitting_gives_the_pairs_of_rebuilding_over_500_frames(volume, split):
    check_frames(volume, split, 500)


def test_a_worn_tree_is_built_anew_and_a_good_one_is_not():
    x, faces = grid(8)
    tree = MovingTree(x, faces.astype(np.int32), worse=1.5)
    tree.move(x + np.array([3.0, 0.0, 1.0]))
    assert tree.builds == 1
    tree.move(x[np.random.default_rng(SEED).permutation(len(x))])
    assert tree.builds == 2


def test_a_lazy_tree_stands_still_until_something_moved_too_far():
    x, faces = grid(6)
    tree = MovingTree(x, faces.astype(np.int32), update="lazy", margin=0.1)
    tree.move(x + np.array([0.09, 0.0, 0.0]))
    assert (tree.fits, tree.moved) == (0, pytest.approx(0.09))
    tree.move(x + np.array([0.0, 0.11, 0.0]))
    assert (tree.fits, tree.moved) == (1, 0.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_vertex_that_is_no_number_is_refused_and_not_missed(bad):
    x, faces = grid(3)
    tree = MovingTree(x, faces.astype(np.int32))
    x[5, 1] = bad
    with pytest.raises(ValueError, match=r"x\[5, 1\] is not finite"):
        tree.move(x)


@pytest.mark.compiled
def test_pairs_do_not_depend_on_threads(rng):
    x, faces = scattered(rng, 3000)
    before, found = jit.threads(), []
    try:
        for count in (1, 2):
            jit.set_threads(count)
            tree = tree_of(x, faces.astype(np.int32), volume="26-dop", split="bottom-up", arity=4)
            found.append((tree.nodes.tobytes(), find_pairs(tree, within=0.1).pairs.tobytes()))
    finally:
        jit.set_threads(before)
    assert found[0] == found[1]


def test_many_pairs_are_all_kept(rng):
    x, faces = identical(rng, 150)
    assert len(find_pairs(tree_of(x, faces.astype(np.int32))).pairs) == 150 * 149 // 2


def test_pairs_come_in_ascending_order(rng):
    x, faces = scattered(rng, 100)
    pairs = find_pairs(tree_of(x, faces.astype(np.int32), split="bottom-up")).pairs
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert np.array_equal(pairs, np.unique(pairs, axis=0))


@pytest.mark.parametrize("volume", VOLUMES)
def test_trees_over_bare_boxes_find_boxes_that_meet(volume, rng):
    low = rng.normal(size=(60, 3))
    high = low + rng.uniform(0.0, 0.5, low.shape)
    found = matrix(find_pairs(build_tree(low, high, volume=volume)), 60)
    meet = overlaps(np.concatenate([low, high], 1), 0.0) & np.triu(np.ones((60, 60), bool), 1)
    assert not (meet & ~found).any()
    assert volume != "box" or np.array_equal(meet, found)


@pytest.mark.parametrize("axis", ["longest", "principal", "any"])
def test_the_former_name_of_the_split_rule_gives_the_same_tree_and_a_warning(axis, rng):
    low = rng.normal(size=(60, 3))
    new = build_tree(low, low + 0.1, split=f"{axis}-sah")
    with pytest.warns(DeprecationWarning, match=f"{axis}-least' is now '{axis}-sah'"):
        old = build_tree(low, low + 0.1, split=f"{axis}-least")
    assert np.array_equal(old.order, new.order)
    assert np.array_equal(old.nodes, new.nodes)


def test_principal_axes_are_right_handed_unit_and_sorted(rng):
    for case in range(cases(200)):
        a = rng.normal(size=(3, 3)) * [1.0, 10.0 ** -(case % 20), 0.0 if case % 5 == 0 else 1.0]
        m = a @ a.T if case % 7 else np.zeros((3, 3))
        axes = np.array(principal_axes(m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]))
        assert np.allclose(axes @ axes.T, np.eye(3), atol=1e-14)
        assert np.linalg.det(axes) == pytest.approx(1.0)
        values = np.einsum("ai,ij,aj->a", axes, m, axes)
        assert np.allclose(values, np.linalg.eigvalsh(m)[::-1], atol=1e-13 * max(np.trace(m), 1e-300))


def test_unknown_options_are_explained():
    low = np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"unknown volume 'cube'; .*one of: box"):
        build_tree(low, low, volume="cube")
    with pytest.raises(ValueError, match="arity = 3; one of: 2, 4, 8"):
        build_tree(low, low, arity=3)
    with pytest.raises(ValueError, match="'connectivity' needs the corners"):
        build_tree(low, low, split="connectivity")
    with pytest.raises(ValueError, match="6 and 4 parameters; use one kind"):
        find_pairs(build_tree(low, low), build_tree(low, low, volume="sphere"))
