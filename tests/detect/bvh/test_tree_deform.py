"""Trees of weighted sums: volumes from the weights contain the shape, and walks over them miss no pair."""

import numpy as np
import pytest

from conftest import SEED, cases
from detect.bvh.adversarial import DIRECTIONS, extent, grid, moved, overlaps, scattered, surely_near
from pliant import load
from pliant.detect.bvh.blend import BlendTree
from pliant.detect.bvh.build import VOLUMES
from pliant.detect.bvh.tree import find_pairs, tree_of

BLENDED = [volume for volume in VOLUMES if volume != "oriented"]


def as_set(pairs):
    return set(map(tuple, pairs.tolist()))


def meeting(x, faces, volume="box"):
    """Pairs of triangles whose boxes or k-DOPs meet."""
    directions = np.concatenate(DIRECTIONS[VOLUMES[volume]])
    along = x[faces] @ directions.T
    meet = overlaps(np.concatenate([along.min(1), along.max(1)], 1), 0.0)
    return set(zip(*np.nonzero(np.triu(meet, 1)), strict=True))


def touching(x, faces):
    """Pairs of triangles that share a corner, or come as near at corners as rounding allows."""
    return set(zip(*np.nonzero(np.triu(surely_near(x, x, faces, 1e-12), 1)), strict=True))


def random_shape(rng, case):
    x, faces = grid(4) if case % 2 else scattered(rng, 30)
    modes = np.stack([moved(rng, x, k % 3) - x for k in range(1 + case % 4)])
    return x, modes, np.ascontiguousarray(faces, np.int32)


def test_bounded_deformation_misses_no_pair_that_brute_force_finds():
    for case in range(cases(60)):
        rng = np.random.default_rng([SEED, case])
        p, u, faces = random_shape(rng, case)
        volume, arity = BLENDED[case % len(BLENDED)], (2, 4, 8)[case % 3]
        tree = BlendTree.bounded(p, u, faces, volume=volume, leaf=1 + case % 3, arity=arity)
        for _ in range(3):
            q = rng.normal(size=len(u)) * rng.choice([0.0, 0.2, 2.0])
            x = p + np.einsum("r,rij->ij", q, u)
            found = as_set(tree.set(q).pairs().pairs)
            # spheres of sums are no sums of spheres, so they are asked for the triangles themselves
            assert (touching(x, faces) if volume == "sphere" else meeting(x, faces, volume)) <= found


def inside(bounds, x):
    """Whether points (n,3) lie in a sphere or between slabs of the coordinates."""
    if len(bounds) == 4:
        return (np.linalg.norm(x - bounds[:3], axis=1) <= bounds[3] * (1.0 + 1e-14)).all()
    h = len(bounds) // 2
    return (bounds[:3] <= x.min(0)).all() and (x.max(0) <= bounds[h : h + 3]).all()


@pytest.mark.parametrize("volume", BLENDED)
def test_volumes_from_weights_contain_the_deformed_elements(volume, rng):
    p, u, faces = random_shape(rng, 3)
    tree = BlendTree.bounded(p, u, faces, volume=volume)
    for _ in range(5):
        q = rng.normal(size=len(u))
        x = p + np.einsum("r,rij->ij", q, u)
        tree.set(q).pairs(within=1e3 * extent(p))
        nodes = tree.tree.nodes
        assert tree.reached == len(nodes)
        for i in range(len(nodes)):
            held = faces[tree.tree.order[nodes["first"][i] : nodes["first"][i] + nodes["count"][i]]]
            assert inside(nodes["bounds"][i], x[held].reshape(-1, 3))


def test_only_what_is_reached_is_made(rng):
    x, faces = grid(16)
    faces = np.ascontiguousarray(faces, np.int32)
    lift = np.zeros_like(x)
    lift[:, 2] = 1.0
    one = BlendTree.bounded(x, lift[None], faces)
    other = BlendTree.bounded(x, lift[None], faces)
    assert len(one.set([3.0]).pairs(other.set([0.0])).pairs) == 0
    assert one.reached == 1
    assert len(one.set([0.0]).pairs(other).pairs) > 0
    assert one.reached > 100


def test_a_sheet_morphing_into_a_roll_touches_itself_when_brute_force_says_so():
    x, faces = grid(8)
    faces = np.ascontiguousarray(faces, np.int32)
    turn = 1.4 * (x[:, 0] - 4.0)
    roll = np.stack([np.sin(turn), x[:, 1], 1.0 - np.cos(turn)], 1)
    tree = BlendTree(np.stack([x, roll]), faces)
    for w in np.linspace(0.0, 1.0, 9):
        tree.set([1.0 - w, w])
        assert meeting(tree.positions(), faces) <= as_set(tree.pairs().pairs)


@pytest.mark.compiled
def test_four_shapes_of_a_brain_blend_without_missing_a_pair(data, rng):
    names = ("white", "pial", "pial_inflated", "sphere")
    meshes = [load(data / "morph" / f"fsaverage5_{name}_lh.ply") for name in names]
    faces = meshes[0].faces
    tree = BlendTree(np.stack([mesh.vertices for mesh in meshes]), faces)
    for _ in range(3):
        w = rng.dirichlet(np.ones(4))
        tree.set(w)
        wanted = find_pairs(tree_of(tree.positions(), faces)).pairs
        found = tree.pairs().pairs
        assert as_set(wanted) <= as_set(found)


def test_oriented_boxes_cannot_be_blended():
    x, faces = grid(2)
    with pytest.raises(ValueError, match="'oriented' cannot be blended; use"):
        BlendTree(x[None], faces.astype(np.int32), volume="oriented")
