"""A character's vertices are the weighted sum of where its bones take them."""

import dataclasses

import numpy as np
import pytest

from conftest import SEED
from pliant import Character, Mesh
from pliant.kernels import jit
from pliant.motion.animation import Animation, Skeleton, Track
from pliant.motion.character import Morph


def bent(rng: np.random.Generator, n: int = 70, count: int = 4) -> Character:
    """A few bones in a row, vertices held by up to eight of them, and a morph target."""
    parents, heads = np.array([-1, 0, 1, 1, *range(3, count - 1)]), rng.normal(size=(count, 3))
    skeleton = Skeleton.of_heads(parents, heads)
    skeleton = dataclasses.replace(skeleton, rest=np.append(skeleton.rest, 0.5))
    inverse = np.tile(np.eye(3, 4), (count, 1, 1))
    inverse[:, :, 3] = -heads
    weights = rng.dirichlet(np.full(8, 0.4), n)
    weights[: n // 2, 1:] = 0.0
    tracks = [Track(skeleton.column(k, "rotation"), [0.0, 1.0], rng.normal(size=(2, 4)), rotation=True) for k in (1, 2)]
    tracks.append(Track(10 * count, [0.0, 1.0], np.array([[0.5], [2.0]])))
    return Character(
        Mesh(rng.normal(size=(n, 3)), np.arange(n - n % 3).reshape(-1, 3)),
        tuple("abcdefghijkl"[:count]),
        parents,
        rng.integers(0, count, (n, 8)),
        weights / weights.sum(1)[:, None],
        {"wave": Animation(tuple(tracks))},
        skeleton,
        np.arange(count),
        inverse,
        (Morph(10, rng.normal(size=(1, 20, 3)), 0),),
    )


def test_a_vertex_is_where_its_bones_take_it_on_average() -> None:
    rng = np.random.default_rng(SEED)
    joints, weights = rng.integers(0, 12, (70, 8)), rng.dirichlet(np.full(8, 0.4), 70)
    weights[:30, 3:] = 0.0
    weights /= weights.sum(1)[:, None]
    character = dataclasses.replace(bent(rng, 70, 12), joints=joints, weights=weights)
    assert character.joints.shape == (70, 8)
    matrices = rng.normal(size=(12, 3, 4))
    h = np.column_stack([character.mesh.vertices, np.ones(70)])
    taken = np.einsum("bij,nj->nbi", matrices, h)
    expected = sum(weights[:, k, None] * taken[np.arange(70), joints[:, k]] for k in range(8))
    out = np.full((70, 3), np.nan)
    assert character.skin(matrices, out) is out
    assert np.abs(out - expected).max() < 1e-13
    assert (np.diff(character.weights, axis=1) <= 0.0).all()
    held = [set(row[share > 0.0].tolist()) for row, share in zip(character.joints, character.weights)]
    assert [len(row) for row in held] == (character.weights > 0.0).sum(1).tolist()


def test_the_rest_pose_is_the_bind_shape() -> None:
    character = bent(np.random.default_rng(SEED))
    assert np.abs(character.shape(None, 3.0) - character.mesh.vertices).max() < 1e-14


def test_morph_targets_move_the_bind_shape_before_bones_do() -> None:
    character = bent(np.random.default_rng(SEED))
    x = character.mesh.vertices.copy()
    x[10:30] += (0.5 + 0.4 * 1.5 - 0.5) * character.morphs[0].targets[0]
    assert np.abs(character.morph("wave", 0.4) - x).max() < 1e-14
    taken = character.skin(character.skin_matrices_at("wave", [0.4])[0], vertices=x)
    assert np.abs(character.shape("wave", 0.4) - taken).max() < 1e-14


@pytest.mark.compiled
def test_the_bits_do_not_depend_on_threads() -> None:
    character = bent(np.random.default_rng(SEED), 5000)
    matrices = character.skin_matrices_at("wave", [0.3])[0]
    before, found = jit.threads(), []
    for count in (1, 2):
        jit.set_threads(count)
        found.append(character.skin(matrices).tobytes())
    jit.set_threads(before)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"weights": np.full((70, 4), 0.4)}, "sum to 1.6; expected 1"),
        ({"weights": np.tile([1.5, -0.5, 0.0, 0.0], (70, 1))}, "negative"),
        ({"joints": np.full((70, 4), 4)}, "there are 4 bones"),
        ({"joints": np.zeros((70, 9), int)}, "1 to 8"),
        ({"parents": np.array([-1, 0, 7, 0])}, "rows of bones"),
        ({"inverse": np.zeros((3, 3, 4))}, "shape"),
        ({"morphs": (Morph(60, np.zeros((1, 20, 3)), 0),)}, "vertices 60..79, but there are 70"),
        ({"morphs": (Morph(0, np.zeros((2, 20, 3)), 0),)}, "2 targets from weight 0, but a pose has 1"),
        ({"clips": {"far": Animation((Track(99, [0.0], np.zeros((1, 3))),))}}, "drives 102 numbers"),
    ],
)
def test_what_does_not_fit_together_is_refused(change: dict, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        dataclasses.replace(bent(np.random.default_rng(SEED)), **change)


def test_an_unknown_clip_is_told_what_there_is() -> None:
    with pytest.raises(ValueError, match="unknown clip 'wavy'; did you mean 'wave'"):
        bent(np.random.default_rng(SEED)).skin_matrices_at("wavy", [0.0])


def test_a_clip_that_leaves_the_range_of_numbers_is_refused() -> None:
    character = bent(np.random.default_rng(SEED))
    huge = Animation((Track(0, [0.0, 1.0], np.array([[0, 0, 0], [9e11, 0, 0]])), Track(10, [0.0], [[5e11, 0, 0]])))
    with pytest.raises(ValueError, match="beyond 1e"):
        dataclasses.replace(character, clips={"far": huge}).skin_matrices_at("far", [1.0])
